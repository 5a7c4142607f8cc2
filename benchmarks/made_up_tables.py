"""Made-up competitions of tables, from a seed: rides, remarks on parcels, payments of many merchants, passengers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

_WORDS, _WORDS_PER_TEXT, _MEANINGFUL = 800, 18, 0.15
_SATURDAY, _MORNING, _DEAR = 5, 6, 30
_KM_PER_DEGREE = 111.2


@dataclass(frozen=True)
class MadeUp:
    """A competition: a function that makes its rows, the column to predict, the metric, and how many rows there are.

    Attributes:
        rows: Makes the rows, the target among their columns.
        target: The column to predict.
        metric: Its name in the kit.
        train_rows: Rows to learn from.
        test_rows: Rows whose targets are hidden.
    """

    rows: Callable[[Generator, int], pd.DataFrame]
    target: str
    metric: str
    train_rows: int
    test_rows: int

    def write(self, folder: Path, seed: int, *, share: float = 1.0) -> pd.Series:
        """Writes the files, with a share of the training rows but 400 at least; returns the hidden targets."""
        count = max(400, round(self.train_rows * share))
        rows = self.rows(np.random.default_rng(seed), count + self.test_rows)
        rows.insert(0, "id", [f"r{number:06d}" for number in range(len(rows))])
        train, test = rows[:count], rows[count:]
        folder.mkdir(parents=True)
        train.to_csv(folder / "train.csv", index=False)
        test.drop(columns=self.target).to_csv(folder / "test.csv", index=False)
        sample = test[["id"]].assign(**{self.target: 0.5})
        sample.to_csv(folder / "sample_submission.csv", index=False)
        return test.set_index("id")[self.target]


def _rides(draw: Generator, count: int) -> pd.DataFrame:
    """Rides between two places at a time, and how many minutes they take."""
    start = pd.Timestamp("2023-01-01") + pd.to_timedelta(draw.integers(0, 365 * 24 * 60, count), "min")
    places = {
        f"{end}_{axis}": draw.normal(centre, spread, count).round(5)
        for end in ("pickup", "dropoff")
        for axis, centre, spread in (("latitude", 40.75, 0.03), ("longitude", -73.98, 0.04))
    }
    north = (places["dropoff_latitude"] - places["pickup_latitude"]) * _KM_PER_DEGREE
    east = (places["dropoff_longitude"] - places["pickup_longitude"]) * _KM_PER_DEGREE * np.cos(np.radians(40.75))
    hour, is_weekend = start.hour.to_numpy(), start.dayofweek.to_numpy() >= _SATURDAY
    rush = np.where(is_weekend, 0, np.exp(-(((hour - 8) / 2) ** 2)) + np.exp(-(((hour - 17) / 2.5) ** 2)))
    passengers = draw.integers(1, 7, count)
    minutes = 3 + np.hypot(north, east) * (1.8 + 2 * rush) + 0.3 * passengers
    return pd.DataFrame(
        {
            "pickup_datetime": start.strftime("%Y-%m-%d %H:%M:%S"),
            **places,
            "passengers": passengers,
            "vendor": draw.choice(["A", "B", "C"], count),
            "minutes": (minutes * draw.lognormal(0, 0.15, count)).round(2),
        }
    )


def _remarks(draw: Generator, count: int) -> pd.DataFrame:
    """Parcels with a remark, and whether they came back: some words say so, and so does the weight."""
    shares = 1 / np.arange(3, _WORDS + 3)
    effects = draw.normal(0, 1, _WORDS) * (draw.random(_WORDS) < _MEANINGFUL)
    words = np.array(["".join(draw.choice(list("abdegiklmnoprstu"), draw.integers(3, 9))) for _ in range(_WORDS)])
    lengths = draw.integers(_WORDS_PER_TEXT // 2, _WORDS_PER_TEXT * 2, count)
    texts = [draw.choice(_WORDS, length, p=shares / shares.sum()) for length in lengths]
    weight, price, age = draw.lognormal(0, 0.6, count), draw.lognormal(3, 0.8, count), draw.integers(1, 60, count)
    said = np.array([effects[text].sum() for text in texts])
    logits = 1.5 * (said - said.mean()) / said.std() + 0.7 * np.log(weight) + 0.5 * (price > _DEAR)
    return pd.DataFrame(
        {
            "weight": weight.round(2),
            "price": price.round(2),
            "age": age,
            "remark": [" ".join(words[text]) for text in texts],
            "returned": (draw.random(count) < 1 / (1 + np.exp(-2 * logits))).astype(int),
        }
    )


def _payments(draw: Generator, count: int) -> pd.DataFrame:
    """Payments of many merchants, devices and cities, and whether they are fraud."""
    sizes = {"merchant": 1500, "device": 400, "city": 120, "channel": 4}
    codes = {name: (draw.random(count) ** 2 * size).astype(int) for name, size in sizes.items()}
    spreads = {"merchant": 1.2, "device": 0.8, "city": 0.5, "channel": 0.5}
    effect = sum(draw.normal(0, spreads[name], size)[codes[name]] for name, size in sizes.items())
    amount, hour, age = draw.lognormal(3, 1, count), draw.integers(0, 24, count), draw.gamma(2, 300, count)
    by_channel = draw.normal(0, 0.8, sizes["channel"])[codes["channel"]]
    logits = effect + by_channel * np.log(amount / 20) + 0.8 * (hour < _MORNING) - 0.4 * np.log(age / 500)
    columns: dict[str, Any] = {name: [f"{name[:2]}{code:04d}" for code in values] for name, values in codes.items()}
    columns |= {"amount": amount.round(2), "hour": hour, "account_age": age.round(1)}
    return pd.DataFrame({**columns, "fraud": (draw.random(count) < 1 / (1 + np.exp(1.5 - logits))).astype(int)})


def _passengers(draw: Generator, count: int) -> pd.DataFrame:
    """Passengers of a ship with names, tickets and cabins, and who was saved: titles, decks and parties say so."""
    sizes = draw.choice([1, 2, 3, 4, 5, 6, 7], count, p=[0.62, 0.19, 0.09, 0.04, 0.03, 0.02, 0.01])
    party = np.repeat(np.arange(count), sizes)[:count]
    size = np.bincount(party, minlength=count)[party]
    syllables = np.array(
        ["ab", "er", "son", "li", "mac", "van", "ko", "ell", "ström", "ing", "o'", "bra", "und", "wit"]
    )
    surnames = np.array(["".join(draw.choice(syllables, draw.integers(2, 4))).title() for _ in range(count)])
    is_family = (draw.random(count) < 0.7)[party] & (size > 1)
    name = surnames[np.where(is_family, party, np.arange(count))]
    cabin_class = draw.choice([1, 2, 3], count, p=[0.25, 0.2, 0.55])[party]
    is_woman, is_child = draw.random(count) < 0.36, draw.random(count) < np.where(is_family & (size > 2), 0.4, 0.03)
    is_grave = draw.random(count) < 0.04  # a doctor, a clergyman or an officer
    honour = draw.choice(["Dr", "Rev", "Col"], count)
    title = np.where(is_woman, np.where(is_child | (draw.random(count) < 0.5), "Miss", "Mrs"), "Mr")
    title = np.where(~is_woman & is_child, "Master", np.where(is_grave & ~is_child & ~is_woman, honour, title))
    first = draw.choice(["John", "Anna", "William", "Karl", "Mary", "Elin", "Owen", "Ida", "Lucy", "Emil"], (2, count))
    age = np.where(is_child, draw.integers(0, 14, count), np.clip(draw.normal(32, 11, count), 15, 75).round())
    prefix = np.where(draw.random(count) < 0.3, draw.choice(["PC ", "A/5 ", "C.A. ", "STON/O 2. "], count), "")[party]
    number = draw.choice(np.arange(2_000, 390_000), count, replace=False)[party].astype(str)
    deck = np.where(cabin_class == 1, draw.choice(list("ABCDE"), count)[party], draw.choice(list("DEFG"), count)[party])
    berth = (2 * draw.integers(1, 60, count)[party] + draw.integers(0, 2, count)).astype(str)
    has_cabin = draw.random(count) < np.array([0.8, 0.1, 0.03])[cabin_class - 1]
    fares = np.array([40.0, 13.0, 8.0])[cabin_class - 1] * draw.lognormal(0, 0.2, count)[party] * size
    kin = np.where(is_family, size - 1, 0)
    logits = -1.6 + 2.6 * is_woman + 2.2 * (title == "Master") - 1.5 * (title == "Rev") - 0.7 * (cabin_class - 2)
    logits += 1.2 * draw.normal(size=count)[party] * (size > 1) - 0.9 * (size > 4)
    logits += np.where(has_cabin, draw.normal(0, 0.7, 128)[[ord(letter) for letter in deck]], 0)
    passengers = pd.DataFrame(
        {
            "class": cabin_class,
            "name": [f"{n}, {t}. {a} {b}" for n, t, a, b in zip(name, title, *first, strict=True)],
            "sex": np.where(is_woman, "female", "male"),
            "age": np.where(draw.random(count) < 0.2, np.nan, age),
            "siblings": np.where(is_child, np.maximum(kin - 2, 0), np.minimum(kin, 1)),
            "parents": np.where(is_child, np.minimum(kin, 2), np.maximum(kin - 1, 0)),
            "ticket": np.char.add(prefix, number),
            "fare": fares.round(2),
            "cabin": np.where(has_cabin, np.char.add(deck, berth), None),
            "saved": (draw.random(count) < 1 / (1 + np.exp(-logits))).astype(int),
        }
    )
    return passengers.iloc[draw.permutation(count)]


MADE_UP: Mapping[str, MadeUp] = {
    "rides": MadeUp(_rides, "minutes", "rmse", train_rows=6_000, test_rows=4_000),
    "remarks": MadeUp(_remarks, "returned", "auc", train_rows=400, test_rows=2_000),
    "payments": MadeUp(_payments, "fraud", "auc", train_rows=20_000, test_rows=10_000),
    "passengers": MadeUp(_passengers, "saved", "auc", train_rows=900, test_rows=900),
}
