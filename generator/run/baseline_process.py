"""A plain baseline beside a run, in a process of its own: how a run starts it, and what it does (`python -m` this).

It reads what others wrote, by decoders that fail in many ways, and answers with a line of JSON for each score, so that
those that came before its end count. It can neither delay a run for long nor take its memory.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from generator.competition.baseline import Baseline, baselines
from generator.pair.folder import read_pair_spec
from generator.pair.workspace import Workspace
from generator.run.execution import BaselineAwaited, Listener
from generator.text import JsonObject, printable

MEMORY = 6 << 30  # bytes of addresses, of which BLAS and OpenMP reserve a part
_PROCESSOR_SECONDS = 120
SECONDS = 30.0  # from its start; beside a notebook that takes longer, as long as that
_LONGEST_ANSWER = 1 << 16
_LONGEST_NAME = 100


@dataclass(frozen=True)
class BaselineProcess:
    """A process that computes a baseline, and the file that it writes its scores to."""

    process: subprocess.Popen[bytes]
    scores_file: Path
    until: float

    def scores(self, listener: Listener) -> tuple[Baseline, ...]:
        """Waits for the end of the process, or of its time, and returns the scores that it has by then."""
        left = max(0.0, self.until - time.monotonic())
        if left and self.process.poll() is None:
            listener(BaselineAwaited(left))
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=left)
        self.process.kill()
        with self.scores_file.open("rb") as file:
            return tuple(_baselines(file.read(_LONGEST_ANSWER).decode(errors="replace")))


@contextmanager
def baseline_process(
    *, workspace: Path, pair: str, data: Path, predictions: Path, scores_file: Path
) -> Iterator[BaselineProcess]:
    """Computes a baseline for as long as the block lasts, at most.

    Args:
        workspace: Where the pair is.
        pair: Its name.
        data: The competition's files.
        predictions: The `oof.npz` of its training.
        scores_file: The file to write the scores to.
    """
    request = {"workspace": workspace.absolute(), "pair": pair, "data": data.absolute(), "predictions": predictions}
    # Without -P the folder that the kit was started in could bring modules along.
    command = [sys.executable, "-P", "-m", "generator.run.baseline_process", json.dumps(request, default=str)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAGGLE_")}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # the notebook has the other cores
    with (
        scores_file.open("wb") as output,
        subprocess.Popen(  # noqa: S603 - the kit's own module
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL
        ) as process,
    ):
        try:
            yield BaselineProcess(process, scores_file, time.monotonic() + SECONDS)
        finally:
            process.kill()


def _baselines(output: str) -> Iterator[Baseline]:
    """The scores in what the process said; a line that it did not get to the end of is none."""
    for line in output.splitlines():
        fields = JsonObject.parse(line)
        score = fields.number("score")
        if score is not None:
            yield Baseline(printable(fields.text("name"))[:_LONGEST_NAME], score, fields.count("rows"))


# The process itself.


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
