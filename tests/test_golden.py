"""What `generate` infers of a small competition and says of it, held by a record that a reviewer reads as a diff.

`pytest tests/test_golden.py --rewrite-golden` writes the records. One has a line for each choice, [value, evidence],
and leaves out what is as in `golden/usual.json`; `null` is a choice that there is none of. `weighed` has the candidates
that something speaks for, best first, where there is more than one. A case of a competition has only what differs from
it.
"""

import json
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from layouts import CATALOGUE, GOLDEN, Layout
from miniature import MINIATURE, Outcome, replace_templates, write_tree

from generator.competition.facts import Competition, CompetitionDescription
from generator.kit_files import template_folder
from generator.pair.folder import keep_description
from generator.pair.workspace import Workspace

USUAL = json.loads((GOLDEN / "usual.json").read_text(encoding="utf-8"))
LISTS = 2  # how deep the lists are that have a line for each sentence
OF_THE_NAME = ("competition", "title", "owner", "framework")

Generate = Callable[[Layout], dict[str, Any]]


@pytest.fixture
def generate(tandem: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generate:
    """Reports what `generate` says of a competition; the notebooks have no cells, which take longest to render."""
    replace_templates(monkeypatch, tmp_path / "kit", templates_without_cells())
    monkeypatch.chdir(tmp_path)
    return partial(report_of, tandem, tmp_path)


def templates_without_cells() -> dict[str, str]:
    """Templates of all families and frameworks that render in no time."""
    kit, empty = template_folder(), '# {% extends "_layout.py.j2" %}\n'
    models = {path.relative_to(kit).as_posix(): "" for path in kit.glob("families/*/models/*.j2")}
    frameworks = {path.relative_to(kit).as_posix(): path.read_text() for path in kit.glob("frameworks/*/*.toml")}
    layout = MINIATURE["_layout.py.j2"]
    return {**models, **frameworks, "_layout.py.j2": layout, "train.py.j2": empty, "infer.py.j2": empty}


def report_of(tandem: Callable[..., Outcome], folder: Path, layout: Layout) -> dict[str, Any]:
    """What `generate` reports of a competition, with its choices by key."""
    data, slug = folder / "data" / str(len(list(folder.glob("data/*")))), layout.name.replace("_", "-")
    data.mkdir(parents=True)
    layout.write(data)
    workspace = Workspace(folder)
    competition = Competition(slug, "Any", is_code_competition=False)
    pages = {"evaluation": layout.page} if layout.page else {}
    description = CompetitionDescription(competition, layout.metric, pages, source="Kaggle's API")
    keep_description(workspace.pair(slug), description)
    places = ["--competition", slug, "--data", data, "--workspace", workspace.root]
    outcome = tandem("generate", *places, "--json", "--explain", "--dry-run", *shlex.split(layout.options))
    lines = [line.replace(str(data), "DATA") for line in outcome.err.splitlines()]
    if outcome.code:
        return {"code": outcome.code, "errors": lines}
    report = json.loads(outcome.out)
    assert lines == [f"Warning: {warning}" for warning in report["warnings"]]
    choices = {key: choice for section in report["choices"].values() for key, choice in section.items()}
    return {
        "choices": {key: line_of(choice) for key, choice in choices.items() if key not in OF_THE_NAME},
        "weighed": {
            key: weights_of(likely) for key, value in report["weighed"].items() if len(likely := likely_of(value)) > 1
        },
        "warnings": report["warnings"],
        "unused": report["unused"],
    }


def line_of(choice: Mapping[str, Any]) -> list[Any]:
    """A value and its evidence."""
    return [choice["value"], choice["evidence"] or choice["by"]]


def likely_of(candidates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The candidates that something speaks for."""
    return [candidate for candidate in candidates if candidate["weight"] > 0]


def weights_of(candidates: list[dict[str, Any]]) -> str:
    return ", ".join(f"{json.dumps(candidate['value'])} {candidate['weight']:.3g}" for candidate in candidates)


def find_difference(report: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """What a report has that its base does not have, and null for what it lacks."""
    result: dict[str, Any] = {}
    for key in (*report, *(key for key in base if key not in report)):
        value, other = report.get(key), base.get(key)
        if isinstance(value, dict):
            value, other = find_difference(value, other or {}), {}
        if value != other:
            result[key] = value
    return result


def usual_report(report: Mapping[str, Any]) -> dict[str, Any]:
    """What a report of its family usually has; an error has nothing in common with others."""
    if "choices" not in report:
        return {}
    family = report["choices"]["family"][0]
    return {"choices": {**USUAL["any"], **USUAL[family]}, "weighed": {}, "warnings": [], "unused": []}


def record_of(layout: Layout, generate: Generate) -> str:
    """The record of a competition: a line for each choice."""
    plain = generate(layout)
    record = {"": find_difference(plain, usual_report(plain))}
    for name, case in layout.cases.items():
        report = generate(case)
        is_like = "choices" in plain and "choices" in report
        record[name] = find_difference(report, plain if is_like else usual_report(report))
    return as_text(record) + "\n"


def as_text(value: Any, depth: int = 0) -> str:
    """JSON with the keys in order and a line for each of the innermost values."""
    is_tree = isinstance(value, dict) or (isinstance(value, list) and depth == LISTS)
    if not value or not is_tree:
        return json.dumps(value, ensure_ascii=False)
    indent = "  " * (depth + 1)
    if isinstance(value, dict):
        order = value if depth == 0 else sorted(value)
        lines = [f"{indent}{json.dumps(key, ensure_ascii=False)}: {as_text(value[key], depth + 1)}" for key in order]
    else:
        lines = [indent + json.dumps(line, ensure_ascii=False) for line in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([opening, ",\n".join(lines), "  " * depth + closing])


@pytest.mark.parametrize("layout", CATALOGUE, ids=lambda layout: layout.name)
def test_a_competition_is_understood_as_its_record_says(
    layout: Layout, generate: Generate, request: pytest.FixtureRequest
) -> None:
    path, record = GOLDEN / f"{layout.name}.json", record_of(layout, generate)
    if request.config.getoption("rewrite_golden"):
        write_tree(GOLDEN, {path.name: record})

    assert record == path.read_text(encoding="utf-8"), "pytest --rewrite-golden writes it; then read the diff"


def test_every_record_is_of_a_competition() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == {"usual", *(layout.name for layout in CATALOGUE)}
