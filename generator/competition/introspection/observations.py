"""Observations of the files, and the kind of target that follows: classes, labels, numbers, masks or images."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from generator.competition.facts import Medium, SubmissionKind, TargetKind
from generator.competition.introspection.evidence import (
    MASKS,
    ONE_WORDS,
    OUTPUTS,
    TEST,
    Confidence,
    Findings,
    LabelStatistics,
    Reason,
    UnusableValueError,
    best_first,
    class_column,
    class_column_of_parts,
    code_column,
    is_run_length,
    join_names,
    label_statistics,
    split_words,
    weigh,
)
from generator.competition.introspection.features import (
    FeatureColumns,
    Groups,
    TextColumns,
    find_features,
    find_groups,
    find_text_columns,
)
from generator.competition.introspection.files import (
    ExampleFiles,
    FolderMatch,
    best_match,
    candidate_folders,
    find_example_files,
)
from generator.competition.introspection.tables import Tables, find_id, find_tables, warnings_of_stages
from generator.competition.introspection.targets import (
    KnownMetric,
    RowIds,
    Targets,
    find_row_ids,
    find_targets,
    format_differences,
    known_metric,
)
from generator.competition.schema import families
from generator.competition.survey import MISSING, NUMBERS, ColumnKind, Survey, kind_of
from generator.text import printable


def find_tables_and_files(survey: Survey, findings: Findings) -> tuple[Tables, ExampleFiles | None]:
    """Settle which table is for what and which column holds the ids, and find the files of the examples.

    Raises:
        IntrospectionError: A table or a column that the user named is not there.
    """
    tables = find_tables(survey, findings)
    id_column = find_id(tables, survey.server, findings)
    return tables, find_example_files(survey, tables, id_column, findings)


@dataclass(frozen=True)
class Observations:
    """The observations, each of which was made by its own module.

    Attributes:
        tables: The tables by their roles.
        files: The files of the examples, or None.
        masks: The folder with a mask for each training image, or None.
        target_images: The folder with the image that each training image is to become, or None.
        targets: The columns with the labels.
        labels: What the labels are like.
        metric: What is said of the metric.
        features: What the tables hold beside ids and labels, or None.
        texts: The columns of text among them.
        groups: The rows that belong together in an order, or None.
        row_ids: How the ids are made from the test rows, where these have no column of them; else None.
    """

    tables: Tables
    files: ExampleFiles | None
    masks: FolderMatch | None
    target_images: FolderMatch | None
    targets: Targets
    labels: LabelStatistics
    metric: KnownMetric
    features: FeatureColumns | None
    texts: TextColumns
    groups: Groups | None
    row_ids: RowIds | None

    @property
    def classes(self) -> int:
        """The number of classes, as far as they were seen."""
        if self.targets.are_classes_asked or self.labels.is_one_hot:
            return len(self.targets.answer_names) or len(self.targets.names)
        return self.labels.distinct

    def stage_warnings(self, *, is_decided: bool) -> Iterator[str]:
        """Warn of tables of other stages of the competition, unless the user decided on the tables."""
        yield from warnings_of_stages(self.tables.stage, is_decided=is_decided)

    def format_warnings(self) -> Iterator[str]:
        """Warn of differences between the formats of the tables."""
        yield from format_differences(self.tables)

    def unlabelled_count(self, kind: TargetKind) -> int:
        """Returns how many sampled training rows lack the class, or one of the labels or numbers to learn."""
        tables, columns = self.tables, self.targets.columns
        is_list = kind is TargetKind.LABELS and len(columns) == 1
        if tables.target_table is tables.test or kind in (TargetKind.MASK, TargetKind.IMAGE) or is_list:
            return 0  # an empty list has no labels, and the rows to predict have none yet
        lacks = all if kind is TargetKind.CLASS else any  # of one-hot columns one says the class
        rows = zip(*(column.values for column in columns), strict=True)
        return sum(lacks(value is None for value in row) for row in rows)

    def unlabelled_in_words(self, kind: TargetKind) -> str:
        """A sentence without its end that counts such rows."""
        names, table = self.targets.names, self.tables.target_table
        phrase = "have none of" if kind is TargetKind.CLASS else "lack at least one of"
        clause = f"{phrase} {join_names(names)}" if len(names) > 1 else f"have no {join_names(names)}"
        rows = f"{self.unlabelled_count(kind):,} of {len(self.targets.columns[0].values):,} sampled rows"
        return f"{rows} of {printable(table.path if table else '')} {clause}"


def observe(survey: Survey, tables: Tables, files: ExampleFiles | None, findings: Findings) -> Observations:
    """Looks at everything, once it is known what the tables are, which column is the id, and where files are.

    Raises:
        IntrospectionError: There is nothing to learn from.
        UnknownMetricError: The user decided on a metric that the kit does not have.
    """
    id_column = str(findings["id_column"].value)
    targets = find_targets(survey, tables, files, id_column, findings)
    features = find_features(tables, targets, id_column)
    masks = _paired_folder(survey, files, MASKS, frozenset())
    return Observations(
        tables=tables,
        files=files,
        masks=masks,
        target_images=_paired_folder(survey, files, OUTPUTS, MASKS),
        targets=targets,
        labels=label_statistics(targets.columns, files.source.classes if files is not None else ()),
        metric=known_metric(findings.hints),
        features=features,
        texts=find_text_columns(features) if features is not None else TextColumns(()),
        groups=find_groups(features, findings) if features is not None else None,
        row_ids=find_row_ids(tables, targets, id_column, findings) if files is None else None,
    )


def _paired_folder(
    survey: Survey, files: ExampleFiles | None, name_words: frozenset[str], otherwise: frozenset[str]
) -> FolderMatch | None:
    """The folder that has an image for each training image, of those that are named by some words and no others."""
    train = files.source.train if files is not None else None
    if files is None or train is None or files.medium is not Medium.IMAGE:
        return None
    used_paths = {train.path, *([files.test.path] if files.test is not None else [])}
    pairs = [
        folder
        for folder in candidate_folders(survey, Medium.IMAGE)
        if folder.path not in used_paths and folder.words & name_words and not folder.words & (TEST | otherwise)
    ]
    match = best_match([name.rpartition(".")[0] or name for name in train.names], pairs)
    return match if match is not None and match.parts == 0 else None


def classes_seen(observations: Observations) -> set[str]:
    """The classes or labels that training examples have."""
    columns, separator = observations.targets.columns, observations.labels.separator
    if len(columns) > 1:
        return {
            column.name for column in columns if any(value.strip().lower() in ONE_WORDS for value in column.distinct)
        }
    cells = [value for column in columns for value in column.distinct]
    split = {label.strip() for cell in cells for label in cell.split(separator)} if separator else set(cells)
    return split | set(observations.files.source.classes if observations.files is not None else ())


# Masks: where those of the training images are, and what a row of the submission is a mask of.


_FEWEST_REPEATED = 0.05


@dataclass(frozen=True)
class _Rows:
    """The things that the rows of a submission are of: "image", "id", "column" or "piece", and why."""

    kind: str
    evidence: str
    classes: tuple[str, ...] = ()
    class_column: str = ""
    confidence: Confidence = Confidence.SURE


def settle_masks(observations: Observations, findings: Findings) -> None:
    """Settles the files of masks or their column, and what they are masks of."""
    folder, suffix, files = "", "", "there are no mask files"
    if observations.masks is not None:
        folder, suffix = observations.masks.folder.path, observations.masks.suffix
        files = f'the masks in {folder} are named "<id>{suffix}"'
    column = observations.targets.columns[0].name if observations.targets.columns else ""
    rows = _rows_of(observations)
    class_text = ", ".join(rows.classes)
    class_evidence = f"the classes of masks are {class_text}" if rows.classes else "an image has one mask"
    column_evidence = f"{rows.class_column} has the classes" if rows.class_column else "no column has classes"
    findings.settle("mask_folder", folder, files)
    findings.settle("mask_suffix", suffix, files)
    findings.settle(
        "mask_column", column, "its cells are run-length codes" if column else "no column has run-length codes"
    )
    findings.settle("mask_rows", rows.kind, rows.evidence, rows.confidence)
    findings.settle("mask_classes", list(rows.classes), class_evidence)
    findings.settle("class_column", rows.class_column, column_evidence)


def _rows_of(observations: Observations) -> _Rows:
    tables, files, parts = observations.tables, observations.files, observations.targets.parts
    sample, train = tables.sample, tables.train
    if observations.masks is not None or files is None or sample is None or train is None:
        return _Rows("image", "an image has one mask")
    column = class_column(sample, train)
    if column is not None:
        train_column = train.column(column.name)
        classes = column.distinct | (train_column.distinct if train_column is not None else frozenset())
        evidence = f"{sample.name} has a row for each image and each {column.name}"
        return _Rows("column", evidence, _in_order(classes), column.name)
    if len(parts) > 1 and files.parts == 1:
        part_column = class_column_of_parts(train, parts)
        evidence = f"the ids of {sample.name} are <image>_<class>, with {len(parts)} classes for each image"
        return _Rows("id", evidence, _in_order(parts), part_column.name if part_column is not None else "")
    image = train.column(files.source.column)
    repeat_count = len(image.present) - len(image.distinct) if image is not None else 0
    if image is not None and code_column(train) is not None and repeat_count > _FEWEST_REPEATED * len(image.present):
        evidence = (
            f"{train.name} has several rows per image, each with a piece of its mask; the model learns their union, "
            "and each connected piece becomes a row"
        )
        return _Rows("piece", evidence, confidence=Confidence.LIKELY)
    if files.parts:
        evidence = (
            f"the ids of {sample.name} have {files.parts} parts after the name of an image; only one part, a class "
            "without an underscore, is supported"
        )
        return _Rows("image", evidence, confidence=Confidence.THIN)
    return _Rows("image", "an image has one mask")


def _in_order(classes: Sequence[str] | frozenset[str]) -> tuple[str, ...]:
    """The classes by number where all are numbers, else by name."""
    if all(name.isdecimal() for name in classes):
        return tuple(sorted(classes, key=int))
    return tuple(sorted(classes))


_FEW_CLASSES, _MANY_NUMBERS = 20, 50


def find_target_kind(observations: Observations, findings: Findings) -> TargetKind:
    """Weighs the kinds of target."""
    by_kind = {
        TargetKind.CLASS: _for_class(observations),
        TargetKind.LABELS: _for_labels(observations),
        TargetKind.NUMBER: _for_number(observations),
        TargetKind.MASK: _for_mask(observations),
        TargetKind.IMAGE: [Reason(6 * (observations.target_images is not None), _further(observations.target_images))],
    }
    findings.choose(
        "target_kind",
        [
            weigh(kind, [*reasons, *_as_said(kind, observations, findings.decided_text("family"))])
            for kind, reasons in by_kind.items()
        ],
    )
    return findings.member("target_kind", TargetKind)


def _as_said(kind: TargetKind, observations: Observations, family_name: str) -> list[Reason]:
    """The reasons that metric and family give, where they are known."""
    metric, family = observations.metric, families().get(family_name)
    alike = (peer for peer in families().values() if family is not None and peer.medium is family.medium)
    # A family says what is predicted where others of its medium predict something else.
    says = family is not None and {kind for peer in alike for kind in peer.targets} > set(family.targets)
    is_allowed, evidence = (
        family is not None and kind in family.targets,
        f"the family is {family.name if family else ''}",
    )
    fits = metric.fits(kind, classes=observations.classes)
    is_exact = metric.facts is not None and kind in metric.facts.target_kinds
    has_files = observations.files is not None or kind not in (TargetKind.MASK, TargetKind.IMAGE)
    return [
        Reason(-8 * (not has_files), "there are no images"),
        Reason(4 * is_exact, f"{metric.name} fits this kind"),
        Reason(1 * (fits and not is_exact), f"a variant of {metric.name} fits this kind"),
        Reason(-3 * (bool(metric.name) and not fits), f"{metric.name} does not fit this kind"),
        Reason((8 if is_allowed else -8) * says, evidence),
    ]


def _for_class(observations: Observations) -> list[Reason]:
    targets, labels, files = observations.targets, observations.labels, observations.files
    has_few = not labels.is_text and not labels.is_measured and 1 < labels.distinct <= _FEW_CLASSES
    is_said_by_files = files is not None and bool(files.source.classes or files.records)
    is_column = len(targets.names) == 1
    are_columns = targets.are_classes_asked and not labels.separator
    are_rows = bool(targets.row_labels)
    return [
        Reason(3 * (labels.is_text and not labels.separator and not labels.is_run_length), "its labels are names"),
        Reason(4 * are_columns, "the sample submission has a column for each class"),
        Reason(4 * is_said_by_files, "the files have classes"),
        Reason(4 * labels.is_one_hot, "exactly one column is 1 in each row"),
        Reason(4 * (is_column and labels.is_binary and not labels.is_measured), "there are two different values"),
        Reason(3 * (is_column and has_few and not labels.is_binary), f"there are {labels.distinct} whole numbers"),
        Reason(3 * _asks_for_names(observations), "the sample submission has names, or several labels in a cell"),
        Reason(-1.5 * _asks_for_measures(observations), "the sample submission has fractions"),
        Reason(-4 * (labels.is_measured and labels.distinct > _FEW_CLASSES), "its values have fractions"),
        Reason(-4 * are_rows, "a row is one of several labels"),
        Reason(-2 * labels.is_different_everywhere, "no label occurs twice"),
    ]


def _asks_for_measures(observations: Observations) -> bool:
    """True if the sample has numbers with a point where the labels are more than two whole numbers."""
    targets, labels = observations.targets, observations.labels
    has_points = any(column.kind is ColumnKind.NUMBER for column in targets.answers)
    return len(targets.answer_names) == 1 and has_points and not labels.is_text and not labels.is_binary


def _asks_for_names(observations: Observations) -> bool:
    """True if the sample has text where the labels are whole numbers: the k best of them, most likely."""
    targets, labels = observations.targets, observations.labels
    has_text = any(column.kind is ColumnKind.TEXT for column in targets.answers)
    return (
        len(targets.answer_names) == 1
        and has_text
        and not (labels.is_text or labels.is_measured or labels.is_run_length)
    )


def _for_labels(observations: Observations) -> list[Reason]:
    targets, labels = observations.targets, observations.labels
    column_count = len(targets.names)
    is_list = bool(labels.separator) and not labels.is_run_length
    rows = len(targets.row_labels)
    return [
        Reason(6 * bool(rows), f"a row of the training table is one of {rows} labels of an example"),
        Reason(
            4 * (labels.are_flags and not labels.is_one_hot),
            f"{column_count} columns of 0 and 1, any of which may be 1",
        ),
        Reason(2 * labels.is_one_hot, f"{column_count} columns of 0 and 1"),
        Reason(4 * is_list, f'cells hold several labels, separated by "{labels.separator}"'),
    ]


def _for_number(observations: Observations) -> list[Reason]:
    targets, labels, files = observations.targets, observations.labels, observations.files
    is_number = bool(targets.columns) and not labels.is_text and labels.distinct > 0
    is_counted = is_number and not labels.is_measured and labels.distinct > _FEW_CLASSES
    is_ordinal = observations.metric.facts is not None and observations.metric.facts.is_ordinal
    return [
        Reason(4 * (is_number and labels.is_measured), "its values have fractions"),
        Reason(2 * is_counted, f"there are {labels.distinct} different numbers in the sample"),
        Reason(1 * (is_counted and labels.distinct > _MANY_NUMBERS), "too many values for classes"),
        Reason(1 * (is_number and not labels.is_binary and not labels.are_flags), "its values are numbers"),
        Reason(3 * (is_ordinal and labels.is_uneven), "the metric depends on the difference between numbers"),
        Reason(1 * (is_number and _asks_for_measures(observations)), "the sample submission has fractions"),
        Reason(-1 * (files is not None and bool(files.source.classes)), "the files have classes"),
        Reason(-3 * _asks_for_names(observations), "the sample submission has no numbers"),
    ]


def _for_mask(observations: Observations) -> list[Reason]:
    targets, files = observations.targets, observations.files
    asks = files is not None and any(is_run_length(column) or not column.present for column in targets.answers)
    asks = asks and len(targets.answers) == 1
    are_codes = files is not None and observations.labels.is_run_length
    return [
        Reason(4 * (observations.masks is not None), _further(observations.masks)),
        Reason(2 * (asks and (are_codes or not targets.columns)), "the sample submission has run-length codes"),
        Reason(4 * are_codes, "its labels are run-length codes"),
    ]


def _further(match: FolderMatch | None) -> str:
    return f"{match.folder.path if match is not None else ''} has another image for each training image"


# The positive class: that of two whose probability is asked for, or that is called 1 in the submission.


_POSITIVE_CLASS_KEY, _FLAGS_KEY = "positive_class", "answers_are_flags"
_YES = frozenset(("1", "1.0", "true", "t", "yes", "y", "positive", "pos"))
_NO = frozenset(("0", "0.0", "-1", "-1.0", "false", "f", "no", "n", "negative", "neg", "none", "null"))
_FLAGS = frozenset(("0", "1", "0.0", "1.0"))
_CERTAIN = 4


def settle_classes(
    kind: TargetKind, submission: SubmissionKind, observations: Observations, findings: Findings
) -> None:
    """Settle how many classes there are, and which of two is the positive one; nothing where it is not about classes.

    Raises:
        UnusableValueError: The user decided on something that is none of the classes.
    """
    if kind is not TargetKind.CLASS:
        return
    if observations.classes or "class_count" in findings.hints.overrides:
        findings.settle("class_count", observations.classes, f"{observations.classes:,} classes were seen")
    settle_positive_class(submission, observations, findings)


def settle_positive_class(submission: SubmissionKind, observations: Observations, findings: Findings) -> None:
    """Settles it where it is not clearly the last class in order, which the notebooks take.

    Raises:
        UnusableValueError: The user decided on something that is none of the classes.
    """
    decision = findings.hints.overrides.get(_POSITIVE_CLASS_KEY)
    names = _names(observations)
    if decision is not None and names and decision not in names:
        raise UnusableValueError(
            key=_POSITIVE_CLASS_KEY, value=str(decision), requirement=f"one of the classes, {join_names(names)}"
        )
    if len(names) != 2:  # noqa: PLR2004 - yes and no
        return
    flag = _flag_asked(names, observations) if submission is SubmissionKind.LABEL else ""
    if flag:
        evidence = (
            f'the cells of the sample submission are like "{flag}", and the classes are {names[0]} and {names[1]}'
        )
        findings.settle(_FLAGS_KEY, value=True, evidence=evidence)
    elif not (decision or submission is SubmissionKind.PROBABILITY):
        return
    answer_name = observations.targets.answer_names[0] if len(observations.targets.answer_names) == 1 else ""
    last, first = names[::-1]
    is_named = {name: class_in(answer_name, names) == name for name in names}
    candidates = [
        weigh(
            name,
            [
                Reason(4 * is_named[name], f"the sample submission has the column {answer_name}"),
                Reason(4 * _says_yes(name, other_name), f"{name} means yes, or {other_name} means no"),
                Reason(
                    3 * (other_name in MISSING and not _says_yes(name, other_name)),
                    f"{other_name} may mean a missing value",
                ),
                # Labels that are turned round look like any, and cost more than a probability that is.
                Reason((1 if flag else 2) * (name == last), "it is the last in sorted order"),
            ],
        )
        for name, other_name in ((last, first), (first, last))
    ]
    best = best_first(candidates)[0]
    if decision or best.value != last or best.weight < _CERTAIN:
        findings.choose(_POSITIVE_CLASS_KEY, candidates)


def class_in(column: str, classes: Sequence[str]) -> str | None:
    """Returns the one class whose name is in that of a column, such as `bad` of `prob_bad`; None if there is none."""
    common = frozenset.intersection(*map(split_words, classes)) if classes else frozenset()
    matches = [name for name in classes if (split_words(name) - common) & split_words(column)]
    return matches[0] if len(matches) == 1 else None


def class_asked(column: str, classes: Sequence[str]) -> str | None:
    """Return the class whose probability a column asks for: that of its name, else the one of two that says yes."""
    class_name = class_in(column, classes)
    if class_name is None and len(classes) == 2:  # noqa: PLR2004 - yes and no
        first, last = classes
        class_name = first if _says_yes(first, last) else last if _says_yes(last, first) else None
    return class_name


def _says_yes(name: str, other_name: str) -> bool:
    return name.lower() in _YES or other_name.lower() in _NO


def _flag_asked(names: Sequence[str], observations: Observations) -> str:
    """A cell of the sample that is 0 or 1, or true or false, where the classes are other words; "" if none is."""
    if len(observations.targets.answers) != 1 or not observations.targets.answers[0].present:
        return ""
    (answer,) = observations.targets.answers
    is_flag = answer.kind is ColumnKind.BOOLEAN or answer.distinct <= _FLAGS
    kinds = {answer.kind, kind_of(names)}
    return answer.present[0] if is_flag and len(kinds) > 1 and not kinds <= NUMBERS else ""


def _names(observations: Observations) -> list[str]:
    """The classes in the notebooks' order, as far as they were seen."""
    columns, files = observations.targets.columns, observations.files
    names = {*columns[0].distinct} if len(columns) == 1 else {*(files.source.classes if files is not None else ())}
    return sorted(names, key=int if all(map(str.isdecimal, names)) else str)
