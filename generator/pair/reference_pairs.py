"""The pairs that a workspace keeps as reference: rendered again, and checked for drift."""

import difflib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from generator.errors import PairError, TandemError
from generator.files import read_bytes, read_text
from generator.pair.folder import (
    Edits,
    base_of,
    commit,
    complete_settings,
    edits,
    find_lost_edits,
    pair_folder,
    read_pair_spec,
)
from generator.pair.generation import render_again
from generator.pair.rendering import metadata_text
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.text import printable

_ROOT_METADATA = Path("kernel-metadata.json")


class EditedPairsError(PairError):
    """Files of some pairs were edited since they were rendered, so that writing all of them would lose the edits."""

    def __init__(self, *, lost_edits: Mapping[Path, Edits]) -> None:
        files = "\n".join(f"  {printable(str(path))} ({changes})" for path, changes in lost_edits.items())
        summary = f"These files have edits, so `tandem generate --all` wrote nothing:\n{files}"
        remedy = (
            "Merge them pair by pair with `tandem update X`, or overwrite them with `tandem generate --all --force`."
        )
        super().__init__(summary, remedy=remedy, text=f"{summary}\n{remedy}")


def render_pairs(workspace: Workspace) -> dict[Path, bytes]:
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
            f"There is no pair in {workspace.pair('x').path.parent}.",
            remedy="Write one with `tandem generate --competition X`.",
            code="pair-not-found",
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


def is_rendered(folder: PairFolder, role: Role) -> bool:
    """True if a notebook is as the kit renders it from `pair.toml`, without a cell that anybody wrote."""
    path = folder.notebook(role).relative_to(folder.path)
    try:
        content = render_again(folder, has_user_files=False)[path]
        return not edits(path, read_text(folder.notebook(role)).encode(), since=content)
    except TandemError:
        return False


def compare_files(workspace: Workspace, files: Mapping[Path, bytes]) -> dict[Path, str]:
    """Compares every file with what it should hold.

    Args:
        workspace: The workspace.
        files: What was rendered.

    Returns:
        A unified diff, from the file to what it should hold, for each file that differs.
    """
    existing = {path: _existing(workspace.root / path) for path in files}
    return {
        path: _diff(path, existing[path] or b"", content)
        for path, content in files.items()
        if existing[path] != content
    }


def edits_of(workspace: Workspace, files: Mapping[Path, bytes]) -> dict[Path, Edits]:
    """The edits that writing all pairs would lose. A file without the kit's copy of it counts as edited if it differs.

    Args:
        workspace: The workspace.
        files: What was rendered.

    Returns:
        The edits in each file that has some, by its path inside of the workspace.
    """
    lost_edits: dict[Path, Edits] = {}
    for pair, of_pair in _by_pair(workspace, files):
        relative = pair.path.relative_to(workspace.root)
        lost_edits |= {relative / path: changes for path, changes in find_lost_edits(pair, of_pair).items()}
    existing = _existing(workspace.root / _ROOT_METADATA)
    if _ROOT_METADATA in files and existing is not None:
        changes = edits(_ROOT_METADATA, existing, since=files[_ROOT_METADATA])
        if changes and not _is_of_a_pair(workspace, existing):
            lost_edits[_ROOT_METADATA] = changes
    return lost_edits


def write_reference_pairs(workspace: Workspace, *, force: bool = False) -> list[Path]:
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
    files = render_pairs(workspace)
    lost_edits = {} if force else edits_of(workspace, files)
    if lost_edits:
        raise EditedPairsError(lost_edits=lost_edits)
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
    return complete_settings(pair).get("flagship") is True


def _root_metadata(workspace: Workspace, flagship: PairFolder) -> bytes:
    code_file = flagship.notebook(Role.TRAIN).relative_to(workspace.root).as_posix()
    return metadata_text(read_pair_spec(flagship), Role.TRAIN, code_file=code_file).encode("utf-8")


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
