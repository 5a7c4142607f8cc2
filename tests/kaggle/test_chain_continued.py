"""A training that takes more than one session: how the next one goes on from the output of the last."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chain_pair import training_output
from chain_table import Table
from layout_files import read_table
from miniature import Outcome
from scripted import ScriptedRunner, writing
from serving import Served, served

from generator.competition.builtin import require
from generator.kaggle.chain.errors import HandOverUnfitError, StepFailedError
from generator.kaggle.chain.journal import ChainStep
from generator.local_server import ROOT_VARIABLE
from generator.pair.folder import read_pair_spec
from generator.pair.workspace import PairFolder, Role
from generator.run.input_mounts import mounts, read_sources
from generator.sessions.sandbox import SessionOrder

Tandem = Callable[..., Outcome]
UNFINISHED = {"complete": False, "epochs_done": [3]}


def sources(folder: PairFolder) -> list[str]:
    """The kernels that are attached to the training kernel, as its metadata say."""
    return list(json.loads(folder.metadata(Role.TRAIN).read_text())["kernel_sources"])


@pytest.fixture
def pair(tmp_path: Path) -> PairFolder:
    return PairFolder(tmp_path / "kernels" / "long")


@pytest.fixture
def local(tmp_path: Path, pair: PairFolder, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A local Kaggle on which training ends after three sessions, each of which needs the output of the one before."""
    wanted = 3

    def script(order: SessionOrder) -> None:
        mounts = {str(place): path for place, path in order.mounts.items()}
        trained = next((path for place, path in mounts.items() if place.startswith("notebooks/")), None)
        if "infer" in order.title:
            answers = require("digits").answers()
            head, *rows = read_table(mounts["competitions/digits"] / "sample_submission.csv")
            lines = [",".join(head), *(f"{row[0]},{answers[row[0]]}" for row in rows)]
            writing({"submission.csv": "\n".join(lines) + "\n"})(order)
            return
        earlier = [] if trained is None else (trained / "checkpoints/run/settings.txt").read_text().split()
        done = [*earlier, "session"]
        is_complete = len(done) == wanted
        output = training_output(pair, complete=is_complete, epochs_done=[len(done)])
        writing({**output, "checkpoints/run/settings.txt": " ".join(done)})(order)

    root = tmp_path / "kaggle"
    with served(root, runner=ScriptedRunner(script)) as running:
        running.record(root)
        monkeypatch.setenv(ROOT_VARIABLE, str(root))
        monkeypatch.chdir(tmp_path)
        yield running


@pytest.mark.slow
def test_a_training_of_three_sessions_goes_on_by_the_lines_that_the_messages_say(
    local: Served, tandem: Tandem, pair: PairFolder
) -> None:
    generate = ("generate", "--competition", "digits", "--name", "long")
    push = ("push", "long", "--to", "local")
    assert tandem(*generate).code == 0

    first = tandem(*push)
    assert first.code == 1
    assert "its folds have done [1] epochs" in first.err
    assert "`continues = true` below `[pair]` in kernels/long/pair.toml" in first.err
    assert "--from train" not in first.err
    assert f"run `tandem {' '.join(generate)}`, then `tandem {' '.join(push)}`" in first.err

    pair.settings_path.write_text(pair.settings_path.read_text().replace("[pair]", "[pair]\ncontinues = true"))
    rendered = tandem(*generate)
    assert rendered.code == 0, rendered.err
    assert sources(pair) == [read_pair_spec(pair).train.ref]
    checked = tandem("check", "long")
    assert checked.code == 0, checked.out

    second = tandem(*push)
    assert second.code == 1
    assert "pushed local/long-keras-train as version 2" in second.err
    assert "its folds have done [2] epochs" in second.err
    assert "`tandem push long --to local --from train`" in second.err

    third = tandem(*push, "--from", "train", "--submit")
    assert third.code == 0, third.err
    assert "pushed local/long-keras-train as version 3" in third.err
    assert "scored" in third.out

    again = tandem(*generate)
    assert again.code == 0, again.err
    assert sources(pair) == [read_pair_spec(pair).train.ref]


def test_a_pair_that_continues_from_the_start_is_pushed_first_without_its_own_output(table: Table) -> None:
    table.folder.settings_path.write_text(
        table.folder.settings_path.read_text().replace("[pair]", "[pair]\ncontinues = true")
    )
    metadata = table.folder.metadata(Role.TRAIN)
    fields = json.loads(metadata.read_text())
    metadata.write_text(json.dumps({**fields, "kernel_sources": [fields["id"]]}))
    table.kaggle.outputs["train"] = training_output(table.folder, **UNFINISHED)

    table.stops(HandOverUnfitError, match="--from train")
    table.stops(StepFailedError)
    table.kaggle.outputs["train"] = training_output(table.folder)
    table.push(back_to=ChainStep.TRAIN)

    pushed = [version.push.kernel_sources for version in table.kaggle.saved[fields["id"]]]
    assert pushed == [(), (fields["id"],)]
    assert table.counts == (3, 1)


def test_a_pair_that_continues_runs_here_where_there_is_no_earlier_output(table: Table) -> None:
    metadata = table.folder.metadata(Role.TRAIN)
    fields = json.loads(metadata.read_text())
    metadata.write_text(json.dumps({**fields, "kernel_sources": [fields["id"]]}))

    found = mounts(read_sources(table.folder, Role.TRAIN), table.workspace, outputs={})

    assert [str(mount.at) for mount in found] == ["competitions/digits"]
