"""The client of Kaggle: its API, the data of competitions, and the chain that pushes a pair and submits.

    gateway            `Kaggle`: a connection to the real Kaggle or a local one, with its `credentials`
    client             one call of the API, uploads and downloads
    transport          HTTP with limits, retries, and an error for each error response
    api_types          the typed messages of Kaggle's SDK, and ours
    errors             errors, and checks of names, addresses and texts
    competition_data   a competition's files, read remotely or downloaded
    notebooks          versions of notebooks, by OWNER/NAME/VERSION
    facts              a competition's pages, and a survey of its files
    chain/, receipt    push, wait, verify, submit; and the record of these steps

Only `generator.cli` imports it.
"""
