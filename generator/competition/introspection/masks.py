"""Masks: where those of the training images are, and what a row of the submission is a mask of."""

from collections.abc import Sequence
from dataclasses import dataclass

from generator.competition.introspection.data_profile import Observations
from generator.competition.introspection.findings import Confidence, Findings
from generator.competition.introspection.run_length import class_column, class_column_of_parts, code_column

_FEWEST_REPEATED = 0.05


@dataclass(frozen=True)
class _Rows:
    """The things that the rows of a submission are of: "image", "id", "column" or "piece", and why."""

    kind: str
    evidence: str
    classes: tuple[str, ...] = ()
    class_column: str = ""
    confidence: Confidence = Confidence.SURE


def settle_masks(seen: Observations, found: Findings) -> None:
    """Settles the files of masks or their column, and what they are masks of."""
    folder, suffix, files = "", "", "there are no mask files"
    if seen.masks is not None:
        folder, suffix = seen.masks.folder.path, seen.masks.suffix
        files = f'a mask is named "<id>{suffix}" in {folder}'
    column = seen.targets.columns[0].name if seen.targets.columns else ""
    rows = _rows_of(seen)
    named = ", ".join(rows.classes)
    why = f"a mask can be of {named}" if rows.classes else "an image has one mask"
    where = f"{rows.class_column} says it" if rows.class_column else "no column says it"
    found.settle("mask_folder", folder, files)
    found.settle("mask_suffix", suffix, files)
    found.settle("mask_column", column, "its cells are run-length codes" if column else "no column has codes")
    found.settle("mask_rows", rows.kind, rows.evidence, rows.confidence)
    found.settle("mask_classes", list(rows.classes), why)
    found.settle("class_column", rows.class_column, where)


def _rows_of(seen: Observations) -> _Rows:
    tables, files, parts = seen.tables, seen.files, seen.targets.parts
    sample, train = tables.sample, tables.train
    if seen.masks is not None or files is None or sample is None or train is None:
        return _Rows("image", "an image has one mask")
    column = class_column(sample, train)
    if column is not None:
        same = train.column(column.name)
        known = column.distinct | (same.distinct if same is not None else frozenset())
        evidence = f"{sample.name} has a row for each image and each {column.name}"
        return _Rows("column", evidence, _in_order(known), column.name)
    if len(parts) > 1 and files.parts == 1:
        found = class_column_of_parts(train, parts)
        evidence = f"the ids of {sample.name} are <image>_<class>, with {len(parts)} classes for each image"
        return _Rows("id", evidence, _in_order(parts), found.name if found is not None else "")
    image = train.column(files.source.column)
    repeated = len(image.present) - len(image.distinct) if image is not None else 0
    if image is not None and code_column(train) is not None and repeated > _FEWEST_REPEATED * len(image.present):
        evidence = (
            f"{train.name} has several rows for an image, each with a piece of its mask; the model learns their union, "
            "whose connected pieces become the rows"
        )
        return _Rows("piece", evidence, confidence=Confidence.LIKELY)
    if files.parts:
        evidence = (
            f"the ids of {sample.name} have {files.parts} parts behind the name of an image, and only a class that is "
            "one part, without an underscore, is understood"
        )
        return _Rows("image", evidence, confidence=Confidence.THIN)
    return _Rows("image", "an image has one mask")


def _in_order(classes: Sequence[str] | frozenset[str]) -> tuple[str, ...]:
    """The classes by number where all are numbers, else by name."""
    if all(name.isdecimal() for name in classes):
        return tuple(sorted(classes, key=int))
    return tuple(sorted(classes))
