"""The user name comes from where Kaggle keeps it, and nothing else does."""

import json
import os
from pathlib import Path
from unittest.mock import patch

import pytest

from generator.errors import PairError
from generator.pair.settings import PLACEHOLDER_OWNER, Origin, SettingValue, checked_owner, find_owner


def configure(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def found(home: Path, **environment: str) -> SettingValue:
    with patch.dict(os.environ, {"HOME": str(home), **environment}, clear=True):
        return find_owner()


def test_without_any_configuration_it_is_the_placeholder(isolated_home: Path) -> None:
    choice = find_owner()

    assert (choice.value, choice.by) == (PLACEHOLDER_OWNER, Origin.DEFAULT)


def test_the_environment_comes_before_files(tmp_path: Path) -> None:
    configure(tmp_path / ".kaggle/kaggle.json", {"username": "grace"})

    assert found(tmp_path, KAGGLE_USERNAME="Ada").value == "ada"


@pytest.mark.parametrize(
    ("file", "environment"),
    [
        (".kaggle/kaggle.json", {}),
        (".kaggle/credentials.json", {}),
        (".config/kaggle/kaggle.json", {}),
        ("shared/kaggle/kaggle.json", {"XDG_CONFIG_HOME": "shared"}),
        ("elsewhere/kaggle.json", {"KAGGLE_CONFIG_DIR": "elsewhere"}),
    ],
)
def test_each_place_of_kaggles_configuration_is_read(tmp_path: Path, file: str, environment: dict[str, str]) -> None:
    configure(tmp_path / file, {"username": "ada", "key": "secret"})

    absolute = {name: str(tmp_path / value) for name, value in environment.items()}
    choice = found(tmp_path, **absolute)

    assert (choice.value, choice.by) == ("ada", Origin.INFERRED)
    assert "secret" not in repr(choice)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"username": 3}', '{"username": "../x"}', "[" * 50_000])
def test_a_broken_file_counts_as_absent(tmp_path: Path, content: str) -> None:
    configure(tmp_path / ".kaggle/kaggle.json", content)
    configure(tmp_path / ".config/kaggle/kaggle.json", {"username": "ada"})

    assert found(tmp_path).value == "ada"


def test_a_folder_in_place_of_the_file_counts_as_absent(tmp_path: Path) -> None:
    (tmp_path / ".kaggle/kaggle.json").mkdir(parents=True)

    assert found(tmp_path).value == PLACEHOLDER_OWNER


def test_an_owner_on_the_command_line_is_lower_cased_or_refused() -> None:
    assert checked_owner(" Ada-L ") == "ada-l"
    with pytest.raises(PairError, match=r'"ada/x\\n" is not a Kaggle user name'):
        checked_owner("ada/x\n")
