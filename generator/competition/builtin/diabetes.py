"""The competition `diabetes`: how far the disease has come within a year, from ten measures of a patient.

The data are those of B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least Angle Regression", Annals of
Statistics, 2004, as scikit-learn carries them: 442 patients, their measures in the units in which they were taken.
"""

from generator.competition.builtin.built_in import dataset
from generator.competition.builtin.split_table import Source, split_table


def _load() -> Source:
    data = dataset("diabetes", scaled=False)
    return Source(tuple(data.feature_names), data.data.tolist(), data.target.tolist())


DIABETES = split_table("diabetes", _load, training_rows=309, sample_answer="150.0")
