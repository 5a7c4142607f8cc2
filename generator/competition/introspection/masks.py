"""Where the masks of the training images are, and what a row of the submission is a mask of."""

from collections.abc import Sequence
from dataclasses import dataclass

from generator.competition.introspection.clues import Clues
from generator.competition.introspection.companions import Companions
from generator.competition.introspection.facts import Confidence, Finding, Hints
from generator.competition.introspection.run_length import class_column, class_column_of_parts, code_column
from generator.competition.introspection.weighing import settled
from generator.competition.survey.facts import Column

_FEWEST_REPEATED = 0.05


@dataclass(frozen=True)
class _Rows:
    """What the rows of a submission are of: "image", "id", "column" or "piece", and why."""

    kind: str
    evidence: str
    classes: tuple[str, ...] = ()
    class_column: str = ""
    confidence: Confidence = Confidence.SURE


def mask_details(clues: Clues, hints: Hints) -> tuple[Finding, ...]:
    """The findings on masks: their files or their column, and what they are masks of."""
    mask = clues.companions.mask
    column = clues.targets.columns[0].name if clues.targets.columns else ""
    rows = _rows_of(clues)
    named = ", ".join(rows.classes)
    why = f"a mask can be of {named}" if rows.classes else "an image has one mask"
    where = f"{rows.class_column} says it" if rows.class_column else "no column says it"
    return (
        settled("mask_folder", mask.place.path if mask else "", _files(clues.companions), hints),
        settled("mask_suffix", mask.suffix if mask else "", _files(clues.companions), hints),
        settled("mask_column", column, "its cells are run-length codes" if column else "no column has codes", hints),
        settled("mask_rows", rows.kind, rows.evidence, hints, confidence=rows.confidence),
        settled("mask_classes", list(rows.classes), why, hints),
        settled("class_column", rows.class_column, where, hints),
    )


def _files(companions: Companions) -> str:
    mask = companions.mask
    return (
        f'a mask is named "<id>{mask.suffix}" in {mask.place.path}' if mask is not None else "there are no mask files"
    )


def _rows_of(clues: Clues) -> _Rows:
    tables, source, parts = clues.tables, clues.source, clues.targets.parts
    sample, train = tables.sample, tables.train
    if clues.companions.mask is not None or source is None or sample is None or train is None:
        return _Rows("image", "an image has one mask")
    column = class_column(sample, train)
    if column is not None:
        same = train.column(column.name)
        known = column.distinct | (same.distinct if same is not None else frozenset())
        evidence = f"{sample.name} has a row for each image and each {column.name}"
        return _Rows("column", evidence, _in_order(known), column.name)
    if len(parts) > 1 and source.parts == 1:
        found = class_column_of_parts(train, parts)
        evidence = f"the ids of {sample.name} are <image>_<class>, with {len(parts)} classes for each image"
        return _Rows("id", evidence, _in_order(parts), found.name if found is not None else "")
    image = train.column(source.labelling.column)
    if image is not None and code_column(train) is not None and _repeats(image):
        evidence = (
            f"{train.name} has several rows for an image, each with a piece of its mask; the model learns their union, "
            "whose connected pieces become the rows"
        )
        return _Rows("piece", evidence, confidence=Confidence.LIKELY)
    if source.parts:
        evidence = (
            f"the ids of {sample.name} have {source.parts} parts behind the name of an image, and only a class that is "
            "one part, without an underscore, is understood"
        )
        return _Rows("image", evidence, confidence=Confidence.THIN)
    return _Rows("image", "an image has one mask")


def _repeats(image: Column) -> bool:
    return len(image.present) - len(image.distinct) > _FEWEST_REPEATED * len(image.present)


def _in_order(classes: Sequence[str] | frozenset[str]) -> tuple[str, ...]:
    """The classes by number where all are numbers, else by name."""
    if all(name.isdecimal() for name in classes):
        return tuple(sorted(classes, key=int))
    return tuple(sorted(classes))
