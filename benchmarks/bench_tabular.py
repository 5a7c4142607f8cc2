"""How well the pairs for tables do on hidden test sets, beside gradient boosting on the same rows."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from measuring import Bar, Row, is_quick, print_table, program, say

from generator.competition import builtin
from generator.competition.facts import TargetKind

COMPETITIONS = ("tumours", "diabetes")
FRAMEWORKS = ("keras", "tensorflow")
SEEDS = range(5)


class Contest:
    """A built-in competition in a workspace, with the pairs of both frameworks."""

    def __init__(self, folder: Path, competition: str) -> None:
        self.built_in = builtin.require(competition)
        self._workspace = folder
        self._data = folder / "input" / "competitions" / competition
        self._environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONUNBUFFERED": "1"}
        for framework in FRAMEWORKS:
            name = self._pair(framework)
            self._run("generate", "--competition", competition, "--framework", framework, "--name", name)

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return self.built_in.task.metric

    @property
    def is_higher_better(self) -> bool:
        """Which way is better."""
        return self.built_in.task.target_kind is TargetKind.CLASS

    def by_pair(self, framework: str, seed: int, *options: str) -> float:
        """The score on the hidden test set of a pair that is trained and applied with this seed."""
        report = self._run("tandem", "run", self._pair(framework), "-P", f"SEED={seed}", "--json", *options)
        return float(json.loads(report)["hidden_test"]["score"])

    def by_gradient_boosting(self, seed: int) -> float:
        """The score of scikit-learn's HistGradientBoosting with its defaults, trained on all training rows."""
        import pandas as pd
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        (target,) = self.built_in.task.targets
        training, test = pd.read_csv(self._data / "train.csv"), pd.read_csv(self._data / "test.csv")
        columns = [name for name in test.columns if name != "id"]
        if self.is_higher_better:
            model: Any = HistGradientBoostingClassifier(random_state=seed)
            predicted = model.fit(training[columns], training[target]).predict_proba(test[columns])[:, 1]
        else:
            model = HistGradientBoostingRegressor(random_state=seed)
            predicted = model.fit(training[columns], training[target]).predict(test[columns])
        submission = self._workspace / "by_gradient_boosting.csv"
        pd.DataFrame({"id": test["id"], target: predicted}).to_csv(submission, index=False)
        return self.built_in.score(submission)

    def _pair(self, framework: str) -> str:
        return f"{self.built_in.competition.slug}-{framework}"

    def _run(self, *command: str) -> str:
        name, *arguments = command
        done = subprocess.run(
            [program(name), *arguments],
            cwd=self._workspace,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout


def rows_of(contest: Contest, *, quick: bool) -> list[Row]:
    """The lines of the table for one competition; a pair may be worse by the standard error of its own mean."""
    seeds, options = (SEEDS[:2], ("-P", "EPOCHS=2")) if quick else (SEEDS, ())
    name = contest.built_in.competition.slug
    theirs = [contest.by_gradient_boosting(seed) for seed in seeds]
    say(f"{name}: gradient boosting {mean(theirs):.4f}")
    rows = [Row(f"{name}: HistGradientBoosting", theirs, contest.metric)]
    for framework in FRAMEWORKS:
        scores = []
        for seed in seeds:
            scores.append(contest.by_pair(framework, seed, *options))
            say(f"{name}, {framework}, seed {seed}: {scores[-1]:.4f}")
        error = stdev(scores) / len(scores) ** 0.5
        say(f"{name}, {framework}: mean {mean(scores):.4f}, standard error {error:.4f}")
        higher = contest.is_higher_better
        bar = Bar(">=", round(mean(theirs) - error, 4)) if higher else Bar("<=", round(mean(theirs) + error, 4))
        rows.append(Row(f"{name}: {framework} pair, mean of {len(scores)}", [mean(scores)], contest.metric, bar))
        rows.append(Row(f"{name}: {framework} pair, each seed", scores, contest.metric))
    return rows


def main() -> None:
    """Measures and prints the table."""
    quick = is_quick(__doc__)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for competition in COMPETITIONS:
            folder = Path(temporary).resolve() / competition
            folder.mkdir()
            rows += rows_of(Contest(folder, competition), quick=quick)
    print_table(rows)


if __name__ == "__main__":
    main()
