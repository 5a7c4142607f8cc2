"""The web pages of a local Kaggle: competitions, notebooks, sessions and uploads.

`pages` has the routes; each takes a `PageRequest` and gives a response from a template. `views` has what pages show,
made safe. Pages ask the API's own methods, as the account that looks.
"""
