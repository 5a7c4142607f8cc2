"""Puts what was sent in pieces where it belongs."""

import hashlib
import json  # noqa: F401 - of the call behind this text
import tarfile
from pathlib import Path
from typing import Any


def main(arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the digest of what arrived; it is unpacked if that is the right one."""
    archive, digest = Path(arguments["archive"]), hashlib.sha256()
    with archive.open("wb") as archive_file:
        for name in arguments["pieces"]:
            piece = Path(name)
            content = piece.read_bytes()
            digest.update(content)
            archive_file.write(content)
            piece.unlink()
    if digest.hexdigest() == arguments["sha256"]:
        target = Path(arguments["target"])
        target.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as tar:
            tar.extractall(target, filter="data")
    archive.unlink()
    return {"sha256": digest.hexdigest()}
