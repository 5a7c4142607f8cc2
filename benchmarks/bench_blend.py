"""How a blend of a network and boosted trees does on hidden test sets, beside its members.

Each seed trains the pair in Keras and the one in LightGBM, blends them by `tandem blend`, and runs the inference of
the blend. A blend has to be no worse than its best member on the hidden test, by one standard error of the
differences at most. A built-in competition has the same hidden rows for all seeds, so that their error, by bootstrap,
is part of it.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev

import pandas as pd
from bench_tabular import BUILT_IN, Workspace
from made_up_tables import MADE_UP
from measuring import Bar, Row, print_table, say
from sklearn.metrics import roc_auc_score, root_mean_squared_error

from generator.competition import builtin
from generator.competition.facts import TargetKind

FRAMEWORKS = ("keras", "lightgbm")
SEEDS = range(5)
QUICK_SHARE = 0.1
RESAMPLES = 500


class Contest:
    """A competition in a workspace, and the scores of pairs on its hidden test."""

    def __init__(self, workspace: Workspace, name: str, share: float) -> None:
        self._workspace, self._name, self._share = workspace, name, share
        self._built_in = builtin.find(name)
        self.metric = self._built_in.task.metric if self._built_in else MADE_UP[name].metric
        is_class = self._built_in is not None and self._built_in.task.target_kind is TargetKind.CLASS
        self.is_higher_better = self.metric == "auc" or is_class

    def predictions(self, seed: int, frameworks: Sequence[str], options: Sequence[str]) -> pd.DataFrame:
        """Returns the truth of the hidden rows, and the predictions of each member and of their blend for a seed."""
        slug = self._name if self._built_in else f"{self._name}-{seed}"
        facts = ["--competition", slug]
        if not self._built_in:
            data = self._workspace.folder / "data" / slug
            self._hidden = MADE_UP[self._name].write(data, seed, share=self._share)
            facts += ["--data", str(data), "--metric", self.metric, "--family", "tabular"]
        columns = {}
        for framework in frameworks:
            pair = f"{slug}-{framework}"
            self._workspace.run("generate", *facts, "--framework", framework, "--name", pair, "--owner", "bench")
            self._workspace.train(pair, seed, options if framework == "keras" else ())
            columns[framework] = self._submission(pair)
        blend = f"{slug}-both"
        members = [f"{slug}-{framework}" for framework in frameworks]
        say(self._workspace.run("tandem", "blend", blend, *members, "--force"))
        self._workspace.run("tandem", "run", blend, "--only", "infer", "--json")
        truth = self._truth()
        return pd.DataFrame({"truth": truth, **columns, "blend": self._submission(blend)}).loc[truth.index]

    def score(self, truth: pd.Series, predictions: pd.Series) -> float:
        """Returns the score of predictions by the competition's metric."""
        return float((roc_auc_score if self.is_higher_better else root_mean_squared_error)(truth, predictions))

    def error_of_rows(self, frame: pd.DataFrame, best: str) -> float:
        """Returns the standard error of the blend's gain for the hidden rows, by bootstrap; 0 where seeds make them."""
        if self._built_in is None:
            return 0.0
        samples = (frame.sample(frac=1, replace=True, random_state=number) for number in range(RESAMPLES))
        return stdev(self.score(rows.truth, rows.blend) - self.score(rows.truth, rows[best]) for rows in samples)

    def _truth(self) -> pd.Series:
        if self._built_in is None:
            return self._hidden
        return pd.Series({name: float(answer) for name, answer in self._built_in.answers().items()})

    def _submission(self, pair: str) -> pd.Series:
        path = self._workspace.folder / "output" / pair / "infer" / "submission.csv"
        target = self._built_in.task.targets[0] if self._built_in else MADE_UP[self._name].target
        return pd.read_csv(path, index_col="id")[target]


def rows_of(name: str, contest: Contest, seeds: Sequence[int], options: Sequence[str]) -> list[Row]:
    """The lines of the table for one competition."""
    frames, by_seed = [], []
    for seed in seeds:
        frames.append(contest.predictions(seed, FRAMEWORKS, options))
        by_seed.append({key: contest.score(frames[-1].truth, frames[-1][key]) for key in (*FRAMEWORKS, "blend")})
        say(f"{name}, seed {seed}: {by_seed[-1]}")
    means = {key: mean(scores[key] for scores in by_seed) for key in by_seed[0]}
    choose = max if contest.is_higher_better else min
    best = choose(FRAMEWORKS, key=means.__getitem__)
    differences = [scores["blend"] - scores[best] for scores in by_seed]
    of_seeds = stdev(differences) / len(differences) ** 0.5 if len(differences) > 1 else 0.0
    of_rows = mean(contest.error_of_rows(frame, best) for frame in frames)
    error = (of_seeds**2 + of_rows**2) ** 0.5
    say(f"{name}: blend minus {best}: {mean(differences):+.4f}, standard error {error:.4f} ({of_seeds:.4f} of seeds)")
    limit = round(means[best] + (-error if contest.is_higher_better else error), 4)
    bar = Bar(">=" if contest.is_higher_better else "<=", limit)
    rows = [Row(f"{name}: {key}, mean of {len(by_seed)}", [means[key]], contest.metric) for key in FRAMEWORKS]
    return [*rows, Row(f"{name}: blend, mean of {len(by_seed)}", [means["blend"]], contest.metric, bar)]


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a reduced size, to see that it works")
    parser.add_argument("--only", nargs="+", choices=[*BUILT_IN, *MADE_UP], default=[*BUILT_IN, *MADE_UP])
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    arguments = parser.parse_args()
    options = ("EPOCHS=4",) if arguments.quick else ()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in arguments.only:
            folder = Path(temporary).resolve() / name
            folder.mkdir()
            contest = Contest(Workspace(folder), name, QUICK_SHARE if arguments.quick else 1.0)
            rows += rows_of(name, contest, arguments.seeds, options)
    print_table(rows)


if __name__ == "__main__":
    main()
