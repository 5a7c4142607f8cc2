"""How well the text pairs do on hidden test sets, beside TF-IDF with logistic regression on the same rows."""

import csv
import json
import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING

from made_up_texts import write_competition
from measuring import Bar, Row, is_quick, print_table, program, say

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

FRAMEWORKS = ("keras", "tensorflow")
SEEDS = range(5)


class Contest:
    """The competition `docstrings` in a workspace, with the pairs of both frameworks."""

    def __init__(self, folder: Path) -> None:
        self._workspace = folder
        for framework in FRAMEWORKS:
            options = ("--framework", framework, "--name", framework, "--owner", "bench")
            _run(folder, "generate", "--competition", "docstrings", *options)
        self._data = folder / "input" / "competitions" / "docstrings"

    def by_pair(self, framework: str, seed: int, *options: str) -> float:
        """The accuracy on the hidden test set of a pair that is trained and applied with this seed."""
        report = _run(self._workspace, "tandem", "run", framework, "-P", f"SEED={seed}", "--json", *options)
        return float(json.loads(report)["hidden_test"]["score"])

    def by_logistic_regression(self) -> float:
        """The accuracy of scikit-learn's defaults with words and pairs of words; it knows of no seed."""
        from generator.competition.builtin import DOCSTRINGS

        training, test = _rows(self._data / "train.csv"), _rows(self._data / "test.csv")
        model = _fitted(training)
        predicted = model.predict([row["text"] for row in test])
        submission = self._workspace / "by_logistic_regression.csv"
        lines = [f"{row['id']},{label}\n" for row, label in zip(test, predicted, strict=True)]
        submission.write_text("".join(["id,label\n", *lines]))
        return DOCSTRINGS.score(submission)

    def test_rows(self) -> int:
        """How many rows the hidden test set has."""
        return len(_rows(self._data / "test.csv"))


class FewTexts:
    """A competition of 400 made-up texts, another one for each seed, in a workspace with pairs from its folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._workspace, self._seed = folder, seed
        self._data = folder / "few-texts"
        self._answers = write_competition(self._data, seed)

    def by_pair(self, framework: str, *options: str) -> float:
        """The AUC on the hidden test set of the pair that `generate` makes of the folder."""
        generate = ("--competition", "few-texts", "--data", str(self._data), "--metric", "auc", "--owner", "bench")
        from_scratch = ("--set", "pretrained=")
        _run(self._workspace, "generate", *generate, *from_scratch, "--framework", framework, "--name", framework)
        _run(self._workspace, "tandem", "run", framework, "-P", f"SEED={self._seed}", *options)
        submission = _rows(self._workspace / "output" / framework / "infer" / "submission.csv")
        return self._score({row["id"]: float(row["label"]) for row in submission})

    def by_logistic_regression(self) -> float:
        """The AUC of scikit-learn's defaults with words and pairs of words; standardised numbers would make it less."""
        test = _rows(self._data / "test.csv")
        predicted = _fitted(_rows(self._data / "train.csv")).predict_proba([row["text"] for row in test])[:, 1]
        return self._score(dict(zip((row["id"] for row in test), predicted, strict=True)))

    def _score(self, predicted: dict[str, float]) -> float:
        from sklearn.metrics import roc_auc_score

        ids = list(self._answers)
        return float(roc_auc_score([self._answers[key] for key in ids], [predicted[key] for key in ids]))


def rows_of_docstrings(folder: Path, *, quick: bool) -> list[Row]:
    """The lines of the table for many texts; a pair may be worse by the standard error of the score."""
    contest, options = Contest(folder), ("-P", "EPOCHS=2") if quick else ()
    theirs = contest.by_logistic_regression()
    error = (theirs * (1 - theirs) / contest.test_rows()) ** 0.5
    say(f"docstrings: TF-IDF with logistic regression {theirs:.4f}, with a standard error of {error:.4f}")
    rows = [Row("docstrings: TF-IDF with logistic regression", [theirs], "accuracy")]
    for framework in FRAMEWORKS:
        scores = []
        for seed in SEEDS[:1] if quick else SEEDS:
            scores.append(contest.by_pair(framework, seed, *options))
            say(f"docstrings, {framework}, seed {seed}: {scores[-1]:.4f}")
        rows.append(Row(f"docstrings: {framework} pair", scores, "accuracy", Bar(">=", round(theirs - error, 4))))
    return rows


def rows_of_few_texts(folder: Path, *, quick: bool) -> list[Row]:
    """The lines of the table for 400 texts; a pair may be worse by the standard error of the mean difference."""
    seeds, options = (SEEDS[:2], ("-P", "EPOCHS=2", "-P", "N_FOLDS=2")) if quick else (SEEDS, ())
    theirs, ours = [], {framework: list[float]() for framework in FRAMEWORKS}
    for seed in seeds:
        (folder / f"seed{seed}").mkdir()
        contest = FewTexts(folder / f"seed{seed}", seed)
        theirs.append(contest.by_logistic_regression())
        for framework, scores in ours.items():
            scores.append(contest.by_pair(framework, *options))
            say(f"few texts, {framework}, seed {seed}: {scores[-1]:.4f}; logistic regression {theirs[-1]:.4f}")
    rows = [Row("few texts: TF-IDF with logistic regression", theirs, "auc")]
    for framework, scores in ours.items():
        differences = [mine - other for mine, other in zip(scores, theirs, strict=True)]
        bar = Bar(">=", round(-stdev(differences) / len(differences) ** 0.5, 4))
        rows.append(Row(f"few texts: {framework} pair, mean of the differences", [mean(differences)], "auc", bar))
        rows.append(Row(f"few texts: {framework} pair, each seed", scores, "auc"))
    return rows


def _fitted(training: list[dict[str, str]]) -> "Pipeline":
    """TF-IDF of words and pairs of words with logistic regression, as scikit-learn has them."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression())
    return model.fit([row["text"] for row in training], [row["label"] for row in training])


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _run(workspace: Path, name: str, *arguments: str) -> str:
    command = (program(name), *arguments)
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(command, cwd=workspace, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def main() -> None:
    """Measures and prints the table."""
    quick = is_quick(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        (folder / "docstrings").mkdir()
        rows = rows_of_few_texts(folder, quick=quick) + rows_of_docstrings(folder / "docstrings", quick=quick)
    print_table(rows)


if __name__ == "__main__":
    main()
