"""What a task needs to know whose target is an image: where the target images are, and that pixels are asked for."""

import re

from generator.competition.introspection.clues import Clues
from generator.competition.introspection.errors import NotPixelsError
from generator.competition.introspection.facts import Finding, Hints
from generator.competition.introspection.weighing import settled

_PIXEL, _CHANNEL = re.compile(r"(.+)_\d+_\d+"), re.compile(r"(.+)_\d+_\d+_\d+")


def image_target_details(clues: Clues, hints: Hints) -> tuple[Finding, ...]:
    """The finding on the images that the training images are to become.

    Raises:
        NotPixelsError: The submission has something else than the pixels of grey images.
    """
    _check_that_pixels_are_asked_for(clues)
    image = clues.companions.image
    place = image.place.path if image is not None else ""
    return (settled("target_folder", place, "it has an image for each training image", hints),)


def _check_that_pixels_are_asked_for(clues: Clues) -> None:
    sample, source = clues.tables.sample, clues.source
    columns = sample.columns if sample is not None else ()
    ids = next((column for column in columns if column.name not in clues.targets.asked), None)
    if sample is None or ids is None or not ids.present:
        raise NotPixelsError(sample="", example="", problem="there is no sample submission with ids of pixels")
    strange = next((value for value in ids.present if not _PIXEL.fullmatch(value)), None)
    if strange is not None:
        raise NotPixelsError(sample=sample.path, example=strange, problem="a row is something else")
    test = source.test if source is not None else None
    stems = {name.rpartition(".")[0] for name in test.names} if test is not None else set()
    found = _CHANNEL.fullmatch(ids.present[0])
    pixel = _PIXEL.fullmatch(ids.present[0])
    if found is not None and found[1] in stems and (pixel is None or pixel[1] not in stems):
        raise NotPixelsError(
            sample=sample.path, example=ids.present[0], problem="a row is one channel of a pixel in colour"
        )
