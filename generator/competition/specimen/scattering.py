"""Examples whose files are scattered over folders, such as those of patients or classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from generator.competition.facts import TargetKind
from generator.competition.specimen.cast import Cast
from generator.competition.specimen.columns import Cells
from generator.competition.specimen.endings import endings_of, named_in
from generator.competition.specimen.facts import Original, Side
from generator.competition.specimen.known import is_below, key_column
from generator.competition.survey.facts import Column, Table

_MOSTLY = 0.9
_ROWS_COMPARED = 500


@dataclass
class Scattering:
    """Deals the examples to the folders."""

    original: Original
    cast: Cast
    _folders: dict[str, Sequence[str]] = field(default_factory=dict, init=False)
    _places: dict[str, Sequence[str]] = field(default_factory=dict, init=False)

    def folders(self, side: Side) -> Sequence[str]:
        """The folders below that of a side's files, where each has some of them; none if one folder has all."""
        if side.role not in self._folders:
            found = self._find(side)
            self._folders[side.role] = found if len(found) > 1 else []
        return self._folders[side.role]

    def places(self, side: Side) -> Sequence[str]:
        """The folder of the file of each example; nothing where the files are not scattered."""
        if side.role not in self._places:
            self._places[side.role] = self._deal(side, self.folders(side))
        return self._places[side.role]

    def cells(self, table: Table, column: Column, side: Side) -> Cells | None:
        """What a column says of each example that names the folders of the files; None for any other column."""
        key = key_column(self.original, table)
        if key is None or key is column or not self.folders(side):
            return None
        names = _by_name(self.folders(side))
        known = {
            example: name
            for name, path in names.items()
            for example in named_in(self._files(path), key.present[:_ROWS_COMPARED])
        }
        pairs = [pair for pair in zip(key.values, column.values, strict=True) if pair[0] in known]
        fitting = sum(known[str(example)] == cell for example, cell in pairs)
        if not fitting or fitting < _MOSTLY * len(pairs):
            return None
        return [path.rpartition("/")[2] for path in self.places(side)]

    def _find(self, side: Side) -> list[str]:
        base, folders = self.original.folder_of(side.role), self.original.survey.folders
        inner = [folder for folder in folders if base and is_below(folder.path, base) and folder.images is not None]
        if self.original.task.target_kind in (TargetKind.MASK, TargetKind.IMAGE):
            # Folders of masks lie beside those of images.
            inner = [folder for folder in inner if endings_of(sorted(folder.names), side.known)]
            named = [name for folder in inner for name in named_in(sorted(folder.names), side.known)]
            if len(set(named)) < len(named):
                return []
        return [] if any(folder.path == base for folder in inner) else [folder.path for folder in inner]

    def _deal(self, side: Side, folders: Sequence[str]) -> Sequence[str]:
        """Examples of a class go into the folder that is named for it, those of a group into one, others in turn."""
        if not folders:
            return []
        names = _by_name(folders)
        labels = side.truth.cells.get(self.original.task.targets[0], []) if side is self.cast.train else []
        if labels and all(label in names for label in labels):
            return [names[str(label)] for label in labels]
        groups = [group for group, length in enumerate(side.lengths) for _ in range(length)]
        turns = groups if len(groups) == len(side) else range(len(side))
        return [folders[turn % len(folders)] for turn in turns]

    def _files(self, path: str) -> Sequence[str]:
        folder = self.original.survey.folder(path)
        return sorted(folder.names) if folder is not None else []


def _by_name(folders: Sequence[str]) -> Mapping[str, str]:
    return {path.rpartition("/")[2]: path for path in folders}
