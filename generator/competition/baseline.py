"""A plain baseline of a competition, on the folds of a training: what a model has to beat."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from generator.competition.facts import Medium, TargetKind, Task
from generator.competition.metrics import decision_of, function_of, loss_of, parse_metric
from generator.competition.schema import families
from generator.competition.tables import UnreadableTableError, table_rows
from generator.files import resolve_inside

# What a training says of its examples: their ids, folds and true answers, and which of them were predicted.


@dataclass(frozen=True)
class HeldOut:
    """The examples of a training.

    Attributes:
        task: What is predicted.
        ids: The id of each example [examples].
        fold: The fold of each example [examples].
        truth: The true answers [examples, …], as `function_of` describes them.
        rows: The positions of those that a model which had not seen them predicted.
        table_rows: The positions of the examples in the training table [examples]; None where training keeps none.
    """

    task: Task
    ids: Any
    fold: Any
    truth: Any
    rows: Any
    table_rows: Any = None

    def places_in(self, ids: Any) -> Any:
        """The place of each example in a column of ids, -1 where it is not there: of an id that repeats, its row."""
        import numpy as np
        import pandas as pd  # type: ignore[import-untyped]  # pandas brings no types

        index = pd.Index(ids)
        if self.table_rows is not None and index.has_duplicates:
            is_there = self.table_rows < len(index)
            places = np.where(is_there, self.table_rows, 0)
            return np.where(is_there & (index.to_numpy()[places].astype(str) == self.ids), places, -1)
        first = pd.Series(range(len(index)), index)[~index.duplicated()]
        return first.reindex(self.ids, fill_value=-1).to_numpy()

    @property
    def decision(self) -> str:
        """How predictions become what the metric wants."""
        return decision_of(self.task.metric, self.task.target_kind, self.task.submission)

    @property
    def class_count(self) -> int:
        """How many classes there are."""
        return int(self.truth.max()) + 1


def read_held_out(path: Path, task: Task) -> HeldOut:
    """Reads the `oof.npz` of a training.

    Raises:
        OSError, ValueError, KeyError: It is not what a training writes.
    """
    import numpy as np

    with np.load(path, allow_pickle=False) as arrays:
        ids, fold, truth, rows = (arrays[name] for name in ("ids", "fold", "truth", "rows"))
        table_rows = arrays.get("table_rows")
    if not len(ids) == len(fold) == len(truth) or not len(rows) or rows.max() >= len(ids):
        raise ValueError(f"{path.name} has arrays that do not fit together")
    return HeldOut(task, ids, fold, truth, rows, table_rows)


# What an example looks like to scikit-learn: numbers for each, or a text.


GRADIENT_BOOSTING, LINEAR = "gradient boosting", "a linear model"


@dataclass(frozen=True)
class FeatureMatrix:
    """The features of some examples.

    Attributes:
        rows: The positions of the examples, ascending [features].
        values: Numbers [features, columns], with NaN for what is not known, or texts [features].
        name: What they are, such as "the raw columns".
        model: The model that suits them: gradient boosting, or a linear one.
    """

    rows: Any
    values: Any
    name: str
    model: str


def sample_rows(held_out: HeldOut, most: int) -> Any:
    """The positions of at most so many examples, half of them held out, drawn evenly by chance."""
    import numpy as np

    if len(held_out.ids) <= most:
        return np.arange(len(held_out.ids))
    random = np.random.default_rng(0)
    other_rows = np.setdiff1d(np.arange(len(held_out.ids)), held_out.rows)
    validation_rows = random.permutation(held_out.rows)[: most // 2 if len(other_rows) else most]
    return np.sort(np.concatenate([validation_rows, random.permutation(other_rows)[: most - len(validation_rows)]]))


# The features of rows of a table: its raw columns, its texts, its pixels, or the statistics of a sequence.


_MOST_ROWS, _MOST_TABLE_CELLS = 300_000, 6_000_000  # that are read
_MOST_SAMPLED, _MOST_SAMPLED_CELLS = 20_000, 3_000_000
_MOST_CATEGORIES = 200
_MOSTLY = 0.9


def read_columns(held_out: HeldOut, data: Path) -> FeatureMatrix | None:
    """The raw columns as numbers; of a sequence that is one example, their statistics."""
    import numpy as np
    import pandas as pd

    task = held_out.task
    is_group = task.details.get("prediction_per") == "group"
    key = str(task.details["group_column"]) if is_group else task.id_column
    table = training_rows(task, data, key)
    if table is None:
        return None
    left_out = {key, task.id_column, *task.targets, *_names(task, "drop_columns")}
    decimal = str(task.details.get("decimal", "."))
    other_decimals = _names(task, "other_decimal_columns")
    for name in table.columns.intersection(_names(task, "formatted_columns")):
        sign = decimal if name not in other_decimals else "." if decimal == "," else ","
        table[name] = table[name].str.replace(r"^\s*\((.*)\)\s*$", r"-\1", regex=True)
        table[name] = table[name].str.replace(rf"[^0-9{sign}+-]|[{sign}](?!\d)", "", regex=True)
        table[name] = table[name].str.replace(sign, decimal, regex=False)
    numbers = table[table.columns.difference(left_out)].apply(_as_features, decimal=decimal)
    if is_group:
        numbers = numbers.groupby(table[key], sort=False).agg(["mean", "std", "min", "max", "first", "last"])
    else:
        numbers.index = pd.Index(table[key])
    numbers = numbers.loc[:, numbers.nunique().to_numpy() > 1]
    most = min(_MOST_SAMPLED, _MOST_SAMPLED_CELLS // max(1, numbers.shape[1]))
    rows, places = _locate_sample(numbers.index, held_out, most)
    if not len(rows) or not numbers.shape[1]:
        return None
    name = "the statistics of each sequence" if is_group else "the raw columns"
    return FeatureMatrix(rows, numbers.to_numpy(dtype=np.float32)[places], name, GRADIENT_BOOSTING)


def read_texts(held_out: HeldOut, data: Path) -> FeatureMatrix | None:
    """The words of the columns that are read, one after the other."""
    task = held_out.task
    table = training_rows(task, data, task.id_column)
    if table is None:
        return None
    texts = table[_names(task, "text_columns")].agg(" ".join, axis=1)
    rows, places = _locate_sample(table[task.id_column], held_out, _MOST_SAMPLED)
    if not len(rows):
        return None
    return FeatureMatrix(rows, texts.to_numpy()[places], "the words (TF-IDF)", LINEAR)


def read_pixels(held_out: HeldOut, data: Path) -> FeatureMatrix | None:
    """The pixels that are columns of a table, from 0 to 1."""
    import re

    import numpy as np

    task = held_out.task
    table = training_rows(task, data, task.id_column)
    if table is None:
        return None
    names = [name for name in table.columns if re.fullmatch(r"(?i)(pixel|pix|px|p|x)?[_.]?\d+(x\d+)?", name)]
    rows, places = _locate_sample(table[task.id_column], held_out, _MOST_SAMPLED_CELLS // max(1, len(names)))
    if not len(rows) or not names:
        return None
    return FeatureMatrix(rows, table[names].to_numpy()[places].astype(np.float32) / 255, "the pixels", LINEAR)


def cells_by_id(task: Task, data: Path, column: str) -> dict[str, str]:
    """What stands in a column of the training table, by the id; nothing where that cannot be read."""
    table = training_rows(task, data, task.id_column)
    if table is None or column not in table:
        return {}
    return dict(zip(table[task.id_column], table[column], strict=True))


def training_rows(task: Task, data: Path, key: str) -> Any:
    """The first rows of the training table as text; None where it cannot be read or does not have the columns."""
    import pandas as pd

    try:
        options = {name: str(task.details[name]) for name in ("separator", "encoding") if name in task.details}
        rows = table_rows(resolve_inside(data / task.train_table, root=data), **options)
        _, header = next(rows)
        most = max(1, min(_MOST_ROWS, _MOST_TABLE_CELLS // len(header)))
        cells = [(row + [""] * len(header))[: len(header)] for _, row in islice(rows, most)]
    except (OSError, UnreadableTableError, StopIteration):
        return None
    table = pd.DataFrame(cells, columns=header, dtype=str)
    if not task.details.get("has_training_ids", True):
        table.insert(0, task.id_column, [str(number) for number in range(len(table))])
    is_fit = key in table and table.columns.is_unique and {*_names(task, "text_columns")} <= {*table.columns}
    return table if is_fit else None


def _locate_sample(ids: Iterable[str], held_out: HeldOut, most: int) -> tuple[Any, Any]:
    """The positions of at most so many examples, and the places where their ids stand."""
    rows = sample_rows(held_out, most)
    places = held_out.places_in(ids)[rows]
    return rows[places >= 0], places[places >= 0]


def as_numbers(column: Any, decimal: str) -> Any:
    """A column of text as the numbers that it says, NaN where it says none."""
    import pandas as pd

    text = column.str.strip()
    return pd.to_numeric(text.str.replace(decimal, ".", regex=False) if decimal != "." else text, errors="coerce")


def _as_features(column: Any, decimal: str) -> Any:
    """A column of text as numbers: what they say, or how often a category is, as a rank where there are few."""
    text = column.str.strip()
    is_filled = text != ""
    numbers = as_numbers(column, decimal)
    if numbers.notna().sum() >= _MOSTLY * is_filled.sum():
        return numbers
    counts = text.value_counts()
    if len(counts) > _MOST_CATEGORIES:
        return text.map(counts).astype(float)
    return text.map({name: float(place) for place, name in enumerate(counts.index)})


def _names(task: Task, key: str) -> list[str]:
    names = task.details.get(key, [])
    return list(names) if isinstance(names, list | tuple) else []


# The features of images and sounds: pixels, scaled down; how loud each pitch is on average, and how much it varies.


SIDE = 12
_MOST_IMAGES, _MOST_SOUNDS = 4_000, 1_500  # that are read
_MOST_FEATURE_PIXELS = 1 << 26
_MOST_SAMPLES = 1 << 19  # of one sound
_FRAME = 1_024
_BANDS = 32
_MOST_FILES = 500_000


def read_images(held_out: HeldOut, data: Path) -> FeatureMatrix | None:
    """The pixels of a sample, scaled down; None where the images are in archives or records."""
    details = held_out.task.details
    if details.get("labels_from") == "pixels":
        return None if details.get("pixel_lists") else read_pixels(held_out, data)
    if details.get("labels_from") == "records":
        return None
    pixels = partial(_pixels, mode="L" if details.get("channels") == 1 else "RGB")
    name = f"images of {SIDE} \N{MULTIPLICATION SIGN} {SIDE} pixels"
    return _read(held_out, data, pixels, name=name, column="image_column", most=_MOST_IMAGES)


def read_sounds(held_out: HeldOut, data: Path) -> FeatureMatrix | None:
    """The loudness by pitch of a sample of the sounds; None where they are no WAV files, or in archives."""
    name = "the loudness by pitch"
    return _read(held_out, data, _loudness, name=name, column="audio_column", most=_MOST_SOUNDS)


def _read(  # noqa: PLR0913 - what images and sounds differ in
    held_out: HeldOut, data: Path, features_of: Callable[[Path], Any], *, name: str, column: str, most: int
) -> FeatureMatrix | None:
    """The features of the files of a sample of the examples; None where half of them cannot be read."""
    import numpy as np

    task = held_out.task
    train_folder, named_by = str(task.details["train_folder"]), str(task.details.get(column, ""))
    if ".zip" in train_folder:
        return None
    is_named = task.train_table and named_by not in ("", task.id_column)
    names = cells_by_id(task, data, named_by) if is_named else {}
    files = _files_by_name(resolve_inside(data / train_folder, root=data))
    rows = sample_rows(held_out, most)
    file_names = [names.get(str(example_id), str(example_id)) for example_id in held_out.ids[rows]]
    paths = [files.get(file_name) or files.get(PurePosixPath(file_name).name) for file_name in file_names]
    with ThreadPoolExecutor(2) as pool:
        file_features = list(pool.map(lambda path: None if path is None else features_of(path), paths))
    features_by_row = {
        row: values for row, values in zip(rows.tolist(), file_features, strict=True) if values is not None
    }
    if len(features_by_row) < max(1, len(rows) / 2):
        return None
    return FeatureMatrix(np.array([*features_by_row]), np.stack([*features_by_row.values()]), name, LINEAR)


def _files_by_name(folder: Path) -> dict[str, Path]:
    """The files of a folder by their path below it and by their name, each with its suffix and without."""
    files: dict[str, Path] = {}
    for path in islice(folder.rglob("*.*"), _MOST_FILES):
        below = path.relative_to(folder)
        for key in (below.as_posix(), below.with_suffix("").as_posix(), path.name, path.stem):
            files.setdefault(key, path)
    return files


def _pixels(path: Path, mode: str) -> Any:
    """The pixels of an image from 0 to 1; None where it cannot be read."""
    import numpy as np
    from PIL import Image

    try:
        with Image.open(path) as image:
            if image.width * image.height > _MOST_FEATURE_PIXELS:
                return None
            image.draft(mode, (4 * SIDE, 4 * SIDE))
            small = image.convert(mode).resize((SIDE, SIDE), Image.Resampling.BOX)
    except Exception:  # noqa: BLE001 - decoders fail in many ways, and one image is not missed
        return None
    return np.asarray(small, dtype=np.float32).ravel() / 255


def _loudness(path: Path) -> Any:
    """The mean and the deviation of the logarithm of the power [2 * bands]; None where it cannot be read."""
    import numpy as np
    from scipy.io import wavfile  # type: ignore[import-untyped]  # scipy brings no types

    try:
        _, samples = wavfile.read(path, mmap=True)
        samples = np.asarray(samples[:_MOST_SAMPLES], dtype=np.float32)
    except Exception:  # noqa: BLE001 - it is no WAV file, or a broken one, and one sound is not missed
        return None
    samples = samples.reshape(len(samples), -1).mean(axis=1)
    samples = np.pad(samples, (0, -len(samples) % _FRAME + (_FRAME if not len(samples) else 0)))
    power = np.abs(np.fft.rfft(samples.reshape(-1, _FRAME), axis=1)) ** 2
    edges = np.unique(np.geomspace(1, power.shape[1] - 1, _BANDS + 1).astype(int))[:-1]
    loudness = np.log(np.add.reduceat(power, edges, axis=1) + 1)
    return np.concatenate([loudness.mean(axis=0), loudness.std(axis=0)])


# Predictions as a metric wants them, without anything tuned on the rows that are judged; the best constant.


_TWO_CLASSES = 2
_MOST_CANDIDATES = 20
_MOST_JUDGED = 5_000  # rows by which a constant is chosen
_MOST_ANSWER_PIXELS = 20_000_000


def apply_decision(predictions: Any, truth: Any, held_out: HeldOut) -> Any:
    """Predictions as the metric wants them.

    Args:
        predictions: Probabilities [rows, classes] or [rows, labels], or numbers [rows, targets].
        truth: The true answers of the training rows: as often as these have a class, it is predicted.
        held_out: What is predicted, and by which decision.
    """
    import numpy as np

    decision = held_out.decision
    if decision == "thresholds" or (decision == "threshold" and held_out.class_count <= _TWO_CLASSES):
        positive = predictions if decision == "thresholds" else predictions[:, 1:]
        counts = np.round((truth > 0).reshape(len(truth), -1).mean(axis=0) * len(positive))
        likeliest_first = np.argsort(np.argsort(-positive, axis=0, kind="stable"), axis=0)
        is_positive = (likeliest_first < counts).astype("int32")
        return is_positive if decision == "thresholds" else is_positive[:, 0]
    if decision == "grades":
        expected = predictions @ np.arange(predictions.shape[1])
        shares = np.bincount(truth, minlength=predictions.shape[1]).cumsum()[:-1] / len(truth)
        place = np.argsort(np.argsort(expected, kind="stable"))
        return np.searchsorted(np.round(shares * len(expected)), place, "right")
    if decision in ("argmax", "threshold"):
        return predictions.argmax(axis=1)
    if decision == "rounding":
        columns = zip(predictions.T, truth.T, strict=True)
        return np.stack([_nearest(column, np.unique(true)) for column, true in columns], axis=1)
    return predictions


def best_constant(truth: Any, held_out: HeldOut) -> Any:
    """The answer [1, …], as the metric wants it, that is best for the training rows whatever the example."""
    import numpy as np

    most = max(50, min(_MOST_JUDGED, _MOST_ANSWER_PIXELS // max(1, truth[0].size)))
    truth_sample = truth[:: 1 + len(truth) // most]
    score, sign = function_of(held_out.task.metric), 1 if parse_metric(held_out.task.metric)[0].higher_is_better else -1

    def goodness(candidate: Any) -> float:
        return sign * score(truth_sample, np.repeat(candidate, len(truth_sample), axis=0))

    return max(_constants(truth, held_out), key=goodness)


def _constants(truth: Any, held_out: HeldOut) -> Iterator[Any]:
    import numpy as np

    kind, takes_labels = held_out.task.target_kind, held_out.decision != "none"
    if kind is TargetKind.CLASS:
        counts = np.bincount(truth, minlength=held_out.class_count)
        if takes_labels:
            yield from (
                [answer] * np.ones(1, dtype=int) for answer in np.argsort(-counts, kind="stable")[:_MOST_CANDIDATES]
            )
        else:
            yield counts[None] / counts.sum()
            yield np.full((1, len(counts)), 1 / len(counts))
    elif kind is TargetKind.LABELS:
        shares = truth.mean(axis=0, keepdims=True)
        if takes_labels:
            levels = np.quantile(shares, np.linspace(0, 1, _MOST_CANDIDATES))
            yield from ((shares >= level).astype("int32") for level in [*levels, 2.0])
        else:
            yield shares
    elif kind is TargetKind.MASK:
        yield from (np.full_like(truth[:1], value) for value in (0, 1))
    else:
        axis = None if kind is TargetKind.IMAGE else 0
        levels = [truth.mean(axis=axis, dtype="float64"), np.median(truth, axis=axis)]
        if truth.min() >= 0:
            levels.append(np.expm1(np.log1p(truth.astype("float64")).mean(axis=axis)))
        for level in levels:
            answer = np.broadcast_to(level, truth[:1].shape)
            yield apply_decision(answer, truth, held_out) if takes_labels else answer


def _nearest(numbers: Any, values: Any) -> Any:
    import numpy as np

    return values[np.searchsorted((values[:-1] + values[1:]) / 2, numbers, "right")]


# Answers that are copied from a column of the input: what they score where the trivial answer is to change nothing.


_MOST_COLUMNS = 100
_MOST_COPIED_CELLS = 20_000_000  # of one-hot answers
_FEWEST_RIGHT = 0.01  # of the answers, for a column to be one that says classes


def copied_answers(held_out: HeldOut, data: Path) -> Iterator[tuple[str, Any, Any]]:
    """Yield columns, held-out rows, and the answers there [rows, …] if the cell of a row is its answer.

    Nothing is yielded for several targets, lists of labels, files, and columns that test examples do not have.
    """
    import numpy as np

    task = held_out.task
    is_class = task.target_kind is TargetKind.CLASS
    is_one = len(task.targets) == 1 and (is_class or task.target_kind is TargetKind.NUMBER)
    if not is_one or task.details.get("prediction_per") == "group" or not task.test_table:
        return
    table, target = training_rows(task, data, task.id_column), task.targets[0]
    if table is None or target not in table:
        return
    places = held_out.places_in(table[task.id_column])
    rows = held_out.rows[places[held_out.rows] >= 0]
    if not len(rows):
        return
    examples = np.flatnonzero(places >= 0)
    labels = table[target].to_numpy()[places[examples]]
    class_of = dict(zip(labels, held_out.truth[examples].tolist(), strict=True)) if is_class else {}
    no_inputs = {task.id_column, target}
    inputs = [name for name in table.columns if name in _test_columns(held_out, data) and name not in no_inputs]
    decimal = str(task.details.get("decimal", "."))
    for name in inputs[:_MOST_COLUMNS]:
        cells = table[name].iloc[places[rows]]
        if not is_class:
            numbers = as_numbers(cells, decimal).to_numpy(dtype="float64")
            if np.isfinite(numbers).all():
                yield name, rows, numbers[:, None]
            continue
        answers = cells.map(class_of).fillna(held_out.class_count).to_numpy(dtype="int64")
        if (answers == held_out.truth[rows]).mean() < _FEWEST_RIGHT:
            continue
        if held_out.decision != "none":
            yield name, rows, answers
        elif len(rows) * held_out.class_count <= _MOST_COPIED_CELLS:
            chances = np.eye(held_out.class_count + 1)[answers][:, :-1]
            chances[answers == held_out.class_count] = 1 / held_out.class_count  # a cell that is no class says nothing
            yield name, rows, chances


def _test_columns(held_out: HeldOut, data: Path) -> frozenset[str]:
    """The header of the test table; empty where that cannot be read."""
    details = held_out.task.details
    options = {name: str(details[name]) for name in ("separator", "encoding") if name in details}
    try:
        _, header = next(table_rows(resolve_inside(data / held_out.task.test_table, root=data), **options))
    except (OSError, UnreadableTableError, StopIteration):
        return frozenset()
    return frozenset(header)


# scikit-learn's models, nearly with their defaults: for tables, for texts, for pixels and sounds.


_MOST_BOOSTED = 20  # classes, labels or targets: each is a model of its own
_MOST_WORDS = 50_000
_TREES, _FEW_TREES = 100, 20  # at most, for each class, label or target
_FEWEST_TO_STOP = 10  # rows of a class, of which the tenth that says when to stop has one


def fit_predict(features: FeatureMatrix, inside: Any, validation_rows: Any, held_out: HeldOut) -> Any:
    """What a model that saw the rows `inside` of the features predicts for others.

    Returns:
        Probabilities [rows, classes] or [rows, labels], or numbers [rows, targets].
    """
    import numpy as np

    truth, kind = held_out.truth[features.rows[inside]], held_out.task.target_kind
    targets = truth > 0 if kind is TargetKind.LABELS else truth  # labels may be shares
    model = _model(features, targets, held_out).fit(features.values[inside], targets)
    inputs = features.values[validation_rows]
    if kind is TargetKind.NUMBER:
        return model.predict(inputs)
    probabilities = model.predict_proba(inputs)
    if kind is TargetKind.LABELS:
        return probabilities[:, -truth.shape[1] :]  # of a single label the first column says that it is not there
    chances = np.zeros((len(validation_rows), held_out.class_count))
    chances[:, model.classes_] = probabilities
    return chances


def _model(features: FeatureMatrix, targets: Any, held_out: HeldOut) -> Any:
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
        output_count = held_out.class_count if task.target_kind is TargetKind.CLASS else held_out.truth.shape[1]
        can_stop = is_number or _rarest(targets) >= _FEWEST_TO_STOP
        trees = (
            _TREES if can_stop and output_count <= _MOST_BOOSTED else _FEW_TREES
        )  # all of them would overfit small data
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


def _rarest(targets: Any) -> int:
    """The number of rows that have the rarest class, or the rarer side of any label."""
    import numpy as np

    columns = targets.reshape(len(targets), -1).T
    return min(int(np.unique(column, return_counts=True)[1].min()) for column in columns)


# The scores of a constant and of a plain model, on the rows that a training held out.


CONSTANT = "the best constant"
COPY = "a copy of the column "
_READERS = {
    Medium.IMAGE: read_images,
    Medium.AUDIO: read_sounds,
    Medium.ROW: read_columns,
    Medium.SEQUENCE: read_columns,
    Medium.TEXT: read_texts,
}


@dataclass(frozen=True)
class Baseline:
    """The score of a plain way to predict; `rows` is how many it was judged by."""

    name: str
    score: float
    rows: int


def baselines(task: Task, data: Path, predictions: Path) -> Iterator[Baseline]:
    """Yields the score of the best constant, of the best input column to copy, and of a plain model where there is one.

    A copy counts where it is better than the constant.

    Args:
        task: What is predicted.
        data: The competition's files, as Kaggle mounts them.
        predictions: The `oof.npz` of a training.

    Raises:
        OSError, ValueError, KeyError: The files are not what a training read and wrote.
    """
    import numpy as np

    held_out = read_held_out(predictions, task)
    truth, score = held_out.truth[held_out.rows], function_of(task.metric)
    constant = np.repeat(best_constant(truth, held_out), len(truth), axis=0)
    yield Baseline(CONSTANT, float(score(truth, constant)), len(truth))
    copy = _best_copy(held_out, data, constant)
    if copy is not None:
        yield copy
    if task.target_kind in (TargetKind.MASK, TargetKind.IMAGE):
        return  # no plain model makes sense of them
    features = _READERS[families()[task.family].medium](held_out, data)
    if features is None:
        return
    answers = _answers(features, held_out)
    rows = sorted(answers)
    if rows:
        model_score = float(score(held_out.truth[rows], np.stack([answers[row] for row in rows])))
        yield Baseline(f"{features.model} on {features.name}", model_score, len(rows))


def _best_copy(held_out: HeldOut, data: Path, constant: Any) -> Baseline | None:
    """The best score of copying an input column, if one is better than the constant on the same rows."""
    import numpy as np

    score, higher = function_of(held_out.task.metric), parse_metric(held_out.task.metric)[0].higher_is_better
    copies: list[tuple[float, Baseline]] = []
    for name, rows, answers in copied_answers(held_out, data):
        truth = held_out.truth[rows]
        copy_score, usual = (float(score(truth, predictions)) for predictions in (answers, constant[: len(rows)]))
        gain = copy_score - usual if higher else usual - copy_score
        if np.isfinite(gain) and gain > 0:
            copies.append((gain, Baseline(f"{COPY}{name}", copy_score, len(rows))))
    return max(copies, key=lambda pair: pair[0])[1] if copies else None


def _answers(features: FeatureMatrix, held_out: HeldOut) -> dict[int, Any]:
    """The answer to each held-out example, by its position, of models that have not seen its fold."""
    import numpy as np

    rows, answers = features.rows, dict[int, Any]()
    is_judged = np.isin(rows, held_out.rows)
    for fold in np.unique(held_out.fold[held_out.rows]):
        is_of_fold = held_out.fold[rows] == fold
        validation_rows, inside = np.flatnonzero(is_judged & is_of_fold), np.flatnonzero(~is_of_fold)
        if len(validation_rows) and len(inside):
            fold_answers = apply_decision(
                fit_predict(features, inside, validation_rows, held_out), held_out.truth[rows[inside]], held_out
            )
            answers |= dict(zip(rows[validation_rows].tolist(), fold_answers, strict=True))
    return answers
