"""Rehearse a pair under the conditions of Kaggle: train on eight devices, and infer on hidden tests.

    rehearsal     train, look, infer on one hidden test after the other
    record        what is left of it: the record and the page
    sessions      the notebooks in sandboxed sessions, watched
    hidden_test   the test of a competition read, varied, and written again

Only `cli` imports it. It runs notebooks with `generator.sessions`.
"""
