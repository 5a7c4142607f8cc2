"""Rehearsing a pair under the conditions that it will meet on Kaggle: eight devices, and a hidden test.

    rehearsal     train, look, infer on one hidden test after the other
    record        what is left of it: the record and the page
    sessions      the notebooks in sandboxed sessions, watched
    hidden_test   the test of a competition read, varied, and written again

Only `cli` imports it. It runs notebooks by `generator.sessions`.
"""
