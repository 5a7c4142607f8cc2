"""A plain baseline beside a run, in a process that can neither delay it for long nor take its memory."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from generator.competition.baseline.evaluation import Baseline
from generator.run.events import BaselineAwaited, Listener
from generator.untrusted import JsonObject, printable

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
    asked = {"workspace": workspace.absolute(), "pair": pair, "data": data.absolute(), "predictions": predictions}
    # Without -P the folder that the kit was started in could bring modules along.
    command = [sys.executable, "-P", "-m", "generator.run.baseline_process", json.dumps(asked, default=str)]
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


def _baselines(said: str) -> Iterator[Baseline]:
    """The scores in what the process said; a line that it did not get to the end of is none."""
    for line in said.splitlines():
        fields = JsonObject.parsed(line)
        score = fields.number("score")
        if score is not None:
            yield Baseline(printable(fields.text("name"))[:_LONGEST_NAME], score, fields.count("rows"))
