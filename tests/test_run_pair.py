"""`tandem run`, as its user sees it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from miniature import Outcome, write_tree
from runnable_pair import INFER, PARAMETERS, TRAIN, outputs_of, write_pair

Run = Callable[..., Outcome]
SHARED = "# The same in both notebooks.\nWIDTH = {}"
SLOW = pytest.mark.slow


@pytest.fixture
def run(tandem: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a pair of these cells, or the one that is there already, in a workspace of its own: the current folder."""
    monkeypatch.chdir(tmp_path)

    def run_pair(*arguments: object, name: str = "tiny", **cells: object) -> Outcome:
        if cells or not Path("kernels/tiny").exists():
            write_pair(tmp_path, **cells)
        return tandem("run", name, *arguments)

    return run_pair


def test_a_pair_runs_from_training_to_a_valid_submission(run: Run, tmp_path: Path) -> None:
    done = run()

    assert done.code == 0
    assert done.out == (
        "out-of-fold  accuracy 0.7500\n"
        "submission   output/tiny/infer/submission.csv (2 rows, valid)\n"
        "report       output/tiny/report.html\n"
    )
    assert "        epoch 3\n" in done.err
    assert "Training · training [3/3]" in done.err
    assert outputs_of(tmp_path / "output/tiny/train/train.ipynb", "training") == "epoch 1\nepoch 2\nepoch 3\n"


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--only", "train"]])
def test_a_score_that_is_no_number_stops_the_run_and_keeps_its_output(
    run: Run, tmp_path: Path, options: list[str]
) -> None:
    done = run(*options, train={"training": TRAIN["training"].replace("0.75", 'float("nan")')})

    assert (done.code, done.out) == (1, "")
    assert done.err.endswith(
        f"Error: The out-of-fold score is NaN or infinite. Check the losses "
        f"in {tmp_path}/output/tiny/train/train.ipynb. If they are NaN too, train with a lower "
        "LEARNING_RATE.\n"
    )
    assert (tmp_path / "output/tiny/train/handoff.json").is_file()
    assert not (tmp_path / "output/tiny/infer/submission.csv").exists()
    assert run("--only", "infer").code == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "options"),
    [
        pytest.param(
            {"train": {**TRAIN, "leave": "import sys; sys.exit()", "never": "1 / 0"}},
            ["--only", "train"],
            id="a notebook that exits is done",
        ),
        pytest.param(
            {
                "train": {"model": f"\n{SHARED.format(64)}\n\n", "loss": SHARED.format(2), **TRAIN},
                "infer": {"model": SHARED.format(64), **INFER},
            },
            ["--only", "train"],
            id="a shared cell that only one notebook has",
            marks=SLOW,
        ),
        pytest.param(
            {"parameters": PARAMETERS.replace("ALLOW_CPU = False\n", "")},
            [],
            id="a parameter that is missing",
            marks=SLOW,
        ),
    ],
)
def test_what_is_no_reason_to_stop(run: Run, cells: dict[str, object], options: list[str]) -> None:
    assert run(*options, **cells).code == 0


@pytest.mark.parametrize("place", ["output", "output/tiny", "output/tiny/smoke", "output/tiny/smoke/infer"])
def test_a_link_in_place_of_the_output_is_refused_before_anything_runs(run: Run, tmp_path: Path, place: str) -> None:
    files = {"thesis": "of the user", ".tandem-run": "1\n"}
    precious = write_tree(tmp_path / "precious", files)
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).symlink_to(precious)

    done = run("--smoke")

    assert (done.code, done.out) == (1, "")
    assert f"{tmp_path / place} is a link. Writing there would change a file elsewhere" in done.err
    assert {path.name: path.read_text() for path in precious.iterdir()} == files


@SLOW
def test_a_folder_that_the_user_names_may_be_behind_a_link(run: Run, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "there").symlink_to("disk")

    assert run("--output", "there/tiny").code == 0
    assert (tmp_path / "disk" / "tiny" / "report.html").is_file()


@SLOW
def test_of_a_submission_without_a_sample_nothing_is_promised(run: Run, tmp_path: Path) -> None:
    choices = write_pair(tmp_path) / "pair.toml"
    choices.write_text(choices.read_text().replace('"sample_submission.csv"', '""'))

    assert "submission.csv (2 rows, not checked: there is no sample submission)\n" in run().out
    report = (tmp_path / "output/tiny/report.html").read_text()
    assert "there is no sample submission" in report
    assert "against the sample" not in report


@SLOW
def test_the_built_in_competition_is_scored_and_its_data_written(run: Run, tmp_path: Path) -> None:
    submission = INFER["submission"].replace("competitions/tiny", "competitions/digits")
    pair = write_pair(tmp_path, infer={"submission": submission}, sources={"competition_sources": ["digits"]})
    (pair / "pair.toml").write_text('[pair]\ncompetition = "digits"\n')

    report = json.loads(run("--json").out)

    assert report["hidden_test"]["metric"] == "accuracy"
    assert 0.05 < report["hidden_test"]["score"] < 0.15  # the sample says 0 everywhere
    assert report["submission"]["rows"] == 540


@SLOW
def test_parameters_reach_each_notebook_that_has_them(run: Run, tmp_path: Path) -> None:
    show = {"show": "print(DEBUG, ALLOW_CPU, EPOCHS, WORKING_ROOT)"}
    options = ("--smoke", "-P", "EPOCHS=1", "--parameter", "EPOCHS=2")
    assert run(*options, train={**show, **TRAIN}, infer={**show, **INFER}).code == 0

    for role in ("train", "infer"):
        shown = outputs_of(tmp_path / f"output/tiny/smoke/{role}/{role}.ipynb", "show")
        assert shown == f"True True 2 {tmp_path}/output/tiny/smoke/{role}\n"


@pytest.mark.parametrize(
    ("assignment", "reason"),
    [
        ("EPOCH=2", 'Error: The notebooks have no parameter "EPOCH". Did you mean "EPOCHS"?\n'),
        ("EPOCHS=many", "must be a whole number"),
        ("DEBUG=1", "must be true or false"),
        ("EPOCHS", "Write NAME=VALUE"),
        ("WORKING_ROOT=/tmp", "WORKING_ROOT cannot be changed"),
    ],
)
def test_a_parameter_that_is_unknown_or_of_the_wrong_type_is_refused(
    run: Run, tmp_path: Path, assignment: str, reason: str
) -> None:
    refused = run("-P", assignment)

    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert reason in refused.err
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("digits", "`tandem generate --competition digits`"),
        *((name, "cannot be the name of a pair") for name in ("..", "../tiny", ".", "a/../tiny")),
    ],
)
def test_a_pair_that_is_not_in_the_workspace_is_refused(run: Run, name: str, message: str) -> None:
    refused = run(name=name)

    assert refused.code == 1
    assert message in refused.err


@pytest.mark.slow
def test_a_failing_cell_shows_its_place_and_keeps_the_notebook(run: Run, tmp_path: Path) -> None:
    cells = {"## Model": "", "model": "print('built')\nwidth = 0\nprint(1 / width)\n", "never": "print('after')"}

    failed = run(train=cells)

    assert failed.code == 1
    assert 'tiny/train.ipynb failed in cell "model" (section Model) at line 3.' in failed.err
    assert "→ 3 │ print(1 / width)" in failed.err
    assert "ZeroDivisionError: division by zero" in failed.err
    assert "Traceback" not in failed.err
    notebook = tmp_path / "output/tiny/train/train.ipynb"
    assert str(notebook) in failed.err
    assert outputs_of(notebook, "model") == "built\n"
    assert outputs_of(notebook, "never") == ""
    report = (tmp_path / "output/tiny/report.html").read_text()
    assert "ZeroDivisionError: division by zero" in report
    assert "not reached" in report


STUBBORN = """
    import time
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            print("no")
"""
KILLED = {"crash": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"}
INCOMPLETE = {"training": TRAIN["training"].replace('"complete": True', '"complete": False')}
UNFIT = {"wrong": "open(f'{WORKING_ROOT}/submission.csv', 'w').write('id,label\\na,0\\n')"}
VANDAL = {"vandal": "open(f'{INPUT_ROOT}/competitions/tiny/sample_submission.csv', 'w')"}
OWN_FOLDER = {"model": "raise ValueError(f'bad: {INPUT_ROOT}/competitions/tiny/train.csv')"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "options", "messages"),
    [
        pytest.param(
            {"train": OWN_FOLDER},
            [],
            ["ValueError: bad: HERE/input/competitions/tiny/train.csv"],
            id="an error names the user's own folder and not the mirror",
            marks=SLOW,
        ),
        pytest.param(
            {"train": KILLED},
            [],
            [
                'The kernel of tiny/train.ipynb died in cell "crash": its process was killed (SIGKILL)',
                "the memory was full",
            ],
            id="a kernel that dies",
            marks=SLOW,
        ),
        pytest.param(
            {"train": VANDAL},
            [],
            ["PermissionError", "inputs are read-only, as on Kaggle"],
            id="inputs are read-only",
            marks=SLOW,
        ),
        pytest.param(
            {"train": {"nothing": "pass"}},
            [],
            ["output/tiny/train/handoff.json does not exist"],
            id="training without a hand-over",
            marks=SLOW,
        ),
        pytest.param({}, ["--only", "infer"], ["handoff.json does not exist"], id="inference alone without a training"),
        pytest.param({"train": INCOMPLETE}, [], ["Continue with --resume"], id="an incomplete training", marks=SLOW),
        pytest.param(
            {"infer": {"nothing": "pass"}},
            [],
            ["ended without writing HERE/output/tiny/infer/submission.csv"],
            id="a missing submission",
            marks=SLOW,
        ),
        pytest.param({"infer": UNFIT}, [], ["1 of 2 ids are missing"], id="a submission that Kaggle would refuse"),
    ],
)
def test_a_run_that_fails_says_why(
    run: Run, tmp_path: Path, cells: dict[str, object], options: list[str], messages: list[str]
) -> None:
    failed = run(*options, **cells)

    assert failed.code == 1
    for message in messages:
        assert message.replace("HERE", str(tmp_path)) in failed.err
    output = tmp_path / "output/tiny"
    assert (output / "infer").exists() == ("infer" in cells)
    assert (output / "report.html").is_file() or "--only" in options
    assert (tmp_path / "input/competitions/tiny/sample_submission.csv").read_text() == "id,label\na,0\nb,0\n"


@SLOW
def test_output_that_does_not_arrive_in_time_is_named_as_the_reason(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.run.engine._LATE_OUTPUT_SECONDS", 0)

    stopped = run(train={"flood": "for n in range(3_000): print(n, flush=True)"})

    assert stopped.code == 1
    assert "its output did not arrive within 0 s. Print less in it, or write the text to a file." in stopped.err


@SLOW
def test_what_a_cell_prints_faster_than_it_is_read_is_kept(run: Run, tmp_path: Path) -> None:
    run("--only", "train", train={"dots": "for n in range(5_000): print('.', end='', flush=True)", **TRAIN})

    assert outputs_of(tmp_path / "output/tiny/train/train.ipynb", "dots") == "." * 5_000


@SLOW
@pytest.mark.parametrize(
    ("cell", "printed"),
    [
        pytest.param("import time\nprint('begun')\ntime.sleep(60)", "begun\n", id="ordinary"),
        pytest.param(STUBBORN, "no\n", id="it ignores the interrupt"),
    ],
)
def test_a_cell_that_takes_too_long_is_stopped(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str, printed: str
) -> None:
    monkeypatch.setattr("generator.run.engine.GRACE_SECONDS", 1.0)
    stopped = run("--timeout", "2", train={"quick": "1", "slow": cell})

    assert stopped.code == 1
    assert 'was stopped after 2 s, while cell "slow" was running' in stopped.err
    assert outputs_of(tmp_path / "output/tiny/train/train.ipynb", "slow") == printed


@SLOW
def test_only_infer_keeps_the_training_output(run: Run, tmp_path: Path) -> None:
    run()
    handover = tmp_path / "output/tiny/train/handoff.json"
    before = handover.stat()

    assert run("--only", "infer").code == 0
    assert handover.stat() == before


@SLOW
def test_a_resumed_training_finds_its_previous_output(run: Run, tmp_path: Path) -> None:
    look = """
        from pathlib import Path
        previous = Path(INPUT_ROOT, "notebooks/someone/tiny-train/checkpoint")
        here = sorted(path.name for path in Path(WORKING_ROOT).iterdir())
        print(previous.read_text() if previous.exists() else "afresh", here)
        Path(WORKING_ROOT, "checkpoint").write_text("epoch 3")
    """
    train = tmp_path / "output/tiny/train/train.ipynb"

    run("--only", "train", train={"look": look, **TRAIN})
    assert outputs_of(train, "look") == "afresh ['train.ipynb']\n"
    assert run("--resume").code == 0
    assert outputs_of(train, "look") == "epoch 3 ['train.ipynb']\n"
    run("--only", "train")
    assert outputs_of(train, "look") == "afresh ['train.ipynb']\n"


@SLOW
def test_another_output_folder_can_be_chosen_but_none_with_somebody_elses_files(run: Run, tmp_path: Path) -> None:
    pair = write_pair(tmp_path)

    assert run("--output", "elsewhere").code == 0
    assert (tmp_path / "elsewhere/report.html").is_file()
    refused = run("--output", pair)
    assert refused.code == 1
    assert "has files that `tandem run` did not write" in refused.err
    assert (pair / "train/train.ipynb").is_file()


@SLOW
def test_braces_and_spaces_in_a_path_are_only_a_path(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = tmp_path / "with {braces} and 'quotes' é"
    write_pair(workspace)
    monkeypatch.chdir(workspace)

    assert run().code == 0


@SLOW
def test_the_users_jupyter_configuration_does_not_matter(
    run: Run, tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernelspec = {"argv": ["false"], "display_name": "Broken", "language": "python"}
    files = {
        ".local/share/jupyter/kernels/python3/kernel.json": json.dumps(kernelspec),
        ".ipython/profile_default/startup/00-broken.py": "import os; os._exit(3)",
        ".ipython/profile_default/ipython_kernel_config.py": "raise SystemExit(4)",
        "jupyter/jupyter_config.py": "import os; os._exit(5)",
        "startup.py": "import os; os._exit(6)",
    }
    write_tree(isolated_home, files)
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(isolated_home / "jupyter"))
    monkeypatch.setenv("JUPYTER_DEFAULT_PROVISIONER_NAME", "no-such-provisioner")
    monkeypatch.setenv("PYTHONSTARTUP", str(isolated_home / "startup.py"))

    done = run("--only", "train")

    assert done.code == 0, done.err


@SLOW
@pytest.mark.parametrize("home", ["/proc/nonexistent", "/dev/null"])
def test_an_unwritable_home_does_not_matter(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.setenv("HOME", home)

    done = run(train={**TRAIN, "home": "import matplotlib.pyplot; print('plots')"})

    assert done.code == 0, done.err


@SLOW
def test_a_notebook_sees_no_token(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAGGLE_KEY", "very-secret")
    look = {"look": "import os; print([value for value in os.environ.values() if 'secret' in value])"}
    run("--only", "train", train={**look, **TRAIN})

    assert outputs_of(tmp_path / "output/tiny/train/train.ipynb", "look") == "[]\n"


@SLOW
def test_nothing_is_left_in_the_temporary_folder(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "t"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))

    assert run().code == 0
    assert list(temporary.iterdir()) == []


def test_a_notebook_that_is_none_is_named(run: Run, tmp_path: Path) -> None:
    pair = write_pair(tmp_path)
    (pair / "train/train.ipynb").write_text("{}")

    assert "train.ipynb is not a notebook" in run().err


@pytest.mark.parametrize("roles", [(), ("--only", "train"), ("--only", "infer")])
def test_cells_that_have_to_be_the_same_in_both_notebooks_are_compared_before_anything_runs(
    run: Run, tmp_path: Path, roles: tuple[str, ...]
) -> None:
    train = {"model": SHARED.format(64), "data": SHARED.format(1), "loss": SHARED.format(2), **TRAIN}

    done = run(*roles, train=train, infer={"model": SHARED.format(32), "data": SHARED.format(1), **INFER})

    assert (done.code, done.out) == (1, "")
    assert 'The cell "model" differs between ' in done.err
    assert "kernels/tiny/train/train.ipynb and " in done.err
    assert "kernels/tiny/infer/infer.ipynb" in done.err
    assert "Copy the correct cell into the other notebook." in done.err
    assert not (tmp_path / "output" / "tiny" / "train" / "train.ipynb").exists()
