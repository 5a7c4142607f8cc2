"""scikit-learn's models, nearly with their defaults: for tables, for texts, for pixels and sounds."""

from importlib import import_module
from typing import Any

from generator.competition.baseline.features import Features
from generator.competition.baseline.held_out import HeldOut
from generator.competition.baseline.table_features import GRADIENT_BOOSTING
from generator.competition.facts import TargetKind
from generator.competition.metrics import loss_of

_MOST_BOOSTED = 20  # classes, labels or targets: each is a model of its own
_MOST_WORDS = 50_000
_TREES, _FEW_TREES = 100, 20  # for each class, label or target


def predicted(features: Features, inside: Any, judged: Any, held_out: HeldOut) -> Any:
    """What a model that saw the rows `inside` of the features predicts for others.

    Returns:
        Probabilities [rows, classes] or [rows, labels], or numbers [rows, targets].
    """
    import numpy as np

    training, asked = _numeric(features.values[inside], features.values[judged])
    truth, kind = held_out.truth[features.rows[inside]], held_out.task.target_kind
    if kind is TargetKind.CLASS:
        model = _classifier(features, many=held_out.class_count > _MOST_BOOSTED).fit(training, truth)
        chances = np.zeros((len(judged), held_out.class_count))
        chances[:, model.classes_] = model.predict_proba(asked)
        return chances
    many = truth.shape[1] > _MOST_BOOSTED
    if kind is TargetKind.LABELS:
        columns = [_chances(features, training, asked, column, many=many) for column in truth.T]
    else:
        is_log = loss_of(held_out.task.metric, kind) == "squared_log_error"
        to, back = (np.log1p, np.expm1) if is_log else (np.asarray, np.asarray)
        columns = [back(_regressor(features, many=many).fit(training, to(column)).predict(asked)) for column in truth.T]
    return np.stack(columns, axis=1)


def _numeric(training: Any, asked: Any) -> tuple[Any, Any]:
    """Texts as weights of their words and pairs of words, which the training rows decide; numbers as they are."""
    if training.ndim > 1:
        return training, asked
    words = _sklearn("feature_extraction.text").TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, max_features=_MOST_WORDS
    )
    return words.fit_transform(training), words.transform(asked)


def _chances(features: Features, training: Any, asked: Any, column: Any, *, many: bool) -> Any:
    import numpy as np

    if len(np.unique(column)) == 1:
        return np.full(asked.shape[0], float(column[0]))
    return _classifier(features, many=many).fit(training, column > 0).predict_proba(asked)[:, 1]


def _classifier(features: Features, *, many: bool) -> Any:
    if features.model == GRADIENT_BOOSTING:
        ensemble = _sklearn("ensemble")
        return ensemble.HistGradientBoostingClassifier(max_iter=_FEW_TREES if many else _TREES, random_state=0)
    return _scaled(features, _sklearn("linear_model").LogisticRegression(max_iter=200))


def _regressor(features: Features, *, many: bool) -> Any:
    if features.model == GRADIENT_BOOSTING:
        ensemble = _sklearn("ensemble")
        return ensemble.HistGradientBoostingRegressor(max_iter=_FEW_TREES if many else _TREES, random_state=0)
    return _scaled(features, _sklearn("linear_model").Ridge())


def _scaled(features: Features, model: Any) -> Any:
    """The model behind a standardisation, where the features are numbers."""
    scaler = _sklearn("preprocessing").StandardScaler
    return model if features.values.ndim == 1 else _sklearn("pipeline").make_pipeline(scaler(), model)


def _sklearn(part: str) -> Any:
    """A part of scikit-learn, which is slow to import and brings no types."""
    return import_module(f"sklearn.{part}")
