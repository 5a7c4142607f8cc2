"""The API of Kaggle as tables of methods. Each method is a function from an `ApiCall` to a response, without HTTP.

kernels          push, queue, run and show kernels; `kernel_records` saves them, and accounts
competitions     data, submissions, leaderboards
items            datasets and models, both based on `versions`
files            uploads, archives and listings
"""
