"""Small competitions in the layouts that Kaggle has, each with what should be made of it."""

import csv
import io
import json
import random
import struct
import wave
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

Row = Sequence[object]


@dataclass(frozen=True)
class Layout:
    """One competition.

    Attributes:
        name: For the list of tests.
        write: Fills an empty folder.
        task: What fields of the task have to be.
        details: What details of the task have to be.
        warns: Words that a warning has to have, for what cannot be known.
        metric: What Kaggle's API calls the metric.
    """

    name: str
    write: Callable[[Path], None]
    task: Mapping[str, object]
    details: Mapping[str, object] = field(default_factory=dict)
    warns: tuple[str, ...] = ()
    metric: str = ""


LAYOUTS: list[Layout] = []
AMBIGUOUS: list[Layout] = []


def layout(
    *,
    details: Mapping[str, object] | None = None,
    warns: tuple[str, ...] = (),
    metric: str = "",
    **task: object,
) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    """Adds a function that writes a competition to the table of layouts, among the ambiguous ones if it warns."""

    def add(write: Callable[[Path], None]) -> Callable[[Path], None]:
        table = AMBIGUOUS if warns else LAYOUTS
        table.append(Layout(write.__name__, write, task, details or {}, warns, metric))
        return write

    return add


# Files


def table(
    path: Path, header: Sequence[str], rows: Iterable[Row], *, separator: str = ",", encoding: str = "utf-8"
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(header)
        writer.writerows(rows)


def images(folder: Path, names: Iterable[str], *, size: tuple[int, int] = (48, 40), mode: str = "RGB") -> None:
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shade = number * 37 % 256
        Image.new(mode, size, shade if mode in ("L", "P") else (shade,) * len(mode)).save(path)


def sounds(folder: Path, names: Iterable[str], *, rate: int = 8_000, seconds: float = 0.25) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(bytes(2 * int(rate * seconds)))


def zipped(path: Path, members: Mapping[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def picture(*, size: tuple[int, int] = (48, 40), suffix: str = "png") -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size, (9, 99, 199)).save(stream, suffix)
    return stream.getvalue()


def records(path: Path, examples: Iterable[Mapping[str, bytes | int]]) -> None:
    """TFRecord files: each record has its length, two checksums that nobody needs here, and a protocol buffer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for example in examples:
            content = _message(1, b"".join(_feature(name, value) for name, value in example.items()))
            file.write(_with_checksum(struct.pack("<Q", len(content))) + _with_checksum(content))


def _feature(name: str, value: bytes | int) -> bytes:
    kind = _message(1, _message(1, value)) if isinstance(value, bytes) else _message(3, _message(1, _varint(value)))
    return _message(1, _message(1, name.encode()) + _message(2, kind))


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes((low | 0x80,)) + _varint(rest) if rest else bytes((low,))


def _with_checksum(content: bytes) -> bytes:
    checksum = _crc32c(content)
    masked = ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return content + struct.pack("<I", masked)


def _crc32c(content: bytes) -> int:
    checksum = 0xFFFFFFFF
    for byte in content:
        checksum ^= byte
        for _ in range(8):
            checksum = checksum >> 1 ^ (0x82F63B78 if checksum & 1 else 0)
    return checksum ^ 0xFFFFFFFF


def some(seed: int = 1) -> random.Random:
    return random.Random(seed)  # noqa: S311 (made-up data)


def keys(count: int, *, seed: int = 1) -> list[str]:
    """Names as many competitions give them to their files."""
    source = some(seed)
    return [f"{source.getrandbits(48):012x}" for _ in range(count)]


def sentence(source: random.Random, words: int) -> str:
    known = ["the", "storm", "took", "all", "roofs", "of", "our", "small", "town", "while", "people", "slept", "well"]
    return " ".join(source.choice(known) for _ in range(words))


# Tables


@layout(
    metric="Categorization Accuracy",
    family="tabular",
    id_column="PassengerId",
    targets=("Survived",),
    target_kind="class",
    submission="label",
    metric_is="accuracy",
    train_table="train.csv",
    test_table="test.csv",
    sample_submission="gender_submission.csv",
    details={"drop_columns": ["Name"], "group_column": "", "time_column": ""},
)
def titanic(folder: Path) -> None:
    source = some()

    def passenger(number: int) -> list[object]:
        age = "" if source.random() < 0.2 else round(source.uniform(1, 80), 1)
        name = f"Family{number}, Mr. Owen{number} Harris"
        ticket = f"PC {source.randrange(300)}"
        return [source.choice("123"), name, source.choice(["male", "female"]), age, source.randrange(4), ticket]

    features = ["Pclass", "Name", "Sex", "Age", "SibSp", "Ticket"]
    train = [[number, source.randrange(2), *passenger(number)] for number in range(1, 90)]
    table(folder / "train.csv", ["PassengerId", "Survived", *features], train)
    table(folder / "test.csv", ["PassengerId", *features], [[n, *passenger(n)] for n in range(90, 130)])
    table(folder / "gender_submission.csv", ["PassengerId", "Survived"], [[n, n % 2] for n in range(90, 130)])


@layout(
    metric="Root Mean Squared Error",
    family="tabular",
    id_column="Id",
    targets=("SalePrice",),
    target_kind="number",
    submission="numbers",
    metric_is="rmse",
    sample_submission="sample_submission.csv",
    details={"category_columns": ["MSSubClass"], "drop_columns": ["Utilities"]},
)
def house_prices(folder: Path) -> None:
    source = some()

    def house() -> list[object]:
        return [source.choice([20, 30, 60]), source.randrange(5_000, 20_000), "AllPub", source.choice(["NA", "Pave"])]

    features = ["MSSubClass", "LotArea", "Utilities", "Alley"]
    train = [[number, *house(), source.randrange(100_000, 500_000)] for number in range(1, 101)]
    table(folder / "train.csv", ["Id", *features, "SalePrice"], train)
    table(folder / "test.csv", ["Id", *features], [[number, *house()] for number in range(101, 150)])
    prices = [[number, round(source.uniform(150_000, 200_000), 6)] for number in range(101, 150)]
    table(folder / "sample_submission.csv", ["Id", "SalePrice"], prices)
    (folder / "data_description.txt").write_text("MSSubClass: Identifies the type of dwelling.\n\n  20 1-STORY\n")


@layout(
    metric="Root Mean Squared Logarithmic Error",
    family="tabular",
    id_column="id",
    targets=("sales",),
    target_kind="number",
    train_table="train.csv",
    test_table="test.csv",
    metric_is="rmsle",
    details={"time_column": "date", "category_columns": ["store_nbr"], "group_column": ""},
)
def store_sales(folder: Path) -> None:
    source = some()
    families = ["AUTOMOTIVE", "BABY CARE", "BEAUTY"]
    rows = [
        [f"2017-{month:02d}-{day:02d}", store, family, source.choice([0, round(source.uniform(0, 99), 3)]), 0]
        for month in (7, 8)
        for day in range(1, 11)
        for store in (1, 10, 11)
        for family in families
    ]
    numbered = [[number, *row] for number, row in enumerate(rows)]
    train, test = numbered[:150], numbered[150:]
    table(folder / "train.csv", ["id", "date", "store_nbr", "family", "sales", "onpromotion"], train)
    unlabelled = [[*row[:4], row[5]] for row in test]
    table(folder / "test.csv", ["id", "date", "store_nbr", "family", "onpromotion"], unlabelled)
    table(folder / "sample_submission.csv", ["id", "sales"], [[row[0], "0.0"] for row in test])
    table(
        folder / "stores.csv",
        ["store_nbr", "city", "cluster"],
        [[1, "Quito", 13], [10, "Quito", 15], [11, "Cayambe", 6]],
    )
    table(folder / "oil.csv", ["date", "dcoilwtico"], [[f"2017-08-{day:02d}", 48.2] for day in range(1, 30)])
    table(folder / "transactions.csv", ["date", "store_nbr", "transactions"], [[row[1], row[2], 77] for row in train])


@layout(
    metric="Area Under Receiver Operating Characteristic Curve",
    family="tabular",
    id_column="SK_ID_CURR",
    targets=("TARGET",),
    target_kind="class",
    submission="probability",
    metric_is="auc",
    train_table="application_train.csv",
    test_table="application_test.csv",
)
def several_tables_of_which_one_is_the_main_one(folder: Path) -> None:
    source = some()
    header = ["SK_ID_CURR", "AMT_CREDIT", "NAME_TYPE"]
    rows = [[100_000 + number, source.randrange(9_999), source.choice("ab")] for number in range(120)]
    labelled = [[row[0], source.randrange(2), *row[1:]] for row in rows[:80]]
    table(folder / "application_train.csv", [header[0], "TARGET", *header[1:]], labelled)
    table(folder / "application_test.csv", header, rows[80:])
    table(
        folder / "bureau.csv",
        ["SK_ID_CURR", "SK_ID_BUREAU", "DAYS"],
        [[row[0], n, n % 7] for n, row in enumerate(rows * 3)],
    )
    table(folder / "sample_submission.csv", ["SK_ID_CURR", "TARGET"], [[row[0], 0.5] for row in rows[80:]])


@layout(
    family="tabular",
    metric="Multiclass Loss",
    id_column="id",
    targets=("Status",),
    target_kind="class",
    submission="class_columns",
    metric_is="log_loss",
)
def classes_as_columns_that_have_a_prefix(folder: Path) -> None:
    source = some()
    train = [[n, source.randrange(999), source.choice("MF"), source.choice(["C", "CL", "D"])] for n in range(60)]
    table(folder / "train.csv", ["id", "N_Days", "Sex", "Status"], train)
    table(folder / "test.csv", ["id", "N_Days", "Sex"], [[n, source.randrange(999), "M"] for n in range(60, 90)])
    sample = [[n, 0.6, 0.05, 0.35] for n in range(60, 90)]
    table(folder / "sample_submission.csv", ["id", "Status_C", "Status_CL", "Status_D"], sample)


@layout(
    family="tabular",
    metric="Mean Columnwise Root Mean Squared Error",
    id_column="sig_id",
    targets=("tensile", "hardness"),
    target_kind="number",
    submission="numbers",
    train_table="X_train.csv",
    labels_table="y_train.csv",
    test_table="X_test.csv",
    details={"separator": ";"},
)
def labels_in_a_table_of_their_own(folder: Path) -> None:
    source = some()
    rows = [[f"s{n:03d}", source.random(), source.random(), source.choice("xyz")] for n in range(90)]
    header = ["sig_id", "carbon", "iron", "plant"]
    table(folder / "X_train.csv", header, rows[:60], separator=";")
    table(folder / "X_test.csv", header, rows[60:], separator=";")
    labels = [[row[0], source.gauss(50, 9), source.gauss(5, 1)] for row in rows[:60]]
    table(folder / "y_train.csv", ["sig_id", "tensile", "hardness"], labels, separator=";")
    table(
        folder / "sample_submission.csv", ["sig_id", "tensile", "hardness"], [[row[0], 0.0, 0.0] for row in rows[60:]]
    )


@layout(
    family="text",
    metric="Categorization Accuracy",
    id_column="id",
    targets=("cuisine",),
    target_kind="class",
    submission="label",
    train_table="train.json",
    test_table="test.json",
    details={"text_columns": ["ingredients"]},
)
def json_with_lists(folder: Path) -> None:
    source = some()
    pantry = ["romaine lettuce", "black olives", "plain flour", "ground pepper", "salt", "thyme", "soy sauce", "rice"]
    dishes = [{"id": n, "ingredients": source.sample(pantry, 5)} for n in range(60)]
    cuisines = [{**dish, "cuisine": source.choice(["greek", "thai", "indian"])} for dish in dishes[:40]]
    (folder / "train.json").write_text(json.dumps(cuisines))
    (folder / "test.json").write_text(json.dumps(dishes[40:]))
    table(folder / "sample_submission.csv", ["id", "cuisine"], [[dish["id"], "italian"] for dish in dishes[40:]])


@layout(
    family="tabular",
    metric="AUC",
    targets=("meta.returned",),
    id_column="order",
    target_kind="class",
    submission="probability",
    train_table="training.jsonl",
    test_table="testing.jsonl",
    sample_submission="sampleSubmission.csv",
)
def json_lines_with_nested_fields(folder: Path) -> None:
    source = some()

    def order(number: int, *, labelled: bool) -> str:
        meta = {"price": source.randrange(99), **({"returned": source.randrange(2)} if labelled else {})}
        return json.dumps({"order": f"o{number}", "items": source.randrange(9), "meta": meta})

    (folder / "training.jsonl").write_text("\n".join(order(n, labelled=True) for n in range(50)))
    (folder / "testing.jsonl").write_text("\n".join(order(n, labelled=False) for n in range(50, 80)))
    table(folder / "sampleSubmission.csv", ["order", "returned"], [[f"o{n}", 0.0] for n in range(50, 80)])


@layout(
    family="tabular",
    metric="Mean Absolute Error",
    id_column="id",
    targets=("demand",),
    target_kind="number",
    train_table="data_train.parquet",
    test_table="data_test.parquet",
    details={"drop_columns": ["weather_later"]},
)
def parquet_whose_columns_differ(folder: Path) -> None:
    import pandas

    source = some()
    rows = 80
    frame = pandas.DataFrame(
        {
            "id": range(rows),
            "load": [source.random() for _ in range(rows)],
            "hour": [n % 24 for n in range(rows)],
            "weather_later": [source.random() for _ in range(rows)],
            "demand": [source.uniform(10, 99) for _ in range(rows)],
        }
    )
    frame[:50].to_parquet(folder / "data_train.parquet")
    frame[50:].drop(columns=["demand", "weather_later"]).to_parquet(folder / "data_test.parquet")
    table(folder / "sample_submission.csv", ["id", "demand"], [[n, 0.0] for n in range(50, rows)])


@layout(
    family="tabular",
    metric="Root Mean Squared Error",
    id_column="id",
    targets=("trip_duration",),
    target_kind="number",
    train_table="train.zip/train.csv",
    test_table="test.zip/test.csv",
    sample_submission="sample_submission.zip/sample_submission.csv",
    details={"group_column": ""},
)
def tables_and_sample_in_zips(folder: Path) -> None:
    source = some()

    def text(header: str, rows: Iterable[Row]) -> bytes:
        return "\n".join([header, *(",".join(map(str, row)) for row in rows)]).encode()

    trips = [[f"id{n:07d}", f"2016-0{n % 6 + 1}-14 17:24:55", round(-73.9 + source.random() / 9, 5)] for n in range(90)]
    train = text(
        "id,pickup_datetime,pickup_longitude,trip_duration", ([*t, source.randrange(99, 9_999)] for t in trips[:60])
    )
    zipped(folder / "train.zip", {"train.csv": train})
    zipped(folder / "test.zip", {"test.csv": text("id,pickup_datetime,pickup_longitude", trips[60:])})
    zipped(
        folder / "sample_submission.zip",
        {"sample_submission.csv": text("id,trip_duration", ([t[0], 959] for t in trips[60:]))},
    )


@layout(
    family="tabular",
    metric="Quadratic Weighted Kappa",
    id_column="Id",
    targets=("quality",),
    target_kind="class",
    submission="label",
    metric_is="quadratic_weighted_kappa",
    train_table="train.tsv",
    details={"separator": "\t", "encoding": "cp1252"},
)
def whole_grades_in_another_encoding(folder: Path) -> None:
    source = some()
    wines = [[n, round(source.uniform(2, 4), 2), source.choice(["rosé", "rouge"])] for n in range(90)]
    labelled = [[*wine, source.randrange(3, 9)] for wine in wines[:60]]
    table(folder / "train.tsv", ["Id", "pH", "colour", "quality"], labelled, separator="\t", encoding="cp1252")
    table(folder / "test.tsv", ["Id", "pH", "colour"], wines[60:], separator="\t", encoding="cp1252")
    table(folder / "sample_submission.csv", ["Id", "quality"], [[wine[0], 5] for wine in wines[60:]])


# Sequences


@layout(
    metric="Mean Absolute Error",
    family="sequence",
    id_column="id",
    targets=("pressure",),
    target_kind="number",
    submission="numbers",
    metric_is="mae",
    details={"group_column": "breath_id", "order_column": "time_step", "prediction_per": "row"},
)
def ventilator_pressure(folder: Path) -> None:
    source = some()
    breaths = [
        [
            breath,
            source.choice([5, 20, 50]),
            round(step * 0.0336 + source.random() / 999, 6),
            round(source.random() * 9, 4),
        ]
        for breath in sorted(source.sample(range(1, 500), 14))
        for step in range(20)
    ]
    rows = [[number, *row] for number, row in enumerate(breaths, start=1)]
    header = ["id", "breath_id", "R", "time_step", "u_in"]
    table(folder / "train.csv", [*header, "pressure"], [[*row, round(source.uniform(4, 30), 4)] for row in rows[:200]])
    table(folder / "test.csv", header, rows[200:])
    table(folder / "sample_submission.csv", ["id", "pressure"], [[row[0], 0] for row in rows[200:]])


@layout(
    metric="Categorization Accuracy",
    family="sequence",
    id_column="series_id",
    targets=("surface",),
    target_kind="class",
    submission="label",
    train_table="X_train.csv",
    labels_table="y_train.csv",
    test_table="X_test.csv",
    details={"group_column": "series_id", "order_column": "measurement_number", "prediction_per": "group"},
)
def one_prediction_for_each_series(folder: Path) -> None:
    source = some()
    header = ["row_id", "series_id", "measurement_number", "velocity", "acceleration"]
    for part, series in (("train", 16), ("test", 8)):
        rows = [
            [f"{one}_{step}", one, step, source.gauss(0, 1), source.gauss(0, 1)]
            for one in range(series)
            for step in range(12)
        ]
        table(folder / f"X_{part}.csv", header, rows)
    surfaces = [[one, one // 2, source.choice(["carpet", "tiled", "wood"])] for one in range(16)]
    table(folder / "y_train.csv", ["series_id", "group_id", "surface"], surfaces)
    table(folder / "sample_submission.csv", ["series_id", "surface"], [[one, "concrete"] for one in range(8)])


# Text


@layout(
    metric="F1 score",
    family="text",
    id_column="id",
    targets=("target",),
    target_kind="class",
    submission="label",
    metric_is="f1",
    details={"text_columns": ["text"], "number_columns": [], "sequence_length": 128},
)
def nlp_getting_started(folder: Path) -> None:
    source = some()
    tweets = [
        [
            n,
            source.choice(["", "ablaze", "flood"]),
            source.choice(["", "Berlin", "New York"]),
            f"{n} {sentence(source, 15)}",
        ]
        for n in range(90)
    ]
    header = ["id", "keyword", "location", "text"]
    table(folder / "train.csv", [*header, "target"], [[*tweet, source.randrange(2)] for tweet in tweets[:60]])
    table(folder / "test.csv", header, tweets[60:])
    table(folder / "sample_submission.csv", ["id", "target"], [[tweet[0], 0] for tweet in tweets[60:]])


@layout(
    metric="Categorization Accuracy",
    family="text",
    id_column="id",
    targets=("label",),
    target_kind="class",
    submission="label",
    details={"text_columns": ["premise", "hypothesis"], "sequence_length": 128},
)
def contradictory_my_dear_watson(folder: Path) -> None:
    source = some()
    header = ["id", "premise", "hypothesis", "lang_abv", "language"]
    pairs = [[key, sentence(source, 19), sentence(source, 10), "en", "English"] for key in keys(80)]
    pairs[7][1:] = [
        "これは小さな町の屋根についての長い文章であり誰も聞いていなかった",
        "誰もその嵐が来るのを聞かなかったと言われている",
        "ja",
        "Japanese",
    ]
    table(folder / "train.csv", [*header, "label"], [[*pair, source.randrange(3)] for pair in pairs[:50]])
    table(folder / "test.csv", header, pairs[50:])
    table(folder / "sample_submission.csv", ["id", "prediction"], [[pair[0], 7] for pair in pairs[50:]])


_TOXIC = ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"]


@layout(
    metric="Mean Columnwise Area Under Receiver Operating Characteristic Curve",
    family="text",
    id_column="id",
    targets=tuple(_TOXIC),
    target_kind="labels",
    submission="numbers",
    metric_is="auc_mean_columns",
    details={"text_columns": ["comment_text"], "sequence_length": 512},
)
def jigsaw_toxic_comments(folder: Path) -> None:
    source = some()
    comments = [[key, sentence(source, source.randrange(60, 400))] for key in keys(80)]
    labelled = [[*comment, *(int(source.random() < 0.3) for _ in _TOXIC)] for comment in comments[:50]]
    table(folder / "train.csv", ["id", "comment_text", *_TOXIC], labelled)
    table(folder / "test.csv", ["id", "comment_text"], comments[50:])
    table(folder / "test_labels.csv", ["id", *_TOXIC], [[comment[0], *[-1] * 6] for comment in comments[50:]])
    table(folder / "sample_submission.csv", ["id", *_TOXIC], [[comment[0], *[0.5] * 6] for comment in comments[50:]])


@layout(
    metric="MCRMSE",
    family="text",
    id_column="text_id",
    targets=("cohesion", "syntax"),
    target_kind="number",
    submission="numbers",
    metric_is="mcrmse",
    details={"text_columns": ["full_text"]},
)
def essays_with_several_scores(folder: Path) -> None:
    source = some()
    essays = [[key, sentence(source, 100)] for key in keys(60)]
    scores = [[*essay, source.randrange(2, 11) / 2, source.randrange(2, 11) / 2] for essay in essays[:50]]
    table(folder / "train.csv", ["text_id", "full_text", "cohesion", "syntax"], scores)
    table(folder / "test.csv", ["text_id", "full_text"], essays[50:])
    table(folder / "sample_submission.csv", ["text_id", "cohesion", "syntax"], [[e[0], 3.0, 3.0] for e in essays[50:]])


@layout(
    metric="Root Mean Squared Error",
    family="text",
    id_column="review_id",
    targets=("rating",),
    target_kind="number",
    details={"text_columns": ["review"], "number_columns": ["helpful", "price"]},
)
def text_beside_numbers(folder: Path) -> None:
    source = some()
    reviews = [[n, sentence(source, 30), source.randrange(50), round(source.uniform(1, 99), 2)] for n in range(90)]
    header = ["review_id", "review", "helpful", "price"]
    table(folder / "train.csv", [*header, "rating"], [[*row, round(source.uniform(1, 5), 2)] for row in reviews[:60]])
    table(folder / "test.csv", header, reviews[60:])
    table(folder / "sample_submission.csv", ["review_id", "rating"], [[row[0], 3.1] for row in reviews[60:]])


# Images


@layout(
    metric="Categorization Accuracy",
    family="image_classification",
    id_column="ImageId",
    targets=("label",),
    target_kind="class",
    submission="label",
    train_table="train.csv",
    test_table="test.csv",
    details={"labels_from": "pixels", "image_size": 28, "channels": 1, "flip": False, "train_folder": ""},
)
def digit_recognizer(folder: Path) -> None:
    source = some()
    pixels = [f"pixel{number}" for number in range(784)]

    def scan() -> list[int]:
        return [source.choice([0, 0, 0, 255, 128]) for _ in pixels]

    table(folder / "train.csv", ["label", *pixels], [[n % 10, *scan()] for n in range(40)])
    table(folder / "test.csv", pixels, [scan() for _ in range(20)])
    table(folder / "sample_submission.csv", ["ImageId", "Label"], [[n, 0] for n in range(1, 21)])


@layout(
    metric="Macro F1",
    family="image_classification",
    id_column="id",
    targets=("class",),
    target_kind="class",
    submission="label",
    metric_is="f1_macro",
    train_table="",
    test_table="",
    details={
        "labels_from": "records",
        "image_column": "image",
        "train_folder": "tfrecords-jpeg-64x64/train",
        "test_folder": "tfrecords-jpeg-64x64/test",
        "image_size": 64,
    },
)
def tpu_getting_started(folder: Path) -> None:
    for size in (64, 512):
        place = folder / f"tfrecords-jpeg-{size}x{size}"
        for part, count in (("train", 12), ("val", 4), ("test", 6)):
            image = picture(size=(size, size), suffix="jpeg")
            flowers = [
                {"id": f"{part}{n}".encode(), "image": image, **({"class": n % 5} if part != "test" else {})}
                for n in range(count)
            ]
            records(place / part / f"00-{size}x{size}-{count}.tfrec", flowers)
    table(folder / "sample_submission.csv", ["id", "label"], [[f"test{n}", 0] for n in range(6)])


@layout(
    metric="Log Loss",
    family="image_classification",
    id_column="id",
    targets=("label",),
    target_kind="class",
    submission="probability",
    metric_is="log_loss",
    train_table="",
    details={
        "labels_from": "names",
        "train_folder": "train",
        "test_folder": "test",
        "image_suffix": ".jpg",
        "image_size": 32,
        "flip": True,
    },
)
def dogs_vs_cats_redux(folder: Path) -> None:
    images(folder / "train", [f"{animal}.{n}.jpg" for animal in ("cat", "dog") for n in range(20)])
    images(folder / "test", [f"{n}.jpg" for n in range(1, 31)])
    table(folder / "sample_submission.csv", ["id", "label"], [[n, 0.5] for n in range(1, 31)])


@layout(
    metric="Mean Columnwise Area Under Receiver Operating Characteristic Curve",
    family="image_classification",
    id_column="image_id",
    targets=("healthy", "multiple_diseases", "rust", "scab"),
    target_kind="labels",
    submission="numbers",
    metric_is="auc_mean_columns",
    details={
        "labels_from": "table",
        "image_column": "image_id",
        "train_folder": "images",
        "test_folder": "images",
        "image_suffix": ".jpg",
        "image_size": 128,
    },
)
def plant_pathology(folder: Path) -> None:
    source = some()
    names = ["healthy", "multiple_diseases", "rust", "scab"]
    images(folder / "images", [f"{part}_{n}.jpg" for part in ("Train", "Test") for n in range(30)], size=(204, 136))
    rows = [[f"Train_{n}", *(int(name == source.choice(names)) for name in names)] for n in range(30)]
    leaves = [[row[0], *[int(at == n % 4) for at in range(4)]] for n, row in enumerate(rows)]
    table(folder / "train.csv", ["image_id", *names], leaves)
    table(folder / "test.csv", ["image_id"], [[f"Test_{n}"] for n in range(30)])
    table(folder / "sample_submission.csv", ["image_id", *names], [[f"Test_{n}", *[0.25] * 4] for n in range(30)])


@layout(
    metric="Area Under Receiver Operating Characteristic Curve",
    family="image_classification",
    id_column="image_name",
    targets=("target",),
    target_kind="class",
    submission="probability",
    metric_is="auc",
    details={
        "labels_from": "table",
        "image_column": "image_name",
        "train_folder": "jpeg/train",
        "test_folder": "jpeg/test",
        "image_suffix": ".jpg",
    },
)
def isic_melanoma(folder: Path) -> None:
    source = some()
    header = ["image_name", "patient_id", "sex", "age_approx"]
    moles = [
        [f"ISIC_{n:07d}", f"IP_{n // 3}", source.choice(["male", "female"]), source.randrange(20, 90)]
        for n in range(60)
    ]
    labelled = [[*mole, "nevus", "benign", int(source.random() < 0.2)] for mole in moles[:40]]
    table(folder / "train.csv", [*header, "diagnosis", "benign_malignant", "target"], labelled)
    table(folder / "test.csv", header, moles[40:])
    table(folder / "sample_submission.csv", ["image_name", "target"], [[mole[0], 0] for mole in moles[40:]])
    images(folder / "jpeg/train", [f"{mole[0]}.jpg" for mole in moles[:40]])
    images(folder / "jpeg/test", [f"{mole[0]}.jpg" for mole in moles[40:]])


@layout(
    metric="MAP@{K}",
    family="image_classification",
    id_column="Image",
    targets=("Id",),
    target_kind="class",
    submission="top_k",
    metric_is="map@5",
    details={"image_column": "Image", "train_folder": "train", "test_folder": "test", "image_suffix": ""},
)
def humpback_whales(folder: Path) -> None:
    source = some()
    train, test = keys(50, seed=2), keys(20, seed=3)
    images(folder / "train", [f"{key}.jpg" for key in train])
    images(folder / "test", [f"{key}.jpg" for key in test])
    whales = ["new_whale", *(f"w_{key[:7]}" for key in keys(12, seed=4))]
    table(folder / "train.csv", ["Image", "Id"], [[f"{key}.jpg", source.choice(whales)] for key in train])
    guess = " ".join(whales[:5])
    table(folder / "sample_submission.csv", ["Image", "Id"], [[f"{key}.jpg", guess] for key in test])


@layout(
    metric="Multiclass Loss",
    family="image_classification",
    id_column="id",
    targets=("breed",),
    target_kind="class",
    submission="class_columns",
    train_table="labels.csv",
    test_table="",
    details={"train_folder": "train", "test_folder": "test", "image_suffix": ".jpg", "flip": True},
)
def dog_breeds(folder: Path) -> None:
    train, test = keys(40, seed=2), keys(20, seed=3)
    breeds = ["affenpinscher", "beagle", "boxer", "collie", "pug"]
    images(folder / "train", [f"{key}.jpg" for key in train])
    images(folder / "test", [f"{key}.jpg" for key in test])
    table(folder / "labels.csv", ["id", "breed"], [[key, breeds[n % 5]] for n, key in enumerate(train)])
    table(folder / "sample_submission.csv", ["id", *breeds], [[key, *[0.2] * 5] for key in test])


@layout(
    metric="F_{Beta}",
    family="image_classification",
    id_column="image_name",
    targets=("tags",),
    target_kind="labels",
    submission="label_set",
    train_table="train_v2.csv",
    sample_submission="sample_submission_v2.csv",
    details={"train_folder": "train-tif", "test_folder": "test-tif", "image_suffix": ".tif", "label_separator": " "},
)
def planet_amazon(folder: Path) -> None:
    source = some()
    tags = ["primary", "clear", "haze", "road", "water", "agriculture"]
    images(folder / "train-tif", [f"train_{n}.tif" for n in range(40)], mode="RGBA")
    images(folder / "test-tif", [f"test_{n}.tif" for n in range(20)], mode="RGBA")
    rows = [[f"train_{n}", " ".join(source.sample(tags, source.randrange(1, 4)))] for n in range(40)]
    table(folder / "train_v2.csv", ["image_name", "tags"], rows)
    sample = [[f"test_{n}", "primary clear agriculture road water"] for n in range(20)]
    table(folder / "sample_submission_v2.csv", ["image_name", "tags"], sample)


@layout(
    metric="Micro F1",
    family="image_classification",
    id_column="file",
    targets=("species",),
    target_kind="class",
    submission="label",
    metric_is="f1_micro",
    train_table="",
    details={"labels_from": "folders", "train_folder": "train", "test_folder": "test", "image_suffix": ""},
)
def class_names_of_several_words_as_folders(folder: Path) -> None:
    for species in ("Black-grass", "Common wheat", "Fat Hen", "Sugar beet"):
        images(folder / "train" / species, [f"{key}.png" for key in keys(8, seed=len(species))])
    test = [f"{key}.png" for key in keys(15, seed=77)]
    images(folder / "test", test)
    table(folder / "sample_submission.csv", ["file", "species"], [[name, "Sugar beet"] for name in test])


@layout(
    metric="Multiclass Loss",
    family="image_classification",
    id_column="img",
    target_kind="class",
    submission="class_columns",
    details={"labels_from": "folders", "train_folder": "imgs/train", "test_folder": "imgs/test", "image_suffix": ""},
)
def state_farm_drivers(folder: Path) -> None:
    classes = [f"c{n}" for n in range(4)]
    drivers = []
    for name in classes:
        files = [f"img_{int(key, 16) % 99999}.jpg" for key in keys(8, seed=int(name[1]))]
        images(folder / "imgs/train" / name, files)
        drivers += [["p002", name, file] for file in files]
    test = [f"img_{n}.jpg" for n in range(1, 16)]
    images(folder / "imgs/test", test)
    table(folder / "driver_imgs_list.csv", ["subject", "classname", "img"], drivers)
    table(folder / "sample_submission.csv", ["img", *classes], [[name, *[0.25] * 4] for name in test])


@layout(
    metric="Accuracy",
    family="image_classification",
    id_column="id",
    targets=("animal",),
    target_kind="class",
    details={
        "labels_from": "names",
        "train_folder": "train",
        "test_folder": "test",
        "image_suffix": ".png",
        "channels": 1,
    },
)
def labels_before_a_hyphen_and_grey_images(folder: Path) -> None:
    images(
        folder / "train", [f"{animal}-{n}.png" for animal in ("horse", "cow", "goat") for n in range(1, 9)], mode="L"
    )
    images(folder / "test", [f"{n}.png" for n in range(1, 10)], mode="L")
    table(folder / "sample_submission.csv", ["id", "animal"], [[n, "cow"] for n in range(1, 10)])


@layout(
    metric="Root Mean Squared Error",
    family="image_regression",
    id_column="Id",
    targets=("Pawpularity",),
    target_kind="number",
    submission="numbers",
    details={"image_column": "Id", "train_folder": "train", "test_folder": "test", "image_suffix": ".jpg"},
)
def petfinder_pawpularity(folder: Path) -> None:
    source = some()
    traits = ["Focus", "Eyes", "Face", "Near", "Action", "Accessory", "Group", "Collage", "Human", "Blur"]
    train, test = keys(60, seed=2), keys(20, seed=3)
    rows = [[key, *(source.randrange(2) for _ in traits), source.randrange(1, 101)] for key in train]
    table(folder / "train.csv", ["Id", *traits, "Pawpularity"], rows)
    table(folder / "test.csv", ["Id", *traits], [[key, *(source.randrange(2) for _ in traits)] for key in test])
    sample = [[key, round(source.uniform(1, 99), 2)] for key in test]
    table(folder / "sample_submission.csv", ["Id", "Pawpularity"], sample)
    images(folder / "train", [f"{key}.jpg" for key in train])
    images(folder / "test", [f"{key}.jpg" for key in test])


@layout(
    metric="Categorization Accuracy",
    family="image_classification",
    id_column="path",
    targets=("label",),
    details={"image_column": "path", "train_folder": "", "test_folder": "", "image_suffix": ""},
)
def paths_with_folders_in_a_column(folder: Path) -> None:
    train = [f"photos/{'abc'[n % 3]}/{key}.png" for n, key in enumerate(keys(30, seed=2))]
    test = [f"photos/unseen/{key}.png" for key in keys(12, seed=3)]
    images(folder, [*train, *test])
    table(folder / "train.csv", ["path", "label"], [[path, ["owl", "fox"][n % 2]] for n, path in enumerate(train)])
    table(folder / "test.csv", ["path"], [[path] for path in test])
    table(folder / "sample_submission.csv", ["path", "label"], [[path, "owl"] for path in test])


@layout(
    metric="Area Under Receiver Operating Characteristic Curve",
    family="image_classification",
    id_column="id",
    targets=("label",),
    train_table="train_labels.csv",
    details={
        "train_folder": "train.zip/train",
        "test_folder": "test.zip/test",
        "image_suffix": ".tif",
        "image_size": 32,
    },
    warns=("cannot read", "train.zip", "unpacked", "tandem data"),
)
def zipped_folders(folder: Path) -> None:
    train, test = keys(30, seed=2), keys(12, seed=3)
    image = picture(size=(36, 36), suffix="tiff")
    zipped(folder / "train.zip", {f"train/{key}.tif": image for key in train})
    zipped(folder / "test.zip", {f"test/{key}.tif": image for key in test})
    table(folder / "train_labels.csv", ["id", "label"], [[key, n % 2] for n, key in enumerate(train)])
    table(folder / "sample_submission.csv", ["id", "label"], [[key, 0] for key in test])


@layout(
    metric="Quadratic Weighted Kappa",
    family="image_classification",
    id_column="id_code",
    targets=("diagnosis",),
    target_kind="class",
    submission="label",
    test_table="test.csv",
    details={"train_folder": "train_images", "test_folder": "test_images", "image_suffix": ".png", "flip": True},
)
def blindness_grades(folder: Path) -> None:
    train, test = keys(40, seed=2), keys(12, seed=3)
    images(folder / "train_images", [f"{key}.png" for key in train], size=(300, 240))
    images(folder / "test_images", [f"{key}.png" for key in test], size=(300, 240))
    table(folder / "train.csv", ["id_code", "diagnosis"], [[key, n % 5] for n, key in enumerate(train)])
    table(folder / "test.csv", ["id_code"], [[key] for key in test])
    table(folder / "sample_submission.csv", ["id_code", "diagnosis"], [[key, 0] for key in test])


@layout(
    metric="Categorization Accuracy",
    family="image_classification",
    id_column="image_id",
    targets=("label",),
    target_kind="class",
    submission="label",
    test_table="",
    details={"train_folder": "train_images", "test_folder": "test_images", "image_suffix": ""},
)
def a_code_competition_that_shows_one_test_image(folder: Path) -> None:
    train = [f"{1_000_015_157 + 7 * n}.jpg" for n in range(40)]
    images(folder / "train_images", train)
    images(folder / "test_images", ["2216849948.jpg"])
    table(folder / "train.csv", ["image_id", "label"], [[name, n % 5] for n, name in enumerate(train)])
    table(folder / "sample_submission.csv", ["image_id", "label"], [["2216849948.jpg", 4]])
    (folder / "label_num_to_disease_map.json").write_text('{"0": "Cassava Bacterial Blight", "4": "Healthy"}')


@layout(
    metric="Macro F1",
    family="image_classification",
    id_column="Id",
    targets=("Target",),
    target_kind="labels",
    submission="label_set",
    details={"train_folder": "train", "test_folder": "test", "label_separator": " ", "channels": 1},
)
def protein_atlas_with_numbers_as_labels(folder: Path) -> None:
    source = some()
    train, test = keys(40, seed=2), keys(12, seed=3)
    for part, names in (("train", train), ("test", test)):
        images(folder / part, [f"{key}_{colour}.png" for key in names for colour in ("blue", "green")], mode="L")
    rows = [[key, " ".join(map(str, source.sample(range(8), source.randrange(1, 4))))] for key in train]
    table(folder / "train.csv", ["Id", "Target"], rows)
    table(folder / "sample_submission.csv", ["Id", "Predicted"], [[key, 0] for key in test])


@layout(
    metric="Mean Columnwise Log Loss",
    family="image_classification",
    id_column="ID",
    targets=("any", "epidural", "subdural"),
    target_kind="labels",
    submission="keyed_rows",
    details={"image_column": "image", "train_folder": "train", "test_folder": "test", "image_suffix": ".png"},
)
def a_row_for_each_scan_and_finding(folder: Path) -> None:
    source = some()
    findings = ["any", "epidural", "subdural"]
    train, test = keys(40, seed=2), keys(12, seed=3)
    images(folder / "train", [f"{key}.png" for key in train])
    images(folder / "test", [f"{key}.png" for key in test])
    rows = [[key, *(source.randrange(2) for _ in findings)] for key in train]
    table(folder / "train.csv", ["image", *findings], rows)
    sample = [[f"{key}_{finding}", 0.5] for key in test for finding in findings]
    table(folder / "sample_submission.csv", ["ID", "Label"], sample)


# Masks, and images to images


@layout(
    metric="Dice",
    family="segmentation",
    id_column="Image_Label",
    targets=("EncodedPixels",),
    target_kind="mask",
    submission="run_length",
    metric_is="dice",
    details={
        "image_column": "Image_Label",
        "train_folder": "train_images",
        "test_folder": "test_images",
        "image_suffix": "",
        "mask_folder": "",
        "mask_column": "EncodedPixels",
    },
)
def understanding_clouds(folder: Path) -> None:
    source = some()
    kinds = ["Fish", "Flower", "Gravel", "Sugar"]
    train, test = keys(12, seed=2), keys(6, seed=3)

    def code() -> str:
        start = source.randrange(1, 900)
        return "" if source.random() < 0.5 else f"{start} 20 {start + 40} 25 {start + 90} 3"

    table(
        folder / "train.csv",
        ["Image_Label", "EncodedPixels"],
        [[f"{k}.jpg_{kind}", code()] for k in train for kind in kinds],
    )
    sample = [[f"{key}.jpg_{kind}", "1 1"] for key in test for kind in kinds]
    table(folder / "sample_submission.csv", ["Image_Label", "EncodedPixels"], sample)
    images(folder / "train_images", [f"{key}.jpg" for key in train], size=(210, 140))
    images(folder / "test_images", [f"{key}.jpg" for key in test], size=(210, 140))


@layout(
    metric="Intersection over Union",
    family="segmentation",
    id_column="id",
    targets=("rle_mask",),
    target_kind="mask",
    submission="run_length",
    train_table="train.csv",
    details={
        "train_folder": "train/images",
        "test_folder": "test/images",
        "image_suffix": ".png",
        "mask_folder": "train/masks",
        "mask_suffix": ".png",
        "image_size": 96,
        "channels": 1,
    },
)
def salt_identification(folder: Path) -> None:
    train, test = keys(20, seed=2), keys(10, seed=3)
    for place in ("images", "masks"):
        images(folder / "train" / place, [f"{key}.png" for key in train], size=(101, 101), mode="L")
    images(folder / "test/images", [f"{key}.png" for key in test], size=(101, 101), mode="L")
    codes = [[key, "" if n % 3 else "1 30 102 30"] for n, key in enumerate(train)]
    table(folder / "train.csv", ["id", "rle_mask"], codes)
    table(folder / "depths.csv", ["id", "z"], [[key, n] for n, key in enumerate(train + test)])
    table(folder / "sample_submission.csv", ["id", "rle_mask"], [[key, "1 1"] for key in test])


@layout(
    metric="Dice",
    family="segmentation",
    id_column="img",
    target_kind="mask",
    submission="run_length",
    details={
        "train_folder": "train",
        "test_folder": "test",
        "image_suffix": "",
        "mask_folder": "train_masks",
        "mask_suffix": "_mask.gif",
    },
)
def carvana_masks_as_images(folder: Path) -> None:
    cars = [f"{key}_{n:02d}" for key in keys(4, seed=2) for n in range(1, 9)]
    test = [f"{key}_{n:02d}" for key in keys(2, seed=3) for n in range(1, 9)]
    images(folder / "train", [f"{car}.jpg" for car in cars])
    images(folder / "train_masks", [f"{car}_mask.gif" for car in cars], mode="L")
    images(folder / "test", [f"{car}.jpg" for car in test])
    table(folder / "train_masks.csv", ["img", "rle_mask"], [[f"{car}.jpg", "879386 40 881253 141"] for car in cars])
    table(folder / "metadata.csv", ["id", "year", "make"], [[car[:12], 2014, "Acura"] for car in cars[::8]])
    table(folder / "sample_submission.csv", ["img", "rle_mask"], [[f"{car}.jpg", "1 1"] for car in test])


@layout(
    metric="Root Mean Squared Error",
    family="image_to_image",
    id_column="id",
    targets=("value",),
    target_kind="image",
    submission="keyed_rows",
    train_table="",
    test_table="",
    details={
        "train_folder": "train",
        "test_folder": "test",
        "target_folder": "train_cleaned",
        "image_suffix": ".png",
        "channels": 1,
    },
)
def denoising_dirty_documents(folder: Path) -> None:
    for place in ("train", "train_cleaned"):
        images(folder / place, [f"{n}.png" for n in range(2, 30, 3)], size=(20, 12), mode="L")
    images(folder / "test", [f"{n}.png" for n in range(1, 10, 3)], size=(20, 12), mode="L")
    pixels = [[f"{n}_{row}_{column}", 1] for n in range(1, 10, 3) for row in range(1, 13) for column in range(1, 21)]
    table(folder / "sampleSubmission.csv", ["id", "value"], pixels)


# Sounds


@layout(
    metric="Macro F1",
    family="audio",
    id_column="row_id",
    targets=("primary_label",),
    target_kind="class",
    submission="class_columns",
    train_table="train_metadata.csv",
    details={
        "labels_from": "table",
        "audio_column": "filename",
        "train_folder": "train_audio",
        "test_folder": "test_soundscapes",
        "audio_suffix": "",
        "sample_rate": 8_000,
        "seconds": 5.0,
    },
)
def birdclef(folder: Path) -> None:
    birds = ["abethr1", "barswa", "eubeat1"]
    files = [f"{bird}/XC{number}.wav" for bird in birds for number in range(100, 110)]
    sounds(folder / "train_audio", files)
    sounds(folder / "test_soundscapes", ["soundscape_29201.wav", "soundscape_29202.wav"])
    rows = [[file.split("/")[0], "[]", 4.5, file] for file in files]
    table(folder / "train_metadata.csv", ["primary_label", "secondary_labels", "rating", "filename"], rows)
    ends = [f"soundscape_2920{n}_{end}" for n in (1, 2) for end in range(5, 65, 5)]
    table(folder / "sample_submission.csv", ["row_id", *birds], [[end, *[1 / 3] * 3] for end in ends])


@layout(
    metric="Accuracy",
    family="audio",
    id_column="fname",
    target_kind="class",
    submission="label",
    train_table="",
    details={"labels_from": "folders", "train_folder": "train/audio", "test_folder": "test/audio", "audio_suffix": ""},
)
def speech_commands(folder: Path) -> None:
    for word in ("yes", "no", "up"):
        sounds(folder / "train/audio" / word, [f"{key}_nohash_0.wav" for key in keys(6, seed=len(word))])
    test = [f"clip_{key}.wav" for key in keys(9, seed=9)]
    sounds(folder / "test/audio", test)
    table(folder / "sample_submission.csv", ["fname", "label"], [[name, "yes"] for name in test])


@layout(
    metric="MAP@{K}",
    family="audio",
    id_column="fname",
    targets=("label",),
    submission="top_k",
    metric_is="map@3",
    details={"labels_from": "table", "audio_column": "fname", "train_folder": "audio_train", "seconds": 1.0},
)
def sounds_named_in_a_table(folder: Path) -> None:
    train, test = [f"{key}.wav" for key in keys(24, seed=2)], [f"{key}.wav" for key in keys(9, seed=3)]
    sounds(folder / "audio_train", train)
    sounds(folder / "audio_test", test)
    rows = [[name, ["Saxophone", "Bark", "Cough", "Oboe"][n % 4], n % 2] for n, name in enumerate(train)]
    table(folder / "train.csv", ["fname", "label", "manually_verified"], rows)
    table(folder / "sample_submission.csv", ["fname", "label"], [[name, "Oboe Bark Cough"] for name in test])


# Ambiguous on purpose


@layout(id_column="id", targets=("y",), warns=("id column", "code", "--id-column"), metric="RMSE")
def two_columns_that_could_be_the_id(folder: Path) -> None:
    source = some()
    rows = [[n, f"k{n:04d}", source.random()] for n in range(60)]
    table(folder / "train.csv", ["id", "code", "x", "y"], [[*row, source.gauss(0, 9)] for row in rows[:40]])
    table(folder / "test.csv", ["id", "code", "x"], rows[40:])
    table(folder / "sample_submission.csv", ["id", "code", "y"], [[*row[:2], 0.0] for row in rows[40:]])


@layout(
    family="tabular",
    submission="label",
    metric_is="accuracy",
    warns=("metric", "--metric"),
    target_kind="class",
)
def a_metric_that_nobody_names(folder: Path) -> None:
    source = some()
    rows = [[n, source.random(), source.random()] for n in range(60)]
    table(folder / "train.csv", ["id", "a", "b", "kind"], [[*row, source.choice(["p", "q", "r"])] for row in rows[:40]])
    table(folder / "test.csv", ["id", "a", "b"], rows[40:])
    table(folder / "sample_submission.csv", ["id", "kind"], [[row[0], "p"] for row in rows[40:]])


@layout(
    train_table="train_b.csv",
    warns=("training table", "train_a.csv", "--train"),
    metric="RMSE",
)
def two_tables_to_train_on(folder: Path) -> None:
    source = some()
    rows = [[n, source.random(), source.random()] for n in range(99)]
    table(folder / "train_a.csv", ["id", "a", "b", "y"], [[*row, source.random()] for row in rows[:30]])
    table(folder / "train_b.csv", ["id", "a", "b", "y"], [[*row, source.random()] for row in rows[30:70]])
    table(folder / "test.csv", ["id", "a", "b"], rows[70:])
    table(folder / "sample_submission.csv", ["id", "y"], [[row[0], 0.0] for row in rows[70:]])


@layout(warns=("target", "--target"), metric="RMSE", id_column="id")
def two_columns_that_could_be_the_target(folder: Path) -> None:
    source = some()
    rows = [[n, source.random()] for n in range(60)]
    table(
        folder / "train.csv",
        ["id", "a", "casual", "registered"],
        [[*row, source.random(), source.random()] for row in rows[:40]],
    )
    table(folder / "test.csv", ["id", "a"], rows[40:])
    table(folder / "sample_submission.csv", ["id", "count"], [[row[0], 0.0] for row in rows[40:]])


@layout(warns=("What is predicted", "number", "--metric"))
def grades_that_could_be_numbers(folder: Path) -> None:
    source = some()
    rows = [[n, source.random()] for n in range(90)]
    table(folder / "train.csv", ["id", "a", "grade"], [[*row, source.randrange(6)] for row in rows[:60]])
    table(folder / "test.csv", ["id", "a"], rows[60:])
    table(folder / "sample_submission.csv", ["id", "grade"], [[row[0], 2.5] for row in rows[60:]])


@layout(
    sample_submission="",
    id_column="id",
    targets=("y",),
    warns=("no sample submission", "test.csv", "--sample"),
    metric="RMSE",
)
def no_sample_submission(folder: Path) -> None:
    source = some()
    rows = [[n, source.random(), source.random()] for n in range(60)]
    table(folder / "train.csv", ["id", "a", "b", "y"], [[*row, source.gauss(0, 9)] for row in rows[:40]])
    table(folder / "test.csv", ["id", "a", "b"], rows[40:])


@layout(
    family="tabular",
    targets=("y",),
    warns=("family", "text", "--family"),
    metric="RMSE",
)
def text_among_many_numbers(folder: Path) -> None:
    source = some()
    names = [f"n{n}" for n in range(4)]
    rows = [[n, sentence(source, 9), *(source.random() for _ in names)] for n in range(60)]
    table(folder / "train.csv", ["id", "note", *names, "y"], [[*row, source.gauss(0, 9)] for row in rows[:40]])
    table(folder / "test.csv", ["id", "note", *names], rows[40:])
    table(folder / "sample_submission.csv", ["id", "y"], [[row[0], 0.0] for row in rows[40:]])
