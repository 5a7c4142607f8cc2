"""Folders whose images belong to the training images one by one: masks, or what the images should become."""

from dataclasses import dataclass

from generator.competition.facts import Medium
from generator.competition.introspection.places import Match, Place, match_of, places_of
from generator.competition.introspection.source import Source
from generator.competition.introspection.words import MASKS, OUTPUTS, TEST
from generator.competition.survey.facts import Survey


@dataclass(frozen=True)
class Companions:
    """The folders beside the training images; None where there is none."""

    mask: Match | None = None
    image: Match | None = None


def find_companions(survey: Survey, source: Source | None) -> Companions:
    """Finds masks and target images by their names and by the files that they have in common."""
    train = source.labelling.train if source is not None else None
    if source is None or train is None or source.medium is not Medium.IMAGE:
        return Companions()
    others = [place for place in places_of(survey, Medium.IMAGE) if _may_accompany(place, train, source.test)]
    masks = [place for place in others if place.words & MASKS]
    images = [place for place in others if place.words & OUTPUTS and place not in masks]
    return Companions(mask=_accompanying(train, masks), image=_accompanying(train, images))


def _may_accompany(place: Place, train: Place, test: Place | None) -> bool:
    is_other = place.path != train.path and (test is None or place.path != test.path)
    return is_other and not place.words & TEST


def _accompanying(train: Place, places: list[Place]) -> Match | None:
    match = match_of([name.rpartition(".")[0] or name for name in train.names], places)
    return match if match is not None and match.parts == 0 else None
