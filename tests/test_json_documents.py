"""Every verb that reports prints JSON that its schema describes, and so do errors.

The fixture `tandem` holds whatever any test prints with --json to its schema; here are the examples of docs/json.md,
which `pytest tests --rewrite-golden` writes again.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import list_json
import pytest
from json_documents import EXAMPLES, SCHEMAS, check_documents, example_path, schema_of
from jsonschema import Draft202012Validator
from miniature import Outcome
from recorded_runs import record
from runnable_pair import write_pair

from generator.local_server import ServerRecord

Tandem = Callable[..., Outcome]
Keep = Callable[[str, str], None]

# What they print is for people, a shell or an editor, or is JSON anyway; or they change a run, and say so.
WITHOUT_JSON = {"schema", "skill", "completion", "runs note", "runs prune", "runs export"}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, a workspace with a small pair."""
    monkeypatch.chdir(tmp_path)
    write_pair(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["generate", "digits", "--dry-run"],
        ["data", "digits", "--dry-run"],
        ["specimen", "digits", "--rows", "20"],
        ["run", "tiny"],
        ["check", "tiny"],
    ],
    ids=lambda command: command[0],
)
def test_a_verb_prints_its_document(tandem: Tandem, workspace: Path, keep_example: Keep, command: list[str]) -> None:
    outcome = tandem(*command, "--json")

    assert "error" not in json.loads(outcome.out), outcome.err
    keep_example(command[0], outcome.out)


@pytest.mark.parametrize(
    "command",
    [
        ["generate", "--list"],
        ["check", "--explain", "all"],
        ["check", "--explain", "N042"],
        ["check", "tiny", "--baseline", "baseline.json", "--write-baseline"],
        ["check", "tiny", "--diff"],
        ["plan", "--accelerators"],
        ["serve", "--env", "--root", "kaggle"],
        ["push", "tiny", "--workflow", "github"],
    ],
    ids=" ".join,
)
def test_a_verb_with_another_task_prints_another_document(tandem: Tandem, workspace: Path, command: list[str]) -> None:
    (workspace / "kaggle").mkdir()
    ServerRecord("http://127.0.0.1:8400", "local-token", "local", os.getpid()).write(workspace / "kaggle")

    outcome = tandem(*command, "--json")

    assert "error" not in json.loads(outcome.out), outcome.err


def test_trainings_on_colab_have_their_documents(
    tandem: Tandem, workspace: Path, keep_example: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = workspace / "kernels" / "tiny" / "pair.toml"
    pair.write_text(pair.read_text().replace("[pair]", '[pair]\nplatform = "colab"'))
    receipt = workspace / "output" / "tiny" / "colab" / "receipt.json"
    receipt.parent.mkdir(parents=True)
    fields = {"session": "tandem-tiny-012345", "stage": "rented", "asked": "T4", "high_memory": False, "hours": 2.0}
    receipt.write_text(json.dumps({**fields, "began": "2026-11-02T08:00:00+00:00"}))
    program = workspace / "google"
    program.write_text("#!/bin/sh\necho No active sessions\n")
    program.chmod(0o755)

    plan = tandem("colab", "run", "tiny", "--dry-run", "--machine", "t4", "--json")
    status = tandem("colab", "status", "tiny", "--program", program, "--json")
    stop = tandem("colab", "stop", "tiny", "--program", program, "--json")

    assert (plan.code, status.code, stop.code) == (0, 0, 0), (plan.err, status.err, stop.err)
    assert json.loads(status.out)["sessions"] == []
    keep_example("colab-status", status.out)
    keep_example("colab-stop", stop.out)


def test_pairs_and_runs_have_their_documents(tandem: Tandem, workspace: Path, keep_example: Keep) -> None:
    record(workspace)
    record(workspace, epochs=5, score=0.8)

    keep_example("list", tandem("list", "--json").out)
    keep_example("runs-list", tandem("runs", "tiny", "--json").out)
    keep_example("runs-diff", tandem("runs", "diff", "tiny", "1", "2", "--json").out)


def test_merges_have_their_documents(tandem: Tandem, workspace: Path, keep_example: Keep) -> None:
    tandem("generate", "digits")
    notebook = workspace / "kernels/digits/train/train.ipynb"
    notebook.write_text(notebook.read_text().replace("def build_model(", "def build_model(  # mine"))

    keep_example("diff", tandem("diff", "digits", "--role", "train", "--json").out)
    keep_example("update", tandem("update", "digits", "--json").out)
    tandem("generate", "digits", "--force")
    keep_example("undo", tandem("undo", "digits", "--json").out)
    fork = workspace / "train.ipynb"
    fork.write_text(notebook.read_text().replace("EPOCHS = 20", "EPOCHS = 30").replace("Fork", "Copy"))
    keep_example("pull", tandem("pull", "digits", "--from", "train.ipynb", "--yes", "--json").out)
    keep_example("adopt", tandem("adopt", "train.ipynb", "--name", "fork", "--owner", "ada", "--json").out)


def test_every_verb_that_reports_has_the_flag_and_an_example() -> None:
    names = {name for name, _ in list_json.commands()}
    with_flag = list_json.json_options()

    assert names - with_flag.keys() == WITHOUT_JSON
    assert [name for name, option in with_flag.items() if not option.documents] == []
    examples = {path.stem for path in EXAMPLES.glob("*.json")}
    assert examples == {name.replace(" ", "-") for name in with_flag} | {"error"}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_an_example_is_what_its_schema_says(path: Path) -> None:
    name = path.stem
    check_documents(name.split("-", 1), path.read_text().removesuffix("\n"), is_error=name == "error")


def test_the_schemas_and_the_page_are_those_of_the_code() -> None:
    stale = [path.name for path, text in list_json.files().items() if not path.is_file() or path.read_text() != text]
    assert stale == [], "python docs/list_json.py writes them"


def test_a_schema_is_of_the_named_draft_and_refuses_what_is_not_declared() -> None:
    for path in SCHEMAS.glob("*.json"):
        schema = schema_of(path.stem)
        Draft202012Validator.check_schema(schema)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    with pytest.raises(AssertionError, match="seed"):
        check_documents(["specimen"], '{"schema_version": 1, "specimen": "x"}', is_error=False)


def test_a_schema_is_printed_by_name(tandem: Tandem) -> None:
    assert json.loads(tandem("schema", "colab", "run").out) == schema_of("colab-run")
    assert {"run", "error", "colab run"} <= set(tandem("schema").out.splitlines())
    assert 'There is no schema "rum". Did you mean "run"? `tandem schema` lists them.' in tandem("schema", "rum").err


@pytest.mark.parametrize(
    ("command", "code", "error"),
    [
        (
            ["run", "tinny"],
            1,
            {
                "code": "pair-not-found",
                "message": 'There is no pair "tinny" in kernels.',
                "remedy": 'Did you mean "tiny"? Write one with `tandem generate --competition tinny`. '
                "Existing pairs: tiny.",
            },
        ),
        (["run", "tiny", "--only", "infer"], 1, {"code": "hand-over-missing"}),
        (["run", "tiny", "-P", "EPOCHS"], 1, {"code": "parameter-without-value"}),
        (["status", "tiny"], 1, {"code": "no-chain"}),
        (["run"], 2, {"code": "usage", "remedy": "Try 'tandem run --help' for help."}),
        (["run", "tiny", "--fold"], 2, {"code": "usage"}),
        (["rum", "tiny"], 2, {"code": "usage"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_an_error_is_one_document_with_its_code_and_remedy(
    tandem: Tandem, workspace: Path, command: list[str], code: int, error: dict[str, str]
) -> None:
    outcome = tandem(*command, "--json")

    assert outcome.code == code
    shown = json.loads(outcome.out)["error"]
    assert {key: shown[key] for key in error} == error
    plain = tandem(*command)
    assert (plain.code, plain.out, plain.err) == (code, "", outcome.err)
    if code == 1:
        assert all(sentence in plain.err for sentence in (shown["message"].removesuffix("."), shown["remedy"][1:-1]))


def test_an_error_is_an_example(tandem: Tandem, workspace: Path, keep_example: Keep) -> None:
    keep_example("error", tandem("run", "tinny", "--json").out)


def test_an_interrupt_is_a_document_too(tandem: Tandem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.pair.generation.draft", Mock(side_effect=KeyboardInterrupt))
    outcome = tandem("generate", "digits", "--json")

    assert (outcome.code, json.loads(outcome.out)["error"]["code"]) == (130, "interrupted")


def test_the_report_of_a_run_is_beside_its_page_as_json(tandem: Tandem, workspace: Path) -> None:
    printed = json.loads(tandem("run", "tiny", "--json").out)

    assert json.loads((workspace / "output/tiny/report.json").read_text()) == printed
    assert printed["out_of_fold"] == {"metric": "accuracy", "score": 0.75}
    tandem("run", "tiny")
    assert json.loads((workspace / "output/tiny/previous/report.json").read_text()) == printed


def test_every_code_is_lower_case_words(workspace: Path) -> None:
    assert [code for code in list_json.codes() if not code.replace("-", "").isalpha() or code != code.lower()] == []
    assert example_path("error").is_file()
