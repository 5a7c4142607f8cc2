"""What of a pair is sent to Kaggle, and the wheels that an inference without a network needs."""

import json
import subprocess
import zipfile
from pathlib import Path

import pytest
from chain_pair import edited, pair_in

from generator.files import WorkspaceFiles
from generator.kaggle.chain.errors import KernelUnfitError
from generator.kaggle.chain.inputs import prepare
from generator.kaggle.chain.wheels import Wheels, image, install_cell, missing_requirements, wheels_for
from generator.pair.notebook import with_first_cell
from generator.pair.workspace import PairFolder, Role


@pytest.fixture
def pair(tmp_path: Path) -> PairFolder:
    return pair_in(tmp_path, slug="cells-code", name="cells")


@pytest.mark.parametrize("cell", [{"cell_type": "code"}, {"cell_type": ["code"], "source": ""}])
def test_a_notebook_whose_cells_are_none_is_not_pushed(tmp_path: Path, cell: dict[str, object]) -> None:
    folder = pair_in(tmp_path)
    with edited(folder.notebook(Role.TRAIN)) as notebook:
        notebook["cells"].insert(0, {"metadata": {"tags": ["parameters"]}, **cell})
    with pytest.raises(KernelUnfitError, match="not a notebook of format 4"):
        prepare(folder, Role.TRAIN)


@pytest.mark.parametrize(
    ("code_file", "problem"),
    [
        ("../token.ipynb", "outside of the kernel's folder"),
        ("../../../token.ipynb", "outside of the kernel's folder"),
        ("/token.ipynb", "outside of the kernel's folder"),
        ("linked.ipynb", "outside of the kernel's folder"),
        ("access_token", "is not a notebook"),
        ("notes.txt", "is not a notebook"),
    ],
)
def test_a_code_file_that_leads_elsewhere_or_is_no_notebook_is_not_pushed(
    tmp_path: Path, code_file: str, problem: str
) -> None:
    folder = pair_in(tmp_path)
    path = folder.metadata(Role.TRAIN)
    (path.parent.parent / "token.ipynb").write_text("my secret")
    (path.parent / "linked.ipynb").symlink_to(path.parent.parent / "token.ipynb")
    (path.parent / "access_token").write_text("KGAT_1234")
    (path.parent / "notes.txt").write_text("hello")
    with edited(path) as fields:
        fields["code_file"] = code_file
    with pytest.raises(KernelUnfitError, match=problem):
        prepare(folder, Role.TRAIN)


@pytest.mark.slow
def test_what_the_editor_of_kaggle_left_in_a_notebook_is_not_pushed(pair: PairFolder) -> None:
    with edited(pair.notebook(Role.TRAIN)) as notebook:
        notebook["metadata"]["kaggle"] = {"accelerator": "gpu"}
        notebook["cells"][3]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "left over"}]

    sent = prepare(pair, Role.TRAIN).push.text
    assert "left over" not in sent
    assert "kaggle" not in json.loads(sent)["metadata"]


def test_an_inference_notebook_that_needs_no_more_than_the_image_needs_no_wheels(pair: PairFolder) -> None:
    assert missing_requirements(prepare(pair, Role.INFER).push.text) == ()


def test_what_lay_among_the_wheels_before_is_not_taken_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pip(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        folder = next(Path(argument.partition("=")[2]) for argument in command if argument.startswith("--dest="))
        with zipfile.ZipFile(folder / "mambular-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr("mambular-1.0.dist-info/METADATA", "Name: mambular\n")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", pip)
    (tmp_path / "token.json").write_text("of the user")
    (tmp_path / "wheels" / image().pythons[0]).mkdir(parents=True)
    (tmp_path / "wheels" / image().pythons[0] / "mambular-0.1-py3-none-any.whl").symlink_to(tmp_path / "token.json")
    text = json.dumps({"cells": [{"cell_type": "code", "source": "import mambular"}]})

    wheels = wheels_for(text, tmp_path / "wheels", WorkspaceFiles(tmp_path))

    assert list(wheels.files) == ["mambular-1.0-py3-none-any.whl"]
    assert all(path.is_file() and not path.is_symlink() for path in wheels.files.values())


def test_imports_beyond_the_image_are_found_under_magics_too(tmp_path: Path) -> None:
    cells = ["import numpy as np\nimport cv2, segmentation_models", "%matplotlib inline\nfrom mambular.models import X"]
    text = json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]})

    assert missing_requirements(text) == ("mambular", "segmentation-models")
    assert wheels_for(json.dumps({"cells": []}), tmp_path, WorkspaceFiles(tmp_path)).files == {}


def test_wheels_are_installed_by_the_first_code_cell_without_a_network(tmp_path: Path) -> None:
    wheels = Wheels(("mambular",), {"mambular-1.0-py3-none-any.whl": tmp_path / "mambular-1.0-py3-none-any.whl"})
    cells = [{"cell_type": "markdown", "source": "# Title"}, {"cell_type": "code", "source": "import mambular"}]
    text = with_first_cell(json.dumps({"cells": cells}), name="w", source=install_cell(wheels, "me/x-wheels"))

    sources = [cell["source"] for cell in json.loads(text)["cells"]]
    assert sources[0] == "# Title"
    assert "--no-index" in sources[1]
    assert "datasets/me/x-wheels" in sources[1]
    compile(sources[1], "cell", "exec")
