"""Competitions of sounds."""

from pathlib import Path

from layout import layout
from layout_files import keys, some, sounds, table


@layout(
    family="audio",
    metric="Mean Columnwise Log Loss",
    id_column="fname",
    targets=("labels",),
    target_kind="labels",
    submission="numbers",
    train_table="train_curated.csv",
    details={"label_separator": ",", "train_folder": "train_curated", "test_folder": "test"},
)
def lists_of_labels_and_a_column_for_each(folder: Path) -> None:
    source, names = some(), ["Bark", "Bass_drum", "Bus", "Buzz", "Cheering"]

    def tagged(part: str, count: int) -> list[list[str]]:
        files = [f"{key}.wav" for key in keys(count, seed=len(part))]
        sounds(folder / part, files)
        return [[file, ",".join(sorted(source.sample(names, source.choice([1, 1, 2]))))] for file in files]

    table(folder / "train_curated.csv", ["fname", "labels"], tagged("train_curated", 30))
    table(folder / "train_noisy.csv", ["fname", "labels"], tagged("train_noisy", 50))
    asked = [[file, *[0] * len(names)] for file, _ in tagged("test", 12)]
    table(folder / "sample_submission.csv", ["fname", *names], asked)


@layout(
    family="audio",
    metric="AUC OvR",
    id_column="row_id",
    targets=("primary_label",),
    target_kind="class",
    submission="class_columns",
    train_table="train_metadata.csv",
    details={"train_folder": "train_audio", "test_folder": "test_soundscapes", "seconds": 5.0, "hidden_test": True},
)
def long_test_sounds_that_are_there_only_when_scored(folder: Path) -> None:
    birds = ["asbfly", "ashdro1", "ashpri1"]
    files = [f"{bird}/XC{int(key, 16) % 99_999}.wav" for bird in birds for key in keys(8, seed=len(bird))]
    files = sorted({*files})
    sounds(folder / "train_audio", files)
    rows = [[file.partition("/")[0], "[]", 4.0, file] for file in files]
    table(folder / "train_metadata.csv", ["primary_label", "secondary_labels", "rating", "filename"], rows)
    (folder / "test_soundscapes").mkdir()
    (folder / "test_soundscapes" / "readme.txt").write_text("The hidden test data will be here.")
    sounds(folder / "unlabeled_soundscapes", ["1000170626.wav"], seconds=4)
    asked = [[f"soundscape_1446779_{end}", *[1 / 3] * 3] for end in (5, 10, 15)]
    table(folder / "sample_submission.csv", ["row_id", *birds], asked)


@layout(
    family="audio",
    metric="Log Loss",
    id_column="ID",
    targets=("Label",),
    target_kind="labels",
    submission="keyed_rows",
    metric_is="log_loss_mean_columns",
    details={"label_rows": True, "label_separator": ",", "audio_column": "ID"},
)
def a_training_row_for_each_label(folder: Path) -> None:
    names = ["any", "wheeze", "crackle"]
    known, asked = ([f"ID_{key}" for key in keys(count, seed=count)] for count in (24, 12))
    sounds(folder / "train", [f"{key}.wav" for key in known])
    sounds(folder / "test", [f"{key}.wav" for key in asked])
    rows = [
        [f"{key}_{name}", int((n + place) % 3 == 0)] for n, key in enumerate(known) for place, name in enumerate(names)
    ]
    table(folder / "train_labels.csv", ["ID", "Label"], rows)
    table(
        folder / "sample_submission.csv", ["ID", "Label"], [[f"{key}_{name}", 0.5] for key in asked for name in names]
    )


@layout(
    family="audio",
    metric="Multiclass Accuracy",
    id_column="fname",
    target_kind="class",
    submission="label",
    details={"labels_from": "folders", "seconds": 1.0},
)
def words_beside_minutes_of_noise(folder: Path) -> None:
    sounds(folder / "train/audio/_background_noise_", ["dishes.wav", "pink.wav"], seconds=5)
    for word in ("down", "up", "yes"):
        sounds(folder / "train/audio" / word, [f"{key}_nohash_0.wav" for key in keys(8, seed=len(word))], seconds=1)
    test = [f"clip_{key}.wav" for key in keys(15, seed=99)]
    sounds(folder / "test/audio", test, seconds=1)
    table(folder / "sample_submission.csv", ["fname", "label"], [[file, "silence"] for file in test])
