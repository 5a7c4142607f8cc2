"""Tandem renders, tests and pushes pairs of Kaggle notebooks: one trains on a TPU, one infers on a GPU."""

__version__ = "0.1.0"
