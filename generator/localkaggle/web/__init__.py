"""The pages of a local Kaggle for people: its competitions, notebooks, sessions and uploads, in HTML.

`routes` says which function answers which path; each takes a `PageRequest` and gives a Starlette response, from a
template (`templating`) or a redirect. What pages show is asked of the API's own methods by the request, as the account
that looks; kernels are read from their records (`kernel_views`), of which the API tells only a part.

Behind `generator.localkaggle.http`, which has let nobody through but who is logged in. Imported by `app` alone.
"""
