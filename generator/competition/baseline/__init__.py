"""A plain baseline of a competition, on the folds of a training: what a model has to beat.

In: a task, the folder of its data, and the `oof.npz` of a training. Out: `Baseline`s, scored by the metric:

    evaluation          the story: read what was held out, score the best constant, a copy, then a plain model
    ├── held_out        the examples, folds and true answers of a training
    ├── copies          answers that are copied from a column of the input
    ├── answers         predictions as the metric wants them; the best constant
    ├── table_features, file_features    examples as `features` for scikit-learn, or None
    └── estimators      scikit-learn's models, by features and target

`run` imports it, in a process of its own: what it reads was written by others, and scikit-learn takes its time.
"""
