"""The format of image files, from their headers; no pixel is decoded."""

import io
import statistics
import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from generator.competition.survey.facts import ImageFormat

SUFFIXES = frozenset(
    (".png", ".jpg", ".jpeg", ".jfif", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".jp2")
)
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM", "JPEG2000")
_STARTS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"RIFF")


def image_format(files: Iterable[Path | bytes]) -> ImageFormat | None:
    """What image files have in common.

    Args:
        files: Paths, or the first bytes of files.

    Returns:
        Their format, or None if none of them can be read.
    """
    headers = [header for file in files if (header := _header(file)) is not None]
    if not headers:
        return None
    return ImageFormat(
        mode=Counter(mode for mode, _, _ in headers).most_common(1)[0][0],
        width=statistics.median_low(width for _, width, _ in headers),
        height=statistics.median_low(height for _, _, height in headers),
        is_uniform=len(set(headers)) == 1,
    )


def begins_like_image(content: bytes) -> bool:
    """Whether these are the first bytes of an image file."""
    return content.startswith(_STARTS)


def _header(file: Path | bytes) -> tuple[str, int, int] | None:
    # Headers are read here and nowhere else but where the built-in images are written.
    from PIL import Image, UnidentifiedImageError

    limit = Image.MAX_IMAGE_PIXELS
    try:
        # Nothing is decoded, so that an image of any size is harmless here.
        Image.MAX_IMAGE_PIXELS = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(file) if isinstance(file, bytes) else file, formats=_FORMATS) as image:
                return image.mode, image.width, image.height
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError, TypeError, OverflowError):
        return None
    finally:
        Image.MAX_IMAGE_PIXELS = limit
