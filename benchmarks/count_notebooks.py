"""How long the rendered notebooks are: prints a Markdown table of the reference pairs, in every framework."""

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from generator.competition.schema import families, frameworks, preset_for, presets_of
from generator.pair.folder import complete_settings
from generator.pair.notebook import FOLDED_TAG
from generator.pair.rendering import render_kernels
from generator.pair.settings import Settings
from generator.pair.spec import without_foreign_backbone
from generator.pair.workspace import Role, Workspace

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Counts:
    """How much there is to read; comments count, empty lines do not.

    Attributes:
        lines: Of code.
        in_sight: Of the code that is not folded.
        cells: Cells of code.
        before_training: Of these, before the one that trains; all of them if none does.
        picture_at: Lines in sight up to the end of the first cell that draws, or None if none does.
    """

    lines: int
    in_sight: int
    cells: int
    before_training: int
    picture_at: int | None


def gallery() -> list[tuple[str, str]]:
    """The competition of every reference pair with every framework that its family has."""
    all_settings = {pair.name: complete_settings(pair) for pair in Workspace(ROOT).pairs()}
    pairs = {name: pair.family for name, pair in all_settings.items() if pair.get("competition") == name}
    return [(name, framework) for name, family in pairs.items() for framework in families()[family].frameworks]


def gallery_settings(name: str, framework: str) -> Settings:
    """The settings of a reference pair, in a framework."""
    settings = complete_settings(Workspace(ROOT).pair(name))
    values = {"framework": framework}
    if "pretrained" in settings.task:
        language = presets_of(settings.family)[str(settings.get("pretrained"))].chosen_for
        models = frameworks()[framework].models
        values["pretrained"] = preset_for(settings.family, language=language, kinds=models)
    return without_foreign_backbone(settings.override(values), framework)


@cache
def gallery_notebooks(name: str, framework: str) -> Mapping[Role, list[dict[str, Any]]]:
    """The cells of both notebooks of a reference pair, rendered in a framework, as they stand in the file."""
    files = render_kernels(gallery_settings(name, framework))
    return {role: json.loads(files[Path(role, f"{role}.ipynb")])["cells"] for role in Role}


def counts(cells: list[dict[str, Any]]) -> Counts:
    """Counts the code of a notebook, cells being as they stand in the file."""
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    trains = [cell["id"] == "train" for cell in code]
    lengths = [len(list(filter(str.strip, "".join(cell["source"]).splitlines()))) for cell in code]
    is_folded = [FOLDED_TAG in cell["metadata"].get("tags", []) for cell in code]
    shown = [0 if folded else length for length, folded in zip(lengths, is_folded, strict=True)]
    first = next(_drawing(["".join(cell["source"]) for cell in code]), None)
    return Counts(
        lines=sum(lengths),
        in_sight=sum(shown),
        cells=len(code),
        before_training=[*trains, True].index(True),
        picture_at=None if first is None else sum(shown[: first + 1]),
    )


def _drawing(sources: list[str]) -> Iterator[int]:
    """The positions of the cells that draw: they show a figure, or call a function that does."""
    functions: set[str] = set()
    for position, source in enumerate(sources):
        statements = ast.parse(source).body
        defined = [each for each in statements if isinstance(each, ast.FunctionDef)]
        functions.update(each.name for each in defined if _calls(each) & {"plt.show", *functions})
        executed = (each for each in statements if not isinstance(each, ast.FunctionDef | ast.ClassDef))
        if any(_calls(each) & {"plt.show", *functions} for each in executed):
            yield position


def _calls(statement: ast.stmt) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(statement) if isinstance(node, ast.Call)}


def main() -> None:
    """Prints the table."""
    print("| pair | framework | lines of code | in sight | code cells | before training | first picture at |")
    print("|---|---|---|---|---|---|---|")
    for name, framework in gallery():
        train, infer = (counts(cells) for cells in gallery_notebooks(name, framework).values())
        both = [(train.lines, infer.lines), (train.in_sight, infer.in_sight), (train.cells, infer.cells)]
        columns = [name, framework, *(f"{one:,} / {other:,}" for one, other in both)]
        columns += [f"{train.before_training}", f"{train.picture_at or 'none'}"]
        print(f"| {' | '.join(columns)} |")


if __name__ == "__main__":
    main()
