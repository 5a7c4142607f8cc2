"""The pairs that a workspace keeps as reference: rendering them again, and checking that nothing drifted."""

import difflib
from pathlib import Path

from generator.errors import PairError
from generator.pair.folder import pair_folder
from generator.pair.generation import complete_choices, render_again
from generator.pair.metadata import metadata_text
from generator.pair.spec import spec_of
from generator.pair.staging import base_of, commit
from generator.pair.workspace import PairFolder, Role, Workspace

_ROOT_METADATA = Path("kernel-metadata.json")


class NoPairsError(PairError):
    """A workspace without pairs."""

    def __init__(self, *, kernels: Path) -> None:
        super().__init__(f"There is no pair in {kernels}; make one with `tandem generate --competition X`.")


class FlagshipError(PairError):
    """More than one pair wants to be the workspace's flagship."""

    def __init__(self, *, names: list[str]) -> None:
        super().__init__(f"Only one pair can have `flagship = true` in its pair.toml, not {' and '.join(names)}.")


def rendered(workspace: Workspace, *, templates: Path | None = None) -> dict[Path, bytes]:
    """Renders every pair of a workspace purely from its `pair.toml`.

    The pair with `flagship = true` also gives the metadata at the workspace's root, so that Kaggle's own client pushes
    its training kernel from there.

    Returns:
        What each file should hold, by its path inside of the workspace.

    Raises:
        PairError: There is no pair, one cannot be rendered, or two are flagships.
    """
    pairs = [pair_folder(workspace, pair.name) for pair in workspace.pairs()]
    if not pairs:
        raise NoPairsError(kernels=workspace.pair("x").path.parent)
    files: dict[Path, bytes] = {}
    for pair in pairs:
        for path, content in render_again(pair, templates=templates).items():
            files[pair.path.relative_to(workspace.root) / path] = content
    flagships = [pair for pair in pairs if _is_flagship(pair)]
    if len(flagships) > 1:
        raise FlagshipError(names=[pair.name for pair in flagships])
    for flagship in flagships:
        files[_ROOT_METADATA] = _root_metadata(workspace, flagship)
    return files


def differences(workspace: Workspace, *, templates: Path | None = None) -> dict[Path, str]:
    """Compares every file with what it should hold.

    Returns:
        A unified diff, from the file to what it should hold, for each file that differs.
    """
    diffs: dict[Path, str] = {}
    for path, content in rendered(workspace, templates=templates).items():
        existing = _existing(workspace.root / path)
        if existing != content:
            diffs[path] = _diff(path, existing or b"", content)
    return diffs


def write(workspace: Workspace, *, templates: Path | None = None) -> list[Path]:
    """Writes every file that does not hold what it should. Whatever was edited in them, outputs included, is replaced.

    `pair.toml` and the kit's copy of it stay as they are, so that an edit in it is still noticed later.

    Returns:
        The files that were written, by their paths inside of the workspace.

    Raises:
        FileWriteError: The pair at hand is unchanged; those before it are written.
    """
    files = rendered(workspace, templates=templates)
    stale = {path: content for path, content in files.items() if _existing(workspace.root / path) != content}
    for pair in workspace.pairs():
        relative = pair.path.relative_to(workspace.root)
        changes = {path.relative_to(relative): text for path, text in stale.items() if path.is_relative_to(relative)}
        if changes:
            commit(pair, changes | {base_of(path): text for path, text in changes.items()})
    if _ROOT_METADATA in stale:
        workspace.files.write(workspace.root / _ROOT_METADATA, stale[_ROOT_METADATA])
    return sorted(stale)


def _is_flagship(pair: PairFolder) -> bool:
    choice = complete_choices(pair).pair.get("flagship")
    return choice is not None and choice.value is True


def _root_metadata(workspace: Workspace, flagship: PairFolder) -> bytes:
    code_file = flagship.notebook(Role.TRAIN).relative_to(workspace.root).as_posix()
    return metadata_text(spec_of(complete_choices(flagship)), Role.TRAIN, code_file=code_file).encode("utf-8")


def _existing(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _diff(path: Path, existing: bytes, content: bytes) -> str:
    before, after = (text.decode("utf-8", "replace").splitlines(keepends=True) for text in (existing, content))
    return "".join(difflib.unified_diff(before, after, fromfile=f"{path} as it is", tofile=f"{path} as rendered"))
