"""A training notebook that was rendered for Colab: what its cells do there, and what it shares with that of Kaggle."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from standin_colab import StandInColab

from generator.cli.main import main
from generator.competition import builtin
from generator.errors import PairError
from generator.pair.rendering import render_kernels
from generator.pair.settings import Origin, Settings, SettingValue, propose_settings
from generator.text import Value


@cache
def rendered(
    platform: str, framework: str = "keras", *, of_task: tuple[tuple[str, Value], ...] = ()
) -> Mapping[str, dict[str, str]]:
    """The cells of both notebooks of digits by name, and the metadata of inference."""
    digits, owner = builtin.require("digits"), SettingValue("ada", Origin.FLAG)
    proposal = propose_settings(digits.competition, digits.task, framework=framework, owner=owner)
    files = render_kernels(proposal.merge(Settings(), {"platform": platform, **dict(of_task)}))
    found = {}
    for role in ("train", "infer"):
        cells = json.loads(files[Path(role, f"{role}.ipynb")])["cells"]
        found[role] = {cell["id"]: "".join(cell["source"]) for cell in cells}
    return {**found, "metadata": json.loads(files[Path("infer", "kernel-metadata.json")])}


@dataclass
class Runtime:
    """The folders of a runtime, and what is asked of Colab and of kagglehub in it."""

    folder: Path
    colab: StandInColab
    uploaded: dict[str, str]

    def execute(self, *names: str, **parameters: object) -> None:
        """Executes cells of the training notebook, with other parameters than theirs."""
        roots = {"INPUT_ROOT": str(self.folder / "input"), "WORKING_ROOT": str(self.folder / "working")}
        cells = rendered("colab")["train"]
        known: dict[str, object] = {"Path": Path, "run": SimpleNamespace(output=self.folder / "working", run_id="ab12")}
        exec(cells["parameters"], known)  # noqa: S102 - a cell of our own
        known |= {**roots, **parameters}
        for name in names:
            exec(f"import shutil\n{cells[name]}", known)  # noqa: S102


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    kagglehub, uploaded = ModuleType("kagglehub"), dict[str, str]()
    (tmp_path / "cache").mkdir()
    (tmp_path / "working").mkdir()
    (tmp_path / "working" / "handoff.json").write_text("{}")
    vars(kagglehub).update(
        competition_download=lambda _: str(tmp_path / "cache"),
        dataset_upload=lambda handle, folder, **_: uploaded.update({handle: folder}),
    )
    monkeypatch.setitem(sys.modules, "kagglehub", kagglehub)
    return Runtime(tmp_path, StandInColab(monkeypatch), uploaded)


LAYING_OUT = ("mount-drive", "lay-out-inputs")
ENDING = ("mount-drive", "keep-results", "release-runtime")


def test_data_stand_where_kaggle_mounts_them_and_are_not_fetched_where_they_are(runtime: Runtime) -> None:
    runtime.execute(*LAYING_OUT, RESULTS="")
    mounted = runtime.folder / "input" / "competitions" / "digits"

    assert mounted.resolve() == runtime.folder / "cache"
    assert runtime.colab.asked == []
    del sys.modules["kagglehub"].competition_download
    runtime.execute(*LAYING_OUT, RESULTS="")


def test_the_drive_is_mounted_first_and_flushed_before_the_runtime_is_released(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[str] = []
    monkeypatch.setattr("shutil.copytree", lambda _, folder, **__: copied.append(str(folder)))
    runtime.execute(*ENDING)

    assert copied == ["/content/drive/MyDrive/digits-keras-train"]
    assert runtime.colab.asked == ["mount /content/drive", "flush", "unassign"]


def test_results_become_a_dataset_of_kaggle_if_their_place_is_one(runtime: Runtime) -> None:
    runtime.execute(*ENDING, RESULTS="ada/digits-weights", RELEASE_RUNTIME=False)

    assert runtime.uploaded == {"ada/digits-weights": str(runtime.folder / "working")}
    assert runtime.colab.asked == []


def test_training_goes_on_from_the_checkpoints_among_the_results(runtime: Runtime) -> None:
    results = runtime.folder / "results"
    for run in ("ab12", "of_another_run"):
        (results / "checkpoints" / run / "fold0").mkdir(parents=True)
    runtime.execute(*LAYING_OUT, RESULTS=str(results))
    assert [path.parent.name for path in (runtime.folder / "input").glob("*/checkpoints")] == ["earlier"]

    runtime.execute(*ENDING, RESULTS=str(results), RELEASE_RUNTIME=False)
    assert [path.name for path in (results / "checkpoints").iterdir()] == ["of_another_run"]
    assert (results / "handoff.json").read_text() == "{}"


def test_kagglehub_takes_the_environment_before_the_secrets_of_colab(
    runtime: Runtime, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "kagglehub")
    config = pytest.importorskip("kagglehub.config")
    monkeypatch.setattr(config, "is_in_colab_notebook", lambda: True)
    runtime.colab.secrets |= {"KAGGLE_API_TOKEN": "of colab"}

    assert config.get_kaggle_credentials().api_key == "of colab"
    (isolated_home / "token").write_text("of a file")
    monkeypatch.setenv("KAGGLE_API_TOKEN", str(isolated_home / "token"))
    assert config.get_kaggle_credentials().api_key == "of a file"


def test_a_pair_for_colab_is_the_pair_for_kaggle_but_for_what_the_platforms_differ_in() -> None:
    of_kaggle, of_colab = rendered("kaggle"), rendered("colab")

    differing = {name for name, source in of_colab["train"].items() if of_kaggle["train"].get(name) != source}
    assert not of_kaggle["train"].keys() - of_colab["train"].keys()
    assert differing == {
        *("title", "parameters", "imports", "runtime", "accelerator", "devices"),
        *("colab", "mount-drive", "lay-out-inputs", "keep-results-text", "keep-results", "release-runtime"),
    }
    assert {name for name, source in of_colab["infer"].items() if of_kaggle["infer"][name] != source} == {
        "title",
        "parameters",
    }
    assert "SESSION_HOURS = 24.0" in of_colab["train"]["parameters"]
    assert of_colab["metadata"]["dataset_sources"] == ["ada/digits-keras-train-handover"]
    assert of_colab["metadata"]["kernel_sources"] == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--platform", "colba"], 'The platform is "colba", but it must be kaggle or colab. Did you mean'),
        (["--platform", "colab", "--framework", "tensorflow"], "cannot use the TPU of Colab"),
    ],
)
def test_a_platform_that_is_none_or_does_not_have_the_framework_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert main(["generate", "--competition", "digits", "--workspace", str(tmp_path), "--dry-run", *options]) == 1
    assert said in capsys.readouterr().err


def test_a_pair_toml_edited_by_hand_is_refused_as_the_command_line_is() -> None:
    with pytest.raises(PairError, match="cannot use the TPU of Colab"):
        rendered("colab", "tensorflow")


@pytest.mark.slow
def test_a_runtime_installs_timm_before_it_is_imported_and_only_where_photographs_need_it() -> None:
    imports = rendered("colab", "torch", of_task=(("channels", 3), ("image_size", 96)))["train"]["imports"]
    pins = Path(__file__).parents[1].joinpath("constraints.txt").read_text().split()
    installed = next(pin for pin in pins if pin.startswith("timm=="))

    assert f'"--no-deps", "{installed}"' in imports
    assert imports.index(installed) < imports.index("\nimport timm")
    assert "timm" not in rendered("colab", "torch")["train"]["imports"]
