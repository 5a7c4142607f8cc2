"""All that the kit writes and removes goes through `generator.files`, apart from places that no workspace holds."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "generator"
METHODS = {
    *("write_text", "write_bytes", "touch", "mkdir", "rmdir", "unlink", "rename", "symlink_to", "hardlink_to", "chmod"),
    *(
        "rmtree",
        "copytree",
        "copyfile",
        "copyfileobj",
        "save",
        "savez",
        "to_csv",
        "to_json",
        "to_parquet",
        "extractall",
    ),
}
OF_MODULES = {
    "os": {
        *("open", "replace", "rename", "renames", "remove", "unlink", "rmdir", "removedirs", "mkdir", "makedirs"),
        *("truncate", "ftruncate", "link", "symlink", "chmod", "chown", "utime", "mkfifo", "mknod"),
    },
    "shutil": {"move", "copy", "copy2", "chown", "unpack_archive", "make_archive"},
    "tempfile": {"mkdtemp", "mkstemp", "TemporaryDirectory", "NamedTemporaryFile"},
}
OPENING = {"open", "ZipFile", "TarFile", "fdopen"}
WRITING = set("wax+")

# The reason of each, and the calls that it is for. The local Kaggle has a folder of its own, which nobody sends around.
OUT_OF_WORKSPACES = {
    "localkaggle": "its own root",
    "sessions": "folders that were made for them, by the local Kaggle in its root, by a rehearsal for itself",
    "files.py": "the way that everything else takes",
}
ALLOWED = {
    "cli/generate.py": ("archives of a dry run, in a temporary folder of the system", {"tempfile.TemporaryDirectory"}),
    "cli/main.py": ("opens the null device", {"os.open"}),
    "cli/skill.py": ("a folder that the user names", {"mkdir"}),
    "cli/serve.py": ("the home of the local Kaggle's clients, in its own root", {"mkdir"}),
    "colab/remote.py": (
        "runs on the machine at Colab",
        {"extractall", "mkdir", "open", "touch", "unlink", "write_bytes"},
    ),
    "colab/rental.py": (
        "a temporary folder of the system; a temporary folder of the system, and a folder that was just made",
        {"copyfileobj", "mkdir", "open", "unlink", "write_text"},
    ),
    "colab/__init__.py": ("a temporary folder of the system", {"touch", "unlink", "write_text"}),
    "competition/builtin.py": ("an empty folder that was just made", {"mkdir", "open", "save"}),
    "competition/specimen/__init__.py": (
        "an empty folder that was just made; real files, in a temporary folder of the system",
        {"tempfile.TemporaryDirectory", "write_bytes"},
    ),
    "competition/specimen/writer.py": ("an empty folder that was just made", {"ZipFile", "mkdir", "write_bytes"}),
    "competition/specimen/files.py": ("in memory", {"open", "save"}),
    "competition/specimen/stand_in_server.py": (
        "is copied into specimens, and runs in a session",
        {"to_csv", "to_parquet"},
    ),
    "kaggle/chain/journal.py": ("a handle of workspace_files", {"os.ftruncate"}),
    "kaggle/client.py": ("a handle of workspace_files", {"fdopen"}),
    "kaggle/competition_data.py": (
        "a folder that was just checked, and is locked; an empty folder that was just made",
        {"mkdir", "open", "rename", "unlink"},
    ),
    "pair/workspace.py": (
        "a folder that was just made, and a temporary folder of the system",
        {"mkdir", "open", "tempfile.TemporaryDirectory", "write_text"},
    ),
    "pair/rendering.py": ("the user's own cache", {"mkdir"}),
    "plan/__init__.py": ("a temporary folder of the system", {"mkdir", "write_text"}),
    "plan/probe.py": ("runs in a notebook, in its working folder", {"write_text"}),
    "rehearsal/hidden_test.py": (
        "a folder that was just made; an empty folder that was just made",
        {"ZipFile", "copyfile", "extractall", "mkdir", "os.link", "rename", "write_bytes"},
    ),
    "rehearsal/sessions.py": ("a folder that was just made", {"mkdir"}),
    "rehearsal/training.py": ("a folder that was just made", {"write_text"}),
    "run/baseline_process.py": ("a temporary folder of the system", {"open"}),
    "run/input_mounts.py": ("a temporary folder of the system", {"mkdir", "symlink_to"}),
    "run/kernel.py": (
        "a temporary folder of the system; temporary folders of the system",
        {"mkdir", "open", "os.open", "tempfile.mkdtemp"},
    ),
    "run/ledger.py": ("a folder that was just made beside the run's", {"copyfileobj", "mkdir", "open"}),
    "run/output_folder.py": ("a handle of workspace_files", {"os.truncate"}),
    "run/report.py": ("a temporary folder of the system", {"tempfile.TemporaryDirectory", "write_bytes", "write_text"}),
    "run/weights_process.py": ("its standard output", {"fdopen"}),
    "tpu_compiler/compilation.py": (
        "a temporary folder of the system; the user's own cache; how soon Linux ends the process",
        {"fdopen", "mkdir", "write_text"},
    ),
    "tpu_compiler/worker/process.py": ("its pipes", {"fdopen"}),
}


def writes(source: str) -> Iterator[str]:
    """The calls that may write, move or remove files, by the name that they are called by."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            known = OF_MODULES.get(node.module or "", set()) | METHODS
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name in known)
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        module = owner.id if isinstance(owner, ast.Name) else ""
        if name in OF_MODULES.get(module, ()):
            yield f"{module}.{name}"
        elif name in METHODS or (name in OPENING and writes_in(node)):
            yield name
        elif name == "replace" and owner is not None and len(node.args) == 1 and not node.keywords:
            yield name  # of a path; a text has two arguments, a date and a dataclass have names


def writes_in(opening: ast.Call) -> bool:
    """True if a file is opened to be written, by a mode such as "ab"; one that is not a plain text may be."""
    modes = [keyword.value for keyword in opening.keywords if keyword.arg == "mode"]
    modes += [argument for argument in opening.args if isinstance(argument, ast.Constant)]
    return any(not isinstance(mode, ast.Constant) or WRITING & set(str(mode.value)[:3]) for mode in modes)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('path.write_text("x")', ["write_text"]),
        ("path.parent.mkdir(parents=True)", ["mkdir"]),
        ('path.open("ab")', ["open"]),
        ('path.open(mode="w", encoding="utf-8")', ["open"]),
        ('open(path, "r+")', ["open"]),
        ("path.open(mode=mode)", ["open"]),
        ("path.unlink(missing_ok=True)", ["unlink"]),
        ("path.replace(other)", ["replace"]),
        ("path.rename(other)", ["rename"]),
        ("shutil.rmtree(path)", ["rmtree"]),
        ("os.open(path, os.O_WRONLY)", ["os.open"]),
        ("os.replace(a, b)", ["os.replace"]),
        ("tempfile.mkdtemp(dir=path)", ["tempfile.mkdtemp"]),
        ("from tempfile import mkdtemp\nmkdtemp(dir=path)", ["tempfile.mkdtemp"]),
        ('zipfile.ZipFile(path, "x")', ["ZipFile"]),
        ('path.open("rb")\npath.open()\nopen(path)\nzipfile.ZipFile(path)', []),
        ('text.replace("a", "b")\nmoment.replace(year=1)\nreplace(state, x=1)\nfiles.write(path, b"")', []),
    ],
)
def test_a_call_that_may_write_is_found(source: str, found: list[str]) -> None:
    assert list(writes(source)) == found


def test_nothing_that_is_written_goes_around_the_safe_functions() -> None:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE)
        if module.parts[0] not in OUT_OF_WORKSPACES and (calls := set(writes(path.read_text()))):
            found[module.as_posix()] = calls

    assert found == {module: calls for module, (_, calls) in ALLOWED.items()}
