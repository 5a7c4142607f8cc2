"""The chain: push training, wait, verify, push inference, wait, submit, score; journalled, so that it can continue.

    chain       the story, `push_pair` and `submit_pair`; the plan of a push, and what is checked before it
    steps       a version pushed, a session awaited, outputs verified, a submission sent
    inputs      what a push sends: the prepared notebook, wheels, the commit
    execution   pauses, tolerance, and the protocol that sends nothing twice
    journal     lines with checksums, and the state that they amount to
    errors      why a chain stops

Imported by `generator.cli` and `generator.kaggle.receipt`.
"""
