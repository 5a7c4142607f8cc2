"""Observations of the files, made before it is settled what is to be predicted."""

from collections.abc import Iterator
from dataclasses import dataclass

from generator.competition.facts import Medium, TargetKind
from generator.competition.introspection.evidence import (
    MASKS,
    ONE_WORDS,
    OUTPUTS,
    TEST,
    Findings,
    LabelStatistics,
    join_names,
    label_statistics,
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
from generator.competition.introspection.ids import find_id
from generator.competition.introspection.row_format import RowIds, find_row_ids, format_differences
from generator.competition.introspection.tables import Tables, find_tables, warnings_of_stages
from generator.competition.introspection.targets import KnownMetric, Targets, find_targets, known_metric
from generator.competition.survey.facts import Survey
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
