"""Kernels of code competitions, a few lines each: what reaches Kaggle without the internet, and what does not."""

import json
from pathlib import Path

import pytest

from generator.check.checking import check
from generator.check.reading import read_target

METADATA = {
    "id": "ada/a-case",
    "title": "A case",
    "code_file": "notebook.ipynb",
    "language": "python",
    "kernel_type": "notebook",
    "is_private": True,
    "enable_gpu": True,
    "machine_shape": "NvidiaTeslaT4",
    "enable_internet": False,
    "competition_sources": ["some-competition"],
}
DATA = "/kaggle/input/competitions/some-competition"
MAKE = "import pandas as pd\ntable = pd.DataFrame({'id': [1], 'target': [0]})\n"
WRITE_SUB = MAKE + "table.to_csv('sub.csv', index=False)"


def found(rules: set[str], tmp_path: Path, *cells: str) -> set[str]:
    """The rules, of some, that have findings in a kernel of these cells."""
    notebook = {
        "cells": [
            {"cell_type": "code", "id": f"c{number}", "metadata": {}, "source": cell, "outputs": []}
            for number, cell in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (tmp_path / "notebook.ipynb").write_text(json.dumps(notebook))
    (tmp_path / "kernel-metadata.json").write_text(json.dumps(METADATA))
    return {finding.rule for finding in check(read_target(tmp_path, is_code_competition=True))} & rules


@pytest.mark.parametrize(
    "cell",
    [
        "!mv sub.csv submission.csv",
        "!cp ./sub.csv /kaggle/working/submission.csv",
        "%%bash\ncp sub.csv submission.csv",
        "from pathlib import Path\nPath('sub.csv').rename('submission.csv')",
        "import os\nos.rename('sub.csv', 'submission.csv')",
        "import shutil\nshutil.move('sub.csv', '/kaggle/working/submission.csv')",
        "import os\nos.system('cp sub.csv submission.csv')",
        "import subprocess\nsubprocess.run(['cp', 'sub.csv', 'submission.csv'])",
        "!python infer.py --out submission.csv",
        "!python infer.py",
        "!sed 's/x/y/' sub.csv > submission.csv",
        "%%writefile submission.csv\nid,target\n1,0",
        "OUT = 'submission.csv'\ntable.to_csv(OUT, index=False)",
        "table.to_csv('./submission.csv', index=False)",
        "table.to_csv(some_name(), index=False)",
        "from pathlib import Path\n(Path('/kaggle/working') / 'submission.parquet').write_bytes(b'')",
        "import kaggle_evaluation.some_gateway",
    ],
)
def test_a_submission_that_gets_its_name_in_another_way_is_no_finding(cell: str, tmp_path: Path) -> None:
    assert found({"N060"}, tmp_path, WRITE_SUB, cell) == set()


@pytest.mark.parametrize(
    "write",
    [
        "table.to_csv('sub.csv')",
        "table.to_csv('/tmp/submission.csv')",
        "table.to_csv('/kaggle/working/out/submission.csv')",
        "table.to_csv('results/submission.csv')",
        "table.to_csv('SUBMISSION.CSV')",
        "table.to_csv('Submission.csv')",
        "table.to_excel('submission.xlsx')",
        "table.to_csv('submission.csv.gz')",
        "from pathlib import Path\ntable.to_parquet(Path('/kaggle/temp') / 'submission.parquet')",
    ],
)
def test_a_submission_that_kaggle_does_not_find_is_found(write: str, tmp_path: Path) -> None:
    assert found({"N060"}, tmp_path, MAKE, write) == {"N060"}
