"""The TFRecord files of a specimen: the same features, and the examples of the tables and submissions."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from generator.competition.introspection.files import records_role
from generator.competition.specimen.examples import (
    Examples,
    SyntheticData,
    example_id_feature,
    validation_examples,
)
from generator.competition.specimen.media import Appearance, MediaFiles
from generator.competition.specimen.staging import Writer
from generator.competition.specimen.values import cells_like, even_quantiles
from generator.competition.survey import RecordFeature, Records, column_of
from generator.competition.tables import Values, record_file, tf_example
from generator.text import printable

_MOST_FILES = 8
_MOST_VALUES = 100_000
_VALUES_WHERE_IT_VARIES = 3
_LARGEST_FLOAT = 3.4e38  # of 32 bits
_COUNT_IN_NAME = re.compile(r"(.*-)(\d+)(\.[a-z]+)")  # as in `00-224x224-798.tfrec`


@dataclass
class RecordMaker:
    """Writes the TFRecord files."""

    data: SyntheticData
    writer: Writer
    media: MediaFiles
    _validation: Examples | None = field(default=None, init=False)

    def make(self) -> None:
        """Writes the files of all groups."""
        for group in self.data.original.survey.records:
            side = self._side(group)
            cells = self._cells(group, side)
            files = max(1, min(len(group.names), _MOST_FILES, len(side)))
            for position, name in enumerate(group.names[:files]):
                rows = range(position, len(side), files)
                examples = (
                    {
                        feature.name: (feature.kind, self._values(feature, side, row, cells))
                        for feature in group.features
                    }
                    for row in rows
                )
                content = record_file(map(tf_example, examples))
                path = f"{group.path}/{_update_count(group, name, len(rows))}".lstrip("/")
                self.writer.write(path, content)

    def _side(self, group: Records) -> Examples:
        role = records_role(group)
        if role:
            return self.data.train if role == "train" else self.data.test
        # The same examples come in several sizes, in folders that are named alike but for the size.
        if self._validation is None:
            feature = example_id_feature(self.data.original, group.features)
            self._validation = validation_examples(self.data, feature.values if feature is not None else ())
        return self._validation

    def _cells(self, group: Records, side: Examples) -> Mapping[str, Sequence[str]]:
        """The values of the features that are one text or number for each example."""
        name_feature = example_id_feature(self.data.original, group.features)
        cells: dict[str, Sequence[str]] = {}
        for feature in group.features:
            if feature is name_feature:
                cells[feature.name] = side.names
            elif feature.name in side.truth.cells:
                cells[feature.name] = [cell or "0" for cell in side.truth.cells[feature.name]]
            elif feature.length == 1 and feature.values:
                source = self.data.original.random("feature", feature.name, side.role)
                # Missing values cannot occur: a feature without a value has another length.
                values = cells_like(column_of("", feature.values), even_quantiles(len(side), source), source)
                cells[feature.name] = [cell or "0" for cell in values]
        return cells

    def _values(self, feature: RecordFeature, side: Examples, row: int, cells: Mapping[str, Sequence[str]]) -> Values:
        cell = cells[feature.name][row] if feature.name in cells else None
        if feature.is_image and feature.image is not None:
            suffix = ".jpg" if feature.image.mode in ("RGB", "L") else ".png"
            appearance = Appearance(
                side.shown_labels.marks[row], side.shown_labels.levels[row], side.shapes[row] if side.shapes else ()
            )
            # A picture that is there in several sizes is the same picture.
            return [self.media.image(feature.image, suffix, appearance, (side.role, row)) or b""]
        source = self.data.original.random("values", feature.name, side.role, row)
        count = _VALUES_WHERE_IT_VARIES if feature.length is None else min(feature.length, _MOST_VALUES)
        texts = [cell] if cell is not None else [source.choice(feature.values or ("0",)) for _ in range(count)]
        if feature.kind == "bytes":
            if not feature.values and cell is None:
                self.writer.note(f'The bytes of the feature "{printable(feature.name)}" are made up.')
            return [text.encode("utf-8", "replace") for text in texts]
        return [_number(text, feature.kind, source) for text in texts]


def _number(text: str, kind: str, source: random.Random) -> float | int:
    try:
        if kind == "int64":
            return int(text)
        number = float(text) * source.uniform(0.9, 1.1)
    except ValueError:
        return 0
    return number if abs(number) < _LARGEST_FLOAT else 0.0


def _update_count(group: Records, name: str, count: int) -> str:
    """The name of a file with the number of examples that it has now, where names say it."""
    matches = [_COUNT_IN_NAME.fullmatch(file_name) for file_name in group.names]
    total = sum(int(match[2]) for match in matches if match is not None)
    match = _COUNT_IN_NAME.fullmatch(name)
    return f"{match[1]}{count}{match[3]}" if match is not None and total == group.examples else name
