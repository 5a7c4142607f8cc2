"""The chain: push training, wait, verify, push inference, wait, submit, score; journalled, so that it can continue.

    chain       the story, `push_pair` and `submit_pair`
    plan        what a push does with the chains that there are, and what is checked before it
    inputs      the kernels that a push sends, prepared from their folders
    versions    a kernel's version, pushed exactly once
    session     the session of a version, awaited, and the files that it wrote
    training    what a training left, verified
    uploads     what the inference kernel reads: the hand-over, `wheels`
    submission  what inference predicted, checked, submitted and scored
    execution   pauses, tolerance, and the protocol that sends nothing twice
    journal     lines with checksums, the state that they amount to, and the notebooks that were sent
    errors      why a chain stops

Imported by `generator.cli` and `generator.kaggle.receipt`.
"""
