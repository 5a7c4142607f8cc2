"""What a push sends: the prepared notebook, its inputs, wheels, and the commit."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from email.parser import HeaderParser
from functools import cache
from pathlib import Path
from typing import Any

from generator.accelerators import AcceleratorKind
from generator.check.checking import check_kernels, errors
from generator.check.code import read_code
from generator.check.findings import CheckFinding
from generator.check.rules import RULES
from generator.check.source import KernelSource, read_role
from generator.competition.facts import Value
from generator.errors import TandemError
from generator.files import WorkspaceFiles, read_text, writing
from generator.kaggle.api_types import KernelPush, RemoteKernel
from generator.kaggle.chain.errors import ChainError, JournalError, KernelUnfitError
from generator.kaggle.chain.journal import EntryKind, Journals, state_in
from generator.kaggle.errors import SECRET_RULE
from generator.pair.folder import Edits, base_of, cell_edits
from generator.pair.notebook import ParameterError, digest_of_cells, has_parameters, join_lines, read_parameters
from generator.pair.workspace import PairFolder, Role
from generator.text import JsonObject, printable, python_literal

# The commit that a pair was pushed from, asked of git.


def git_commit(folder: Path) -> str:
    """The commit of a folder's files, with `+` where they were changed since; empty outside of a repository.

    Settings of a repository name programs, which git executes as it looks for changes: monitors, filters, what fetches
    missing objects. Whoever sent the workspace may have written them, so git looks without them.
    """

    def run_git(*arguments: str, **variables: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        process = subprocess.run(  # noqa: S603 - no shell
            command,
            capture_output=True,
            text=True,
            timeout=8,
            check=True,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", **variables},
        )
        return process.stdout.strip()

    try:
        commit = run_git("rev-parse", "--verify", "HEAD")
        top, *places = run_git(
            *("rev-parse", "--path-format=absolute", "--show-toplevel"),
            *("--git-path", "objects", "--git-path", "index"),
        ).splitlines()
        objects, index = places
        with tempfile.TemporaryDirectory() as clean:
            for name in ("objects", "refs"):
                Path(clean, name).mkdir()
            Path(clean, "HEAD").write_text(f"{commit}\n", encoding="ascii")
            apart = {"GIT_DIR": clean, "GIT_WORK_TREE": top, "GIT_OBJECT_DIRECTORY": objects, "GIT_INDEX_FILE": index}
            changes = run_git("status", "--porcelain", "--ignore-submodules=all", "--", ".", **apart)
        return commit[:12] + ("+" if changes else "")
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""


# The notebooks that a pair sent, by which a version that was edited on Kaggle is told from one of ours.
#
# Each is kept in `.tandem/chains/sent` before it is sent, so that the cells that differ can be named.


_LONGEST = 600


class KernelHistory:
    """What the kernels of a pair were, as its journals and the notebooks that were kept tell of them."""

    def __init__(self, pair: PairFolder, journals: Journals) -> None:
        self._pair, self._journals = pair, journals
        self._folder = journals.folder / "sent"

    def keep(self, text: str) -> None:
        """Keeps a notebook that is about to be sent.

        Raises:
            FileWriteError: No permission or no space.
            UnsafePlaceError: A folder above it is a link.
        """
        self._pair.files.write(self._folder / f"{digest_of_cells(text)}.ipynb", text.encode("utf-8"))

    def edits(self, role: Role, ref: str, remote: RemoteKernel, *, sends: str) -> str:
        """The cells by which a version on Kaggle differs from ours; empty if a push over it loses nothing.

        A version is ours if a journal announced its cells, whatever became of that, or if they are those of the
        notebook that is to be sent or of the one that was rendered.

        Args:
            role: Which kernel of the pair.
            ref: Its name on Kaggle.
            remote: Its newest version there.
            sends: The notebook that is to be sent.
        """
        digest, path = digest_of_cells(remote.source), PairFolder(self._pair.path).notebook(role)
        rendered_text = _text(self._pair.path / base_of(path.relative_to(self._pair.path)))
        digests, last = self._collect_digests(ref)
        if (
            digest in digests | {digest_of_cells(sends), digest_of_cells(rendered_text)}
            or self._notebook_path(digest).is_file()
        ):
            return ""
        base, base_label = _text(self._notebook_path(last)), "what was pushed last"
        if not base:
            base, base_label = sends, "the notebook that is to be pushed"
        return f"compared with {base_label}, {_shorten(cell_edits(remote.source, since=base))}"

    def _collect_digests(self, ref: str) -> tuple[set[str], str]:
        """The digests of all notebooks that were announced, and of the last one that a kernel was made of."""
        digests, last = set[str](), ""
        for journal in self._journals.list_all():
            try:
                state, entries = state_in(journal), journal.entries()
            except JournalError:
                continue
            digests |= {entry.fields.text("sent") for entry in entries if entry.kind is EntryKind.PUSHING}
            pushes = [push for push in (*state.earlier, *state.pushes.values()) if push.ref == ref and not push.is_open]
            last = pushes[-1].sent if pushes else last
        return digests, last

    def _notebook_path(self, digest: str) -> Path:
        return self._folder / f"{digest}.ipynb"


def _text(path: Path) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        return read_text(path)
    except TandemError:
        return ""


def _shorten(edits: Edits) -> str:
    text = printable(str(edits))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


# Wheels of what a notebook imports beyond Kaggle's image, for that image's Python.


_TIMEOUT_SECONDS = 600
_LARGEST_METADATA = 4 * 1024 * 1024
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ELSEWHERE = re.compile(r"extra ==|;.*(win32|darwin|Windows|Darwin|python_version\s*<|PyPy)")


@dataclass(frozen=True)
class Image:
    """The packages of Kaggle's image, by the dated file beside this module."""

    pythons: tuple[str, ...]
    platforms: tuple[str, ...]
    distributions: frozenset[str]
    modules: Mapping[str, str]


@dataclass(frozen=True)
class Wheels:
    """Wheel files by name, and what is to be installed from them."""

    requirements: tuple[str, ...]
    files: Mapping[str, Path]


@cache
def image() -> Image:
    """Kaggle's GPU image."""
    data = tomllib.loads(Path(__file__).with_name("image.toml").read_text(encoding="utf-8"))
    return Image(
        tuple(data["pythons"]), tuple(data["platforms"]), frozenset(data["distributions"]), dict(data["modules"])
    )


def missing_requirements(notebook: str) -> tuple[str, ...]:
    """The distributions that a notebook's code imports, and that neither Python nor the image has."""
    kaggle_image = image()
    names = {
        kaggle_image.modules.get(module, module).lower().replace("_", "-")
        for module in read_code(json.loads(notebook), Path()).modules - sys.stdlib_module_names
    }
    return tuple(sorted(names - kaggle_image.distributions))


def wheels_for(notebook: str, folder: Path, files: WorkspaceFiles) -> Wheels:
    """Downloads what a notebook needs beyond the image, with what that needs in turn.

    Args:
        notebook: The notebook as JSON.
        folder: Where the wheels are kept; whatever else lies there is not taken along.
        files: The way to write there.

    Raises:
        ChainError: Something has no wheel for the image's Python.
        FileWriteError: The folder cannot be written.
        UnsafePlaceError: A link is in the way.
    """
    requirements = missing_requirements(notebook)
    if not requirements:
        return Wheels((), {})
    wheels: dict[str, Path] = {}
    with writing(folder):
        for python in image().pythons:
            files.make_folder(folder / python)
            with files.beside(folder / python) as fresh:
                for wheel in dict.fromkeys(_download_all(requirements, python, fresh)):
                    wheels[wheel.name] = folder / python / wheel.name
                    files.move(wheel, wheels[wheel.name])
    return Wheels(requirements, dict(sorted(wheels.items())))


def install_cell(wheels: Wheels, dataset: str) -> str:
    """The cell that installs wheels from an attached dataset, without a network."""
    slug = dataset.partition("/")[2]
    text = Path(__file__).with_name("install_wheels.py.txt").read_text(encoding="utf-8").rstrip()
    text = text.replace("MOUNTS", python_literal([f"datasets/{dataset}", slug]))
    return text.replace("WHEELS", python_literal(list(wheels.requirements)))


def _download_all(requirements: Iterable[str], python: str, folder: Path) -> list[Path]:
    """Fetches wheels one by one: what the image has already must not come along in another version."""
    wheels: list[Path] = []
    image_packages = image().distributions
    waiting, fetched_names = list(requirements), set[str]()
    while waiting:
        name = waiting.pop()
        if name in fetched_names or name in image_packages:
            continue
        fetched_names.add(name)
        wheels.append(_download(name, python, folder))
        waiting += _dependencies(wheels[-1])
    return wheels


def _download(name: str, python: str, folder: Path) -> Path:
    before = set(folder.glob("*.whl"))
    # Without -P Python looks into the working folder first, and would execute a pip.py that somebody sent there.
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--implementation=cp", f"--python-version={python}", f"--dest={folder}"]
    command += [f"--platform={platform}" for platform in image().platforms]
    stem = re.compile(re.escape(name).replace(r"\-", "[-_.]") + "-", re.IGNORECASE)
    try:
        process = subprocess.run(  # noqa: S603 - no shell; a name that an import statement can have
            [*command, "--", name], capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False
        )
        answer = (process.stderr.strip().splitlines() or ["nothing was downloaded."])[-1]
        files = [path for path in folder.glob("*.whl") if stem.match(path.name) and not process.returncode]
    except subprocess.TimeoutExpired:
        answer, files = "no answer in ten minutes.", []
    if not files:
        raise ChainError(
            f"There is no wheel of {printable(name)} for Python {python} on Linux: {printable(answer)} "
            "Remove that import from the inference notebook, or attach it as a dataset by hand."
        )
    return next(iter(set(files) - before), files[-1])


def _dependencies(wheel: Path) -> list[str]:
    """The distributions that a wheel requires without extras."""
    with zipfile.ZipFile(wheel) as archive:
        member = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        with archive.open(member) as file:
            text = file.read(_LARGEST_METADATA).decode("utf-8", "replace")
    requirements = [str(requirement) for requirement in HeaderParser().parsestr(text).get_all("Requires-Dist", [])]
    matches = [_REQUIREMENT.match(requirement) for requirement in requirements if not _ELSEWHERE.search(requirement)]
    return [name[0].lower().replace("_", "-") for name in matches if name]


# Preparing a kernel's folder for a push: the checks before Kaggle sees it, and the notebook that is sent.


_UNSENDABLE = {"M001", "M004", "N001", "N004", "N005", "N064"}
"""The rules without which there would be nothing that can be sent, or nothing that could load what was trained."""
ALWAYS = frozenset({"M001", "M004", "N001", "N005"})
"""The rules that cannot be passed by: a file that cannot be read, or a text that no request can hold."""


@dataclass(frozen=True)
class PreparedKernel:
    """A kernel that is fit to be pushed.

    Attributes:
        push: What is sent.
        source: The digest of what its folder says.
        parameters: The constants of its parameters cell.
        wants: The accelerator that it is for.
        kernel_source: What its folder says.
        doubts: What the check found in it, none of it an error.
    """

    push: KernelPush
    source: str
    parameters: Mapping[str, Value]
    wants: str
    kernel_source: KernelSource
    doubts: Sequence[CheckFinding] = ()


def prepare(folder: PairFolder, role: Role, *, verify: bool = True, allow: Collection[str] = ()) -> PreparedKernel:
    """Reads a kernel's folder, and makes sure that Kaggle would take it as it is meant.

    Args:
        folder: The pair.
        role: Which of its kernels.
        verify: Whether errors of `tandem check` refuse it; without, only those do with which nothing can be sent.
        allow: Rules of `tandem check` whose findings are passed by, by their ids.

    Raises:
        KernelUnfitError: Kaggle would refuse it, or misunderstand it in silence.
        FileReadError: A file is missing.
    """
    kernel = read_role(folder, role)
    doubts = check_fit(kernel, pair=folder.name, verify=verify, allow=allow)
    metadata, notebook, path = kernel.metadata or JsonObject(), kernel.notebook, kernel.code.path
    if not notebook:
        raise KernelUnfitError(path=path, problem="it is not a notebook")
    if not all(metadata.text("id").partition("/")) or not metadata.text("title"):
        raise KernelUnfitError(path=kernel.metadata_path or path, problem="it has no id OWNER/SLUG, or no title")
    parameters = _parameters(notebook, path)
    push = _push(metadata, _clean(notebook), may_hold_secrets=SECRET_RULE in allow)
    names = KernelPush.__dataclass_fields__.keys() - {"text", "may_hold_secrets"}
    fields = {name: str(getattr(push, name)) for name in names}
    digest = hashlib.sha256(json.dumps([digest_of_cells(push.text), fields], sort_keys=True).encode()).hexdigest()
    wants = str(parameters.get("ACCELERATOR", kernel.accelerator or AcceleratorKind.GPU))
    return PreparedKernel(push, digest, parameters, wants, kernel, doubts)


def check_fit(
    kernel: KernelSource, *, pair: str, verify: bool = True, allow: Collection[str] = ()
) -> Sequence[CheckFinding]:
    """Makes sure that `tandem check` finds no error in a kernel, but of the rules that are allowed.

    Returns:
        What it finds that is no error.

    Raises:
        KernelUnfitError: The first one, and how many more there are.
    """
    passed_by = set(allow) - ALWAYS
    rules = [rule for rule in RULES if (verify or rule.id in _UNSENDABLE) and rule.id not in passed_by]
    findings = check_kernels([kernel], rules)
    if faults := errors(findings):
        raise KernelUnfitError.of_findings(faults, pair=pair, always=ALWAYS)
    return findings


def owned_by(kernel: PreparedKernel, owner: str, *, instead_of: str) -> PreparedKernel:
    """The same kernel under another owner, with the sources that belonged to the former one."""

    def change_owner(ref: str) -> str:
        return f"{owner}/{ref.partition('/')[2]}" if ref.partition("/")[0] == instead_of else ref

    push = kernel.push
    kernels = tuple(map(change_owner, push.kernel_sources))
    return replace(kernel, push=replace(push, ref=change_owner(push.ref), kernel_sources=kernels))


def _clean(notebook: dict[str, Any]) -> str:
    """The notebook as it is sent: sources as text, no outputs, nothing that the editor of Kaggle left in it."""
    cells = []
    for cell in notebook["cells"]:
        clean_cell = {**cell, "source": join_lines(cell.get("source", ""))}
        if cell["cell_type"] == "code":
            clean_cell.update(outputs=[], execution_count=None)
        cells.append(clean_cell)
    # The editor's block names an image and an accelerator of its own, which can win over what is asked for.
    metadata = {name: value for name, value in JsonObject.of(notebook.get("metadata")).items() if name != "kaggle"}
    return json.dumps({**notebook, "cells": cells, "metadata": metadata}, ensure_ascii=False, indent=1)


def _parameters(notebook: Mapping[str, Any], path: Path) -> dict[str, Value]:
    for cell in notebook["cells"]:
        if has_parameters(cell):
            try:
                return read_parameters(join_lines(cell["source"]))
            except ParameterError as error:
                raise KernelUnfitError(path=path, problem=error.message.rstrip(".")) from error
    return {}


def _push(metadata: JsonObject, text: str, *, may_hold_secrets: bool) -> KernelPush:
    def refs(name: str) -> tuple[str, ...]:
        value = metadata.get(name)
        return tuple(map(str, value)) if isinstance(value, list) else ()

    return KernelPush(
        ref=metadata.text("id"),
        title=metadata.text("title"),
        text=text,
        machine_shape=metadata.text("machine_shape"),
        enable_gpu=metadata.flag("enable_gpu"),
        enable_tpu=metadata.flag("enable_tpu"),
        enable_internet=metadata.flag("enable_internet"),
        is_private=metadata.get("is_private") is not False,
        dataset_sources=refs("dataset_sources"),
        competition_sources=refs("competition_sources"),
        kernel_sources=refs("kernel_sources"),
        model_sources=refs("model_sources"),
        may_hold_secrets=may_hold_secrets,
    )
