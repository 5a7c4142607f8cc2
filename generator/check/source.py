"""What is checked: a pair, a kernel's folder or a notebook, its metadata, and its code."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from generator.accelerators import AcceleratorKind, catalog
from generator.check.cell_text import parse_code_cells
from generator.check.code import NotebookCode, read_code
from generator.check.findings import CodeLocation
from generator.competition.facts import Task
from generator.errors import CheckError
from generator.files import FileReadError, PathOutsideError, read_bytes, reason_not_read, resolve_inside
from generator.pair.folder import read_settings
from generator.pair.workspace import PairFolder, Role
from generator.text import JsonObject, printable


class Purpose(StrEnum):
    """What a kernel is for, as far as its metadata and place tell."""

    TRAINING = "train"
    INFERENCE = "infer"
    UNKNOWN = "unknown"


class Part(StrEnum):
    """The parts of a kernel that can be unreadable."""

    METADATA = "metadata"
    CODE_FILE = "code file"
    NOTEBOOK = "notebook"


@dataclass(frozen=True)
class Fault:
    """Why a part of a kernel could not be read; what hangs on it is empty then."""

    part: Part
    message: str
    remedy: str


@dataclass(frozen=True)
class CompilerWord:
    """What the TPU's compiler said of a notebook, of one of the kinds that the rules C… are for."""

    kind: str
    message: str
    remedy: str
    cell: str = ""
    line: int = 0


@dataclass(frozen=True, eq=False)  # it is what it is, so that what is known of it can be kept
class KernelSource:
    """A kernel's folder, or a notebook alone: then there is no metadata."""

    code: NotebookCode
    notebook: JsonObject = field(default_factory=JsonObject)  # as it was written, with outputs
    metadata: JsonObject | None = None
    metadata_path: Path | None = None
    purpose: Purpose = Purpose.UNKNOWN
    needs_internet_off: bool = False  # it is the inference of a code competition
    submission_name: str = ""  # what the competition calls a submission, where that is known
    text: str = ""  # of the notebook's file
    fault: Fault | None = None
    compiler: tuple[CompilerWord, ...] = ()  # where somebody asked it
    trained_by: "KernelSource | None" = None  # of the inference of a pair, its training
    is_python: bool = True  # else its code is not read

    def in_metadata(self) -> CodeLocation:
        """The place of a problem of the metadata."""
        return CodeLocation(self.metadata_path or self.code.path)

    def in_notebook(self) -> CodeLocation:
        """The place of a problem of the notebook as a whole."""
        return CodeLocation(self.code.path)

    def setting(self, name: str) -> Any:
        """A value of the metadata, or None."""
        return None if self.metadata is None else self.metadata.get(name)

    def is_on(self, name: str) -> bool:
        """True if a switch of the metadata is on; Kaggle's client takes texts as well."""
        return str(self.setting(name)).lower() == "true"

    def refs(self, name: str) -> tuple[str, ...]:
        """A list of texts in the metadata, such as `kernel_sources`."""
        value = self.setting(name)
        return tuple(ref for ref in value if isinstance(ref, str)) if isinstance(value, list) else ()

    @property
    def scripts(self) -> tuple["KernelSource", ...]:
        """The Python files that its cells write, each as a kernel that has only their code."""
        notebook = JsonObject({"metadata": self.notebook.get("metadata") or {}}) if self.notebook else self.notebook
        return tuple(
            replace(self, code=script, notebook=notebook, text="", trained_by=None, compiler=())
            for script in self.code.scripts
        )

    @property
    def machine_shape(self) -> str:
        """The machine that the metadata name; `kaggle kernels pull -m` writes "None" for none."""
        shape = "" if self.metadata is None else self.metadata.text("machine_shape")
        return "" if shape.lower() == "none" else shape

    @property
    def accelerator(self) -> AcceleratorKind | None:
        """What the metadata ask for; None without metadata, or where they name a shape that is not in the catalog."""
        if self.metadata is None:
            return None
        shape = self.machine_shape
        if shape and shape.lower() != "gpu":
            catalog_entry = catalog().accelerators.get(shape) or catalog().replacements.get(shape)
            return None if catalog_entry is None else catalog_entry.kind
        if self.is_on("enable_tpu"):
            return AcceleratorKind.TPU
        return AcceleratorKind.GPU if shape or self.is_on("enable_gpu") else AcceleratorKind.CPU

    @property
    def is_on_tpu(self) -> bool:
        """True if the metadata ask for a TPU, a retired one included."""
        is_tpu = self.accelerator is AcceleratorKind.TPU or str(self.setting("machine_shape")).lower().startswith("tpu")
        return is_tpu or "tpu1vm" in str(self.setting("machine_shape")).lower()

    @property
    def is_on_t4(self) -> bool:
        """True if the metadata ask for a machine with T4."""
        return self.setting("machine_shape") in ("NvidiaTeslaT4", "NvidiaTeslaT4Highmem")

    @property
    def has_no_internet(self) -> bool:
        """True if the notebook will run without a network."""
        return self.needs_internet_off or str(self.setting("enable_internet")).lower() == "false"


# What looks like a key or a token in a text: for the check of a notebook, and for the guard of whatever is sent.


_FEWEST = 8  # different characters of a secret
_WORDS = ("example", "your", "xxxx", "placeholder", "changeme", "replace", "insert", "dummy", "redacted", "secret_here")
# What has none of these texts in it has none of a kind: that is found out a hundred times as fast as by the pattern.
_SIGNS = {
    "a private key": ("PRIVATE KEY-----",),
    "a token of Kaggle": ("KGAT_",),
    "a key of Kaggle": ("username",),
    "a token of GitHub": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "a token of Hugging Face": ("hf_",),
    "a key of Amazon Web Services": ("AKIA",),
    "a key of Google": ("AIza",),
    "a key of a language model's service": ("sk-proj-", "sk-ant-"),
    "a key of Weights & Biases": ("wandb", "WANDB_API_KEY"),
    "a password in an address": ("http://", "https://"),
    "a token of Slack": ("xox",),
}
_PATTERNS = {
    "a private key": re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
    "a token of Kaggle": re.compile(r"\bKGAT_[A-Za-z0-9_-]{16,}"),
    # Beside the user's name, as in kaggle.json; many a table has a column "key" of hashes.
    "a key of Kaggle": re.compile(
        r'\\?"username\\?"\s*:[^{}]{1,200}?\\?"key\\?"\s*:\s*\\?"[0-9a-f]{32}\\?"'
        r'|\\?"key\\?"\s*:\s*\\?"[0-9a-f]{32}\\?"[^{}]{1,50}?\\?"username\\?"\s*:'
    ),
    "a token of GitHub": re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{40,}\b"),
    "a token of Hugging Face": re.compile(r"\bhf_[A-Za-z0-9]{30,}\b"),
    "a key of Amazon Web Services": re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    "a key of Google": re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b"),
    "a key of a language model's service": re.compile(r"\bsk-(?:proj-|ant-)[A-Za-z0-9_-]{32,}"),
    "a key of Weights & Biases": re.compile(
        r"\bwandb\b[^\n]{0,60}?\b[0-9a-f]{40}\b|WANDB_API_KEY\W{1,8}[0-9a-f]{40}\b"
    ),
    "a password in an address": re.compile(r"https?://[^/\s:@'\"]{1,100}:(?=[^@\s]*\d)[^/\s:@'\"{}$<>]{16,200}@"),
    "a token of Slack": re.compile(r"\bxox[abprs]-[0-9A-Za-z-]{20,}"),
}


def secrets_in(text: str) -> Iterator[tuple[str, int]]:
    """What a text holds that looks like a secret, and at which character; the secret itself is not told."""
    for label, pattern in _PATTERNS.items():
        for match in pattern.finditer(text) if any(sign in text for sign in _SIGNS[label]) else ():
            if label == "a private key" or not is_placeholder(match.group()):
                yield label, match.start()


def is_placeholder(text: str) -> bool:
    """True for what stands in the place of a secret: of few letters, or in words."""
    lower = text.lower()
    if any(word in lower for word in _WORDS):
        return True
    body = re.sub(r"^[a-z]{2,}[_-]", "", lower)
    return len(set(body)) < _FEWEST


# Reading what is to be checked: a pair, a kernel's folder, a notebook, or a folder that has some of them.
#
# What cannot be read becomes a `Fault` of its kernel, which a rule reports; only what is not there at all is an
# error.


METADATA = "kernel-metadata.json"
_R = (".r", ".rmd", ".irnb")  # left alone
_LARGEST = 64 * 2**20  # characters of a file that is read at all
_LONGEST_METADATA = 2**20
_MOST_FOLDERS, _MOST_KERNELS, _DEEPEST = 5_000, 500, 6
_MOST_CHARACTERS = 512 * 2**20  # of all files together, which are held at once
_RENDER = "Write it again with `tandem generate` or `kaggle kernels init`."


class TooMuchToCheckError(CheckError):
    """A folder with more in it than anybody's kernels."""

    def __init__(self, *, path: Path) -> None:
        super().__init__(
            f"{printable(str(path))} has more than {_MOST_FOLDERS:,} folders, {_MOST_KERNELS:,} kernels or "
            f"{_MOST_CHARACTERS >> 20} MB of them; name a folder further down."
        )


def read_pair_sources(folder: PairFolder) -> list[KernelSource]:
    """Read both kernels of a pair, with what `pair.toml` says of their competition.

    Raises:
        TandemError: `pair.toml` cannot be used.
    """
    return [read_role(folder, role) for role in Role]


def read_role(folder: PairFolder, role: Role) -> KernelSource:
    """Read one of a pair's kernels, with what `pair.toml` says of its competition.

    Raises:
        TandemError: `pair.toml` cannot be used.
        FileReadError: There are no metadata.
    """
    settings = read_settings(folder)
    kernel = read_kernel(folder.metadata(role).parent)
    if role is Role.TRAIN:
        return replace(kernel, purpose=Purpose.TRAINING)
    is_offline = settings.get("code_competition") is True and settings.get("internet") is not True
    name = str(settings.get("submission_file", Task.submission_file))
    try:
        training = read_kernel(folder.metadata(Role.TRAIN).parent)
    except FileReadError:
        training = None
    inference = replace(kernel, needs_internet_off=is_offline, submission_name=name, trained_by=training)
    return replace(inference, purpose=Purpose.INFERENCE)


def read_target(path: Path, *, is_code_competition: bool = False) -> list[KernelSource]:
    """Read what a path leads to: a notebook, a kernel's folder, a pair's, or every one of them below a folder.

    Args:
        path: The path.
        is_code_competition: Whether inference has to do without the internet, where no `pair.toml` says it.

    Raises:
        CheckError: There is nothing of the kind.
        TooMuchToCheckError: It is no folder of kernels.
    """
    if path.is_file() and path.suffix == ".ipynb" and not (path.parent / METADATA).is_file():
        return [replace(read_notebook(path), needs_internet_off=is_code_competition)]
    if path.is_file() and (path.name == METADATA or path.suffix in (".ipynb", ".py")):
        return _kernel_of_file(path, is_code_competition=is_code_competition)
    kernels = list(_kernels_below(path, is_code_competition=is_code_competition)) if path.is_dir() else []
    if not kernels:
        raise _nothing_in(path)
    return kernels


def _kernel_of_file(path: Path, *, is_code_competition: bool) -> list[KernelSource]:
    """The kernel that a file is of; a notebook that its folder's metadata do not name is read alone."""
    if not (path.parent / METADATA).is_file():
        raise _nothing_in(path.parent)
    kernels = list(_kernels_below(path.parent, is_code_competition=is_code_competition, deepest=0))
    if path.suffix == ".ipynb" and not any(
        kernel.fault or kernel.code.path.absolute() == path.absolute() for kernel in kernels
    ):
        return [replace(read_notebook(path), needs_internet_off=is_code_competition)]
    return kernels


def _nothing_in(path: Path) -> CheckError:
    return CheckError(
        f"There is no {METADATA} and no notebook in {printable(str(path))}; name a pair, a notebook (.ipynb), or a "
        "folder with one."
    )


def read_kernel(folder: Path) -> KernelSource:
    """Read a kernel's folder: its metadata, and the notebook or script that they name.

    Raises:
        FileReadError: There are no metadata.
    """
    path = folder / METADATA
    text, problem = _text(path)
    metadata, problem = (None, problem) if problem else _json_object(text, longest=_LONGEST_METADATA)
    if metadata is None:
        fault = Fault(Part.METADATA, problem, _RENDER)
        return KernelSource(NotebookCode(path, ()), metadata_path=path, fault=fault)
    code_file = _code_file(metadata, folder)
    if isinstance(code_file, Fault):
        return KernelSource(NotebookCode(path, ()), metadata=metadata, metadata_path=path, fault=code_file)
    if code_file.suffix != ".ipynb":
        text, problem = _text(code_file)
        text = text.removeprefix("\ufeff")  # of a script, which Python takes; of JSON the client refuses it
        if code_file.suffix.lower() in _R:
            code = NotebookCode(code_file, ())
            return KernelSource(code, metadata=metadata, metadata_path=path, text=text, is_python=False)
        if problem:
            fault = Fault(Part.CODE_FILE, problem, "Put a script there that can be read.")
            return KernelSource(NotebookCode(path, ()), metadata=metadata, metadata_path=path, fault=fault)
        code = NotebookCode(code_file, parse_code_cells([("", text)]))
        return KernelSource(code, metadata=metadata, metadata_path=path, text=text)
    return read_notebook(code_file, metadata=metadata)


def read_notebook(path: Path, *, metadata: JsonObject | None = None) -> KernelSource:
    """Read a notebook, with its metadata where there are some.

    Raises:
        FileReadError: There is none.
    """
    text, problem = _text(path)
    notebook, problem = (None, problem) if problem else _json_object(text, longest=_LARGEST)
    is_python = True
    if notebook is None or not _is_notebook(notebook):
        problem = problem or "It is not a notebook of format 4"
        fault = Fault(Part.NOTEBOOK, problem, "Save it again in Jupyter, which writes format 4.")
        notebook, code = JsonObject(), NotebookCode(path, ())
    else:
        is_python = _is_python(notebook, metadata)
        fault, code = None, read_code(notebook, path) if is_python else NotebookCode(path, ())
    metadata_path = None if metadata is None else path.parent / METADATA
    return KernelSource(code, notebook, metadata, metadata_path, text=text, fault=fault, is_python=is_python)


def _text(path: Path) -> tuple[str, str]:
    """The text of a file, or why it cannot be read.

    Raises:
        FileReadError: There is none.
    """
    try:
        return read_bytes(path).decode(), ""
    except FileNotFoundError as error:
        if path.is_symlink():
            return "", "It is a link to nothing"
        raise FileReadError(path=path, cause=error) from error
    except UnicodeDecodeError:
        return "", "It is not UTF-8 text"
    except OSError as error:
        return "", f"It cannot be read ({reason_not_read(error)})"


def _json_object(text: str, *, longest: int) -> tuple[JsonObject | None, str]:
    if len(text) > longest:
        return None, f"It is larger than {longest >> 20} MB"
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        return None, f"It is not JSON ({error})"
    return (JsonObject(fields), "") if isinstance(fields, dict) else (None, "It is not a JSON object")


def _code_file(metadata: JsonObject, folder: Path) -> Path | Fault:
    name = metadata.text("code_file")
    if not name.isprintable() or not name:
        problem = "Its code_file is not the name of a file" if name else "It has no code_file"
        return Fault(Part.CODE_FILE, problem, "Name the notebook, relative to the folder of the metadata.")
    try:
        code_path = resolve_inside(folder / name, root=folder)
    except PathOutsideError:
        remedy = "Move the notebook beside its metadata."
        return Fault(Part.CODE_FILE, f"Its code_file {name} is outside of the kernel's folder", remedy)
    is_r = code_path.suffix.lower() in _R and metadata.text("language").lower() in ("r", "rmarkdown")
    is_script = is_r or (code_path.suffix == ".py" and metadata.get("kernel_type") == "script")
    if code_path.suffix != ".ipynb" and not is_script:
        remedy = "Name a notebook (.ipynb), or set the kernel_type of a .py file to script."
        return Fault(Part.CODE_FILE, f"Its code_file {name} is not a notebook", remedy)
    if not code_path.is_file():
        description = f"is a {'folder' if code_path.is_dir() else 'pipe or a device'}, not an ordinary file"
        problem = f"Its code_file {name} {description if code_path.exists() else 'does not exist'}"
        return Fault(Part.CODE_FILE, problem, "Put the notebook there, or name another.")
    return folder / name


def _is_notebook(notebook: JsonObject) -> bool:
    cells = notebook.get("cells")
    return isinstance(cells, list) and all(map(_is_cell, cells))


def _is_cell(cell: object) -> bool:
    fields = JsonObject.of(cell)
    return isinstance(fields.get("cell_type"), str) and isinstance(fields.get("source"), str | list)


def _is_python(notebook: JsonObject, metadata: JsonObject | None) -> bool:
    """True unless somebody says that it is in another language."""
    notebook_metadata = notebook.section("metadata")
    kernel = notebook_metadata.section("kernelspec")
    if kernel.text("name").lower() in ("ir", "xr"):
        return False
    pushed_as = "" if metadata is None else metadata.text("language")
    languages = (kernel.text("language"), notebook_metadata.section("language_info").text("name"), pushed_as)
    return all(not language or language.lower().startswith(("python", "ipython")) for language in languages)


def _kernels_below(root: Path, *, is_code_competition: bool, deepest: int = _DEEPEST) -> Iterator[KernelSource]:
    kernel_count = characters = 0
    code_files: set[Path] = set()  # of kernels above, in folders of their own
    for folder, names in _folders(root, deepest=deepest):
        if "pair.toml" in names and all((folder / role / METADATA).is_file() for role in Role):
            kernels = read_pair_sources(PairFolder(folder.absolute()))
        elif folder.name in tuple(Role) and (folder.parent / "pair.toml").is_file() and METADATA in names:
            pair = PairFolder(folder.parent.absolute())
            # A pair's other kernel was not asked for, or was read with the pair.
            kernels = [read_role(pair, Role(folder.name))] if folder == root else []
        elif METADATA in names:
            kernels = [replace(read_kernel(folder), needs_internet_off=is_code_competition)]
            code_files |= {kernel.code.path.resolve() for kernel in kernels}
        else:
            alone = [folder / name for name in names if name.endswith(".ipynb")]
            notebooks = (read_notebook(path) for path in alone if path.resolve() not in code_files)
            kernels = [replace(notebook, needs_internet_off=is_code_competition) for notebook in notebooks]
        kernel_count += len(kernels)
        characters += sum(len(kernel.text) for kernel in kernels)
        if kernel_count > _MOST_KERNELS or characters > _MOST_CHARACTERS:
            raise TooMuchToCheckError(path=root)
        yield from kernels


def _folders(root: Path, *, deepest: int) -> Iterator[tuple[Path, list[str]]]:
    """Every folder with the names of its files, from above, without hidden ones and without following links."""
    for count, (name, folders, files) in enumerate(os.walk(root)):
        folder = Path(name)
        depth = len(folder.relative_to(root).parts)
        folders[:] = (
            sorted(subfolder for subfolder in folders if not subfolder.startswith(".")) if depth < deepest else []
        )
        if count > _MOST_FOLDERS:
            raise TooMuchToCheckError(path=root)
        yield folder, sorted(file_name for file_name in files if not file_name.startswith("."))
