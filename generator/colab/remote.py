"""Programs that run on the machine at Colab. This file is sent as text with a call of one, and prints one line.

    prepare_machine  starts a watchdog that releases the machine after a lost connection, and inspects the machine
    unpack           joins the chunks that were sent, and writes the files
    pack             splits files into chunks, there for fetching and here for sending

They import no module of the kit, which is not installed there. `generator.colab.rental` sends them.
"""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

ANSWER = "TANDEM-ANSWER "
WATCH = """
import sys
import time
from pathlib import Path

alive, seconds, silence = Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
end, last, heard = time.monotonic() + seconds, None, 0
# The wall clock of a machine may jump.
while alive.is_file():
    if alive.stat().st_mtime != last:
        last, heard = alive.stat().st_mtime, time.monotonic()
    if time.monotonic() > min(end, heard + silence):
        break
    time.sleep(min(10, silence / 4))
from google.colab import runtime

runtime.unassign()
"""
LOOK = """
import json

import jax

devices = jax.devices()
found = {"platform": devices[0].platform, "device_count": len(devices), "device_kind": devices[0].device_kind}
print(json.dumps(found))
"""


def prepare_machine(arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns what computes here, in the words of JAX, which every runtime of Colab has."""
    alive = Path(arguments["alive"])
    alive.parent.mkdir(parents=True, exist_ok=True)
    alive.touch()
    limits = [str(alive), str(arguments["seconds"]), str(arguments["silence"])]
    devnull = subprocess.DEVNULL
    watch = [sys.executable, "-c", WATCH, *limits]
    subprocess.Popen(watch, start_new_session=True, stdout=devnull, stderr=devnull)  # noqa: S603 - from above
    # In a process of its own: a device belongs to one at a time.
    probe = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=False)  # noqa: S603 - this Python, and our own text
    facts: dict[str, Any] = {"cores": os.cpu_count()}
    try:
        facts |= json.loads(probe.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        facts["problem"] = probe.stderr[-300:]
    return facts


def unpack(arguments: dict[str, Any]) -> dict[str, Any]:
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


def pack(arguments: dict[str, Any]) -> dict[str, Any]:
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


def program(name: str, /, **arguments: Any) -> str:
    """Return the source of this file with the call of one of its programs."""
    source = Path(__file__).read_text(encoding="utf-8")
    return f"{source}\n\nprint(ANSWER + json.dumps({name}({arguments!r})), flush=True)\n"
