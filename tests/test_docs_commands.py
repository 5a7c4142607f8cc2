"""Every command of this kit in README.md and docs/ has a verb and options that there are.

docs/tutorial.md is executed as a whole by test_tutorial.py.
"""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from miniature import Outcome

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(?:sh)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^(?:tandem|generate)\b.*$", re.MULTILINE)


def commands(page: Path) -> list[str]:
    blocks = "\n".join(BLOCK.findall(page.read_text()))
    return [found[0] for found in COMMAND.finditer(blocks)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_on_a_page_is_parsed(tandem: Callable[..., Outcome], page: Path) -> None:
    for command in commands(page):
        for part in re.split(r" && | \| | & ", command):
            program, *arguments = shlex.split(part, comments=True)
            if program in ("tandem", "generate"):
                outcome = tandem(*arguments, "--help", program=program)
                assert outcome.code == 0, f"{part}\n{outcome.err}"


def test_the_pages_have_commands() -> None:
    assert len([command for page in PAGES for command in commands(page)]) > 50
