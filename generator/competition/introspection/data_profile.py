"""Observations of the files, made before it is settled what is to be predicted."""

from dataclasses import dataclass

from generator.competition.facts import Medium, TargetKind
from generator.competition.introspection.candidate_folders import FolderMatch, best_match, candidate_folders
from generator.competition.introspection.column_statistics import LabelStatistics, label_statistics
from generator.competition.introspection.errors import listed
from generator.competition.introspection.example_files import ExampleFiles
from generator.competition.introspection.features import Features, find_features
from generator.competition.introspection.findings import Findings
from generator.competition.introspection.metric import KnownMetric, known_metric
from generator.competition.introspection.row_ids import RowIds, find_row_ids
from generator.competition.introspection.sequences import Groups, find_groups
from generator.competition.introspection.table_roles import Tables
from generator.competition.introspection.target_columns import Targets, find_targets
from generator.competition.introspection.text import TextColumns, find_text_columns
from generator.competition.introspection.vocabulary import MASKS, OUTPUTS, TEST
from generator.competition.survey.facts import Survey
from generator.untrusted import printable


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
    features: Features | None
    texts: TextColumns
    groups: Groups | None
    row_ids: RowIds | None

    @property
    def classes(self) -> int:
        """The number of classes, as far as they were seen."""
        if self.targets.are_classes_asked or self.labels.is_one_hot:
            return len(self.targets.asked) or len(self.targets.names)
        return self.labels.distinct

    def unlabelled(self, kind: TargetKind) -> int:
        """Returns how many sampled training rows lack the class, or one of the labels or numbers to learn."""
        tables, columns = self.tables, self.targets.columns
        is_list = kind is TargetKind.LABELS and len(columns) == 1
        if tables.labelled is tables.test or kind in (TargetKind.MASK, TargetKind.IMAGE) or is_list:
            return 0  # an empty list has no labels, and the rows to predict have none yet
        lacks = all if kind is TargetKind.CLASS else any  # of one-hot columns one says the class
        rows = zip(*(column.values for column in columns), strict=True)
        return sum(lacks(value is None for value in row) for row in rows)

    def unlabelled_in_words(self, kind: TargetKind) -> str:
        """A sentence without its end that counts such rows."""
        names, table = self.targets.names, self.tables.labelled
        several = "have none of" if kind is TargetKind.CLASS else "lack at least one of"
        what = f"{several} {listed(names)}" if len(names) > 1 else f"have no {listed(names)}"
        rows = f"{self.unlabelled(kind):,} of {len(self.targets.columns[0].values):,} sampled rows"
        return f"{rows} of {printable(table.path if table else '')} {what}"


def observe(survey: Survey, tables: Tables, files: ExampleFiles | None, found: Findings) -> Observations:
    """Looks at everything, once it is known what the tables are, which column is the id, and where files are.

    Raises:
        IntrospectionError: There is nothing to learn from.
        UnknownMetricError: The user decided on a metric that the kit does not have.
    """
    id_column = str(found["id_column"].value)
    targets = find_targets(survey, tables, files, id_column, found)
    features = find_features(tables, targets, id_column)
    masks = _paired_folder(survey, files, MASKS, frozenset())
    return Observations(
        tables=tables,
        files=files,
        masks=masks,
        target_images=_paired_folder(survey, files, OUTPUTS, MASKS),
        targets=targets,
        labels=label_statistics(targets.columns, files.source.classes if files is not None else ()),
        metric=known_metric(found.hints),
        features=features,
        texts=find_text_columns(features) if features is not None else TextColumns(()),
        groups=find_groups(features, found) if features is not None else None,
        row_ids=find_row_ids(tables, targets, id_column, found) if files is None else None,
    )


def _paired_folder(
    survey: Survey, files: ExampleFiles | None, named: frozenset[str], otherwise: frozenset[str]
) -> FolderMatch | None:
    """The folder that has an image for each training image, of those that are named by some words and no others."""
    train = files.source.train if files is not None else None
    if files is None or train is None or files.medium is not Medium.IMAGE:
        return None
    taken = {train.path, *([files.test.path] if files.test is not None else [])}
    pairs = [
        folder
        for folder in candidate_folders(survey, Medium.IMAGE)
        if folder.path not in taken and folder.words & named and not folder.words & (TEST | otherwise)
    ]
    match = best_match([name.rpartition(".")[0] or name for name in train.names], pairs)
    return match if match is not None and match.parts == 0 else None
