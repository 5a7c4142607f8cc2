"""How well the text pair does on a hidden test set, beside TF-IDF with logistic regression on the same rows."""

import csv
import json
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from measuring import Bar, Row, is_quick, print_table, program, say

FRAMEWORKS = ("keras", "tensorflow")
SEEDS = range(5)


class Contest:
    """The competition `docstrings` in a workspace, with the pairs of both frameworks."""

    def __init__(self, folder: Path) -> None:
        self._workspace = folder
        self._environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONUNBUFFERED": "1"}
        for framework in FRAMEWORKS:
            options = ("--framework", framework, "--name", framework, "--owner", "bench")
            self._run("generate", "--competition", "docstrings", *options)
        self._data = folder / "input" / "competitions" / "docstrings"

    def by_pair(self, framework: str, seed: int, *options: str) -> float:
        """The accuracy on the hidden test set of a pair that is trained and applied with this seed."""
        report = self._run("tandem", "run", framework, "-P", f"SEED={seed}", "--json", *options)
        return float(json.loads(report)["hidden_test"]["score"])

    def by_logistic_regression(self) -> float:
        """The accuracy of scikit-learn's defaults with words and pairs of words; it knows of no seed."""
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        from generator.competition.builtin.docstrings import DOCSTRINGS

        training, test = self._rows("train.csv"), self._rows("test.csv")
        model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression())
        model.fit([row["text"] for row in training], [row["label"] for row in training])
        predicted = model.predict([row["text"] for row in test])
        submission = self._workspace / "by_logistic_regression.csv"
        lines = [f"{row['id']},{label}\n" for row, label in zip(test, predicted, strict=True)]
        submission.write_text("".join(["id,label\n", *lines]))
        return DOCSTRINGS.score(submission)

    def test_rows(self) -> int:
        """How many rows the hidden test set has."""
        return len(self._rows("test.csv"))

    def _rows(self, name: str) -> list[dict[str, str]]:
        with (self._data / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def _run(self, name: str, *arguments: str) -> str:
        command = (program(name), *arguments)
        done = subprocess.run(
            command, cwd=self._workspace, env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stderr}")
        return done.stdout


def main() -> None:
    """Measures and prints the table."""
    quick = is_quick(__doc__)
    options = ("-P", "EPOCHS=2") if quick else ()
    with tempfile.TemporaryDirectory() as temporary:
        contest = Contest(Path(temporary).resolve())
        theirs = contest.by_logistic_regression()
        error = (theirs * (1 - theirs) / contest.test_rows()) ** 0.5
        say(f"TF-IDF with logistic regression: {theirs:.4f}, with a standard error of {error:.4f}")
        scores: dict[str, list[float]] = {framework: [] for framework in FRAMEWORKS}
        for seed in SEEDS[:1] if quick else SEEDS:
            for framework in FRAMEWORKS:
                scores[framework].append(contest.by_pair(framework, seed, *options))
                say(f"{framework}, seed {seed}: {scores[framework][-1]:.4f}")
    bar = Bar(">=", round(theirs - error, 4))
    rows = [Row(f"{framework} pair", scores[framework], "accuracy", bar) for framework in FRAMEWORKS]
    print_table([Row("TF-IDF with logistic regression", [theirs], "accuracy"), *rows])


if __name__ == "__main__":
    main()
