"""The competitions of the API: their data, their submissions, their leaderboards.

A call reaches a method of `catalog`, `data`, `submitting` or `leaderboard` by the table in `service`. What is submitted
goes through `records` to `scoring`, which scores it by `hosting` or has a notebook run again.
"""

from generator.localkaggle.services.competitions.service import Competitions

__all__ = ["Competitions"]
