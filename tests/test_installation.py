"""The commands that the kit gives for its own installation work where it was installed."""

import re
import sys
from pathlib import Path

import pytest
from miniature import write_tree
from PIL import Image

from generator.cli.main import main
from generator.kit_files import install_command

CLONE = Path(__file__).resolve().parents[1]
PACKAGES = {"sklearn.datasets": "scikit-learn"}
ROWS = "id,label\n" + "".join(f"{row},{row % 2}\n" for row in range(60))


def test_a_clone_is_installed_with_an_extra_by_its_folder() -> None:
    assert install_command("serve") == f"pip install -e '{CLONE}[serve]'"


def test_nothing_says_to_install_the_kit_from_an_index_that_it_is_not_on() -> None:
    for path in (CLONE / "generator").rglob("*.*"):
        if path.suffix in (".py", ".j2", ".toml"):
            assert not re.search(r"install .*kaggle.tandem", path.read_text()), path


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("sklearn.datasets", ("data", "digits")),
        ("sklearn.datasets", ("generate", "--competition", "tumours", "--owner", "ada")),
        ("numpy", ("specimen", "some", "--data", "data")),
    ],
)
def test_without_a_package_that_the_light_install_leaves_out_one_sentence_says_how_to_get_it(
    module: str,
    command: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_tree(tmp_path / "data", {"train.csv": ROWS, "test.csv": ROWS, "sample_submission.csv": ROWS})
    for row in range(60):
        (tmp_path / "data" / "images").mkdir(exist_ok=True)
        Image.new("RGB", (8, 8)).save(tmp_path / "data" / "images" / f"{row}.png")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)

    assert main(list(command), program="tandem") == 1

    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("Error: ")
    assert said.endswith(f"pip install {PACKAGES.get(module, module)}")
