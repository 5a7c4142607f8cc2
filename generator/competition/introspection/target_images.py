"""Targets that are images: the folder that they are in, and a check that pixels are asked for."""

import re

from generator.competition.introspection.errors import NotPixelsError
from generator.competition.introspection.findings import Findings
from generator.competition.introspection.observations import Observations

_PIXEL, _CHANNEL = re.compile(r"(.+)_\d+_\d+"), re.compile(r"(.+)_\d+_\d+_\d+")


def settle_target_images(seen: Observations, found: Findings) -> None:
    """Settles where the images are that the training images are to become.

    Raises:
        NotPixelsError: The submission has something else than the pixels of grey images.
    """
    _check_that_pixels_are_asked_for(seen)
    folder = seen.target_images.folder.path if seen.target_images is not None else ""
    found.settle("target_folder", folder, "it has an image for each training image")


def _check_that_pixels_are_asked_for(seen: Observations) -> None:
    sample, files = seen.tables.sample, seen.files
    columns = sample.columns if sample is not None else ()
    ids = next((column for column in columns if column.name not in seen.targets.asked), None)
    if sample is None or ids is None or not ids.present:
        raise NotPixelsError(sample="", example="", problem="there is no sample submission with ids of pixels")
    strange = next((value for value in ids.present if not _PIXEL.fullmatch(value)), None)
    if strange is not None:
        raise NotPixelsError(sample=sample.path, example=strange, problem="a row is something else")
    test = files.test if files is not None else None
    stems = {name.rpartition(".")[0] for name in test.names} if test is not None else set()
    channel = _CHANNEL.fullmatch(ids.present[0])
    pixel = _PIXEL.fullmatch(ids.present[0])
    if channel is not None and channel[1] in stems and (pixel is None or pixel[1] not in stems):
        raise NotPixelsError(
            sample=sample.path, example=ids.present[0], problem="a row is one channel of a pixel in colour"
        )
