"""How the wheels that a notebook needs are downloaded."""

import json
from pathlib import Path

import pytest

from generator.files import WorkspaceFiles
from generator.kaggle.chain.errors import ChainError
from generator.kaggle.chain.wheels import wheels_for


@pytest.mark.slow
def test_a_pip_that_lies_in_the_workspace_is_not_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executed = tmp_path / "executed"
    (tmp_path / "pip.py").write_text(f"open({str(executed)!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(tmp_path), "CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    notebook = json.dumps({"cells": [{"cell_type": "code", "source": "import somebodys_package"}]})

    with pytest.raises(ChainError, match="There is no wheel of "):
        wheels_for(notebook, tmp_path / "wheels", WorkspaceFiles(tmp_path))
    assert not executed.exists()
