"""A survey interpreted as a task: what the files mean, why, and what else they could mean."""

from generator.competition.introspection.facts import Candidate, Confidence, Finding, Hints, Reading
from generator.competition.introspection.reading import read_task

__all__ = ["Candidate", "Confidence", "Finding", "Hints", "Reading", "read_task"]
