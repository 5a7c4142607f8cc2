"""Starts what gives the machine back if nobody listens any more, and looks what the machine is."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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


def main(arguments: dict[str, Any]) -> dict[str, Any]:
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
