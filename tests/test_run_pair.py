"""`tandem run`, as its user sees it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from miniature import write_tree
from runnable_pair import INFER, PARAMETERS, TRAIN, write_pair

Tandem = Callable[..., Any]


@pytest.fixture(autouse=True)
def in_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder is a workspace of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def outputs_of(path: Path, cell: str) -> str:
    """What an executed notebook's cell printed."""
    cells = {one["id"]: one for one in json.loads(path.read_text())["cells"]}
    return "".join("".join(output.get("text", "")) for output in cells[cell]["outputs"])


def test_a_pair_runs_from_training_to_a_valid_submission(tandem: Tandem, tmp_path: Path) -> None:
    write_pair(tmp_path)

    done = tandem("run", "tiny")

    assert done.code == 0
    assert done.out == (
        "out-of-fold  accuracy 0.7500\n"
        "submission   output/tiny/infer/submission.csv (2 rows, valid)\n"
        "report       output/tiny/report.html\n"
    )
    assert "        epoch 3\n" in done.err
    assert "Training · training [3/3]" in done.err
    assert outputs_of(tmp_path / "output/tiny/train/train.ipynb", "training") == "epoch 1\nepoch 2\nepoch 3\n"


@pytest.mark.parametrize("place", ["output", "output/tiny", "output/tiny/smoke", "output/tiny/smoke/infer"])
def test_a_link_in_place_of_the_output_is_refused_before_anything_runs(
    tandem: Tandem, tmp_path: Path, place: str
) -> None:
    write_pair(tmp_path)
    precious = write_tree(tmp_path / "precious", {"thesis": "of the user", ".tandem-run": "1\n"})
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).symlink_to(precious)

    done = tandem("run", "tiny", "--smoke")

    assert (done.code, done.out) == (1, "")
    assert f"{tmp_path / place} is a link, so that what is written or removed there would be somewhere" in done.err
    assert {path.name: path.read_text() for path in precious.iterdir()} == {
        "thesis": "of the user",
        ".tandem-run": "1\n",
    }


def test_a_folder_that_the_user_names_may_be_behind_a_link(tandem: Tandem, tmp_path: Path) -> None:
    write_pair(tmp_path)
    (tmp_path / "disk").mkdir()
    (tmp_path / "there").symlink_to("disk")

    assert tandem("run", "tiny", "--output", "there/tiny").code == 0
    assert (tmp_path / "disk" / "tiny" / "report.html").is_file()


def test_of_a_submission_without_a_sample_nothing_is_promised(tandem: Tandem, tmp_path: Path) -> None:
    choices = write_pair(tmp_path) / "pair.toml"
    choices.write_text(choices.read_text().replace('"sample_submission.csv"', '""'))

    done = tandem("run", "tiny")

    assert "submission.csv (2 rows, there is no sample to check it against)\n" in done.out
    report = (tmp_path / "output/tiny/report.html").read_text()
    assert "there is no sample of it" in report
    assert "against the sample" not in report


@pytest.mark.slow
def test_the_built_in_competition_is_scored_and_its_data_written(tandem: Tandem, tmp_path: Path) -> None:
    submission = INFER["submission"].replace("competitions/tiny", "competitions/digits")
    pair = write_pair(tmp_path, infer={"submission": submission}, sources={"competition_sources": ["digits"]})
    (pair / "pair.toml").write_text('[pair]\ncompetition = "digits"\n')

    report = json.loads(tandem("run", "tiny", "--json").out)

    assert report["hidden_test"]["metric"] == "accuracy"
    assert 0.05 < report["hidden_test"]["score"] < 0.15  # the sample says 0 everywhere
    assert report["submission"]["rows"] == 540


@pytest.mark.slow
def test_parameters_reach_each_notebook_that_has_them(tandem: Tandem, tmp_path: Path) -> None:
    show = {"show": "print(SMOKE_TEST, ALLOW_CPU, EPOCHS, WORKING_ROOT)"}
    write_pair(tmp_path, train={**show, **TRAIN}, infer={**show, **INFER})

    assert tandem("run", "tiny", "--smoke", "-P", "EPOCHS=1", "--parameter", "EPOCHS=2").code == 0

    for role in ("train", "infer"):
        shown = outputs_of(tmp_path / f"output/tiny/smoke/{role}/{role}.ipynb", "show")
        assert shown == f"True True 2 {tmp_path}/output/tiny/smoke/{role}\n"


def test_an_unknown_parameter_is_refused_with_the_nearest(tandem: Tandem, tmp_path: Path) -> None:
    write_pair(tmp_path)

    refused = tandem("run", "tiny", "-P", "EPOCH=2")

    assert refused.code == 1
    assert refused.err == 'Error: The notebooks have no parameter "EPOCH". Did you mean "EPOCHS"?\n'
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize(
    ("assignment", "reason"),
    [
        ("EPOCHS=many", "takes a whole number"),
        ("SMOKE_TEST=1", "takes true or false"),
        ("EPOCHS", "write NAME=VALUE"),
        ("WORKING_ROOT=/tmp", "The run sets WORKING_ROOT itself"),
    ],
)
def test_a_parameter_of_the_wrong_type_is_refused(tandem: Tandem, tmp_path: Path, assignment: str, reason: str) -> None:
    write_pair(tmp_path)

    refused = tandem("run", "tiny", "-P", assignment)

    assert (refused.code, refused.out) == (1, "")
    assert reason in refused.err


def test_a_pair_that_does_not_exist_names_the_command_that_makes_it(tandem: Tandem, tmp_path: Path) -> None:
    refused = tandem("run", "digits")

    assert refused.code == 1
    assert "`tandem generate --competition digits`" in refused.err


@pytest.mark.parametrize("name", ["..", "../tiny", ".", "a/../tiny"])
def test_a_pair_cannot_lie_outside_of_the_workspace(tandem: Tandem, tmp_path: Path, name: str) -> None:
    write_pair(tmp_path)

    refused = tandem("run", name)

    assert refused.code == 1
    assert "cannot be the name of a pair" in refused.err


def test_an_error_names_the_users_own_folder_and_not_the_mirror(tandem: Tandem, tmp_path: Path) -> None:
    cells = {"model": "raise ValueError(f'bad: {INPUT_ROOT}/competitions/tiny/train.csv')"}
    write_pair(tmp_path, train=cells)

    failed = tandem("run", "tiny")

    assert f"ValueError: bad: {tmp_path}/input/competitions/tiny/train.csv" in failed.err


def test_a_failing_cell_shows_its_place_and_keeps_the_notebook(tandem: Tandem, tmp_path: Path) -> None:
    cells = {"## Model": "", "model": "print('built')\nwidth = 0\nprint(1 / width)\n", "never": "print('after')"}
    write_pair(tmp_path, train=cells)

    failed = tandem("run", "tiny")

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


def test_a_notebook_that_exits_is_done(tandem: Tandem, tmp_path: Path) -> None:
    write_pair(tmp_path, train={**TRAIN, "leave": "import sys; sys.exit()", "never": "1 / 0"})

    assert tandem("run", "tiny", "--only", "train").code == 0


@pytest.mark.slow
def test_a_kernel_that_dies_is_reported_with_the_cell_and_the_signal(tandem: Tandem, tmp_path: Path) -> None:
    write_pair(tmp_path, train={"crash": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"})

    failed = tandem("run", "tiny")

    assert failed.code == 1
    assert 'The kernel of tiny/train.ipynb died in cell "crash": its process was killed (SIGKILL)' in failed.err
    assert "memory runs out" in failed.err
    assert (tmp_path / "output/tiny/report.html").is_file()


@pytest.mark.slow
def test_a_notebook_that_takes_too_long_is_stopped(tandem: Tandem, tmp_path: Path) -> None:
    write_pair(tmp_path, train={"quick": "1", "slow": "import time\nprint('begun')\ntime.sleep(60)"})

    stopped = tandem("run", "tiny", "--timeout", "2")

    assert stopped.code == 1
    assert 'was stopped after 2 s, while cell "slow" was running' in stopped.err
    assert "begun" in outputs_of(tmp_path / "output/tiny/train/train.ipynb", "slow")


@pytest.mark.slow
def test_a_cell_that_ignores_the_interrupt_is_stopped_all_the_same(tandem: Tandem, tmp_path: Path) -> None:
    stubborn = """
        import time
        while True:
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                print("no")
    """
    write_pair(tmp_path, train={"stubborn": stubborn})

    stopped = tandem("run", "tiny", "--timeout", "1")

    assert 'while cell "stubborn" was running' in stopped.err
    assert outputs_of(tmp_path / "output/tiny/train/train.ipynb", "stubborn") == "no\n"


def test_inputs_are_read_only_for_the_notebooks(tandem: Tandem, tmp_path: Path) -> None:
    vandal = "open(f'{INPUT_ROOT}/competitions/tiny/sample_submission.csv', 'w')"
    write_pair(tmp_path, train={"vandal": vandal})

    failed = tandem("run", "tiny")

    assert "PermissionError" in failed.err
    assert "inputs are read-only, as on Kaggle" in failed.err
    assert (tmp_path / "input/competitions/tiny/sample_submission.csv").read_text() == "id,label\na,0\nb,0\n"


def test_training_without_a_handover_stops_the_run(tandem: Tandem, tmp_path: Path) -> None:
    write_pair(tmp_path, train={"nothing": "pass"})

    failed = tandem("run", "tiny")

    assert failed.code == 1
    assert "output/tiny/train/handoff.json does not exist" in failed.err
    assert not (tmp_path / "output/tiny/infer").exists()


def test_an_incomplete_training_is_not_predicted_with(tandem: Tandem, tmp_path: Path) -> None:
    write_pair(tmp_path, train={"training": TRAIN["training"].replace('"complete": True', '"complete": False')})

    failed = tandem("run", "tiny")

    assert failed.code == 1
    assert "Go on with --resume" in failed.err


@pytest.mark.slow
def test_a_missing_submission_is_named(tandem: Tandem, tmp_path: Path) -> None:
    write_pair(tmp_path, infer={"nothing": "pass"})

    failed = tandem("run", "tiny")

    assert failed.code == 1
    assert f"ended without writing {tmp_path}/output/tiny/infer/submission.csv" in failed.err


def test_a_submission_that_kaggle_would_refuse_is_an_error(tandem: Tandem, tmp_path: Path) -> None:
    write_pair(tmp_path, infer={"wrong": "open(f'{WORKING_ROOT}/submission.csv', 'w').write('id,label\\na,0\\n')"})

    failed = tandem("run", "tiny")

    assert failed.code == 1
    assert "1 of 2 ids are missing" in failed.err


@pytest.mark.slow
def test_only_infer_keeps_the_training_output(tandem: Tandem, tmp_path: Path) -> None:
    write_pair(tmp_path)
    tandem("run", "tiny")
    handover = tmp_path / "output/tiny/train/handoff.json"
    before = handover.stat()

    done = tandem("run", "tiny", "--only", "infer")

    assert done.code == 0
    assert handover.stat() == before


def test_only_infer_without_a_training_says_how_to_train(tandem: Tandem, tmp_path: Path) -> None:
    write_pair(tmp_path)

    assert "handoff.json does not exist" in tandem("run", "tiny", "--only", "infer").err


@pytest.mark.slow
def test_a_resumed_training_finds_its_previous_output(tandem: Tandem, tmp_path: Path) -> None:
    look = """
        from pathlib import Path
        previous = Path(INPUT_ROOT, "notebooks/someone/tiny-train/checkpoint")
        here = sorted(path.name for path in Path(WORKING_ROOT).iterdir())
        print(previous.read_text() if previous.exists() else "afresh", here)
        Path(WORKING_ROOT, "checkpoint").write_text("epoch 3")
    """
    write_pair(tmp_path, train={"look": look, **TRAIN})
    train = tmp_path / "output/tiny/train/train.ipynb"

    tandem("run", "tiny", "--only", "train")
    assert outputs_of(train, "look") == "afresh ['train.ipynb']\n"
    assert tandem("run", "tiny", "--resume").code == 0
    assert outputs_of(train, "look") == "epoch 3 ['train.ipynb']\n"
    tandem("run", "tiny", "--only", "train")
    assert outputs_of(train, "look") == "afresh ['train.ipynb']\n"


@pytest.mark.slow
def test_another_output_folder_can_be_chosen_but_none_with_somebody_elses_files(tandem: Tandem, tmp_path: Path) -> None:
    pair = write_pair(tmp_path)

    assert tandem("run", "tiny", "--output", "elsewhere").code == 0
    assert (tmp_path / "elsewhere/report.html").is_file()
    refused = tandem("run", "tiny", "--output", pair)
    assert refused.code == 1
    assert "holds files that no `tandem run` wrote" in refused.err
    assert (pair / "train/train.ipynb").is_file()


def test_braces_and_spaces_in_a_path_are_only_a_path(
    tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path / "with {braces} and 'quotes' é"
    write_pair(workspace)
    monkeypatch.chdir(workspace)

    assert tandem("run", "tiny").code == 0


def test_the_users_jupyter_configuration_does_not_matter(
    tandem: Tandem, tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernelspec = isolated_home / ".local/share/jupyter/kernels/python3/kernel.json"
    kernelspec.parent.mkdir(parents=True)
    kernelspec.write_text(json.dumps({"argv": ["false"], "display_name": "Broken", "language": "python"}))
    profile = isolated_home / ".ipython/profile_default"
    (profile / "startup").mkdir(parents=True)
    (profile / "startup/00-broken.py").write_text("import os; os._exit(3)")
    (profile / "ipython_kernel_config.py").write_text("raise SystemExit(4)")
    configuration = isolated_home / "jupyter"
    configuration.mkdir()
    (configuration / "jupyter_config.py").write_text("import os; os._exit(5)")
    (isolated_home / "startup.py").write_text("import os; os._exit(6)")
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(configuration))
    monkeypatch.setenv("JUPYTER_DEFAULT_PROVISIONER_NAME", "no-such-provisioner")
    monkeypatch.setenv("PYTHONSTARTUP", str(isolated_home / "startup.py"))
    write_pair(tmp_path)

    done = tandem("run", "tiny")

    assert done.code == 0, done.err


@pytest.mark.slow
@pytest.mark.parametrize("home", ["/proc/nonexistent", "/dev/null"])
def test_an_unwritable_home_does_not_matter(
    tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.setenv("HOME", home)
    write_pair(tmp_path, train={**TRAIN, "home": "import matplotlib.pyplot; print('plots')"})

    done = tandem("run", "tiny")

    assert done.code == 0, done.err


def test_a_notebook_sees_no_token(tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAGGLE_KEY", "very-secret")
    look = {"look": "import os; print([value for value in os.environ.values() if 'secret' in value])"}
    write_pair(tmp_path, train={**look, **TRAIN})

    tandem("run", "tiny", "--only", "train")

    assert outputs_of(tmp_path / "output/tiny/train/train.ipynb", "look") == "[]\n"


def test_nothing_is_left_in_the_temporary_folder(
    tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "t"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    write_pair(tmp_path)

    assert tandem("run", "tiny").code == 0

    assert list(temporary.iterdir()) == []


def test_a_notebook_that_is_none_is_named(tandem: Tandem, tmp_path: Path) -> None:
    pair = write_pair(tmp_path)
    (pair / "train/train.ipynb").write_text("{}")

    assert "train.ipynb is not a notebook" in tandem("run", "tiny").err


SHARED = "# The same in both notebooks.\nWIDTH = {}"


@pytest.mark.parametrize("roles", [(), ("--only", "train"), ("--only", "infer")])
def test_cells_that_have_to_be_the_same_in_both_notebooks_are_compared_before_anything_runs(
    tandem: Tandem, tmp_path: Path, roles: tuple[str, ...]
) -> None:
    write_pair(
        tmp_path,
        train={"model": SHARED.format(64), "data": SHARED.format(1), "loss": SHARED.format(2), **TRAIN},
        infer={"model": SHARED.format(32), "data": SHARED.format(1), **INFER},
    )

    done = tandem("run", "tiny", *roles)

    assert (done.code, done.out) == (1, "")
    assert 'The cell "model" differs between ' in done.err
    assert "kernels/tiny/train/train.ipynb and " in done.err
    assert "kernels/tiny/infer/infer.ipynb" in done.err
    assert "Copy the text that you mean into the other notebook." in done.err
    assert not (tmp_path / "output" / "tiny" / "train" / "train.ipynb").exists()


def test_a_shared_cell_that_only_one_notebook_has_is_no_reason_to_stop(tandem: Tandem, tmp_path: Path) -> None:
    write_pair(
        tmp_path,
        train={"model": f"\n{SHARED.format(64)}\n\n", "loss": SHARED.format(2), **TRAIN},
        infer={"model": SHARED.format(64), **INFER},
    )

    assert tandem("run", "tiny").code == 0


def test_a_parameters_cell_may_be_missing(tandem: Tandem, tmp_path: Path) -> None:
    write_pair(tmp_path, parameters=PARAMETERS.replace("ALLOW_CPU = False\n", ""))

    assert tandem("run", "tiny").code == 0
