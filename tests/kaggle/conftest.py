"""Fixtures of the tests of what talks to Kaggle."""

from chain_table import table
from local_fixtures import local_kaggle

__all__ = ["local_kaggle", "table"]
