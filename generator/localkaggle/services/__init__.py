"""The API of Kaggle as tables of methods: each a function from a `Call` to an answer, which knows nothing of HTTP.

    accounts      who may call                     blobs         files on their way here
    competitions/ data, submissions, leaderboards
    datasets, models                               the same `versioned_items` with two faces
        version_store    items, variations and versions in the database
        version_files    the files of a version; archives packs and unpacks them
    kernels       put together out of
        kernel_validation -> kernel_pushes         a push, checked and saved
        kernel_sources                             what it names as inputs, and where they are mounted
        kernel_sessions, kernel_quota              its sessions, queued and limited; `sessions` runs them
        kernel_queries, kernel_outputs             what it is, and what it wrote
        kernel_records                             all of that in the database

In comes a `Call`; out goes JSON, an address, or an `ApiError`. `local_kaggle` puts the services together, `http` and
`web` ask them; competitions have submitted `kernels` run again. They know `hosting` and `sessions`, not `http` or
`web`.
"""
