"""The competition `tumours`: the probability that a tumour of the breast is malignant, from a look at its cells.

The data are "Breast Cancer Wisconsin (Diagnostic)" (W. H. Wolberg, O. L. Mangasarian, W. N. Street, UCI Machine
Learning Repository, 1995, CC BY 4.0), as scikit-learn carries them: 569 tumours, and of the outlines of their cells'
nuclei ten measures, each with its mean, its standard error and its worst value.
"""

from generator.competition.builtin.built_in import dataset
from generator.competition.builtin.split_table import Source, SplitTable
from generator.competition.facts import Competition, SubmissionKind, TargetKind, Task

_TASK = Task(
    family="tabular",
    metric="auc",
    target_kind=TargetKind.CLASS,
    submission=SubmissionKind.PROBABILITY,
    id_column="id",
    targets=("malignant",),
    train_table="train.csv",
    labels_table="",
    test_table="test.csv",
    sample_submission="sample_submission.csv",
    details={
        "drop_columns": [],
        "category_columns": [],
        "has_categories": False,
        "class_count": 2,
        "batch_size": 16,
        "epochs": 20,
    },
    evidence={
        "family": "train.csv and test.csv share 30 columns of numbers",
        "metric": "the competition is scored by the area under the ROC curve",
        "target_kind": "the column has the values 0 and 1",
        "submission": "the sample has one number for each id, between the two classes",
        "id_column": "the column that all three tables share",
        "targets": "the column of sample_submission.csv beside the id",
        "train_table": "the only table with the target and other columns",
        "test_table": "it has the ids of sample_submission.csv and the columns of train.csv",
        "sample_submission": "the name that every competition gives it",
        "batch_size": "leaves 2 steps an epoch on 8 replicas of 318 training rows",
        "epochs": "an epoch of 398 rows is short, and the best one is kept",
    },
)


def _load() -> Source:
    data = dataset("breast_cancer")
    malignant = [float(answer == 0) for answer in data.target.tolist()]  # scikit-learn calls the benign ones 1
    return Source(tuple(map(str, data.feature_names)), data.data.tolist(), malignant)


TUMOURS = SplitTable(
    competition=Competition(slug="tumours", title="Malignant tumours", is_code_competition=False),
    description="Tell malignant tumours from benign ones by a look at their cells.",
    task=_TASK,
    load=_load,
    training_rows=398,
    sample_answer="0.5",
).built_in()
