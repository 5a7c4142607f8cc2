"""The conclusions of a run from its own figures: what the scores say, and what to try next.

A figure that is not there has no sentence: after a smoke run, on a specimen or of half a training there are none, and a
single fold says less than five.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from statistics import mean, stdev

from generator.competition.baseline.evaluation import CONSTANT, COPY, Baseline
from generator.competition.metrics import UnknownMetricError, parsed
from generator.pair.handover import TrainedFold
from generator.pair.workspace import Role
from generator.run.result import RunResult
from generator.untrusted import printable

_FEWEST_FOLDS, _FEWEST_EPOCHS, _FEWEST_EPOCHS_BEHIND = 3, 4, 2
_EARLY, _EARLY_OF_ONE_FOLD, _LATE = 0.6, 0.5, 0.85  # of the epochs
_CHANGE = 0.05  # of all that was gained since the first epoch; less is noise
_CHANGE_BEHIND = 0.01  # the same where a plain model does better
_LEARNT = 0.03  # of the loss
_USUAL_FOLDS = 5
_CLEARLY = 3  # standard errors


@dataclass(frozen=True)
class Conclusions:
    """The sentences on the figures of a run, and on what to try because of them."""

    findings: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


def conclusions(result: RunResult) -> Conclusions:
    """Draws what can be concluded from a run; nothing of one that measured nothing."""
    if not result.is_measure or result.handover is None or result.out_of_fold is None:
        return Conclusions()
    try:
        is_higher_better = parsed(result.out_of_fold.metric)[0].higher_is_better
    except UnknownMetricError:
        return Conclusions()
    figures = _Figures(result, result.handover.folds, result.out_of_fold.value, is_higher_better)
    findings = (*figures.spread(), *figures.beside_baselines(), *figures.best_epochs(), *figures.gap())
    return Conclusions(findings, tuple(figures.advice()))


def model_baseline(result: RunResult) -> Baseline | None:
    """The better score of a copy and a plain model, if either was computed."""
    others = [baseline for baseline in result.baselines if baseline.name != CONSTANT]
    if not others or result.out_of_fold is None:
        return None
    try:
        sign = 1 if parsed(result.out_of_fold.metric)[0].higher_is_better else -1
    except UnknownMetricError:
        sign = 1
    return max(others, key=lambda baseline: sign * baseline.score)


def constant_baseline(result: RunResult) -> Baseline | None:
    """The best constant's score, if it was computed."""
    return next((baseline for baseline in result.baselines if baseline.name == CONSTANT), None)


@dataclass(frozen=True)
class _Figures:
    """The figures of a run that measured something."""

    result: RunResult
    folds: tuple[TrainedFold, ...]
    score: float
    is_higher_better: bool

    @property
    def _standard_error(self) -> float | None:
        """That of the mean of the folds; None of two, which have no spread to speak of."""
        scores = [fold.score for fold in self.folds]
        return stdev(scores) / sqrt(len(scores)) if len(scores) >= _FEWEST_FOLDS else None

    @property
    def _epochs(self) -> int:
        """How many epochs each fold was trained; 0 where that is not known."""
        lengths = {len(fold.scores) for fold in self.folds}
        return lengths.pop() if len(lengths) == 1 else 0

    def _gain(self, score: float, over: float) -> float:
        """By how much a score is better than another."""
        return score - over if self.is_higher_better else over - score

    def spread(self) -> Iterator[str]:
        scores = [fold.score for fold in self.folds]
        if self._standard_error is None:
            return
        yield (
            f"The folds score {', '.join(f'{score:.4f}' for score in scores)}: a standard deviation of "
            f"{stdev(scores):.4f}, and a standard error of {self._standard_error:.4f} of their mean. What another run "
            f"gains or loses within that may be chance."
        )

    def beside_baselines(self) -> Iterator[str]:
        metric = printable(self.result.out_of_fold.metric) if self.result.out_of_fold else ""
        for baseline in self.result.baselines:
            gain = self._gain(self.score, baseline.score)
            verdict = "better than" if gain > 0 else "worse than" if gain < 0 else "as good as"
            held_out = self.result.handover.fields.section("out_of_fold").count("rows") if self.result.handover else 0
            some = f", on {baseline.rows:,} of the {held_out:,} held-out rows" if 0 < baseline.rows < held_out else ""
            by = f"{abs(gain):.4f} {verdict}" if gain else verdict
            yield f"Out-of-fold {metric} {self.score:.4f} is {by} {baseline.name}, {baseline.score:.4f}{some}."

    def best_epochs(self) -> Iterator[str]:
        if self._epochs < _FEWEST_EPOCHS:
            return
        bests = self._best_epochs()
        if len(set(bests)) == 1:
            where = f"The best epoch is {bests[0]} of {self._epochs}"
            yield f"{where}, in every fold." if len(bests) > 1 else f"{where}."
        else:
            yield f"The best epochs are {min(bests)} to {max(bests)} of {self._epochs}."

    def _best_epochs(self) -> list[int]:
        """The epoch of each fold with the best validation score, of equals the last one; the last epoch is kept."""
        return [len(gains) - gains[::-1].index(max(gains)) for gains in self._gains()]

    def gap(self) -> Iterator[str]:
        if self.result.hidden_test is None:
            return
        gap = self._gain(self.result.hidden_test.value, self.score)
        than = "better" if gap > 0 else "worse"
        yield f"The hidden test scores {abs(gap):.4f} {than} than the out-of-fold estimate."
        error = self._standard_error
        if error is not None and gap < -_CLEARLY * error:
            yield "That is more than three standard errors: are there groups or times that folds should keep apart?"

    def advice(self) -> Iterator[str]:
        # The model is to blame only where its curves ask for nothing else.
        on_curves = tuple(self._on_epochs())
        yield from on_curves or self._on_baselines()
        if len(self.folds) == 1 and self._knob("N_FOLDS") == 1:
            yield (
                f"One fold does not tell how much the score varies: -P N_FOLDS={_USUAL_FOLDS} does, in {_USUAL_FOLDS} "
                f"times the time, and its models are averaged."
            )

    def _on_baselines(self) -> Iterator[str]:
        constant, model = constant_baseline(self.result), model_baseline(self.result)
        if constant is not None and self._gain(self.score, constant.score) <= 0:
            yield (
                "The model is no better than a constant. Look at the loss and at the worst mistakes: are the labels "
                "those of these examples, is LEARNING_RATE far too high or too low?"
            )
        elif model is not None and self._is_behind and model.name.startswith(COPY):
            yield (
                f"Submitting {model.name} scores better: look at the rows where that is wrong, and learn only what "
                f"changes there."
            )
        elif model is not None and self._is_behind:
            yield (
                f"A plain model does better: submit it as well, and find out what {model.name} has that this model "
                f"lacks."
            )

    @property
    def _is_behind(self) -> bool:
        """True if a plain model scores better by more than chance."""
        model = model_baseline(self.result)
        return model is not None and self._gain(self.score, model.score) < -(self._standard_error or 0.0)

    def _on_epochs(self) -> Iterator[str]:
        epochs, fewest = self._epochs, _FEWEST_EPOCHS_BEHIND if self._is_behind else _FEWEST_EPOCHS
        if epochs < fewest or self._knob("EPOCHS") != epochs:
            return
        bests = self._best_epochs()
        falls = [1 - fold.losses[-1] / fold.losses[0] for fold in self.folds if fold.losses and fold.losses[0] > 0]
        if falls and mean(falls) < _LEARNT:
            yield "The loss in training hardly falls: try a LEARNING_RATE ten times as high, then one ten times as low."
        elif max(bests) <= epochs * (_EARLY if len(bests) > 1 else _EARLY_OF_ONE_FOLD) and self._lost() > _CHANGE:
            yield (
                f"After the best epochs the held-out score gets worse: try -P EPOCHS={max(bests)}, by whose end the "
                f"learning rate has decayed, or more regularisation{self._regularisation()}."
            )
        elif min(bests) > epochs * _LATE and self._is_still_learning():
            yield (
                f"The best epochs are the last ones, and the models were still learning: "
                f"try -P EPOCHS={ceil(1.5 * epochs)}."
            )

    def _is_still_learning(self) -> bool:
        """True if the last quarter of the epochs still gained; less is enough where a plain model does better."""
        if not self._is_behind:
            return self._gained_late() > _CHANGE
        return self._gained_late() > _CHANGE_BEHIND or self._loss_fell_late() > _CHANGE

    def _loss_fell_late(self) -> float:
        """The share of the fall of the loss in training that came in the last quarter of the epochs."""
        curves = [[fold.losses[0] - loss for loss in fold.losses] for fold in self.folds if fold.losses]
        return mean([self._share(fall, over=max(fall[: self._late_from(fall)])) for fall in curves] or [0.0])

    def _lost(self) -> float:
        """What was lost after the best epochs, as a share of what was gained until then."""
        return mean(self._share(gains, over=gains[-1]) for gains in self._gains())

    def _gained_late(self) -> float:
        """The share of all that was gained which came in the last quarter of the epochs."""
        return mean(self._share(gains, over=max(gains[: self._late_from(gains)])) for gains in self._gains())

    def _gains(self) -> Iterator[list[float]]:
        """Of each fold what each epoch has gained since the first one."""
        for fold in self.folds:
            yield [self._gain(score, fold.scores[0]) for score in fold.scores]

    @staticmethod
    def _late_from(curve: Sequence[float]) -> int:
        """The first epoch of the last quarter, which has one epoch at least."""
        return min(ceil(len(curve) * 3 / 4), len(curve) - 1)

    @staticmethod
    def _share(gains: list[float], *, over: float) -> float:
        return (max(gains) - over) / max(gains) if max(gains) > 0 else 0.0

    def _regularisation(self) -> str:
        names = [name for name in ("DROPOUT", "WEIGHT_DECAY", "LABEL_SMOOTHING") if self._knob(name) is not None]
        return f" ({', '.join(names)})" if names else ""

    def _knob(self, name: str) -> object:
        parameters = self.result.parameters.get(Role.TRAIN)
        return None if parameters is None else parameters.value(name)
