"""The competition `tumours`: the probability that a tumour of the breast is malignant, from a look at its cells.

The data are "Breast Cancer Wisconsin (Diagnostic)" (W. H. Wolberg, O. L. Mangasarian, W. N. Street, UCI Machine
Learning Repository, 1995, CC BY 4.0), as scikit-learn carries them: 569 tumours, and of the outlines of their cells'
nuclei ten measures, each with its mean, its standard error and its worst value.
"""

from generator.competition.builtin.built_in import dataset
from generator.competition.builtin.split_table import Source, split_table


def _load() -> Source:
    data = dataset("breast_cancer")
    malignant = [float(answer == 0) for answer in data.target.tolist()]  # scikit-learn calls the benign ones 1
    return Source(tuple(map(str, data.feature_names)), data.data.tolist(), malignant)


TUMOURS = split_table("tumours", _load, training_rows=398, sample_answer="0.5")
