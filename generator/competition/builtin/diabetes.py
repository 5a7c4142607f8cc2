"""The competition `diabetes`: how far the disease has come within a year, from ten measures of a patient.

The data are those of B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least Angle Regression", Annals of
Statistics, 2004, as scikit-learn carries them: 442 patients, their measures in the units in which they were taken.
"""

from generator.competition.builtin.built_in import Parts, dataset, numbers, of_rows, split


def _parts() -> Parts:
    data = dataset("diabetes", scaled=False)
    return data.feature_names, *split("diabetes", numbers(data.data.tolist(), data.target.tolist()), training_rows=309)


DIABETES = of_rows("diabetes", _parts, sample_answer="150.0")
