"""The chain: push training, wait, verify, push inference, wait, submit, read the score. A journal lets it continue.

    chain       all steps in order, `push_pair` and `submit_pair`; the plan of a push, and the checks before it
    steps       push a version, wait for a session, verify outputs, send a submission
    inputs      the inputs of a push: the prepared notebook, wheels, the commit
    execution   pauses, tolerance of errors, and the protocol that never sends a request twice
    journal     lines with checksums, and the state that results from them
    errors      the errors that stop a chain

Imported by `generator.cli` and `generator.kaggle.receipt`.
"""
