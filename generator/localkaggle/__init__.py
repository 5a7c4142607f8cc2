"""A local Kaggle server on loopback: Kaggle's API, sessions, scores and web pages.

    server          the socket and the application
    endpoints       authentication, the API's methods, files, logs; `protocol` limits the requests of clients
    web/            the pages for users
    local_kaggle    combines the services of `services/`, tables of methods without HTTP
    rpc             a call and its responses; `storage` saves the state
    hosting         competitions, their files and hidden answers

Sessions run in the sandbox of `generator.sessions`. Only `generator.cli` imports it.
"""
