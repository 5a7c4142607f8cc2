"""The competitions of the API: their data, their submissions, their leaderboards."""

from generator.localkaggle.services.competitions.service import Competitions

__all__ = ["Competitions"]
