"""The folder of a pair: read, compared with what was rendered, and written without losing edits."""

import errno
import fcntl
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from types import FrameType
from typing import Any

from generator.competition.facts import Competition, CompetitionDescription
from generator.competition.schema import frameworks
from generator.errors import PairError, did_you_mean
from generator.files import (
    FileReadError,
    FileWriteError,
    UnsafePlaceError,
    read_bytes,
    read_text,
    reason,
    resolve_inside,
)
from generator.pair.merge import Change, Merge, MergeOutcome, match_cells, merge_metadata, merge_notebooks
from generator.pair.notebook import MEMBER_CODE_FILE, NotebookReadError, has_code_of, read_own_cells, written_cells
from generator.pair.settings import Settings, parse_settings, settings_toml
from generator.pair.spec import PairSpec, spec_of
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.text import JsonObject, is_slug, printable

# The signals that ask for an end: Ctrl-C, the request to end, and a terminal that was closed.


_SIGNALS = (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()))
_SAME_PRESS_SECONDS = 0.5


@contextmanager
def handled_signals(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Handles them for the length of the block. Ignored ones, as under nohup, stay ignored.

    Outside of the main thread it does nothing.
    """
    is_main = threading.current_thread() is threading.main_thread()
    previous = {number: signal.getsignal(number) for number in _SIGNALS if is_main}
    # A handler that was not set from Python is None, and cannot be put back.
    old_handlers = {number: old for number, old in previous.items() if old not in (signal.SIG_IGN, None)}
    for number in old_handlers:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in old_handlers.items():
            signal.signal(number, old)


@contextmanager
def deferred_interrupts(on_first: Callable[[], None] | None = None) -> Iterator[None]:
    """Delivers the first of them only after the block, which must not stop half-way.

    Args:
        on_first: Called at the first one. With it, a second Ctrl-C raises KeyboardInterrupt in the block.
    """
    signal_numbers: list[int] = []
    first_at = 0.0

    def handle(number: int, _: FrameType | None) -> None:
        nonlocal first_at
        signal_numbers.append(number)
        if on_first is None:
            return
        if len(signal_numbers) == 1:
            first_at = time.monotonic()
            on_first()
        # A terminal that closes sends several signals, and a program that passes Ctrl-C on sends it twice at once.
        elif number == signal.SIGINT and time.monotonic() - first_at > _SAME_PRESS_SECONDS:
            first_at = inf  # the third does not disturb the clean-up after the second
            raise KeyboardInterrupt

    try:
        with handled_signals(handle):
            yield
    finally:
        if signal_numbers:
            signal.raise_signal(signal_numbers[0])


# Replacing several files of a pair as one: all of them, or none.
#
# The new files are written to `.tandem/staged/`, then a marker that says that they are complete, and only then each
# is renamed to its place. Whoever reads or writes the pair next calls `recover`, which finishes a marked stage and
# discards an unmarked one. The reasons and the limits are in docs/adr/0002-staged-writes.md.
#
# What was there before goes to `.tandem/previous/` in the same step, so that it can be brought back.


_MARKER = "complete"
_REMOVAL = ".removed"


def pair_files() -> list[Path]:
    """The files of a pair, by their paths inside of its folder."""
    relative = PairFolder(Path())
    return [relative.settings_path, *(make(role) for role in Role for make in (relative.notebook, relative.metadata))]


def base_of(path: Path) -> Path:
    """The path of the kit's copy of a file as it was rendered; both paths are inside of the pair's folder."""
    return PairFolder(Path()).state / "rendered" / path


def pulled_of(path: Path) -> Path:
    """The path of the version of a notebook on Kaggle that was merged last; both are inside of the pair's folder."""
    return PairFolder(Path()).state / "pulled" / path


def pulled_version(folder: PairFolder, role: Role) -> tuple[bytes, JsonObject]:
    """Return the version on Kaggle that was merged last, and the record of it; both are empty if there is none."""
    try:
        content = read_bytes(folder.path / pulled_of(folder.notebook(role).relative_to(folder.path)))
    except OSError:
        return b"", JsonObject()
    return content, JsonObject.parse(content).section("metadata").section("tandem")


def _previous_of(path: Path) -> Path:
    """The path of what a file was before it was last replaced; both paths are inside of the pair's folder."""
    return PairFolder(Path()).state / "previous" / path


def earlier_rendering(folder: PairFolder, path: Path) -> bytes | None:
    """Return what was rendered before the last rendering of a file, by its path inside of the folder; None without."""
    kept_copy = folder.path / _previous_of(base_of(path))
    folder.files.check(kept_copy)
    return _content(kept_copy)


def _kept_files() -> list[Path]:
    """The files of a pair, what they were merged with, and a blend's code: replaced and brought back together."""
    rendered_files = [path for file in pair_files() for path in (file, base_of(file))]
    notebooks = [PairFolder(Path()).notebook(role) for role in Role]
    return [Path(MEMBER_CODE_FILE), *rendered_files, *map(pulled_of, notebooks)]


def recover(folder: PairFolder) -> None:
    """Ends what an earlier write left undone: a complete stage takes effect, an incomplete one is removed.

    Raises:
        PairError: The files still cannot be put in place.
        UnsafePlaceError: A folder of the pair, or a file, is a link.
    """
    folder.files.check(_stage(folder))
    if _stage(folder).is_dir():
        with _lock(folder):
            _recover(folder)


def commit(folder: PairFolder, files: Mapping[Path, bytes | None]) -> None:
    """Replaces files of a pair, all or none of them, and creates the pair if there is none.

    Args:
        folder: The pair.
        files: New contents by path inside of the folder, None for a file to remove; only files of a pair, what they
            were merged with, and the code of a blend's members.

    Raises:
        FileWriteError: Nothing was changed, and no folder that was not there before is left.
        PairError: Everything is written, but not in place.
        UnsafePlaceError: A folder of the pair, or a file, is a link.
    """
    targets = [folder.path / path for path in files]
    new_folders: list[Path] = []
    is_complete = False
    try:
        for parent in (folder.state, *(target.parent for target in targets)):
            new_folders += folder.files.make_folder(parent)
        with _lock(folder):
            _recover(folder)
            previous = _previous_files(folder) if set(pair_files()) & files.keys() else {}
            for path, content in {**files, **previous}.items():
                staged_file = _path_in_stage(folder, path)
                if content is None:
                    staged_file = staged_file.with_name(f"{staged_file.name}{_REMOVAL}")
                folder.files.append(staged_file, content or b"", behind=0)
            kept_copies = [folder.path / path for path, content in previous.items() if content is not None]
            for kept_copy in kept_copies:
                new_folders += folder.files.make_folder(kept_copy.parent)
            _check_targets(folder, [*targets, *kept_copies])
            with deferred_interrupts():
                folder.files.append(_stage(folder) / _MARKER, b"")
                is_complete = True
                _put_in_place(folder)
    except BaseException as error:
        if not is_complete:
            _undo(folder, new_folders)
        if isinstance(error, OSError):
            raise FileWriteError(path=folder.path, cause=error) from error
        raise


def undo_write(folder: PairFolder) -> list[Path]:
    """Brings back what a pair's files were before they were last replaced; a second time, what they are now.

    Returns:
        The files that are other than before, by their paths inside of the folder.

    Raises:
        PairError: Nothing was replaced yet.
        FileWriteError: Nothing was changed.
    """
    previous: dict[Path, bytes | None] = {}
    for path in _kept_files():
        kept_copy = folder.path / _previous_of(path)
        folder.files.check(kept_copy)
        previous[path] = _content(kept_copy)
    if previous[Path(folder.settings_path.name)] is None:
        raise PairError(f"There is nothing to undo in {printable(str(folder.path))}: none of its files was replaced.")
    changed_files = [path for path in pair_files() if _content(folder.path / path) != previous[path]]
    commit(folder, previous)
    return changed_files


def _previous_files(folder: PairFolder) -> dict[Path, bytes | None]:
    """Return the files of a pair that is there, by the paths under which they are kept."""
    if not folder.settings_path.exists():
        return {}
    for path in _kept_files():
        folder.files.check(folder.path / path)
        folder.files.check(folder.path / _previous_of(path))
    return {_previous_of(path): _content(folder.path / path) for path in _kept_files()}


def _stage(folder: PairFolder) -> Path:
    return folder.state / "staged"


def _path_in_stage(folder: PairFolder, path: Path) -> Path:
    return _stage(folder) / path.as_posix().replace("/", "--")


def _recover(folder: PairFolder) -> None:
    if (_stage(folder) / _MARKER).is_file():
        with deferred_interrupts():
            _put_in_place(folder)
    else:
        _discard_stage(folder)


def _put_in_place(folder: PairFolder) -> None:
    """Renames what is staged. A stage may come with somebody else's pair: only names of pair files are looked at."""
    try:
        for path in _kept_files():
            for relative in (path, _previous_of(path)):
                staged_file = _path_in_stage(folder, relative)
                if staged_file.is_file():
                    folder.files.make_folder((folder.path / relative).parent)
                    folder.files.move(staged_file, folder.path / relative)
                if staged_file.with_name(f"{staged_file.name}{_REMOVAL}").is_file():
                    folder.files.remove(folder.path / relative)
        # What is left of a stage when this fails is a marker without files, which the next recovery removes.
        _discard_stage(folder)
    except OSError as error:
        raise PairError(
            f"The new files of {printable(str(folder.path))} are complete, but cannot be moved into place: "
            f"{reason(error)}.",
            remedy="Fix this, and run the command again: it completes the move.",
            code="files-not-moved",
        ) from error


def _discard_stage(folder: PairFolder) -> None:
    with suppress(OSError):
        folder.files.remove_tree(_stage(folder))


def _check_targets(folder: PairFolder, targets: Iterable[Path]) -> None:
    """Finds before the marker is set what would stop a rename after it."""
    for target in targets:
        folder.files.check(target)
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target.parent))


def _undo(folder: PairFolder, new_folders: list[Path]) -> None:
    with suppress(UnsafePlaceError):  # what is not the kit's is left alone
        _discard_stage(folder)
    folder.files.remove_empty(new_folders)


@contextmanager
def _lock(folder: PairFolder) -> Iterator[None]:
    """One process at a time: otherwise one would take the other's stage for an abandoned one."""
    with folder.files.handle_on(folder.state) as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


# Edits in a pair's files since they were rendered or sent, cell by cell and field by field.


@dataclass(frozen=True)
class Edits:
    """The differences of a file from another version of it.

    Attributes:
        kind: What the names are, such as `cells`.
        changed_names: Names that both have, with other contents.
        added_names: Names that only the file has.
        removed_names: Names that only the other version has.
        is_reordered: Both have the same names, in another order.
        problem: Why the file could not be compared; empty if it could be.
    """

    kind: str
    changed_names: tuple[str, ...] = ()
    added_names: tuple[str, ...] = ()
    removed_names: tuple[str, ...] = ()
    is_reordered: bool = False
    problem: str = ""

    def __bool__(self) -> bool:
        return bool(self.changed_names or self.added_names or self.removed_names or self.is_reordered or self.problem)

    def __str__(self) -> str:
        if self.problem:
            return self.problem
        names_by_verb = (("changed", self.changed_names), ("added", self.added_names), ("removed", self.removed_names))
        parts = [f"{self.kind} {verb}: {', '.join(map(printable, names))}" for verb, names in names_by_verb if names]
        return "; ".join([*parts, f"{self.kind} in another order"] if self.is_reordered else parts)


def edits(path: Path, content: bytes, *, since: bytes) -> Edits:
    """Compares a notebook cell by cell, or metadata field by field.

    Outputs, execution counts, and the metadata that Jupyter keeps in a notebook are no edits.

    Args:
        path: The file; its suffix says what it is.
        content: What it holds now.
        since: What it held before.
    """
    if content == since:
        return Edits(kind="")
    try:
        if path.suffix == ".ipynb":
            versions = [written_cells(version, path=path) for version in (content, since)]
            return _compare("cells", *versions, is_ordered=True)
        now, before = json.loads(content), json.loads(since)
    except NotebookReadError:
        return Edits(kind="cells", problem="no longer a notebook")
    except (ValueError, RecursionError):
        return Edits(kind="fields", problem="no longer JSON")
    if not isinstance(now, dict) or not isinstance(before, dict):
        return Edits(kind="fields", problem="no longer a JSON object")
    return _compare("fields", now, before, is_ordered=False)


def cell_edits(content: str, *, since: str) -> Edits:
    """Compares the cells of a notebook that another editor saved, which may have replaced their ids.

    A cell whose id the other version lacks is the one there that is most like it; see `match_cells`.

    Args:
        content: The notebook now.
        since: The notebook before.
    """
    try:
        now, before = (
            written_cells(text.encode("utf-8", "replace"), path=Path("notebook")) for text in (content, since)
        )
    except NotebookReadError:
        return Edits(kind="cells", problem="one of the two is not a notebook")
    ids = match_cells(now, before)
    return _compare("cells", {ids.get(name, name): cell for name, cell in now.items()}, before, is_ordered=True)


def _compare(kind: str, now: Mapping[str, Any], before: Mapping[str, Any], *, is_ordered: bool) -> Edits:
    return Edits(
        kind=kind,
        changed_names=tuple(name for name in now if name in before and now[name] != before[name]),
        added_names=tuple(name for name in now if name not in before),
        removed_names=tuple(name for name in before if name not in now),
        is_reordered=is_ordered and now.keys() == before.keys() and list(now) != list(before),
    )


def pair_folder(workspace: Workspace, name: str) -> PairFolder:
    """The folder that a pair of this name has, whether it exists or not, after recovery from a write that was cut off.

    Raises:
        PairError: The name is not one.
        PathOutsideError: The folder is a link to somewhere else.
    """
    if not is_slug(name):
        raise PairError(
            f'"{printable(name)}" cannot be the name of a pair: use lower-case letters, digits and hyphens.',
            code="pair-name-invalid",
        )
    folder = workspace.pair(name)
    resolve_inside(folder.path, root=folder.path.parent)
    recover(folder)
    return folder


def existing_pair(workspace: Workspace, name: str) -> PairFolder:
    """The folder of a pair that was generated before.

    Raises:
        PairError: The name is not one, or there is no such pair; the message lists those that there are.
    """
    folder = pair_folder(workspace, name)
    if not folder.settings_path.is_file():
        pair_names = [pair.name for pair in workspace.pairs()]
        competition, _, framework = name.rpartition("-")
        options = f"{competition} --framework {framework}" if framework in frameworks() else name
        hint = f" Existing pairs: {', '.join(pair_names)}." if pair_names else ""
        near = f"{did_you_mean(name, pair_names)} ".lstrip()
        raise PairError(
            f'There is no pair "{name}" in {printable(str(folder.path.parent))}.',
            remedy=f"{near}Write one with `tandem generate --competition {options}`.{hint}",
            code="pair-not-found",
        )
    return folder


def read_settings(folder: PairFolder) -> Settings:
    """Reads `pair.toml`; without one there are no settings yet.

    A value that differs from the kit's own copy of the file counts as set by hand.

    Raises:
        SettingError: The file cannot be used as it stands.
        FileReadError: It cannot be read.
    """
    if not folder.settings_path.exists():
        return Settings()
    base = _content(folder.path / base_of(Path(folder.settings_path.name)))
    as_written = base.decode("utf-8", "replace") if base is not None else None
    return parse_settings(read_text(folder.settings_path), path=folder.settings_path, as_written=as_written)


def complete_settings(folder: PairFolder) -> Settings:
    """Return the settings of an existing pair, with what its `pair.toml` leaves open; see `Settings.complete`."""
    return read_settings(folder).complete(path=folder.settings_path)


def read_pair_spec(folder: PairFolder) -> PairSpec:
    """Return the specification of an existing pair: its id, kernels, competition and task.

    Raises:
        SettingError: Its `pair.toml` cannot be used.
        CompetitionError: It leaves something open, and the competition is not a built-in one.
    """
    return spec_of(complete_settings(folder))


def settings_content(folder: PairFolder, settings: Settings, *, may_leave_open: bool) -> bytes:
    """Return the content of a pair's `pair.toml` with these settings, see `settings_toml`."""
    existing = read_text(folder.settings_path) if folder.settings_path.exists() else None
    return settings_toml(settings, existing=existing, may_leave_open=may_leave_open).encode("utf-8")


@dataclass(frozen=True)
class WritePlan:
    """The files of a pair as they are to be written.

    Attributes:
        rendering: What was rendered, by path inside of the folder.
        files: What the files hold afterwards: what was rendered, merged with the user's edits.
        stale: Those that change.
        changes: What was done with the cells and fields of a file that was merged.
        remote_versions: The versions on Kaggle that were merged, by the paths of the notebooks.
    """

    rendering: Mapping[Path, bytes]
    files: Mapping[Path, bytes]
    stale: frozenset[Path]
    changes: Mapping[Path, Sequence[Change]] = field(default_factory=dict)
    remote_versions: Mapping[Path, bytes] = field(default_factory=dict)

    @property
    def conflicts(self) -> list[tuple[Path, Change]]:
        """The cells and fields of which the user has to choose a version."""
        return [
            (path, change)
            for path, changes in self.changes.items()
            for change in changes
            if change.outcome is MergeOutcome.CONFLICT
        ]


def plan_write(
    folder: PairFolder,
    rendering: Mapping[Path, bytes],
    *,
    force: bool,
    without_base: Callable[[], Mapping[Path, bytes]] = dict,
) -> WritePlan:
    """Merges what was rendered with the edits in a pair's files.

    A file that says what was rendered already is left untouched, together with the outputs in it.

    Args:
        folder: The pair.
        rendering: What was rendered, by path inside of the folder. `pair.toml` may be among them: its edits are kept by
            whoever writes its text.
        force: Whether edits are overwritten.
        without_base: Says what the files held when they were rendered, where the kit has no copy of that, as in a pair
            that somebody cloned. Called only then.

    Raises:
        PairError: A file cannot be merged: it is no notebook, or nothing says what was rendered before. Never with
            `force`.
    """
    files: dict[Path, bytes] = {}
    changes: dict[Path, Sequence[Change]] = {}
    stale: set[Path] = set()
    for path, content in rendering.items():
        existing = _content(folder.path / path)
        if existing is not None and path != Path(folder.settings_path.name) and not force:
            merge = _merge_file(folder, path, existing, content, without_base=without_base)
            files[path] = merge.content
            if merge.changes:
                changes[path] = merge.changes
        else:
            is_same = existing is not None and _is_current(folder, path, content)
            files[path] = existing if existing is not None and is_same else content
        if files[path] != existing:
            stale.add(path)
    return WritePlan(rendering, files, frozenset(stale), changes)


def _merge_file(
    folder: PairFolder,
    path: Path,
    existing: bytes,
    content: bytes,
    *,
    without_base: Callable[[], Mapping[Path, bytes]],
) -> Merge:
    """Merge one file of a pair with what is rendered for it now."""
    if _is_current(folder, path, content):
        return Merge(existing)
    base = rendered_before(folder, path, without_base=without_base)
    if base is None:
        raise PairError(
            f"{printable(str(folder.path / path))} differs from what is rendered now "
            f"({edits(path, existing, since=content)}), and there is no copy of what was rendered before, so that the "
            "two cannot be merged. Nothing was written.",
            remedy="Write the pair under another name with --name, or overwrite the file with --force.",
            code="edited-pair",
        )
    if path.suffix != ".ipynb":
        return merge_metadata(base, existing, content, path=folder.path / path)
    changes = edits(path, existing, since=base)
    lost_names = _without_kept(folder, path, changes, existing, content).changed_names
    redundant = set(changes.changed_names) - set(lost_names)
    try:
        return merge_notebooks(base, existing, content, path=folder.path / path, redundant=redundant)
    except NotebookReadError as error:
        raise PairError(f"{error.summary} Nothing was written.", remedy=error.remedy, code=error.code) from error


def rendered_before(
    folder: PairFolder, path: Path, *, without_base: Callable[[], Mapping[Path, bytes]]
) -> bytes | None:
    """Return what a file of a pair was when it was rendered; None if nothing says so.

    Args:
        folder: The pair.
        path: The file, inside of the folder.
        without_base: As for `plan_write`.
    """
    base = _content(folder.path / base_of(path))
    if base is not None and path.suffix == ".ipynb":
        try:
            written_cells(base, path=path)
        except NotebookReadError:  # the kit's copy is damaged
            base = None
    return without_base().get(path) if base is None else base


def find_lost_edits(
    folder: PairFolder, files: Mapping[Path, bytes], *, without_base: Callable[[], Mapping[Path, bytes]] = dict
) -> dict[Path, Edits]:
    """The edits that writing a pair would lose, by the path of the file inside of the folder.

    Args:
        folder: The pair.
        files: As for `plan_write`.
        without_base: As for `plan_write`.
    """
    lost_edits: dict[Path, Edits] = {}
    for path, content in files.items():
        existing = _content(folder.path / path)
        if existing is None or path == Path(folder.settings_path.name) or _is_current(folder, path, content):
            continue
        base = rendered_before(folder, path, without_base=without_base)
        changes = edits(path, existing, since=content if base is None else base)
        if changes := _without_kept(folder, path, changes, existing, content):
            lost_edits[path] = changes
    return lost_edits


def _without_kept(folder: PairFolder, path: Path, changes: Edits, existing: bytes, content: bytes) -> Edits:
    """The edits without those of cells whose code a file beside `pair.toml` has, so that it is rendered again."""
    if path.suffix != ".ipynb" or not changes.changed_names:
        return changes
    now = written_cells(existing, path=path)
    rendered_sources = {
        name: cell.source for name, cell in written_cells(content, path=path).items() if cell.kind == "code"
    }
    user_files = read_own_cells(folder)
    lost_names = tuple(
        name
        for name in changes.changed_names
        if now[name].kind != "code" or not has_code_of(name, now[name].source, rendered_sources, user_files)
    )
    return replace(changes, changed_names=lost_names)


def write_pair(folder: PairFolder, plan: WritePlan, *, member_code: str = "") -> None:
    """Writes a pair, with a copy of what was rendered as the base of later merges: as a whole or not at all.

    Args:
        folder: The pair.
        plan: What to write, as `plan_write` says.
        member_code: The file with the code of a blend's members; "" for other pairs.

    Raises:
        FileWriteError: Nothing was changed.
        PairError: Everything is written, but not in place.
    """
    changes = {path: plan.files[path] for path in plan.stale}
    for path, content in plan.rendering.items():
        if _content(folder.path / base_of(path)) != content:
            changes[base_of(path)] = content
    for path, content in plan.remote_versions.items():
        if _content(folder.path / pulled_of(path)) != content:
            changes[pulled_of(path)] = content
    if member_code and _content(folder.path / MEMBER_CODE_FILE) != member_code.encode():
        changes[Path(MEMBER_CODE_FILE)] = member_code.encode()
    if changes:
        commit(folder, changes)


def _is_current(folder: PairFolder, path: Path, content: bytes) -> bool:
    """True if a file says what was rendered; the kit's copy of `pair.toml` is compared to the letter."""
    existing = _content(folder.path / path)
    if existing is None or path == Path(folder.settings_path.name):
        return existing == content
    return not edits(path, existing, since=content)


def _content(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise FileReadError(path=path, cause=error) from error


# Kaggle's description of a competition, kept beside a pair so that it need not be asked again.


_NAME = "competition.json"
_LONGEST_PAGE, _MOST_PAGES = 50_000, 50  # characters; a page that is longer says what matters before


def keep_description(folder: PairFolder, description: CompetitionDescription) -> None:
    """Writes a description into the kit's own part of a pair's folder.

    Raises:
        FileWriteError: It cannot be written.
    """
    content = {
        "slug": description.competition.slug,
        "title": description.competition.title,
        "is_code_competition": description.competition.is_code_competition,
        "metric_text": description.metric_text,
        "pages": {name: text[:_LONGEST_PAGE] for name, text in list(description.pages.items())[:_MOST_PAGES]},
        "source": description.source,
    }
    folder.files.write(folder.state / _NAME, json.dumps(content, indent=2).encode("utf-8", "replace"))


def kept_description(folder: PairFolder, slug: str) -> CompetitionDescription | None:
    """The description that was kept, if there is one of this competition that can be read."""
    try:
        content: Any = json.loads(read_bytes(folder.state / _NAME))
        if content["slug"] != slug:
            return None
        return CompetitionDescription(
            competition=Competition(slug, str(content["title"]), bool(content["is_code_competition"])),
            metric_text=str(content["metric_text"]),
            pages={str(name): str(text) for name, text in content["pages"].items()},
            source=str(content["source"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
