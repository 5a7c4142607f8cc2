"""Rehearse a pair under the conditions of Kaggle: train on eight devices, and infer on hidden tests.

    rehearsal     train, look, infer on one hidden test after the other
    record        what is left of it: the record and the page
    sessions      runs and monitors the notebooks in sandboxed sessions
    hidden_test   reads the test of a competition, varies it, and writes it again

Only `cli` imports it. It runs notebooks with `generator.sessions`.
"""
