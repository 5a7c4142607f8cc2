"""Fixtures of the tests of the local Kaggle."""

from local_fixtures import local_kaggle

__all__ = ["local_kaggle"]
