"""A Kaggle on this machine: its API, its sessions, its scores and its pages, on loopback.

`server` listens and hands requests to `app`; `http` authenticates and reads them, `web` answers people, `local_kaggle`
answers calls of the API (`rpc`) by its `services`, which share a `service_context`. `hosting` reads and scores
competitions, `sessions` runs notebooks in a sandbox. In come HTTP requests of the official clients and of browsers,
out go their responses; what is known is kept in a `root_folder` with a `database`. Imported by `generator.cli` alone.
"""
