"""The pairs that a workspace keeps as reference: rendering them again, and checking that nothing drifted."""

import difflib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from generator.errors import PairError
from generator.files import read_bytes
from generator.pair.atomic_write import base_of, commit
from generator.pair.edits import Edits, edits
from generator.pair.folder import edited, pair_folder
from generator.pair.generation import complete_choices, read_pair, render_again
from generator.pair.kernel_metadata import metadata_text
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.untrusted import printable

_ROOT_METADATA = Path("kernel-metadata.json")


class EditedPairsError(PairError):
    """Files of some pairs were edited since they were rendered, so that writing all of them would lose the edits."""

    def __init__(self, *, edited: Mapping[Path, Edits]) -> None:
        files = "\n".join(f"  {printable(str(path))} ({changes})" for path, changes in edited.items())
        super().__init__(
            f"These were edited since they were rendered, so that `tandem generate --all` writes nothing:\n{files}\n"
            "Render the other pairs one by one with `tandem generate --competition X`, or overwrite these edits with "
            "`tandem generate --all --force`."
        )


def rendered(workspace: Workspace) -> dict[Path, bytes]:
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
        raise PairError(
            f"There is no pair in {workspace.pair('x').path.parent}; make one with `tandem generate --competition X`."
        )
    files: dict[Path, bytes] = {}
    for pair in pairs:
        for path, content in render_again(pair).items():
            files[pair.path.relative_to(workspace.root) / path] = content
    flagships = [pair for pair in pairs if _is_flagship(pair)]
    if len(flagships) > 1:
        raise PairError(
            "Only one pair can have `flagship = true` in its pair.toml, not "
            f"{' and '.join(pair.name for pair in flagships)}."
        )
    for flagship in flagships:
        files[_ROOT_METADATA] = _root_metadata(workspace, flagship)
    return files


def differences(workspace: Workspace) -> dict[Path, str]:
    """Compares every file with what it should hold.

    Returns:
        A unified diff, from the file to what it should hold, for each file that differs.
    """
    diffs: dict[Path, str] = {}
    for path, content in rendered(workspace).items():
        existing = _existing(workspace.root / path)
        if existing != content:
            diffs[path] = _diff(path, existing or b"", content)
    return diffs


def edits_of(workspace: Workspace, files: Mapping[Path, bytes]) -> dict[Path, Edits]:
    """The edits that writing all pairs would lose. A file without the kit's copy of it counts as edited if it differs.

    Args:
        workspace: The workspace.
        files: What was rendered.

    Returns:
        The edits in each file that has some, by its path inside of the workspace.
    """
    found: dict[Path, Edits] = {}
    for pair, of_pair in _by_pair(workspace, files):
        relative = pair.path.relative_to(workspace.root)
        found |= {relative / path: changes for path, changes in edited(pair, of_pair).items()}
    existing = _existing(workspace.root / _ROOT_METADATA)
    if _ROOT_METADATA in files and existing is not None:
        changes = edits(_ROOT_METADATA, existing, since=files[_ROOT_METADATA])
        if changes and not _is_of_a_pair(workspace, existing):
            found[_ROOT_METADATA] = changes
    return found


def write(workspace: Workspace, *, force: bool = False) -> list[Path]:
    """Writes every file that does not hold what it should, outputs in notebooks included: all pairs, or none.

    `pair.toml` and the kit's copy of it stay as they are, so that an edit in it is still noticed later.

    Args:
        workspace: The workspace.
        force: Whether edits may be overwritten.

    Returns:
        The files that were written, by their paths inside of the workspace.

    Raises:
        EditedPairsError: Some were edited; nothing is written. Never with `force`.
        FileWriteError: The pair at hand is unchanged; those before it are written.
    """
    files = rendered(workspace)
    lost = {} if force else edits_of(workspace, files)
    if lost:
        raise EditedPairsError(edited=lost)
    stale = {path: content for path, content in files.items() if _existing(workspace.root / path) != content}
    for pair, changes in _by_pair(workspace, stale):
        commit(pair, changes | {base_of(path): text for path, text in changes.items()})
    if _ROOT_METADATA in stale:
        workspace.files.write(workspace.root / _ROOT_METADATA, stale[_ROOT_METADATA])
    return sorted(stale)


def _by_pair(workspace: Workspace, files: Mapping[Path, bytes]) -> Iterator[tuple[PairFolder, dict[Path, bytes]]]:
    """Yields each pair that some files belong to, with these files by their paths inside of its folder."""
    for pair in workspace.pairs():
        folder = pair.path.relative_to(workspace.root)
        if of_pair := {path.relative_to(folder): text for path, text in files.items() if path.is_relative_to(folder)}:
            yield pair, of_pair


def _is_flagship(pair: PairFolder) -> bool:
    choice = complete_choices(pair).pair.get("flagship")
    return choice is not None and choice.value is True


def _root_metadata(workspace: Workspace, flagship: PairFolder) -> bytes:
    code_file = flagship.notebook(Role.TRAIN).relative_to(workspace.root).as_posix()
    return metadata_text(read_pair(flagship), Role.TRAIN, code_file=code_file).encode("utf-8")


def _is_of_a_pair(workspace: Workspace, metadata: bytes) -> bool:
    """True if metadata at the root say what those of a pair's training kernel say, so that nobody edited them."""
    for pair in workspace.pairs():
        code_file = pair.notebook(Role.TRAIN).relative_to(workspace.root).as_posix()
        try:
            fields = json.loads(pair.metadata(Role.TRAIN).read_bytes())
            if json.loads(metadata) == fields | {"code_file": code_file}:
                return True
        except (OSError, ValueError, TypeError, RecursionError):
            continue
    return False


def _existing(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except OSError:
        return None


def _diff(path: Path, existing: bytes, content: bytes) -> str:
    before, after = (text.decode("utf-8", "replace").splitlines(keepends=True) for text in (existing, content))
    return "".join(difflib.unified_diff(before, after, fromfile=f"{path} as it is", tofile=f"{path} as rendered"))
