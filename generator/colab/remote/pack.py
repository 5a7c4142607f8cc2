"""Makes pieces of what is to be carried, here and there."""

import hashlib
import json  # noqa: F401 - of the call behind this text
import tarfile
from pathlib import Path
from typing import Any


def main(arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the names of the pieces and the digest of the whole; no pieces if there is no such folder."""
    folder, archive = Path(arguments["folder"]), Path(arguments["archive"])
    if not folder.is_dir():
        return {"pieces": [], "sha256": ""}
    with tarfile.open(archive, "w:gz", compresslevel=1, dereference=arguments["follow"]) as tar:
        tar.add(folder, arcname=".")
    pieces: list[str] = []
    digest = hashlib.sha256()
    with archive.open("rb") as whole:
        while content := whole.read(arguments["piece_bytes"]):
            digest.update(content)
            pieces.append(f"{archive}.{len(pieces)}")
            Path(pieces[-1]).write_bytes(content)
    archive.unlink()
    return {"pieces": pieces, "sha256": digest.hexdigest()}
