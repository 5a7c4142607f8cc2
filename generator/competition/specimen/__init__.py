"""A miniature synthetic copy of a competition's data, from what is known of it: `write_specimen`."""

from generator.competition.specimen.facts import SpecimenSummary
from generator.competition.specimen.specimen import write_specimen
from generator.competition.specimen.writing import MARKER, is_specimen

__all__ = ["MARKER", "SpecimenSummary", "is_specimen", "write_specimen"]
