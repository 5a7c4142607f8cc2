"""The notebooks speak as Kaggle's notebooks do: words of our own stay out of what a reader sees."""

import re
from collections.abc import Iterable

import pytest
from count_notebooks import gallery, gallery_notebooks

from generator.kit_files import template_folder
from generator.pair.workspace import Role

TEMPLATES = template_folder()

NOT_OURS = {
    r"held[ _-]out": "validation",
    r"hand-over|handed over|hands over": "artifacts, saved for inference",
    r"folded cell": "what the cells do",
    r"surprise|sureness": "error, confidence",
    r"promise": "check",
    r"what it is called|are called|is called as": "name",
    r"\blikes\b|\bwants\b": "needs",
    r"examples a step|rows a step": "global batch",
    r"keys of chance|decides on all chance": "RNG keys; all randomness comes from the seed",
    r"starts afresh": "training from scratch",
    r"taken for": "predicted as",
    r"learned from": "features",
    r"optimism|best_epoch": "the last epoch",
}


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize(
    ("name", "framework"),
    [pytest.param(*pair, marks=() if pair[1] == "keras" else pytest.mark.slow) for pair in gallery()],
)
def test_words_of_our_own_stay_out_of_the_notebooks(name: str, framework: str, role: Role) -> None:
    cells = gallery_notebooks(name, framework)[role]

    assert words_in(line for cell in cells for line in "".join(cell["source"]).splitlines()) == []


def test_words_of_our_own_stay_out_of_every_template() -> None:
    texts = {path.relative_to(TEMPLATES): path.read_text() for path in TEMPLATES.rglob("*.j2")}
    lines = {path: (line for line in text.splitlines() if not line.startswith("# {")) for path, text in texts.items()}

    assert {path: found for path, each in lines.items() if (found := words_in(each))} == {}


def words_in(lines: Iterable[str]) -> list[str]:
    """The lines that have such words, each with what to say."""
    found = [(line, better) for line in lines for word, better in NOT_OURS.items() if re.search(word, line, re.I)]
    return [f"{line.strip()} (say: {better})" for line, better in found]
