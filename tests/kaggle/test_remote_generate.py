"""`generate`, `specimen` and `data` for a competition that only a Kaggle knows: a local one, over HTTP."""

import json
import os
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from miniature import Outcome, write_tree
from scripted import ScriptedRunner
from serving import Served, served

from generator.kaggle.transport import RetryPolicy
from generator.local_server import ServerRecord
from generator.pair.workspace import Workspace

Tandem = Callable[..., Outcome]

PASSENGERS = "".join(f"{number},{number % 2},{20 + number % 50},{'SCQ'[number % 3]}\n" for number in range(1, 81))
TEST_ROWS = range(81, 111)
FERRY = {
    "data/train.csv": f"PassengerId,Survived,Age,Embarked\n{PASSENGERS}",
    "data/test.csv": "PassengerId,Age,Embarked\n" + "".join(f"{number},{number % 60},S\n" for number in TEST_ROWS),
    "data/sample_submission.csv": "PassengerId,Survived\n" + "".join(f"{number},0\n" for number in TEST_ROWS),
    "answers.csv": "PassengerId,Survived\n" + "".join(f"{number},{number % 2}\n" for number in TEST_ROWS),
    "competition.toml": """
        slug = "the-ferry"
        title = "The ferry: \\u001b[31mwho {{ survived }}?"
        metric = "accuracy"
        code_competition = true

        [pages]
        evaluation = "Submissions are scored by accuracy."
        code-requirements = '''
        * CPU Notebook <= 9 hours run-time
        * GPU Notebook <= 5 hours run-time
        * Internet access disabled
        * Submission file must be named `submission.csv`
        '''
    """,
}


@pytest.fixture
def ferry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A local Kaggle with one more competition, which `--to local` finds; the current folder is an empty workspace."""
    folder = write_tree(tmp_path / "ferry", FERRY)
    root = tmp_path / "local-kaggle"
    monkeypatch.setenv("TANDEM_LOCAL_KAGGLE", str(root))
    (tmp_path / "workspace").mkdir()
    monkeypatch.chdir(tmp_path / "workspace")
    with served(root, runner=ScriptedRunner(), competitions=(folder,)) as running:
        running.record(root)
        yield running


@pytest.fixture
def workspace(ferry: Served) -> Workspace:
    """The current folder, an empty workspace beside a local Kaggle that runs."""
    assert ferry
    return Workspace(Path())


def choices_of(workspace: Workspace, pair: str = "the-ferry") -> dict[str, Any]:
    content = tomllib.loads(workspace.pair(pair).settings_path.read_text())
    return {**content["pair"], **content["task"]}


def test_a_competition_that_only_kaggle_has_becomes_a_pair(tandem: Tandem, workspace: Workspace) -> None:
    outcome = tandem("generate", "--competition", "the-ferry", "--to", "local")

    assert outcome.code == 0, outcome.err
    choices = choices_of(workspace)
    assert choices["title"]["value"] == "The ferry: \x1b[31mwho {{ survived }}?"
    assert choices["title"]["evidence"] == "from the local Kaggle's API"
    assert choices["code_competition"]["value"] is True
    assert choices["targets"]["value"] == ["Survived"]
    assert choices["metric"]["value"] == "accuracy"
    assert "Kaggle calls it" in choices["metric"]["evidence"]
    assert choices["inference_hours"]["value"] == 5.0
    assert "GPU Notebook <= 5 hours" in choices["inference_hours"]["evidence"]
    assert choices["internet"]["value"] is False
    assert "must be named" in choices["submission_file"]["evidence"]
    assert "\x1b" not in outcome.out + outcome.err
    assert not workspace.competition_data("the-ferry").exists()


@pytest.mark.slow
def test_the_limit_of_the_pages_is_in_the_notebook(tandem: Tandem, workspace: Workspace) -> None:
    tandem("generate", "--competition", "the-ferry", "--to", "local")

    notebook = json.loads((workspace.pair("the-ferry").path / "infer" / "infer.ipynb").read_text())
    (parameters,) = [cell for cell in notebook["cells"] if "parameters" in cell["metadata"].get("tags", [])]
    assert "SESSION_HOURS = 5.0  #" in "".join(parameters["source"])
    metadata = json.loads((workspace.pair("the-ferry").path / "infer" / "kernel-metadata.json").read_text())
    assert metadata["enable_internet"] is False


@pytest.mark.slow
def test_another_limit_can_be_said(tandem: Tandem, workspace: Workspace) -> None:
    arguments = ("generate", "--competition", "the-ferry", "--to", "local")
    assert tandem(*arguments, "--inference-hours", "2").code == 0
    assert choices_of(workspace)["inference_hours"] == {"value": 2.0, "by": "flag"}

    assert tandem(*arguments).code == 0
    assert choices_of(workspace)["inference_hours"]["value"] == 2.0


def test_a_specimen_is_suggested_where_the_data_are_not_there(tandem: Tandem, workspace: Workspace) -> None:
    outcome = tandem("generate", "--competition", "the-ferry", "--to", "local")

    suggested, following = outcome.out.splitlines()[-2:]
    assert suggested.endswith("or download them with: tandem data the-ferry --to local")
    assert following == "Next: tandem specimen the-ferry --to local && tandem run the-ferry --specimen"
    assert workspace.root.exists()


def test_a_specimen_is_made_from_what_the_api_shows(tandem: Tandem, workspace: Workspace) -> None:
    outcome = tandem("specimen", "the-ferry", "--to", "local", "--json")

    assert outcome.code == 0, outcome.err
    folder = workspace.specimen("the-ferry")
    assert (folder / "train.csv").read_text().splitlines()[0] == "PassengerId,Survived,Age,Embarked"
    assert set(json.loads(outcome.out)["tables"]) == {"train.csv", "test.csv", "sample_submission.csv"}
    assert not workspace.competition_data("the-ferry").exists()


@pytest.mark.slow
def test_what_was_asked_once_is_remembered_when_the_data_are_there(tandem: Tandem, workspace: Workspace) -> None:
    tandem("generate", "--competition", "the-ferry", "--to", "local")
    before = choices_of(workspace)

    data = tandem("data", "the-ferry", "--to", "local")
    again = tandem("generate", "--competition", "the-ferry")

    assert (data.code, again.code) == (0, 0), data.err + again.err
    assert (workspace.competition_data("the-ferry") / "train.csv").read_text() == FERRY["data/train.csv"]
    assert choices_of(workspace) == before
    assert again.out.splitlines()[-1] == "Next: tandem run the-ferry"
    assert "Asking" not in again.err


def test_with_the_data_there_kaggle_is_asked_only_if_it_is_named(tandem: Tandem, workspace: Workspace) -> None:
    tandem("data", "the-ferry", "--to", "local")

    assert tandem("generate", "--competition", "the-ferry").code == 0
    assert choices_of(workspace)["title"]["value"] == "The ferry"
    assert tandem("generate", "--competition", "the-ferry", "--to", "local").code == 0
    assert choices_of(workspace)["title"]["evidence"] == "from the local Kaggle's API"


def test_data_say_what_they_would_download(tandem: Tandem, workspace: Workspace) -> None:
    outcome = tandem("data", "the-ferry", "--to", "local", "--dry-run", "--json")

    assert json.loads(outcome.out)["files"] == 3
    assert not workspace.competition_data("the-ferry").exists()


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_a_request_that_is_tried_again_is_said_except_in_json(
    tandem: Tandem, workspace: Workspace, ferry: Served, options: tuple[str, ...]
) -> None:
    assert workspace
    ferry.set_faults("503-htmlx1")

    outcome = tandem("data", "the-ferry", "--to", "local", "--dry-run", *options)

    told = [line for line in outcome.err.splitlines() if "Trying again in 1 s (try 2 of 6)." in line]
    assert (outcome.code, len(told)) == (0, 0 if options else 1)
    assert "Trying again" not in outcome.out
    assert all(line.startswith("Cannot ") and "failed with 503" in line for line in told)


@pytest.mark.slow  # scikit-learn is imported for it
def test_data_of_a_built_in_competition_need_no_kaggle(tandem: Tandem, workspace: Workspace) -> None:
    assert tandem("data", "tumours").code == 0
    assert (workspace.competition_data("tumours") / "train.csv").exists()


@pytest.mark.parametrize("verb", ["generate", "specimen", "data"])
def test_what_kaggle_does_not_give_is_one_sentence_each(
    tandem: Tandem, workspace: Workspace, ferry: Served, verb: str
) -> None:
    def said(slug: str) -> str:
        arguments = ("generate", "--competition", slug) if verb == "generate" else (verb, slug)
        outcome = tandem(*arguments, "--to", "local")
        assert outcome.code == 1
        lines = [line for line in outcome.err.splitlines() if not line.endswith("…")]
        assert len(lines) == 1
        return lines[0]

    assert "no-such-thing" in said("no-such-thing")
    for call in ("DownloadDataFile", "DownloadDataFiles", "ListDataTreeFiles", "ListDataFiles"):
        ferry.set_faults(f"rules-not-accepted@{call}")
        if (verb == "data") == (call in ("DownloadDataFiles", "ListDataFiles")):
            assert "accept" in said("the-ferry")
            assert "/rules" in said("the-ferry")
    assert list(workspace.root.iterdir()) in ([], [Path("input")])


@pytest.mark.parametrize("arguments", [("generate", "--competition", "no-such-thing"), ("specimen", "no-such-thing")])
def test_a_competition_that_the_local_kaggle_does_not_host_is_not_looked_for_on_the_real_one(
    tandem: Tandem, workspace: Workspace, ferry: Served, arguments: tuple[str, ...]
) -> None:
    outcome = tandem(*arguments, "--to", "local")

    assert outcome.code == 1
    assert 'The local Kaggle has no competition "no-such-thing"' in outcome.err
    assert f"{ferry.address}/competitions" in outcome.err
    assert "kaggle.com" not in outcome.err
    assert list(workspace.root.iterdir()) == []


@pytest.mark.parametrize("arguments", [("generate", "--competition", "titanic"), ("data", "titanic")])
def test_without_credentials_the_sentence_says_where_to_get_them(
    tandem: Tandem, workspace: Workspace, arguments: tuple[str, ...]
) -> None:
    outcome = tandem(*arguments)

    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "https://www.kaggle.com/settings" in outcome.err
    assert list(workspace.root.iterdir()) == []


@pytest.mark.slow  # what is refused is tried again for a while
def test_no_network_is_one_sentence(
    tandem: Tandem, workspace: Workspace, ferry: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = tmp_path / "gone"
    root.mkdir()
    monkeypatch.setenv("TANDEM_LOCAL_KAGGLE", str(root))
    monkeypatch.setattr(RetryPolicy, "pause", lambda *_: 0.0)
    ServerRecord("http://127.0.0.1:1", ferry.token, ferry.account, os.getpid()).write(root)

    outcome = tandem("data", "the-ferry", "--to", "local")

    assert outcome.code == 1
    assert "127.0.0.1" in outcome.err
    assert workspace.root.exists()
