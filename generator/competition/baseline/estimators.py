"""scikit-learn's models, nearly with their defaults: for tables, for texts, for pixels and sounds."""

from typing import Any

from generator.competition.baseline.features import GRADIENT_BOOSTING, Features
from generator.competition.baseline.held_out import HeldOut
from generator.competition.facts import TargetKind
from generator.competition.metrics import loss_of

_MOST_BOOSTED = 20  # classes, labels or targets: each is a model of its own
_MOST_WORDS = 50_000
_TREES, _FEW_TREES = 100, 20  # at most, for each class, label or target
_FEWEST_TO_STOP = 10  # rows of a class, of which the tenth that says when to stop has one


def predicted(features: Features, inside: Any, judged: Any, held_out: HeldOut) -> Any:
    """What a model that saw the rows `inside` of the features predicts for others.

    Returns:
        Probabilities [rows, classes] or [rows, labels], or numbers [rows, targets].
    """
    import numpy as np

    truth, kind = held_out.truth[features.rows[inside]], held_out.task.target_kind
    wanted = truth > 0 if kind is TargetKind.LABELS else truth  # labels may be shares
    model = _model(features, wanted, held_out).fit(features.values[inside], wanted)
    asked = features.values[judged]
    if kind is TargetKind.NUMBER:
        return model.predict(asked)
    found = model.predict_proba(asked)
    if kind is TargetKind.LABELS:
        return found[:, -truth.shape[1] :]  # of a single label the first column says that it is not there
    chances = np.zeros((len(judged), held_out.class_count))
    chances[:, model.classes_] = found
    return chances


def _model(features: Features, wanted: Any, held_out: HeldOut) -> Any:
    """Boosted trees, as many as help on a tenth of the rows, or a linear model.

    The latter is of standardised numbers, or of the weights of words and pairs of words.
    """
    import numpy as np
    from sklearn import (  # type: ignore[import-untyped]  # scikit-learn brings no types
        compose,
        ensemble,
        linear_model,
        multiclass,
        multioutput,
        pipeline,
        preprocessing,
    )
    from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]  # as above

    task = held_out.task
    is_number = task.target_kind is TargetKind.NUMBER
    if features.model == GRADIENT_BOOSTING:
        many = held_out.class_count if task.target_kind is TargetKind.CLASS else held_out.truth.shape[1]
        can_stop = is_number or _rarest(wanted) >= _FEWEST_TO_STOP
        trees = _TREES if can_stop and many <= _MOST_BOOSTED else _FEW_TREES  # all of them would overfit small data
        boosting = ensemble.HistGradientBoostingRegressor if is_number else ensemble.HistGradientBoostingClassifier
        first, model = "passthrough", boosting(max_iter=trees, early_stopping=can_stop, random_state=0)
    else:
        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_features=_MOST_WORDS)
        first = words if features.values.ndim == 1 else preprocessing.StandardScaler()
        model = linear_model.Ridge() if is_number else linear_model.LogisticRegression(max_iter=200)
    if task.target_kind is TargetKind.LABELS:
        model = multiclass.OneVsRestClassifier(model)
    elif is_number:
        model = multioutput.MultiOutputRegressor(model)
        if loss_of(task.metric, task.target_kind) == "squared_log_error":
            model = compose.TransformedTargetRegressor(model, func=np.log1p, inverse_func=np.expm1)
    return pipeline.make_pipeline(first, model)


def _rarest(wanted: Any) -> int:
    """The number of rows that have the rarest class, or the rarer side of any label."""
    import numpy as np

    columns = wanted.reshape(len(wanted), -1).T
    return min(int(np.unique(column, return_counts=True)[1].min()) for column in columns)
