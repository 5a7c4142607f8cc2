"""CONTRIBUTING's ways to a new family, framework and metric, gone in a copy of the kit; nothing else is changed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROWS = [f"{n},{n * 7 % 10},{n * n % 13},{n / 3 + 1}" for n in range(60)]
TABLES = {
    "train.csv": "\n".join(["id,a,b,price", *ROWS[:40]]) + "\n",
    "test.csv": "\n".join(["id,a,b", *(row.rpartition(",")[0] for row in ROWS[40:])]) + "\n",
    "sample_submission.csv": "\n".join(["id,price", *(f"{n},0" for n in range(40, 60))]) + "\n",
}


class Copy:
    """A copy of the package and its templates, and a competition to render with them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("generator", "templates"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".ruff_cache"))
        (folder / "data").mkdir()
        for name, text in TABLES.items():
            (folder / "data" / name).write_text(text)

    @property
    def templates(self) -> Path:
        return self.folder / "templates"

    def generate(self, *arguments: str) -> str:
        program = "import sys; from generator.cli.main import main; sys.exit(main(sys.argv[1:]))"
        done = subprocess.run(
            [sys.executable, "-c", program, "generate", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def training(self, *arguments: str) -> str:
        """The code of the training notebook that these arguments give."""
        self.generate("--competition", "prices", "--data", "data", "--name", "prices", "--owner", "ada", *arguments)
        notebook = json.loads((self.folder / "kernels" / "prices" / "train" / "train.ipynb").read_text())
        return "\n".join("".join(cell["source"]) for cell in notebook["cells"])


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_a_metric_is_a_file_and_an_entry_of_the_catalog(copy: Copy) -> None:
    own = (ROOT / "templates/metrics/mae.py.j2").read_text().replace("np.mean", "np.median")
    (copy.templates / "metrics" / "median_error.py.j2").write_text(own)
    with (copy.folder / "generator/competition/metrics/catalog.toml").open("a") as catalog:
        catalog.write(
            '\n[metric.median_error]\ntitle = "median absolute error"\nnames = ["middling error"]\n'
            'higher_is_better = false\ntarget_kinds = ["number"]\nwants = "numbers"\nloss = "absolute_error"\n'
        )

    assert "median_error" in copy.generate("--list")
    assert "np.median" in copy.training("--metric", "median_error")


def test_a_framework_is_a_folder_and_a_model_in_each_family_that_has_it(copy: Copy) -> None:
    shutil.copytree(copy.templates / "frameworks/tensorflow", copy.templates / "frameworks/abacus")
    described = 'title = "Abacus"\ndescription = "Beads on wires."\n'
    (copy.templates / "frameworks/abacus/framework.toml").write_text(described)
    model = '# {% extends "families/tabular/models/keras.py.j2" %}\n'
    (copy.templates / "families/tabular/models/abacus.py.j2").write_text(model)

    assert "Beads on wires." in copy.generate("--list")
    assert "build_model" in copy.training("--framework", "abacus")


def test_a_family_is_a_folder(copy: Copy) -> None:
    own = copy.templates / "families" / "ledger"
    shutil.copytree(copy.templates / "families/tabular", own)
    declared = (own / "family.toml").read_text().replace('title = "Tables"', 'title = "Ledgers"')
    key = '\n[task.currency]\ntype = "str"\ndefault = "EUR"\nhelp = "what prices are in"\n'
    (own / "family.toml").write_text(declared + key)
    with (own / "parameters.train.py.j2").open("a") as parameters:
        parameters.write("CURRENCY = {{ task.currency | py }}\n")

    assert "ledger" in copy.generate("--list")
    assert 'CURRENCY = "CHF"' in copy.training("--family", "ledger", "--set", "currency=CHF")
