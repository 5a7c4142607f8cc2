"""SKILL.md, by which a program works with the kit: its format, the commands in it, and where it is installed."""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import list_json
import pytest
import yaml
from miniature import Outcome

Tandem = Callable[..., Outcome]
ROOT = Path(__file__).resolve().parents[1]
SKILL = ROOT / "docs" / "skill" / "SKILL.md"
COMMAND = re.compile(r"`(tandem [^`]+)`")
ALWAYS = {"--help", "--json"}


def inline_commands(page: Path) -> Iterator[str]:
    return (" ".join(match[1].split()) for match in COMMAND.finditer(page.read_text()))


def test_the_front_matter_is_that_of_the_open_format() -> None:
    _, front, body = SKILL.read_text().split("---\n", 2)
    fields = yaml.safe_load(front)

    assert fields["name"] == "tandem"
    assert 0 < len(fields["description"]) <= 1024
    assert fields.keys() <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert len(body.splitlines()) < 500


@pytest.mark.parametrize("page", [SKILL, ROOT / "AGENTS.md"], ids=lambda page: page.name)
def test_every_command_that_is_named_exists_with_its_options(page: Path) -> None:
    commands = dict(list_json.commands())
    unknown = []
    for command in inline_commands(page):
        words = shlex.split(command)[1:]
        name = next((two for two in (" ".join(words[:2]), f"{words[0]} list") if two in commands), words[0])
        if name == "VERB":
            continue
        known = (
            {option for parameter in commands[name].params for option in parameter.opts} if name in commands else set()
        )
        options = {word.partition("=")[0] for word in words if word.startswith("-")} - ALWAYS
        unknown += [command] if name not in commands or options - known else []
    assert unknown == []


def test_what_costs_quota_is_named_in_it() -> None:
    text = SKILL.read_text()
    spending = {
        name for name, command in list_json.commands() if any("--yes" in option.opts for option in command.params)
    }

    spending -= {"runs prune", "pull"}  # these ask before they remove or change files

    assert spending == {"push", "submit", "colab run"}
    assert all(f"| `tandem {name} NAME" in text or f"`tandem {name} NAME`" in text for name in spending)


def test_it_is_printed_as_it_is(tandem: Tandem) -> None:
    assert tandem("skill").out == SKILL.read_text()


def test_an_installed_skill_is_replaced_unless_somebody_edited_it(tandem: Tandem, tmp_path: Path) -> None:
    path = tmp_path / "skills" / "tandem" / "SKILL.md"
    assert tandem("skill", "--install", tmp_path / "skills").code == 0
    installed = path.read_text()
    assert installed.startswith(SKILL.read_text())
    assert tandem("skill", "--install", tmp_path / "skills").code == 0

    path.write_text(installed.replace("Ask first.", "Do not ask."))
    refused = tandem("skill", "--install", tmp_path / "skills")
    assert refused.code == 1
    assert "has edits, so it was not overwritten. Move it away, or overwrite it with --force." in refused.err
    assert "Do not ask." in path.read_text()

    assert tandem("skill", "--install", tmp_path / "skills", "--force").code == 0
    assert path.read_text() == installed


def test_a_file_of_somebody_else_and_a_link_are_left_alone(tandem: Tandem, tmp_path: Path) -> None:
    (tmp_path / "a" / "tandem").mkdir(parents=True)
    (tmp_path / "a" / "tandem" / "SKILL.md").write_text("mine\n")
    assert tandem("skill", "--install", tmp_path / "a").code == 1
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "tandem").symlink_to(tmp_path / "a" / "tandem")
    assert tandem("skill", "--install", tmp_path / "b", "--force").code == 1
    assert (tmp_path / "a" / "tandem" / "SKILL.md").read_text() == "mine\n"
