"""A pair that was trained on Colab: its output here becomes a dataset, which inference on Kaggle attaches."""

import json
from pathlib import Path

import pytest
from chain_pair import training_output
from chain_table import Table

from generator.kaggle.chain.errors import ChainError, HandOverUnfitError
from generator.kaggle.chain.execution import Handoff
from generator.kaggle.chain.journal import ChainStep, Outcome
from generator.pair.generation import GenerateOptions, draft, write

DATASET = "local/digits-keras-train-handover"


@pytest.fixture
def colab(table: Table) -> Table:
    """The table with a pair that trains on Colab, and was trained there."""
    flags = {"owner": "local", "platform": "colab"}
    write(draft(table.workspace, GenerateOptions(competition="digits", values=flags)))
    del table.kaggle.outputs["train"]
    trained_on_colab(table)
    return table


def trained_on_colab(table: Table, **changes: object) -> Path:
    folder = table.workspace.output("digits") / "train"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in training_output(table.folder, **changes).items():
        (folder / name).write_bytes(content)
    return folder


def test_inference_is_pushed_with_the_hand_over_as_a_dataset(colab: Table) -> None:
    result = colab.push()

    assert result.state.outcome is Outcome.SCORED
    assert colab.counts == (1, 1)
    pushed = colab.kaggle.saved["local/digits-keras-infer"][-1].push
    assert (pushed.dataset_sources, pushed.kernel_sources) == ((DATASET,), ())
    cells = json.loads(pushed.text)["cells"]
    parameters = next(cell["source"] for cell in cells if cell["id"] == "parameters")
    assert f'"datasets/{DATASET}"' in parameters


def test_without_a_training_nothing_is_sent_and_the_command_that_makes_one_is_named(colab: Table) -> None:
    folder = trained_on_colab(colab, complete=False)
    colab.stops(ChainError, match="tandem colab run digits --resume")
    (folder / "handoff.json").unlink()
    colab.stops(ChainError, match="`tandem colab run digits` makes one")
    colab.stops(ChainError, match="--handoff dataset", handoff=Handoff.KERNEL)
    trained_on_colab(colab, pair_id="another")
    colab.stops(HandOverUnfitError, match="it is of the pair")
    trained_on_colab(colab)
    (folder / "fold0.weights.h5").write_bytes(b"weights of fold 1")
    colab.stops(HandOverUnfitError, match="SHA-256 of fold0")

    assert colab.counts == (0, 0)


def test_a_chain_that_is_done_pushes_nothing_when_it_is_asked_again(colab: Table) -> None:
    colab.push()
    assert not colab.push().has_advanced
    assert colab.counts == (1, 1)


def test_another_training_is_another_chain_once_the_last_one_is_done(colab: Table) -> None:
    assert colab.push().journal.number == 1
    trained_on_colab(colab, epochs_done=[8])
    assert colab.push().journal.number == 2
    assert colab.counts == (2, 2)


def test_another_training_while_inference_runs_is_asked_about(colab: Table) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    colab.kaggle.wrong["session_status"] = [interrupt]
    with pytest.raises(KeyboardInterrupt):
        colab.push()
    trained_on_colab(colab, epochs_done=[8])
    colab.stops(ChainError, match="`--from infer`")
    colab.push(back_to=ChainStep.INFER)

    assert colab.counts == (2, 1)
    assert colab.kaggle.datasets.version(DATASET) == 2
