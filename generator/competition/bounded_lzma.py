"""LZMA with bounded memory: what it compressed says itself how much its readers have to set aside, up to 4 GB."""

import lzma
import zipfile
from pathlib import Path
from typing import IO, Any

MOST_MEMORY = 128 << 20
"""The bytes that a reader sets aside at most: twice as many as for `xz -9`."""


class XzFile(lzma.LZMAFile):
    """A file that xz compressed; reading it raises `lzma.LZMAError` where that takes more memory."""

    def __init__(self, file: Path | IO[bytes]) -> None:
        super().__init__(file)
        # It makes a decompressor for each part of a file; tests hold that the limit reaches all of them.
        parts: Any = self._buffer.raw  # type: ignore[attr-defined] # typeshed does not know what it is made of
        parts._decomp_args["memlimit"] = MOST_MEMORY  # noqa: SLF001 - LZMAFile has no argument for the limit
        parts._decompressor = parts._decomp_factory(**parts._decomp_args)  # noqa: SLF001 - the first was made without it


def require_no_lzma(member: zipfile.ZipInfo) -> None:
    """Refuses a member of a zip that `zipfile` would read in any memory.

    Raises:
        NotImplementedError: It is compressed by LZMA, which is as rare as what `zipfile` does not know.
    """
    if member.compress_type == zipfile.ZIP_LZMA:
        raise NotImplementedError("it is compressed by LZMA; pack it again, by deflate")
