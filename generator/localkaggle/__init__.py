"""A Kaggle on this machine: its API, its sessions, its scores and its pages, on loopback."""
