"""Kernels of code competitions, a few lines each: what reaches Kaggle without the internet, and what does not."""

import json
from pathlib import Path

import pytest

from generator.check.checking import check_kernels
from generator.check.source import read_target

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
    return {finding.rule for finding in check_kernels(read_target(tmp_path, is_code_competition=True))} & rules


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


@pytest.mark.parametrize(
    "cell",
    [
        f"from datasets import load_dataset\nd = load_dataset('{DATA}/hf')",
        "import wandb\nwandb.init(project='x', settings=wandb.Settings(mode='offline'))",
        "import wandb\nwandb.init(mode='disabled')",
        "from huggingface_hub import snapshot_download\np = snapshot_download('org/m', local_files_only=True)",
        f"from transformers import AutoModel\nm = AutoModel.from_pretrained('org/m', cache_dir='{DATA}/hf')",
        f"!cp -r {DATA}/m ./m\nfrom transformers import AutoModel\nm = AutoModel.from_pretrained('m')",
        f"import os\nfrom transformers import AutoModel\nos.system('cp -r {DATA}/m m')\nAutoModel.from_pretrained('m')",
        f"!git clone {DATA}/repo work",
        f"!conda install -y --offline {DATA}/rdkit.tar.bz2",
        f"!apt install -y {DATA}/libx.deb",
        f"!dpkg -i {DATA}/libx.deb",
        "import tensorflow_datasets as tfds\nd = tfds.load('mnist', download=False)",
        "import torchvision\nd = torchvision.datasets.CIFAR10('/kaggle/temp', download=False)",
        "%env PIP_NO_INDEX=1\n!pip install einops==0.8.0",
        f"!pip install --no-index --find-links {DATA}/wheels -r requirements.txt",
        "def fetch(url):\n    import requests\n    return requests.get(url)",
        "import segmentation_models_pytorch as smp\nm = smp.Unet('resnet34', encoder_weights=None)",
        "class CFG:\n    pretrained = False\nimport timm\nm = timm.create_model('resnet18', pretrained=CFG.pretrained)",
    ],
)
def test_what_needs_no_network_is_no_finding(cell: str, tmp_path: Path) -> None:
    assert found({"N021", "N022"}, tmp_path, cell) == set()


@pytest.mark.parametrize(
    "cell",
    [
        "!pip install -r requirements.txt",
        "import os\nos.system('pip install -r requirements.txt')",
        "!mamba install -y rdkit",
        "!huggingface-cli download org/m",
        "!python -m spacy download en_core_web_sm",
        "import subprocess\nsubprocess.run(['wget', 'https://example.org/a'])",
        "from ultralytics import YOLO\nm = YOLO('yolov8n.pt')",
        "import segmentation_models_pytorch as smp\nm = smp.Unet('resnet34')",
        "import keras\np = keras.utils.get_file('w.h5', origin='https://example.org/w.h5')",
        "import keras\n(x, y), _ = keras.datasets.mnist.load_data()",
        "import torchvision\nd = torchvision.datasets.CIFAR10('/kaggle/temp', download=True)",
        "import whisper\nm = whisper.load_model('base')",
        "import tensorflow as tf\nd = tf.data.TFRecordDataset('gs://bucket/x.tfrec')",
        "class CFG:\n    pretrained = True\nimport timm\nm = timm.create_model('resnet18', pretrained=CFG.pretrained)",
        "def fetch(url):\n    import requests\n    return requests.get(url)\nfetch('https://example.org')",
    ],
)
def test_what_ends_without_a_network_is_found(cell: str, tmp_path: Path) -> None:
    assert len(found({"N021", "N022"}, tmp_path, cell)) == 1


@pytest.mark.parametrize(
    ("rule", "cells"),
    [
        ("N008", ["import wandb\nwandb.login(key='0a1b2c3d4e5f60718293a4b5c6d7e8f901234567')"]),
        ("N008", ["!git clone https://ada:gq7Xw2Lk9Zr4Tn6Vb1@example.org/repo.git"]),
        ("N040", ["!cp ../input/weights/fold0.pth ."]),
        ("N040", ["%cd /kaggle/input/titanic"]),
        ("N043", ["%cd /kaggle/input/competitions/titanic", f"{MAKE}table.to_csv('submission.csv')"]),
        ("N043", [f"import os\nos.chdir('{DATA}')\n{MAKE}table.to_csv('out.csv')"]),
        ("N043", [f"!unzip a.zip -d {DATA}/more"]),
        ("N063", ["from transformers import TrainingArguments\nargs = TrainingArguments('out', bf16=True)"]),
        ("N063", ["from vllm import LLM\nllm = LLM('/kaggle/working/m', dtype='bfloat16')"]),
        ("N065", ["import pandas as pd\na = pd.read_csv('/kaggle/input/notebooks/ada/one/submission.csv')"]),
    ],
)
def test_a_fault_of_a_submission_is_found(rule: str, cells: list[str], tmp_path: Path) -> None:
    assert found({rule}, tmp_path, *cells) == {rule}


@pytest.mark.parametrize(
    ("rule", "cells"),
    [
        ("N008", ["import wandb\nwandb.login(key=secret)", "!git clone https://example.org/repo.git"]),
        ("N040", ["!ls ../input/weights", "!cp /kaggle/input/datasets/ada/weights/fold0.pth ."]),
        ("N043", [f"%cd {DATA}", "%cd /kaggle/working", f"{MAKE}table.to_csv('submission.csv')"]),
        (
            "N063",
            ["from transformers import TrainingArguments\nTrainingArguments('out', bf16=False)"],
        ),
        ("N065", [f"import pandas as pd\na = pd.read_csv('{DATA}/sample_submission.csv')"]),
    ],
)
def test_what_looks_like_a_fault_of_a_submission_is_none(rule: str, cells: list[str], tmp_path: Path) -> None:
    assert found({rule}, tmp_path, *cells) == set()


ROWS_IN_CODE = [
    "table['target'] = np.zeros(4000)",
    "rows = 418\ntable['target'] = np.zeros((rows, 2))[:, 1]",
    "total = np.zeros(4000)\nfor fold in range(5):\n    total += predict(fold)\ntable['target'] = total / 5",
    "table = pd.DataFrame({'id': range(892, 1310), 'target': predict(0)})",
    "table = pd.DataFrame({'id': ids, 'target': [0] * 418})",
    "table = pd.DataFrame(data=dict_of)\ntable['id'] = list(range(418))",
]
ROWS_OF_THE_TEST = [
    "table['target'] = np.zeros(len(table))",
    "total = np.zeros((len(ids), 2))\ntable['target'] = total[:, 1]",
    "table['target'] = np.zeros(4000)[ids]",
    "table['target'] = 0.5",
    "table = pd.DataFrame({'id': range(len(ids)), 'target': [0] * len(ids)})",
    "if len(ids) == 3:\n    table['target'] = np.zeros(3)",
    "other = pd.DataFrame({'x': range(100)})\nother.to_csv('curve.csv')",
]


@pytest.mark.parametrize("cell", [*ROWS_IN_CODE, *ROWS_OF_THE_TEST])
def test_rows_of_a_submission_that_are_counted_in_the_code_are_found(cell: str, tmp_path: Path) -> None:
    begin = "import numpy as np\nimport pandas as pd\nids = [7]\ndict_of = {}\npredict = print\n"
    begin += f"table = pd.read_csv('{DATA}/sample_submission.csv')"

    cells = (begin, cell, "table.to_csv('submission.csv', index=False)")
    assert found({"N067"}, tmp_path, *cells) == ({"N067"} if cell in ROWS_IN_CODE else set())
