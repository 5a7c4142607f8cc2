"""Notebooks as they are rendered, of every layout in every framework."""

import json
from pathlib import Path
from typing import Any

from layouts import LAYOUTS, WARNED, Layout

from generator.competition.facts import Competition
from generator.competition.introspection import Hints, read_task
from generator.competition.schema import families
from generator.competition.survey import survey_folder
from generator.pair.choices import Choice, Choices, MadeBy, merged, proposed
from generator.pair.kernel_files import render_kernels
from generator.pair.workspace import Role

FRAMEWORKS_OF = {family.name: family.frameworks for family in families().values()}
ALL_LAYOUTS: tuple[Layout, ...] = (*LAYOUTS, *WARNED)


def layout_choices(layout: Layout, folder: Path) -> dict[str, Choices]:
    """Writes a layout to an empty folder.

    Returns:
        The choices of its pair in every framework that its family has.
    """
    layout.write(folder)
    slug = layout.name.replace("_", "-")
    task = read_task(survey_folder(folder), Hints(slug=slug, metric_text=layout.metric)).task
    competition = Competition(slug=slug, title=layout.name, is_code_competition=True)
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
