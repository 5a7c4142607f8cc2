"""CONTRIBUTING's ways to a new family, framework and metric, gone in a copy of the kit; nothing else is changed."""

import json
import shutil
from pathlib import Path

import pytest
from miniature import python, write_tree

from generator.kit_files import sections

ROOT = Path(__file__).resolve().parents[1]
ROWS = [f"{n},{n * 7 % 10},{n * n % 13},{n / 3 + 1}" for n in range(60)]
TABLES = {
    "train.csv": "\n".join(["id,a,b,price", *ROWS[:40]]) + "\n",
    "test.csv": "\n".join(["id,a,b", *(row.rpartition(",")[0] for row in ROWS[40:])]) + "\n",
    "sample_submission.csv": "\n".join(["id,price", *(f"{n},0" for n in range(40, 60))]) + "\n",
}


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and its templates with one more of each, and a competition to render with them."""
    folder = tmp_path_factory.mktemp("kit")
    for name in ("generator", "templates"):
        # With the bytecode that lies beside the modules; another process may just be writing some of it.
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc.*", ".ruff_cache"))
    write_tree(folder / "data", TABLES)
    add_metric(folder)
    add_framework(folder / "templates")
    add_family(folder / "templates" / "families")
    return folder


def add_metric(kit: Path) -> None:
    metrics = kit / "templates/metrics/numbers.py.j2"
    own = sections(metrics.read_text())["mae"].partition("#}\n")[2].replace("np.mean", "np.median")
    with metrics.open("a") as file:
        file.write(f"\n\n# {{# section median_error #}}\n{own}")
    with (kit / "generator/competition/data/metrics.toml").open("a") as catalog:
        catalog.write(
            '\n[metric.median_error]\ntitle = "median absolute error"\nnames = ["middling error"]\n'
            'higher_is_better = false\ntarget_kinds = ["number"]\nwants = "numbers"\nloss = "absolute_error"\n'
        )


def add_framework(templates: Path) -> None:
    described = 'title = "Abacus"\ndescription = "Beads on wires."\nextends = "keras"\n'
    parts = {"framework.toml": described, "train.py.j2": "# {# section facts #}\n# | framework | an abacus |\n"}
    write_tree(templates / "frameworks/abacus", parts)
    shutil.copy(templates / "families/tabular/models/keras.py.j2", templates / "families/tabular/models/abacus.py.j2")


def add_family(families: Path) -> None:
    own = families / "ledger"
    shutil.copytree(families / "tabular", own)
    declared = (own / "family.toml").read_text().replace('title = "Tables"', 'title = "Ledgers"')
    key = '\n[task.currency]\ntype = "str"\ndefault = "EUR"\nhelp = "what prices are in"\n'
    (own / "family.toml").write_text(declared + key)
    train = (own / "train.py.j2").read_text()
    begin = "# {# section parameters #}\n"
    (own / "train.py.j2").write_text(train.replace(begin, f"{begin}CURRENCY = {{{{ task.currency | py }}}}\n"))


def generate(kit: Path, *arguments: str) -> str:
    """What the copy's `generate` says."""
    program = "import sys; from generator.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = python("-c", program, "generate", *arguments, cwd=kit)
    assert done.returncode == 0, done.stderr
    return done.stdout


def training(kit: Path, name: str, *arguments: str) -> str:
    """The code of the training notebook of this name that these arguments give."""
    generate(kit, "--competition", "prices", "--data", "data", "--name", name, "--owner", "ada", *arguments)
    notebook = json.loads((kit / "kernels" / name / "train" / "train.ipynb").read_text())
    return "\n".join("".join(cell["source"]) for cell in notebook["cells"])


def test_what_was_added_is_listed(kit: Path) -> None:
    listed = generate(kit, "--list")

    assert all(name in listed for name in ("median_error", "Beads on wires.", "ledger"))


@pytest.mark.slow
def test_a_metric_is_a_section_and_an_entry_of_the_catalog(kit: Path) -> None:
    assert "np.median" in training(kit, "medians", "--metric", "median_error")


@pytest.mark.slow
def test_a_framework_has_what_it_does_not_write_itself_from_the_one_that_it_extends(kit: Path) -> None:
    code = training(kit, "beads", "--framework", "abacus")

    assert "| framework | an abacus |" in code
    assert "build_model" in code


def test_a_family_is_a_folder(kit: Path) -> None:
    assert 'CURRENCY = "CHF"' in training(kit, "ledgers", "--family", "ledger", "--set", "currency=CHF")
