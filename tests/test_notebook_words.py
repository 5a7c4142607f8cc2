"""The notebooks speak as Kaggle's notebooks do: words of our own stay out of what a reader sees."""

import re

import pytest
from count_notebooks import gallery, gallery_notebooks

from generator.pair.workspace import Role

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
@pytest.mark.parametrize(("name", "framework"), gallery())
def test_words_of_our_own_stay_out_of_the_notebooks(name: str, framework: str, role: Role) -> None:
    cells = gallery_notebooks(name, framework)[role]
    lines = [line for cell in cells for line in "".join(cell["source"]).splitlines()]

    found = [
        f"{line.strip()} (say: {better})"
        for word, better in NOT_OURS.items()
        for line in lines
        if re.search(word, line, re.IGNORECASE)
    ]

    assert found == []
