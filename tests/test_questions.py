"""`generate` at a terminal asks for what is not clear, and shows what fits into it."""

import io
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from miniature import Outcome, write_tree
from terminal import at_terminal

from generator.cli import generate as generate_verb
from generator.competition import survey
from generator.pair import generation

Tandem = Callable[..., Outcome]

# Nothing says the metric, and what is to be answered is called as nothing in training is.
FLATS = {
    "train.csv": "id,area,rooms,rent\n" + "".join(f"{n},{n % 70},{n % 5},{n / 3:.2f}\n" for n in range(60)),
    "test.csv": "id,area,rooms\n" + "".join(f"{n},{n % 60},{n % 4}\n" for n in range(60, 90)),
    "sample_submission.csv": "id,cost\n" + "".join(f"{n},0\n" for n in range(60, 90)),
}
COMMAND = ("generate", "--competition", "flats")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, a workspace with the files of a competition."""
    monkeypatch.chdir(write_tree(tmp_path, {f"input/competitions/flats/{name}": text for name, text in FLATS.items()}))
    return tmp_path


@pytest.mark.slow
def test_what_would_be_warned_of_is_asked_once_and_fits_into_the_terminal(workspace: Path) -> None:
    code, seen = at_terminal(*COMMAND, cwd=workspace, columns=60, answers=["1", "rsme", "mae"])
    again, nothing_asked = at_terminal(*COMMAND, cwd=workspace, NO_COLOR="1")

    assert (code, again) == (0, 0), seen
    assert 'There is no metric "rsme". Did you mean "rmse"?' in seen
    assert "The target is not clear" in seen
    assert "Warning" not in seen
    task = tomllib.loads((workspace / "kernels/flats/pair.toml").read_text())["task"]
    assert task["metric"] == {"value": "mae", "by": "flag"}
    assert task["targets"] == {"value": ["rent"], "by": "flag"}  # confirmed
    assert "not clear" not in nothing_asked
    table = seen[seen.index("choice  ") :].split("\n\n")[0]
    assert "\x1b[36mid_column" in table
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in table.splitlines()) <= 60
    assert "\x1b" not in nothing_asked


def test_files_are_looked_at_once_and_the_pair_is_rendered_once_however_much_is_asked(
    tandem: Tandem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []

    def listened(module: ModuleType, name: str) -> None:
        function = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, **named: called.append(name) or function(*given, **named))

    listened(survey, "survey_folder")
    listened(generation, "rendered_cells")
    monkeypatch.setattr(generate_verb, "is_interactive", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("1\nmae\n"))

    assert tandem(*COMMAND).code == 0
    assert called == ["survey_folder", "rendered_cells"]


def test_who_leaves_at_a_question_leaves_nothing_behind(
    tandem: Tandem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate_verb, "is_interactive", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n"))

    left = tandem(*COMMAND)

    assert (left.code, left.err.endswith("Interrupted.\n")) == (130, True)
    assert not (workspace / "kernels").exists()
