"""The format of image files, from their headers; no pixel is decoded."""

import io
import statistics
import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from generator.competition.survey.facts import ImageEncoding, ImageFormat
from generator.files import open_file

SUFFIXES = frozenset(
    (".png", ".jpg", ".jpeg", ".jfif", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".jp2")
)
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM", "JPEG2000")
_COLOURS = ("L", "RGB")
_MODES = {  # those of each encoding that every decoder reads alike; the palette of a gif is one of them
    ImageEncoding.JPEG: _COLOURS,
    ImageEncoding.PNG: (*_COLOURS, "LA", "RGBA"),
    ImageEncoding.GIF: ("P", *_COLOURS),
    ImageEncoding.BMP: _COLOURS,
}
STARTS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"RIFF")
"""The first bytes of image files."""


def image_format(files: Iterable[Path | bytes]) -> ImageFormat | None:
    """Finds what image files have in common.

    Args:
        files: Paths, or the first bytes of files.

    Returns:
        Their format, or None if none of them can be read.
    """
    formats = [found for file in files if (found := _format(file)) is not None]
    if not formats:
        return None
    return ImageFormat(
        mode=Counter(found.mode for found in formats).most_common(1)[0][0],
        width=statistics.median_low(found.width for found in formats),
        height=statistics.median_low(found.height for found in formats),
        is_uniform=len({(found.mode, found.width, found.height) for found in formats}) == 1,
        encodings=frozenset[ImageEncoding]().union(*(found.encodings for found in formats)),
    )


def _encoding(written: str | None, mode: str) -> ImageEncoding:
    known = next((encoding for encoding in _MODES if encoding.upper() == written), ImageEncoding.OTHER)
    return known if mode in _MODES.get(known, ()) else ImageEncoding.OTHER


def _format(file: Path | bytes) -> ImageFormat | None:
    # Headers are read here and nowhere else but where the built-in images are written.
    from PIL import Image, UnidentifiedImageError

    limit = Image.MAX_IMAGE_PIXELS
    try:
        # Nothing is decoded, so that an image of any size is harmless here.
        Image.MAX_IMAGE_PIXELS = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with (
                io.BytesIO(file) if isinstance(file, bytes) else open_file(file) as content,
                Image.open(content, formats=_FORMATS) as image,
            ):
                encodings = frozenset((_encoding(image.format, image.mode),))
                return ImageFormat(image.mode, image.width, image.height, is_uniform=True, encodings=encodings)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError, TypeError, OverflowError):
        return None
    finally:
        Image.MAX_IMAGE_PIXELS = limit
