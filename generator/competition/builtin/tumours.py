"""The competition `tumours`: the probability that a tumour of the breast is malignant, from a look at its cells.

The data are "Breast Cancer Wisconsin (Diagnostic)" (W. H. Wolberg, O. L. Mangasarian, W. N. Street, UCI Machine
Learning Repository, 1995, CC BY 4.0), as scikit-learn carries them: 569 tumours, and of the outlines of their cells'
nuclei ten measures, each with its mean, its standard error and its worst value.
"""

from generator.competition.builtin.built_in import Parts, dataset, numbers, of_rows, split


def _parts() -> Parts:
    data = dataset("breast_cancer")
    malignant = (float(answer == 0) for answer in data.target.tolist())  # scikit-learn calls the benign ones 1
    return data.feature_names, *split("tumours", numbers(data.data.tolist(), malignant), training_rows=398)


TUMOURS = of_rows("tumours", _parts, sample_answer="0.5")
