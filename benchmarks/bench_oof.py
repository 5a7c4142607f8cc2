"""How honest the out-of-fold score is: what it promises beyond the hidden test, for each built-in competition."""

import csv
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from measuring import Bar, Row, is_quick, print_table, program, say

from generator.competition import builtin
from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.metrics import function_of, parse_metric

SEEDS = range(5)
RESAMPLES = 200


@dataclass(frozen=True)
class Run:
    """One run of a pair: scores, each better the higher, and the answers that they are computed from."""

    promised: float
    hidden: float
    held_out: Mapping[str, Any]
    submitted: Path

    @property
    def has_all_rows(self) -> bool:
        """Whether every training row was held out once, so that other seeds have the same rows."""
        return len(self.held_out["rows"]) == len(self.held_out["ids"])


class Contest:
    """A built-in competition and its pair in a workspace."""

    def __init__(self, folder: Path, competition: str) -> None:
        self.built_in = builtin.require(competition)
        self._workspace, self._name = folder, competition
        self._metric = function_of(self.built_in.task.metric)
        self._sign = 1 if parse_metric(self.built_in.task.metric)[0].higher_is_better else -1
        self._run("generate", "--competition", competition)

    def run(self, seed: int, *options: str) -> Run:
        """Trains and infers with a seed, which decides on the rows that are held out as well."""
        report = json.loads(self._run("tandem", "run", self._name, "-P", f"SEED={seed}", "--json", *options))
        output = self._workspace / "output" / self._name
        return Run(
            promised=self._sign * report["out_of_fold"]["score"],
            hidden=self._sign * report["hidden_test"]["score"],
            held_out=dict(np.load(output / "train/oof.npz")),
            submitted=output / "infer/submission.csv",
        )

    def error_of_hidden(self, run: Run) -> float:
        """The standard error of the hidden score for its rows, by bootstrap."""
        task, answers = self.built_in.task, self.built_in.answers()
        with run.submitted.open(newline="") as file:
            submitted = {row[task.id_column]: row[task.targets[0]] for row in csv.DictReader(file)}
        if task.submission is SubmissionKind.LABEL:
            return self._error(np.array([*answers.values()]), np.array([submitted[name] for name in answers]))
        truth, predictions = np.array([[float(answers[name]), float(submitted[name])] for name in answers]).T
        if task.target_kind is TargetKind.CLASS:
            return self._error(truth.astype(int), np.stack([1 - predictions, predictions], axis=1))
        return self._error(truth[:, None], predictions[:, None])

    def error_of_held_out(self, run: Run) -> float:
        """The same of the out-of-fold score."""
        predictions, truth = run.held_out["predictions"], run.held_out["truth"][run.held_out["rows"]]
        is_label = self.built_in.task.submission is SubmissionKind.LABEL
        return self._error(truth, predictions.argmax(axis=1) if is_label else predictions)

    def _error(self, truth: Any, predictions: Any) -> float:
        random = np.random.default_rng(0)
        draws = (random.integers(len(truth), size=len(truth)) for _ in range(RESAMPLES))
        return stdev(self._metric(truth[rows], predictions[rows]) for rows in draws)

    def _run(self, *command: str) -> str:
        name, *arguments = command
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
        done = subprocess.run(
            [program(name), *arguments],
            cwd=self._workspace,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
        return done.stdout


def rows_of(contest: Contest, seeds: range, *options: str) -> list[Row]:
    """The lines of the table for one competition.

    The hidden rows are the same for every seed, and so are the held-out ones where all folds are trained: their own
    errors do not average out over seeds, and are added to that of the mean.
    """
    name, runs = contest.built_in.competition.slug, []
    for seed in seeds:
        runs.append(contest.run(seed, *options))
        say(f"{name}, seed {seed}: promised {runs[-1].promised:.4f}, hidden {runs[-1].hidden:.4f}")
    flattered = [run.promised - run.hidden for run in runs]
    of_seeds = stdev(flattered) / len(flattered) ** 0.5
    of_hidden = mean(contest.error_of_hidden(run) for run in runs)
    of_held_out = mean(contest.error_of_held_out(run) * run.has_all_rows for run in runs)
    error = (of_seeds**2 + of_hidden**2 + of_held_out**2) ** 0.5
    say(f"{name}: standard error {error:.4f}; of the seeds alone {of_seeds:.4f}")
    metric = contest.built_in.task.metric
    return [
        Row(f"{name}: promised beyond the hidden test, mean", [mean(flattered)], metric, Bar("<", round(error, 4))),
        Row(f"{name}: the same, each seed", flattered, metric),
    ]


def main() -> None:
    """Measures and prints the table."""
    quick = is_quick(__doc__)
    seeds, options = (SEEDS[:2], ("-P", "EPOCHS=4")) if quick else (SEEDS, ())
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for competition in builtin.competition_slugs():
            folder = Path(temporary).resolve() / competition
            folder.mkdir()
            rows += rows_of(Contest(folder, competition), seeds, *options)
    print_table(rows)


if __name__ == "__main__":
    main()
