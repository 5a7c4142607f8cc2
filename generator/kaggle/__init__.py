"""Kaggle itself: the gateway to its API, the data of competitions, and the chain that carries a pair to a score.

    connect            an account at the real Kaggle or at the local one, with its `credentials`
    gateway            `Kaggle`: kernels, competitions, datasets and models
    client             one call of the API, and files sent and fetched
    transport          HTTP with bounds, retries, and the errors that answers stand for
    sdk, api_types     Kaggle's own typed messages, and ours
    errors             what can go wrong, and guards for names, addresses and texts
    competition_data   a competition's files, read where they are or downloaded
    facts              what the hosts say of a competition, and a survey of its files
    chain/, receipt    push, wait, verify, submit; and the record of it

Imported by `generator.cli` alone.
"""
