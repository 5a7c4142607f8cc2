"""The API of Kaggle as tables of methods: each a function from a `Call` to an answer, which knows nothing of HTTP.

kernels          pushed, queued, run, looked at; `kernel_records` keeps them, and accounts
competitions     data, submissions, leaderboards
items            datasets and models, two faces of the same `versions`
files            uploads, archives and listings
"""
