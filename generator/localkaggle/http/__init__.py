"""The local Kaggle over HTTP: what stands between a socket and the services, apart from the pages for people.

`authentication` is in front of everything: it checks the host, says who calls, and bounds how slowly anybody reads.
Behind it, `generator.localkaggle.app` has the routes: `api_methods` (the RPC methods), `log_stream`, `file_transfer`,
`fault_rules`, and `login` for what browsers ask for, which `generator.localkaggle.web` answers. `protocol`, `limits`
and `request_bodies` bound what a client may send; `transport_faults` spoils responses on demand.

In come Starlette's requests, out go its responses. Imported by `web`, `app` and `server`.
"""
