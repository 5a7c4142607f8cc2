"""A Kaggle on this machine: its API, its sessions, its scores and its pages, on loopback.

    server          the socket and the application
    endpoints       authentication, the API's methods, files, logs; `protocol` bounds what clients send
    web/            the pages for people
    local_kaggle    the services put together: `services/`, tables of methods that know nothing of HTTP
    rpc             a call and its answers; `storage` keeps what is known
    hosting         competitions, their files and hidden answers

Sessions run in the sandbox of `generator.sessions`. Imported by `generator.cli` alone.
"""
