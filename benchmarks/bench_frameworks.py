"""What JAX and PyTorch score on the hidden tests of the built-in competitions, and how long they take, beside Keras."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev

from measuring import Bar, Row, command_line, print_table, program, say

from generator.competition import builtin
from generator.competition.metrics import parse_metric

SEEDS = range(5)
USUAL, OTHERS = "keras", ("jax", "torch")


def results(
    folder: Path, competition: str, framework: str, seeds: Sequence[int], *options: str
) -> tuple[list[float], list[float]]:
    """The hidden score of each seed, better the higher, and the seconds of both notebooks."""
    _run(folder, "generate", "--competition", competition, "--framework", framework, "--name", framework)
    sign = 1 if parse_metric(builtin.require(competition).task.metric)[0].higher_is_better else -1
    scores, seconds = [], []
    for seed in seeds:
        started = time.perf_counter()
        report = json.loads(_run(folder, "tandem", "run", framework, "-P", f"SEED={seed}", "--json", *options))
        seconds.append(time.perf_counter() - started)
        scores.append(sign * report["hidden_test"]["score"])
        say(f"{competition}, {framework}, seed {seed}: {scores[-1]:.4f}, {seconds[-1]:.0f} s")
    return scores, seconds


def rows_of(competition: str, frameworks: Sequence[str], seeds: Sequence[int], *options: str) -> list[Row]:
    """The lines of the table for one competition."""
    metric, rows = builtin.require(competition).task.metric, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        usual, usual_seconds = results(folder, competition, USUAL, seeds, *options)
        rows.append(Row(f"{competition}: hidden score, {USUAL}", usual, metric))
        for framework in frameworks:
            scores, seconds = results(folder, competition, framework, seeds, *options)
            error = (_variance_of_mean(usual) + _variance_of_mean(scores)) ** 0.5
            ahead, ratio = mean(scores) - mean(usual), mean(seconds) / mean(usual_seconds)
            rows += [
                Row(f"{competition}: hidden score, {framework}", scores, metric),
                Row(f"{competition}: {framework} ahead of {USUAL}", [ahead], metric, Bar(">=", round(-error, 4))),
                Row(f"{competition}: seconds, {framework} / {USUAL}", [ratio], "ratio", Bar("<=", 1.5)),
            ]
    return rows


def _variance_of_mean(values: list[float]) -> float:
    return stdev(values) ** 2 / len(values)


def _run(folder: Path, *command: str) -> str:
    name, *arguments = command
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.run(
        [program(name), *arguments], cwd=folder, env=environment, text=True, check=True, **quiet
    ).stdout


def main() -> None:
    """Measures and prints the table."""
    parser = command_line(__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=builtin.competition_slugs(),
        default=builtin.competition_slugs(),
        help="some competitions",
    )
    parser.add_argument("--framework", nargs="+", choices=OTHERS, default=OTHERS)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    asked = parser.parse_args()
    seeds, options = (asked.seeds[:2], ("-P", "EPOCHS=4")) if asked.quick else (asked.seeds, ())
    print_table([row for name in asked.only for row in rows_of(name, asked.framework, seeds, *options)])


if __name__ == "__main__":
    main()
