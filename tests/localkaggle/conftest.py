"""Fixtures of the tests of the local Kaggle."""

from local_fixtures import local_kaggle, shared

__all__ = ["local_kaggle", "shared"]
