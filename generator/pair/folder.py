"""The folder of a pair: finding it, reading its choices, and writing it without losing anybody's edits."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

from generator.errors import PairError, did_you_mean
from generator.files import FileReadError, contained, read_bytes, read_text
from generator.pair.atomic_write import base_of, commit, recover
from generator.pair.choices import Choices
from generator.pair.choices_toml import parsed
from generator.pair.edits import Edits, edits
from generator.pair.notebook import written_cells
from generator.pair.own_cells import has_code_of, possible_file, read_own_cells
from generator.pair.template_catalog import frameworks
from generator.pair.workspace import PairFolder, Workspace
from generator.untrusted import is_slug, printable


def pair_folder(workspace: Workspace, name: str) -> PairFolder:
    """The folder that a pair of this name has, whether it exists or not, after recovery from a write that was cut off.

    Raises:
        PairError: The name is not one.
        PathOutsideError: The folder is a link to somewhere else.
    """
    if not is_slug(name):
        raise PairError(
            f'"{printable(name)}" cannot be the name of a pair; use lower-case letters, digits and hyphens.'
        )
    folder = workspace.pair(name)
    contained(folder.path, root=folder.path.parent)
    recover(folder)
    return folder


def existing_pair(workspace: Workspace, name: str) -> PairFolder:
    """The folder of a pair that was generated before.

    Raises:
        PairError: The name is not one, or there is no such pair; the message lists those that there are.
    """
    folder = pair_folder(workspace, name)
    if not folder.choices.is_file():
        known = [pair.name for pair in workspace.pairs()]
        competition, _, framework = name.rpartition("-")
        options = f"{competition} --framework {framework}" if framework in frameworks() else name
        there = f" The pairs there: {', '.join(known)}.{did_you_mean(name, known)}" if known else ""
        raise PairError(
            f'There is no pair "{name}" in {printable(str(folder.path.parent))}; '
            f"make one with `tandem generate --competition {options}`.{there}"
        )
    return folder


def read_choices(folder: PairFolder) -> Choices:
    """Reads `pair.toml`; without one there are no choices yet.

    A value that differs from the kit's own copy of the file counts as set by hand.

    Raises:
        ChoicesError: The file cannot be used as it stands.
        FileReadError: It cannot be read.
    """
    if not folder.choices.exists():
        return Choices()
    base = _content(folder.path / base_of(Path(folder.choices.name)))
    as_written = base.decode("utf-8", "replace") if base is not None else None
    return parsed(read_text(folder.choices), path=folder.choices, as_written=as_written)


def planned(
    folder: PairFolder,
    files: Mapping[Path, bytes],
    *,
    force: bool,
    without_base: Callable[[], Mapping[Path, bytes]] = dict,
) -> frozenset[Path]:
    """Finds out which files writing a pair would change, and whether it would lose edits.

    A file that says what was rendered already is left untouched, together with the outputs in it.

    Args:
        folder: The pair.
        files: What was rendered, by path inside of the folder. `pair.toml` may be among them: its edits are kept by
            whoever writes its text.
        force: Whether edits may be overwritten.
        without_base: Says what the files held when they were rendered, where the kit has no copy of that, as in a pair
            that somebody cloned. Called only then.

    Raises:
        PairError: Which cells and fields were edited; never with `force`.
    """
    lost = {} if force else edited(folder, files, without_base=without_base)
    if lost:
        edits = "\n".join(f"  {path.as_posix()} ({changes})" for path, changes in lost.items())
        raise PairError(
            f"{printable(str(folder.path))} was edited since it was rendered, and is left as it is:\n{edits}\n"
            f"{_ways_to_keep(folder, files, lost)}Generate under another name with --name, or overwrite these edits "
            "with --force."
        )
    return frozenset(path for path, rendered in files.items() if not _is_current(folder, path, rendered))


def edited(
    folder: PairFolder, files: Mapping[Path, bytes], *, without_base: Callable[[], Mapping[Path, bytes]] = dict
) -> dict[Path, Edits]:
    """The edits that writing a pair would lose, by the path of the file inside of the folder.

    Args:
        folder: The pair.
        files: As for `planned`.
        without_base: As for `planned`.
    """
    found: dict[Path, Edits] = {}
    for path, rendered in files.items():
        existing = _content(folder.path / path)
        if existing is None or path == Path(folder.choices.name) or _is_current(folder, path, rendered):
            continue
        base = _content(folder.path / base_of(path))
        changes = edits(path, existing, since=without_base().get(path, rendered) if base is None else base)
        if changes := _without_kept(folder, path, changes, existing, rendered):
            found[path] = changes
    return found


def _without_kept(folder: PairFolder, path: Path, changes: Edits, existing: bytes, rendered: bytes) -> Edits:
    """The edits without those of cells whose code a file beside `pair.toml` has, so that it is rendered again."""
    if path.suffix != ".ipynb" or not changes.changed:
        return changes
    now = written_cells(existing, path=path)
    then = {name: cell.source for name, cell in written_cells(rendered, path=path).items() if cell.kind == "code"}
    own = read_own_cells(folder)
    lost = tuple(
        name
        for name in changes.changed
        if now[name].kind != "code" or not has_code_of(name, now[name].source, then, own)
    )
    return replace(changes, changed=lost)


def _ways_to_keep(folder: PairFolder, files: Mapping[Path, bytes], lost: Mapping[Path, Edits]) -> str:
    """A sentence on the edited cells that files beside `pair.toml` would keep; "" if there are none."""
    notebooks = [written_cells(files[path], path=path) for path in files if path.suffix == ".ipynb"]
    ways = []
    for name in dict.fromkeys(name for changes in lost.values() for name in changes.changed):
        cells = {notebook[name] for notebook in notebooks if name in notebook}
        # A file is in both notebooks, so that a cell in which they differ cannot be one.
        if len(cells) == 1 and next(iter(cells)).kind == "code" and (file := possible_file(name)):
            ways.append(f"{printable(name)} as {file}")
    if not ways:
        return ""
    where = printable(str(folder.path))
    return f"To keep an edit, save the code of its cell in {where} ({', '.join(ways)}) and generate again. "


def write_pair(folder: PairFolder, files: Mapping[Path, bytes], stale: Collection[Path]) -> None:
    """Writes a pair, with a copy of what was rendered as the base of later comparisons: as a whole or not at all.

    Args:
        folder: The pair.
        files: As for `planned`.
        stale: Those to write, as `planned` says.

    Raises:
        FileWriteError: Nothing was changed.
        PairError: Everything is written, but not in place.
    """
    changes = {path: files[path] for path in stale}
    for path, rendered in files.items():
        if _content(folder.path / base_of(path)) != rendered:
            changes[base_of(path)] = rendered
    if changes:
        commit(folder, changes)


def _is_current(folder: PairFolder, path: Path, rendered: bytes) -> bool:
    """True if a file says what was rendered; the kit's copy of `pair.toml` is compared to the letter."""
    existing = _content(folder.path / path)
    if existing is None or path == Path(folder.choices.name):
        return existing == rendered
    return not edits(path, existing, since=rendered)


def _content(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise FileReadError(path=path, cause=error) from error
