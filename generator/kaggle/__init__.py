"""Kaggle itself: the gateway to its API, the data of competitions, and the chain that carries a pair to a score.

`connect` finds `credentials` and gives an account at the real or the local Kaggle, `gateway.Kaggle`. Its parts are
`kernels` with `log_stream`, `competitions`, `datasets_and_models`, `uploads` and `downloads`, each of them an
`api_client`: that takes methods and types from `sdk`, sends by `transport`, asks again by `retries`, and makes `errors`
of answers by `http_errors`. Names, addresses and texts pass `guards`; what comes out are the values of `api_types`.

On top of it, `remote_facts` surveys a competition's files where they are, `data_download` fetches them, and `chain/`
pushes and submits; its journal becomes a `receipt`. Imported by `generator.cli` alone.
"""
