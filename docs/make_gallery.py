"""Executes the built-in pairs, and keeps their notebooks in docs/gallery: `python docs/make_gallery.py [PAIR ...]`.

Takes some minutes. The page docs/gallery/README.md names the scores, the time and the commit of each run.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "docs/gallery"
COMPETITIONS = {
    "digits": "images to classes: handwritten digits of scikit-learn",
    "tumours": "a table to probabilities: breast tumours of scikit-learn",
    "diabetes": "a table to numbers: the progression of diabetes, of scikit-learn",
    "docstrings": "texts to classes: docstrings of Python's standard library",
}
HEAD = """# Gallery

Built-in pairs, executed as `tandem run X` does, with all outputs and figures. `python docs/make_gallery.py`
executes them anew. The folded cell of each notebook, `runtime`, is long on GitHub, which does not fold cells.

| pair | task | out-of-fold | hidden test | plain baseline | minutes | notebooks |
|---|---|---|---|---|---|---|
"""


def main() -> None:
    """Execute the pairs that are named, all by default, and write the page."""
    for slug in sys.argv[1:] or COMPETITIONS:
        execute(slug)
    rows = [json.loads(path.read_text()) for path in sorted(GALLERY.glob("*/run.json"))]
    (GALLERY / "README.md").write_text(HEAD + "".join(row(run) for run in rows))


def execute(slug: str) -> None:
    """Run a pair in a workspace of its own, and keep its notebooks and scores."""
    with tempfile.TemporaryDirectory() as workspace:
        tandem("generate", slug, cwd=workspace)
        run = json.loads(tandem("run", slug, "--json", cwd=workspace))
        folder = GALLERY / slug
        folder.mkdir(parents=True, exist_ok=True)
        for role, notebook in run["notebooks"].items():
            path = Path(workspace, notebook["path"])
            (folder / f"{role}.ipynb").write_text(of_kaggle(path.read_text()))
    facts = {
        "competition": slug,
        "out_of_fold": run["out_of_fold"],
        "hidden_test": run["hidden_test"],
        "baseline": max(run["baselines"], key=lambda one: one["score"] * (1 if slug != "diabetes" else -1)),
        "minutes": sum(notebook["seconds"] for notebook in run["notebooks"].values()) / 60,
        "date": datetime.now(UTC).date().isoformat(),
        "commit": command("git", "rev-parse", "--short", "HEAD", cwd=ROOT).strip(),
        "machine": f"{len(os.sched_getaffinity(0))} CPU cores, Python {platform.python_version()}",
    }
    (folder / "run.json").write_text(json.dumps(facts, indent=2) + "\n")


def of_kaggle(text: str) -> str:
    """Return a notebook whose folders are those of a session on Kaggle, without papermill's records."""
    notebook = json.loads(text)
    parameters = notebook["metadata"].pop("papermill", {}).get("parameters", {})
    for cell in notebook["cells"]:
        cell["metadata"].pop("papermill", None)
        cell["metadata"].pop("execution", None)
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    for name, folder in (("INPUT_ROOT", "/kaggle/input"), ("WORKING_ROOT", "/kaggle/working")):
        if parameters.get(name):
            text = text.replace(parameters[name], folder)
    return text + "\n"


def row(run: dict) -> str:
    """Return the line of a run in the page's table."""
    slug, score, hidden = run["competition"], run["out_of_fold"], run["hidden_test"]
    made = f"{run['date']}, {run['commit']}, {run['machine']}"
    scores = [f"{each['metric']} {each['score']:.4f}" for each in (score, hidden)]
    baseline = f"{run['baseline']['score']:.4f} ({run['baseline']['name']})"
    links = f"[train]({slug}/train.ipynb), [infer]({slug}/infer.ipynb) ({made})"
    return (
        f"| {slug} | {COMPETITIONS[slug]} | {scores[0]} | {scores[1]} | {baseline} | {run['minutes']:.1f} | {links} |\n"
    )


def tandem(*arguments: str, cwd: str) -> str:
    """Run a command of the kit, and return what it prints."""
    return command(sys.executable, "-m", "generator", *arguments, cwd=cwd)


def command(*arguments: str, cwd: str | Path) -> str:
    """Run a program, and return what it prints."""
    return subprocess.run(arguments, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603 - our own


if __name__ == "__main__":
    main()
