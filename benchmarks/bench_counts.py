"""How well text pairs do where counts tell most, pairs of sentences and essays, beside plain models of counts."""

import csv
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from made_up_pairs_and_essays import write_essays, write_pairs
from measuring import Bar, Row, is_quick, print_table, program, say

KINDS = {"pairs": (write_pairs, "pearson"), "essays": (write_essays, "quadratic_weighted_kappa")}


def hidden_scores(kind: str, seed: int, folder: Path, options: tuple[str, ...]) -> tuple[float, float]:
    """The score of the pair that `generate` makes, and that of a plain model of counts, on the hidden test rows."""
    write, metric = KINDS[kind]
    data = folder / "data"
    answers = write(data, seed)
    made = ("--competition", kind, "--data", str(data), "--metric", metric, "--owner", "bench")
    _run(folder, "generate", *made, "--set", "pretrained=")
    _run(folder, "tandem", "run", kind, "-P", f"SEED={seed}", "--json", *options)
    submission = _rows(folder / "output" / kind / "infer" / "submission.csv")
    by_pair = {row["id"]: float(row["score"]) for row in submission}
    by_counts = _of_counts(kind, _rows(data / "train.csv"), _rows(data / "test.csv"))
    ours, theirs = (_score(metric, answers, predicted) for predicted in (by_pair, by_counts))
    return ours, theirs


def _of_counts(kind: str, training: list[dict[str, str]], test: list[dict[str, str]]) -> dict[str, float]:
    """A ridge on TF-IDF with overlaps of pairs, a forest on seven counts of essays."""
    from scipy.sparse import hstack
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import Ridge

    truth = [float(row["score"]) for row in training]
    if kind == "pairs":
        words = TfidfVectorizer().fit([f"{row['sentence1']} {row['sentence2']}" for row in training])

        def inputs(rows: list[dict[str, str]]) -> object:
            first, second = (words.transform([row[name] for row in rows]) for name in ("sentence1", "sentence2"))
            sets = [[set(row[name].lower().split()) for name in ("sentence1", "sentence2")] for row in rows]
            shared = [len(a & b) / max(1, len(a | b)) for a, b in sets]
            cosine = np.asarray(first.multiply(second).sum(axis=1)).ravel()
            return hstack([first + second, np.column_stack([cosine, shared])]).tocsr()

        model = Ridge().fit(inputs(training), truth)
    else:
        known = [word for row in training for word in set(row["full_text"].lower().split())]
        names, counts = np.unique(known, return_counts=True)
        usual = set(names[counts > 2].tolist())

        def inputs(rows: list[dict[str, str]]) -> object:
            return [_seven_counts(row["full_text"], usual) for row in rows]

        model = RandomForestRegressor(300, min_samples_leaf=3, random_state=0).fit(inputs(training), truth)
    return dict(zip((row["id"] for row in test), model.predict(inputs(test)), strict=True))


def _seven_counts(text: str, usual: set[str]) -> list[float]:
    words = text.lower().split()
    rare = sum(word not in usual for word in words)
    shares = [rare / len(words), len(set(words)) / len(words), len(text) / len(words)]
    return [len(text), len(words), text.count("."), text.count(","), *shares]


def _score(metric: str, answers: dict[str, float], predicted: dict[str, float]) -> float:
    from sklearn.metrics import cohen_kappa_score

    truth, numbers = np.array(list(answers.values())), np.array([predicted[key] for key in answers])
    if metric == "pearson":
        return float(np.corrcoef(truth, numbers)[0, 1])
    return float(cohen_kappa_score(truth, np.rint(numbers).astype(int), weights="quadratic"))


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _run(workspace: Path, name: str, *arguments: str) -> None:
    command = (program(name), *arguments)
    done = subprocess.run(command, cwd=workspace, env=os.environ, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stderr}")


def main() -> None:
    """Measures and prints the table."""
    options = ("-P", "EPOCHS=1", "-P", "N_FOLDS=2") if is_quick(__doc__) else ()
    rows = []
    for kind, (_, metric) in KINDS.items():
        with tempfile.TemporaryDirectory() as temporary:
            ours, theirs = hidden_scores(kind, 0, Path(temporary).resolve(), options)
        say(f"{kind}: {ours:.4f}, a plain model of counts {theirs:.4f}")
        rows += [Row(f"{kind}: a plain model of counts", [theirs], metric)]
        rows += [Row(f"{kind}: keras pair", [ours], metric, Bar(">=", round(theirs - 0.03, 4)))]
    print_table(rows)


if __name__ == "__main__":
    main()
