"""`tandem check` where code is kept: as a hook of pre-commit, as an action of GitHub, and in its SARIF."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from check_corpus import sound
from miniature import Outcome

from generator.check.rules import RULES

Tandem = Callable[..., Outcome]
ROOT = Path(__file__).resolve().parents[2]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
WAITS = "x = 1\nname = input()"


def write_kernel(folder: Path, source: str = "x = 1") -> None:
    folder.mkdir(parents=True)
    kernel = sound("titanic-with-lightgbm")
    kernel.cells.append({"cell_type": "code", "id": "own-cell", "metadata": {}, "outputs": [], "source": source})
    kernel.read(folder)


def hooked(hook: Mapping[str, Any], root: Path) -> list[str]:
    """The names that pre-commit hands to a hook: by its patterns, relative to the repository, those of all folders."""
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    return [name for name in names if re.search(hook["files"], name) and not re.search(hook["exclude"], name)]


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_a_hook_checks_the_kernels_that_a_commit_changes(
    tmp_path: Path, tandem: Tandem, monkeypatch: pytest.MonkeyPatch, hook: Mapping[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_kernel(tmp_path / "one")
    write_kernel(tmp_path / "two" / "deeper", WAITS)
    (tmp_path / "two" / "helpers.py").write_text("input()")
    write_kernel(tmp_path / "two" / ".ipynb_checkpoints", WAITS)
    program, *arguments = shlex.split(hook["entry"])
    names = hooked(hook, tmp_path)

    assert (program, hook["language"], hook["require_serial"]) == ("tandem", "python", True)
    assert [name for name in names if "helpers" in name or ".ipynb_checkpoints" in name] == []
    outcome = tandem(*arguments, *(name for name in names if "checkpoints" not in name))
    assert outcome.code == 1
    assert outcome.out.count("N009 error") == 1  # once, though the notebook and its metadata are named
    assert "in 2 notebooks" in outcome.out
    assert tandem(*arguments, *(name for name in names if name.startswith("one/"))).code == 0


def test_metadata_at_the_top_are_not_everything_below(
    tmp_path: Path, tandem: Tandem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_kernel(tmp_path / "below", WAITS)
    sound("titanic-with-lightgbm").read(tmp_path)
    (tmp_path / "draft.ipynb").write_text((tmp_path / "below" / "notebook.ipynb").read_text())

    assert "No findings in 1 notebook." in tandem("check", "kernel-metadata.json").out
    assert "draft.ipynb:own-cell:2: N009 error" in tandem("check", "draft.ipynb").out


def run_check_step(folder: Path, *, paths: str, arguments: str) -> "subprocess.CompletedProcess[str]":
    """Runs the step of the action that checks, as GitHub does."""
    check = next(step for step in ACTION["runs"]["steps"] if step.get("id") == "check")
    inputs = {"PATHS": paths, "ARGUMENTS": arguments, "SARIF_FILE": "found.sarif"}
    assert check["env"].keys() == inputs.keys()
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(folder), **inputs}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", check["run"]],
        cwd=folder,
        env=environment | {"GITHUB_OUTPUT": "output.txt"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("is_sound", [True, False])
def test_the_steps_of_the_action_write_sarif_and_fail_where_there_are_errors(tmp_path: Path, is_sound: bool) -> None:
    write_kernel(tmp_path / "my kernels" / "one", "x = 1" if is_sound else WAITS)
    done = run_check_step(tmp_path, paths="my kernels\n", arguments="--ignore N042\n--ignore N007")

    assert done.returncode == 0, done.stderr
    log = json.loads((tmp_path / "found.sarif").read_text())
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ([] if is_sound else ["N009"])
    assert (tmp_path / "output.txt").read_text() == f"code={0 if is_sound else 1}\n"
    assert ACTION["runs"]["steps"][-1]["env"]["CODE"] == "${{ steps.check.outputs.code }}"


@pytest.mark.slow
def test_the_action_fails_where_there_is_nothing_to_check(tmp_path: Path) -> None:
    done = run_check_step(tmp_path, paths="nowhere", arguments="")

    assert done.returncode == 1
    assert 'There is no pair "nowhere"' in done.stderr


def shape(required: str = "", **properties: Any) -> dict[str, Any]:
    """An object of SARIF: what it has to have, and what we write in it; what the schema does not know it refuses."""
    return {"required": required.split(), "properties": properties, "additionalProperties": False}


def many(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


TEXT, NUMBER, LEVEL = (
    {"type": "string"},
    {"type": "integer", "minimum": 0},
    {"enum": ["none", "note", "warning", "error"]},
)
MESSAGE = shape("text", text=TEXT)
ARTIFACT = shape(uri=TEXT)
PLACE = shape(
    physicalLocation=shape("artifactLocation", artifactLocation=ARTIFACT, region=shape(startLine={"minimum": 1})),
    logicalLocations=many(shape(name=TEXT, fullyQualifiedName=TEXT)),
)
PIECE = shape(
    "deletedRegion", deletedRegion=shape(charOffset=NUMBER, charLength=NUMBER), insertedContent=shape(text=TEXT)
)
CHANGE = shape("artifactLocation replacements", artifactLocation=ARTIFACT, replacements=many(PIECE) | {"minItems": 1})
RESULT = shape(
    "message",
    ruleId=TEXT,
    ruleIndex=NUMBER,
    level=LEVEL,
    message=MESSAGE,
    locations=many(PLACE),
    partialFingerprints={"additionalProperties": TEXT},
    fixes=many(shape("artifactChanges", description=MESSAGE, artifactChanges=many(CHANGE) | {"minItems": 1})),
)
RULE = shape(
    "id", id=TEXT, name=TEXT, shortDescription=MESSAGE, fullDescription=MESSAGE, defaultConfiguration=shape(level=LEVEL)
)
RUN = shape(
    "tool",
    tool=shape("driver", driver=shape("name", name=TEXT, version=TEXT, rules=many(RULE))),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=many(RESULT),
)
# What the schema of SARIF 2.1.0 says of the objects that are written; it is too long to be kept here.
SARIF = shape("version runs", **{"$schema": TEXT, "version": {"const": "2.1.0"}, "runs": many(RUN)})


def test_sarif_is_valid_by_its_schema(tmp_path: Path, tandem: Tandem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_kernel(tmp_path / "my kernel", f"{WAITS}\nf'{{x}}\\ud83d'")
    metadata = json.loads((tmp_path / "my kernel" / "kernel-metadata.json").read_text())
    (tmp_path / "my kernel" / "kernel-metadata.json").write_text(json.dumps(metadata | {"enable_tpu": "yes"}))
    log = json.loads(tandem("check", "my kernel", "--sarif").out)

    jsonschema.validate(log, SARIF)
    assert [result.get("ruleId") for result in log["runs"][0]["results"] if "fixes" in result] == ["M006"]


def test_sarif_names_the_line_of_the_file(tmp_path: Path, tandem: Tandem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_kernel(tmp_path / "one", WAITS)
    path = tmp_path / "one" / "notebook.ipynb"
    notebook = json.loads(path.read_text())
    notebook["cells"][-1]["source"] = WAITS.splitlines(keepends=True)
    path.write_text(json.dumps(notebook, indent=1))
    (result,) = json.loads(tandem("check", "one", "--sarif").out)["runs"][0]["results"]

    line = result["locations"][0]["physicalLocation"]["region"]["startLine"]
    assert path.read_text().split("\n")[line - 1].strip() == '"name = input()"'
    assert result["ruleId"] in {rule.id for rule in RULES}
