"""A run takes nothing away that an earlier one measured."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from miniature import Outcome
from runnable_pair import TRAIN, write_pair

from generator.pair.workspace import Workspace
from generator.run.ledger import read_runs

Tandem = Callable[..., Outcome]
# What training says is what the run was told: three epochs, or as many as a parameter says.
SIGNED = {**TRAIN, "sign": "Path(WORKING_ROOT, 'oof.csv').write_text(f'{EPOCHS} epochs, smoke: {DEBUG}')"}


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The output folder of a pair that signs what it writes."""
    monkeypatch.chdir(tmp_path)
    write_pair(tmp_path, train=SIGNED)
    return tmp_path / "output" / "tiny"


def contents(folder: Path, *, beside: tuple[str, ...] = ()) -> Mapping[str, bytes]:
    """Every file that a user looks at below a folder, but for those in the folders of other runs."""
    paths = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {
        name.as_posix(): path.read_bytes()
        for name, path in paths.items()
        if name.parts[0] not in beside and not path.name.startswith(".")
    }


@pytest.mark.slow
@pytest.mark.parametrize("smoke", [["--smoke"], ["-P", "DEBUG=true"]])
def test_a_smoke_run_leaves_everything_of_a_full_run(tandem: Tandem, tiny: Path, smoke: list[str]) -> None:
    assert tandem("run", "tiny").code == 0
    full = contents(tiny)

    done = tandem("run", "tiny", *smoke)

    assert done.out.splitlines()[-1] == "This was a smoke run: its scores mean nothing."
    assert "report       output/tiny/smoke/report.html" in done.out
    assert contents(tiny, beside=("smoke",)) == full
    assert {"train/oof.csv", "infer/submission.csv", "report.html"} <= set(full)
    assert (tiny / "smoke/train/oof.csv").read_text() == "3 epochs, smoke: True"
    assert tandem("run", "tiny", *smoke, "--only", "infer").code == 0


@pytest.mark.slow
def test_a_run_on_a_specimen_leaves_everything_of_a_full_run(tandem: Tandem, tiny: Path) -> None:
    specimen = tiny.parents[1] / "input/specimens/tiny"
    specimen.mkdir(parents=True)
    (specimen / "sample_submission.csv").write_text("id,label\nmade-up,0\n")
    tandem("run", "tiny")
    full = contents(tiny)

    for options in ([], ["--smoke"]):
        assert tandem("run", "tiny", "--specimen", *options).code == 0

    assert contents(tiny, beside=("specimen",)) == full
    assert (tiny / "specimen/train/oof.csv").read_text() == "3 epochs, smoke: False"
    assert (tiny / "specimen/smoke/train/oof.csv").read_text() == "3 epochs, smoke: True"


@pytest.mark.slow
def test_a_full_run_keeps_the_one_before_and_says_so(tandem: Tandem, tiny: Path) -> None:
    first_run = tandem("run", "tiny")
    assert " kept " not in first_run.err
    assert "\nrun          tiny@1: `tandem runs tiny` compares all runs\n" in first_run.out
    first = contents(tiny, beside=("runs",))
    second = tandem("run", "tiny", "-P", "EPOCHS=5")

    assert f"what an earlier run left is kept in {tiny}/previous\n" in second.err
    assert contents(tiny / "previous") == first
    assert (tiny / "train/oof.csv").read_text() == "5 epochs, smoke: False"

    tandem("run", "tiny", "--output", "elsewhere")
    tandem("run", "tiny", "-P", "EPOCHS=7")
    runs = read_runs(Workspace(Path()), "tiny")
    assert [(run.number, run.parameters["train"], run.cv) for run in runs] == [
        (number, {"EPOCHS": epochs} if epochs != 3 else {}, 0.75) for number, epochs in enumerate((3, 5, 3, 7), start=1)
    ]
    assert contents(tiny / "runs/0002")["oof.csv"] == b"5 epochs, smoke: False"
    assert (tiny / "previous/train/oof.csv").read_text() == "5 epochs, smoke: False"
    assert sorted(path.name for path in tiny.iterdir() if path.is_dir()) == ["infer", "previous", "runs", "train"]


@pytest.mark.slow
def test_a_run_that_could_not_begin_leaves_the_report_of_the_last_one(tandem: Tandem, tiny: Path) -> None:
    tandem("run", "tiny")
    before = contents(tiny)
    for role in ("train", "infer"):
        path = Path("kernels/tiny") / role / "kernel-metadata.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"dataset_sources": ["somebody/elsewhere"]}))

    assert tandem("run", "tiny").code == 1
    assert tandem("run", "tiny", "--resume").code == 1
    assert tandem("run", "tiny", "--only", "infer").code == 1

    assert contents(tiny) == before


@pytest.mark.slow
def test_an_interrupted_training_goes_on_beside_the_finished_run_before_it(tandem: Tandem, tiny: Path) -> None:
    tandem("run", "tiny")
    first = contents(tiny, beside=("runs",))
    checkpoint = """
        from pathlib import Path
        attached = Path(INPUT_ROOT, "notebooks/someone/tiny-train/checkpoint")
        Path(WORKING_ROOT, "checkpoint").write_text(attached.read_text() + "+" if attached.exists() else "begun")
        assert attached.exists(), "the power is cut"
    """
    write_pair(tiny.parents[1], train={"checkpoint": checkpoint, **SIGNED})
    assert "the power is cut" in tandem("run", "tiny").err

    resumed = tandem("run", "tiny", "--resume")

    assert resumed.code == 0
    assert f"is kept in {tiny}/interrupted" in resumed.err
    assert (tiny / "train/checkpoint").read_text() == "begun+"
    assert contents(tiny / "previous") == first
    assert not (tiny / "interrupted").exists()
