"""The format of image files, from their headers; no pixel is decoded."""

import io
import statistics
import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

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


class _Header(NamedTuple):
    format: str
    mode: str
    width: int
    height: int


def image_format(files: Iterable[Path | bytes]) -> ImageFormat | None:
    """Finds what image files have in common.

    Args:
        files: Paths, or the first bytes of files.

    Returns:
        Their format, or None if none of them can be read.
    """
    headers = [header for file in files if (header := _header(file)) is not None]
    if not headers:
        return None
    return ImageFormat(
        mode=Counter(header.mode for header in headers).most_common(1)[0][0],
        width=statistics.median_low(header.width for header in headers),
        height=statistics.median_low(header.height for header in headers),
        is_uniform=len({(header.mode, header.width, header.height) for header in headers}) == 1,
        encodings=frozenset(map(_encoding, headers)),
    )


def _encoding(header: _Header) -> ImageEncoding:
    known = next((encoding for encoding in _MODES if encoding.upper() == header.format), ImageEncoding.OTHER)
    return known if header.mode in _MODES.get(known, ()) else ImageEncoding.OTHER


def _header(file: Path | bytes) -> _Header | None:
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
                return _Header(image.format or "", image.mode, image.width, image.height)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError, TypeError, OverflowError):
        return None
    finally:
        Image.MAX_IMAGE_PIXELS = limit
