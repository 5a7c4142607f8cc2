"""Text from pieces of files: which encoding they have, found by trying."""

import codecs
from collections.abc import Iterable
from itertools import chain

UTF_8 = "utf-8"
# The longer mark first: that of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WITHOUT_MARK = {"utf-8-sig": UTF_8}
_LONGEST_CHARACTER = 4
_FOLLOWING_BYTES = bytes(range(0x80, 0xC0))


def encoding_of(head: bytes, further: Iterable[bytes] = ()) -> str | None:
    """Finds an encoding that all pieces of a file have in common.

    Args:
        head: The first bytes of the file.
        further: Pieces from further on, which may begin and end within a character.

    Returns:
        What Python calls it, or None if the bytes are no text.
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    wide = _wide_without_mark(head)
    if wide is not None:
        return wide
    if b"\0" in head:
        return None
    fitting = [UTF_8, "cp1252"]
    for piece in chain([head], further):
        fitting = [encoding for encoding in fitting if _is_in(piece, encoding)]
    return next(iter(fitting), "latin-1")


def decoded(piece: bytes, encoding: str, *, head: bytes = b"", errors: str = "replace") -> str:
    """The text of a piece, less the parts of characters at its ends.

    Args:
        piece: Bytes from anywhere in the file; its position is a multiple of 4.
        encoding: As `encoding_of` found it.
        head: For a piece from further on, the first bytes of the file: a byte-order mark there says how to read it.
        errors: What to do with bytes that are not in this encoding, as for `bytes.decode`.
    """
    if head and encoding in ("utf-16", "utf-32"):
        is_little = head.startswith(codecs.BOM_UTF16_LE)
        encoding = f"{encoding}-{'le' if is_little else 'be'}"
    elif head:
        encoding = _WITHOUT_MARK.get(encoding, encoding)
    if encoding == UTF_8:
        start = piece[: _LONGEST_CHARACTER - 1]
        piece = piece[len(start) - len(start.lstrip(_FOLLOWING_BYTES)) :]
    return codecs.getincrementaldecoder(encoding)(errors).decode(piece, final=False)


def _is_in(piece: bytes, encoding: str) -> bool:
    try:
        decoded(piece, encoding, errors="strict")
    except UnicodeDecodeError:
        return False
    return True


def _wide_without_mark(head: bytes) -> str | None:
    start = head[:512]
    even, odd = start[::2], start[1::2]
    if len(odd) < _LONGEST_CHARACTER:
        return None
    if not even.count(0) and odd.count(0) > len(odd) // 2:
        return "utf-16-le"
    if not odd.count(0) and even.count(0) > len(even) // 2:
        return "utf-16-be"
    return None
