"""Notebooks as they are rendered, of every layout in every framework."""

import json
from pathlib import Path
from typing import Any

from layouts import Layout

from generator.competition.facts import Competition
from generator.competition.schema import families
from generator.pair.choices import Choice, Choices, MadeBy, merged, proposed
from generator.pair.kernels import render_kernels
from generator.pair.workspace import Role

FRAMEWORKS_OF = {family.name: family.frameworks for family in families().values()}


def layout_choices(layout: Layout) -> dict[str, Choices]:
    """The choices of a layout's pair in every framework that its family has."""
    task = layout.read().task
    competition = Competition(slug=layout.name.replace("_", "-"), title=layout.name, is_code_competition=True)
    owner = Choice("ada", MadeBy.FLAG)
    return {
        framework: merged(proposed(competition, task, framework=framework, owner=owner), Choices(), flags={})
        for framework in FRAMEWORKS_OF[task.family]
    }


def notebooks(choices: Choices) -> dict[Role, list[dict[str, Any]]]:
    """The cells of both notebooks of a pair, as they stand in the file."""
    files = render_kernels(choices)
    return {role: json.loads(files[Path(role, f"{role}.ipynb")])["cells"] for role in Role}


def code_of(cells: list[dict[str, Any]]) -> dict[str, str]:
    """The source of each code cell by its name."""
    return {cell["id"]: "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"}
