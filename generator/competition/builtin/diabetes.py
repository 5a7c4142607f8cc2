"""The competition `diabetes`: how far the disease has come within a year, from ten measures of a patient.

The data are those of B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least Angle Regression", Annals of
Statistics, 2004, as scikit-learn carries them: 442 patients, their measures in the units in which they were taken.
"""

from generator.competition.builtin.built_in import dataset
from generator.competition.builtin.split_table import Source, SplitTable
from generator.competition.facts import Competition, SubmissionKind, TargetKind, Task

_TASK = Task(
    family="tabular",
    metric="rmse",
    target_kind=TargetKind.NUMBER,
    submission=SubmissionKind.NUMBERS,
    id_column="id",
    targets=("progression",),
    train_table="train.csv",
    labels_table="",
    test_table="test.csv",
    sample_submission="sample_submission.csv",
    details={"drop_columns": [], "category_columns": ["sex"], "batch_size": 16, "epochs": 20},
    evidence={
        "family": "train.csv and test.csv share ten columns of numbers",
        "metric": "the competition is scored by the root of the mean squared error",
        "target_kind": "the column has more than a hundred different numbers",
        "submission": "the sample has one number for each id",
        "id_column": "the column that all three tables share",
        "targets": "the column of sample_submission.csv beside the id",
        "train_table": "the only table with the target and other columns",
        "test_table": "it has the ids of sample_submission.csv and the columns of train.csv",
        "sample_submission": "the name that every competition gives it",
        "category_columns": "sex has the two values 1 and 2, which stand for names",
        "batch_size": "leaves 2 steps an epoch on 8 replicas of 247 training rows",
        "epochs": "an epoch of 309 rows is short, and the best one is kept",
    },
)


def _load() -> Source:
    data = dataset("diabetes", scaled=False)
    return Source(tuple(data.feature_names), data.data.tolist(), data.target.tolist())


DIABETES = SplitTable(
    competition=Competition(slug="diabetes", title="Progression of diabetes", is_code_competition=False),
    description="Tell how far diabetes has come within a year, from ten measures of a patient.",
    task=_TASK,
    load=_load,
    training_rows=309,
    sample_answer="150.0",
).built_in()
