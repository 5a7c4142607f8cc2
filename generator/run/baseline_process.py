"""The process that computes a plain baseline, within bounds on memory and time: `python -m` this, with JSON.

It reads what others wrote, by decoders that fail in many ways, and answers with a line of JSON for each score, so that
those that came before its end count. Nothing waits for it, and nothing of a run depends on it.
"""

import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from generator.competition.baseline import baselines
from generator.pair.folder import read_pair_spec
from generator.pair.workspace import Workspace

MEMORY = 6 << 30  # bytes of addresses, of which BLAS and OpenMP reserve a part
_PROCESSOR_SECONDS = 120


def main() -> None:
    """Reads what is asked for, and prints the scores."""
    request = json.loads(sys.argv[1])
    _limit_resources()
    task = read_pair_spec(Workspace(Path(request["workspace"])).pair(request["pair"])).task
    for baseline in baselines(task, Path(request["data"]), Path(request["predictions"])):
        print(json.dumps(asdict(baseline)), flush=True)  # noqa: T201 - to the run that started it


def _limit_resources() -> None:
    with suppress(AttributeError, OSError):  # Windows has none
        os.nice(10)
    with suppress(ImportError, OSError, ValueError):  # nor these, of which macOS does not have all
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (_PROCESSOR_SECONDS, _PROCESSOR_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


if __name__ == "__main__":
    main()
