"""How well the pairs for tables do on hidden test sets, beside gradient boosting on the same rows.

The built-in competitions have one hidden test set. Of those that are made up (`made_up_tables.py`), a seed makes the
rows as well, and gradient boosting sees the inputs of the pair itself: parts of dates, distances, vectors of texts.
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from made_up_tables import MADE_UP
from measuring import Bar, Row, print_table, program, say

from generator.competition import builtin
from generator.competition.facts import TargetKind

BUILT_IN = ("tumours", "diabetes")
FRAMEWORKS = ("keras", "tensorflow")
TREES = ("lightgbm", "xgboost", "catboost")
INPUTS_OF = "keras"  # whose inputs gradient boosting sees
SEEDS = range(5)
QUICK_SEEDS, QUICK_OPTIONS, QUICK_SHARE = 2, ("EPOCHS=2",), 0.1


class Workspace:
    """A folder with pairs, in which commands are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONUNBUFFERED": "1"}

    def run(self, name: str, *arguments: str) -> str:
        """Runs a program of this environment and returns what it prints."""
        done = subprocess.run(
            [program(name), *arguments],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout

    def train(self, pair: str, seed: int, options: Sequence[str]) -> Any:
        """Runs both notebooks and returns the report."""
        flags = [flag for option in (f"SEED={seed}", *options) for flag in ("-P", option)]
        return json.loads(self.run("tandem", "run", pair, "--json", *flags))


class BuiltIn:
    """A built-in competition in a workspace, with the pairs of some frameworks."""

    def __init__(self, workspace: Workspace, competition: str, frameworks: Sequence[str]) -> None:
        self._workspace = workspace
        self._built_in = builtin.require(competition)
        self._data = workspace.folder / "input" / "competitions" / competition
        self.metric = self._built_in.task.metric
        self.is_higher_better = self._built_in.task.target_kind is TargetKind.CLASS
        for framework in frameworks:
            name = f"{competition}-{framework}"
            workspace.run("generate", "--competition", competition, "--framework", framework, "--name", name)

    def by_pair(self, framework: str, seed: int, options: Sequence[str]) -> float:
        """Returns the score on the hidden test set of a pair that is trained and applied with this seed."""
        pair = f"{self._built_in.competition.slug}-{framework}"
        return float(self._workspace.train(pair, seed, options)["hidden_test"]["score"])

    def by_gradient_boosting(self, seed: int) -> float:
        """Returns the score of scikit-learn's HistGradientBoosting with its defaults, trained on all training rows."""
        import pandas as pd

        (target,) = self._built_in.task.targets
        training, test = pd.read_csv(self._data / "train.csv"), pd.read_csv(self._data / "test.csv")
        columns = [name for name in test.columns if name != "id"]
        fitted = _boosting(seed, training[columns], training[target], is_class=self.is_higher_better)
        submission = self._workspace.folder / "by_gradient_boosting.csv"
        pd.DataFrame({"id": test["id"], target: fitted(test[columns])}).to_csv(submission, index=False)
        return self._built_in.score(submission)


class MadeUpContest:
    """A made-up competition in a workspace; its files are those of one seed at a time."""

    def __init__(self, workspace: Workspace, competition: str, frameworks: Sequence[str], share: float) -> None:
        self._workspace, self._name, self._frameworks, self._share = workspace, competition, frameworks, share
        self._made_up, self._seed = MADE_UP[competition], -1
        self.metric = self._made_up.metric
        self.is_higher_better = self.metric == "auc"

    def by_pair(self, framework: str, seed: int, options: Sequence[str]) -> float:
        """Returns the score on the hidden rows of a pair that is trained on the rows of a seed."""
        import pandas as pd

        pair = self._pairs_of(seed)[framework]
        self._workspace.train(pair, seed, options)
        submission = pd.read_csv(self._workspace.folder / "output" / pair / "infer" / "submission.csv", index_col="id")
        return self._score(submission[self._made_up.target].loc[self._hidden.index])

    def by_gradient_boosting(self, seed: int) -> float:
        """Returns the score of scikit-learn's HistGradientBoosting on the inputs of the pair, of all training rows."""
        import notebook_cells

        self._pairs_of(seed)
        notebook_cells.KERNELS = self._workspace.folder / "kernels"
        roots = {"INPUT_ROOT": str(self._workspace.folder / "input"), "WORKING_ROOT": str(self._workspace.folder / "w")}
        pair = self._pairs_of(seed)[INPUTS_OF]
        parameters = {**roots, "ALLOW_CPU": True, "SEED": seed}
        names = notebook_cells.run_cells(pair, "train", parameters=parameters, last="optimization")
        test = names.read_table(names.competition_folder / "test.csv", names.text_columns)
        preprocessor = names.make_preprocessor(len(names.features))
        inputs = preprocessor.fit_transform(names.features, names.truth.squeeze())
        fitted = _boosting(seed, inputs, names.truth.squeeze(), is_class=self.is_higher_better)
        return self._score(fitted(preprocessor.transform(names.make_features(test, names.columns))))

    def _pairs_of(self, seed: int) -> Mapping[str, str]:
        """Writes the rows of a seed, renders a pair of each framework if that is not done, and returns their names."""
        frameworks = dict.fromkeys((INPUTS_OF, *self._frameworks))
        pairs = {framework: f"{self._name}-{seed}-{framework}" for framework in frameworks}
        if seed != self._seed:
            data = self._workspace.folder / "data" / f"{self._name}-{seed}"
            self._hidden, self._seed = self._made_up.write(data, seed, share=self._share), seed
            for framework, pair in pairs.items():
                facts = ("--competition", f"{self._name}-{seed}", "--data", str(data), "--metric", self.metric)
                what = ("--family", "tabular", "--framework", framework, "--name", pair, "--owner", "bench")
                self._workspace.run("generate", *facts, *what)
        return pairs

    def _score(self, predicted: Any) -> float:
        from sklearn.metrics import roc_auc_score, root_mean_squared_error

        score = roc_auc_score if self.is_higher_better else root_mean_squared_error
        return float(score(self._hidden, predicted))


Contest = BuiltIn | MadeUpContest


def _boosting(seed: int, rows: Any, truth: Any, *, is_class: bool) -> Callable[[Any], Any]:
    """Fits scikit-learn's HistGradientBoosting with its defaults; returns what predicts by it."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if not is_class:
        regressor = HistGradientBoostingRegressor(random_state=seed).fit(rows, truth)
        predict: Callable[[Any], Any] = regressor.predict
        return predict
    classifier = HistGradientBoostingClassifier(random_state=seed).fit(rows, truth)
    return lambda asked: classifier.predict_proba(asked)[:, 1]


def rows_of(
    name: str, contest: Contest, seeds: Sequence[int], frameworks: Sequence[str], options: Sequence[str]
) -> list[Row]:
    """The lines of the table for one competition.

    A pair may be worse by one standard error: of its own mean where all seeds have the same rows, else of the
    differences.
    """
    ours: dict[str, list[float]] = {framework: [] for framework in frameworks}
    theirs = []
    for seed in seeds:
        theirs.append(contest.by_gradient_boosting(seed))
        say(f"{name}, seed {seed}: gradient boosting {theirs[-1]:.4f}")
        for framework in frameworks:
            ours[framework].append(contest.by_pair(framework, seed, options))
            say(f"{name}, seed {seed}: {framework} {ours[framework][-1]:.4f}")
    rows = [Row(f"{name}: HistGradientBoosting, mean of {len(theirs)}", [mean(theirs)], contest.metric)]
    for framework, scores in ours.items():
        differences = [mine - other for mine, other in zip(scores, theirs, strict=True)]
        apart = scores if isinstance(contest, BuiltIn) else differences
        error = stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else 0.0
        say(f"{name}, {framework}: mean {mean(scores):.4f}, {mean(differences):+.4f}, standard error {error:.4f}")
        limit = round(mean(theirs) + (-error if contest.is_higher_better else error), 4)
        bar = Bar(">=" if contest.is_higher_better else "<=", limit)
        rows.append(Row(f"{name}: {framework} pair, mean of {len(scores)}", [mean(scores)], contest.metric, bar))
        rows.append(Row(f"{name}: {framework} pair, each seed", scores, contest.metric))
    return rows


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a reduced size, to see that it works")
    parser.add_argument("--only", nargs="+", choices=[*BUILT_IN, *MADE_UP], default=[*BUILT_IN, *MADE_UP])
    parser.add_argument("--framework", nargs="+", choices=(*FRAMEWORKS, *TREES), default=FRAMEWORKS)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    asked = parser.parse_args()
    seeds, options, share = asked.seeds, (), 1.0
    if asked.quick:
        is_network = not set(asked.framework) & set(TREES)
        seeds, options, share = seeds[:QUICK_SEEDS], QUICK_OPTIONS if is_network else (), QUICK_SHARE
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in asked.only:
            folder = Path(temporary).resolve() / name
            folder.mkdir()
            workspace = Workspace(folder)
            contest: Contest
            if name in MADE_UP:
                contest = MadeUpContest(workspace, name, asked.framework, share)
            else:
                contest = BuiltIn(workspace, name, asked.framework)
            rows += rows_of(name, contest, seeds, asked.framework, options)
    print_table(rows)


if __name__ == "__main__":
    main()
