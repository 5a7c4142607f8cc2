"""Whatever lies in a workspace that somebody sent: nothing outside of it is changed, and every end is one sentence."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cases import CASES
from chain_pair import FakeTime, pair_in, training_output
from fake_kaggle import SAMPLE, FakeKaggle
from hypothesis import given
from hypothesis import strategies as st

from generator.cli.main import main
from generator.competition.builtin import require
from generator.competition.specimen.writer import stage_folder
from generator.errors import TandemError
from generator.kaggle.chain.chain import push_pair
from generator.kaggle.chain.execution import PollingPolicy, PushOptions, RunContext
from generator.kaggle.receipt import write_receipt
from generator.pair.data import ensure_data, link_data
from generator.pair.folder import base_of, commit, pair_files, pair_folder
from generator.pair.workspace import Role, Workspace
from generator.run.output_folder import OutputFolder

pytestmark = pytest.mark.slow

PAIR = "kernels/digits"
PLACES = [
    *("kernels", PAIR, f"{PAIR}/pair.toml", f"{PAIR}/train", f"{PAIR}/train/train.ipynb", f"{PAIR}/infer"),
    *(f"{PAIR}/.tandem", f"{PAIR}/.tandem/rendered", f"{PAIR}/.tandem/rendered/train/train.ipynb"),
    *(f"{PAIR}/.tandem/staged", f"{PAIR}/.tandem/staged/complete", f"{PAIR}/.tandem/staged/pair.toml"),
    *(f"{PAIR}/.tandem/chains", f"{PAIR}/.tandem/chains/lock", f"{PAIR}/.tandem/chains/0001.jsonl"),
    *(f"{PAIR}/.tandem/chains/0001", f"{PAIR}/.tandem/chains/0001/train", f"{PAIR}/.tandem/chains/0001/infer"),
    *("output", "output/digits", "output/digits/.tandem-run", "output/digits/train", "output/digits/infer"),
    *("output/digits/previous", "output/digits/report.html", "output/digits/receipt.html"),
    *("input", "input/competitions", "input/competitions/digits", "input/competitions/other"),
    *("input/specimens", "input/specimens/digits", ".github", ".github/workflows/tandem-digits.yml"),
]
KINDS = ["moved away", "to a file", "to a folder", "to nothing", "to itself", "hard link", "pipe"]


def push(root: Path, **options: bool) -> None:
    folder = Workspace(root).pair("digits")
    outputs = {"train": training_output(folder), "infer": {"submission.csv": SAMPLE.encode()}}
    request = PushOptions(Workspace(root), "digits", submit=True, **options)
    push_pair(FakeKaggle(outputs), request, RunContext(polling=PollingPolicy(), clock=FakeTime()))


def run(root: Path, *, resume: bool = False) -> None:
    """What a run does with its folder."""
    output = OutputFolder(Workspace(root).output("digits"), root)
    with output.lock([Role.INFER] if resume else Role):
        output.files.remove(output.report)
        if resume:
            output.set_aside()
        for role in Role:
            output.empty(role)
            (output.working(role) / "weights.h5").write_bytes(b"weights")
        output.files.write(output.report, b"report")


def generate(root: Path) -> None:
    folder = pair_folder(Workspace(root), "digits")
    commit(folder, {path: b"rendered" for file in pair_files() for path in (file, base_of(file))})


def specimen(root: Path) -> None:
    workspace = Workspace(root)
    with stage_folder(workspace.specimen("digits"), workspace.files, replace=True) as stage:
        (stage / "SPECIMEN.json").write_bytes(b"{}")


def link(root: Path) -> None:
    workspace = Workspace(root)
    link_data(root, workspace.competition_data("other"), workspace.files)


def verb(*arguments: str) -> Callable[[Path], None]:
    def run_verb(root: Path) -> None:
        assert main([*arguments, "--workspace", str(root)]) in (0, 1)

    return run_verb


ACTIONS: dict[str, Callable[[Path], object]] = {
    "push": push,
    "push --repair": lambda root: push(root, repair=True),
    "push --restart": lambda root: push(root, restart=True),
    "run": run,
    "run --resume": lambda root: run(root, resume=True),
    "generate": generate,
    "specimen": specimen,
    "link": link,
    "data": lambda root: ensure_data(require("diabetes"), Workspace(root)),
    "write a receipt": lambda root: write_receipt(Workspace(root), "digits"),
    "receipt": verb("receipt", "digits"),
    "status": verb("status", "digits"),
    "push --workflow": verb("push", "digits", "--workflow", "github"),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which everything was done once."""
    root = tmp_path_factory.mktemp("template") / "workspace"
    pair_in(root)
    push(root)
    specimen(root)
    write_receipt(Workspace(root), "digits")
    return root


def place(root: Path, outside: Path, relative: str, kind: str) -> None:
    """Puts something in the place of a file or folder; what was there goes outside."""
    path, away = root / relative, outside / relative.replace("/", "--")
    with suppress(OSError):  # another one stands above it
        path.parent.mkdir(parents=True, exist_ok=True)
        is_read = path.suffix in (".toml", ".ipynb")
        if path.is_symlink() or path.is_fifo() or (kind == "pipe" and is_read):
            return
        if path.exists():
            path.rename(away)
        elif kind == "moved away":
            away.mkdir()
        target = {"moved away": away, "to a file": outside / "file", "to a folder": outside / "folder"}.get(kind)
        if kind == "hard link":
            path.hardlink_to(outside / "file")
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to(target or (path if kind == "to itself" else outside / "nothing"))


def everything(folder: Path) -> dict[str, bytes | None]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in folder.rglob("*")
    }


@CASES
@given(
    places=st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(KINDS)), min_size=1, max_size=2),
    actions=st.lists(st.sampled_from(sorted(ACTIONS)), min_size=1, max_size=2),
)
def test_no_link_leads_anything_out_of_a_workspace(
    template: Path, places: list[tuple[str, str]], actions: list[str]
) -> None:
    with TemporaryDirectory(prefix="hostile-") as folder:
        root, outside = Path(folder, "workspace"), Path(folder, "outside")
        shutil.copytree(template, root)
        run(root)
        (outside / "folder").mkdir(parents=True)
        (outside / "folder" / "precious").write_bytes(b"of the user")
        (outside / "file").write_bytes(b"of the user\n")
        for relative, kind in places:
            place(root, outside, relative, kind)
        before = everything(outside)

        for action in actions:
            with suppress(TandemError):
                ACTIONS[action](root)

        assert everything(outside) == before


@pytest.mark.parametrize("action", ACTIONS)
def test_an_ordinary_workspace_is_written_to(template: Path, tmp_path: Path, action: str) -> None:
    """Else the test above would show nothing."""
    shutil.copytree(template, tmp_path / "workspace")
    run(tmp_path / "workspace")

    ACTIONS[action](tmp_path / "workspace")
