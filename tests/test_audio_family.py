"""The family `audio`: sounds of any width and rate, parts of long recordings, spectrograms that show their tones."""

import math
import struct
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from layout_files import wav
from notebook_cells import executed_alone, known_after, task_in
from notebook_session import rendered_cells
from tasks import task_of

from generator.text import Value

pytest_plugins = ("notebook_session",)

RATE = 8_000
TONES = task_of(
    *("audio", "class", "label"),
    labels_from="table",
    audio_column="id",
    train_folder="train",
    test_folder="test",
    audio_suffix=".wav",
    sample_rate=RATE,
    seconds=0.5,
    are_wav=True,
    batch_size=8,
    epochs=2,
)


def executed(*cells: str, role: str = "infer", details: Mapping[str, Value] | None = None, **names: object) -> Any:
    """Executes some cells, which need no framework; returns what they define."""
    return executed_alone(cells, replace(TONES, details={**TONES.details, **(details or {})}), role, **names)


READING = ("read-part", "load-sound")


def tone(hertz: float, seconds: float, rate: int = RATE, loudness: float = 0.5) -> Any:
    import numpy as np

    return loudness * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)


def write_wav(path: Path, *channels: Any, rate: int = RATE, width: int = 2) -> Path:
    """Writes samples from -1 to 1 with so many bytes each."""
    import numpy as np

    path.parent.mkdir(parents=True, exist_ok=True)
    whole = np.round(np.stack(channels, axis=1) * (2 ** (8 * width - 1) - 1)).astype("int64").ravel()
    if width == 1:
        content = (whole + 128).astype("uint8").tobytes()
    else:
        content = b"".join(int(sample).to_bytes(width, "little", signed=True) for sample in whole)
    path.write_bytes(wav(content, rate=rate, channels=len(channels), width=width))
    return path


def loudest_hertz(sound: Any, rate: int = RATE) -> float:
    import numpy as np

    return float(np.abs(np.fft.rfft(sound)).argmax() * rate / len(sound))


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_samples_of_every_width_are_the_same_sound(tmp_path: Path, width: int) -> None:
    import numpy as np

    samples = np.array([0, 0.5, -0.5, 0.99, -0.99, 0.25])
    path = write_wav(tmp_path / "a.wav", samples, width=width)

    rate, read = executed(*READING).read_part(str(path), -1, 30)

    assert rate == RATE
    assert read == pytest.approx(samples, abs=0.01 if width == 1 else 1e-4)


def test_samples_written_as_floats_keep_their_scale(tmp_path: Path) -> None:
    content = struct.pack("<4f", 0, 0.5, -0.5, 1)
    header = struct.pack("<4sI4s4sIHHIIHH", b"RIFF", 36 + 16, b"WAVE", b"fmt ", 16, 3, 1, RATE, 4 * RATE, 4, 32)
    (tmp_path / "a.wav").write_bytes(header + struct.pack("<4sI", b"data", 16) + content)

    _, read = executed(*READING).read_part(str(tmp_path / "a.wav"), -1, 30)

    assert read.tolist() == [0, 0.5, -0.5, 1]


def test_channels_are_mixed_and_another_rate_keeps_the_pitch(tmp_path: Path) -> None:
    import numpy as np

    left = tone(440, 1, rate=44_100)
    path = write_wav(tmp_path / "a.wav", left, np.zeros_like(left), rate=44_100)

    sound = executed(*READING).load_sound(str(path), -1, 30, RATE)

    assert sound.dtype == "int16"
    assert len(sound) == RATE
    assert loudest_hertz(sound) == pytest.approx(440, abs=1)
    assert np.abs(sound[500:-500]).max() / 32_767 == pytest.approx(0.25, abs=0.01)


def test_a_part_is_read_around_its_second_and_ends_with_the_sound(tmp_path: Path) -> None:
    import numpy as np

    seconds = np.repeat([0.1, 0.2, 0.3, 0.4], RATE)
    path = str(write_wav(tmp_path / "a.wav", seconds))
    load = executed(*READING).load_sound

    def heard(middle: float, length: float) -> list[float]:
        return sorted(set((load(path, middle, length, RATE) / 32_767).round(2).tolist()))

    assert heard(1.5, 1) == [0.2]
    assert heard(-1, 2) == [0.2, 0.3]
    assert heard(0.5, 3) == [0.1, 0.2]
    assert heard(99, 2) == [0.0]


SOUND_FILES = {
    "aif": (".aif", "AIFF", "PCM_16"),
    "float aiff": (".aiff", "AIFF", "FLOAT"),
    "flac": (".flac", "FLAC", "PCM_16"),
    "vorbis": (".ogg", "OGG", "VORBIS"),
    "24 bits": (".wav", "WAV", "PCM_24"),
    "24 bits, extensible": (".wav", "WAVEX", "PCM_24"),
    "float": (".wav", "WAV", "FLOAT"),
    "double": (".wav", "WAV", "DOUBLE"),
    "mu-law": (".wav", "WAV", "ULAW"),
    "A-law": (".wav", "WAV", "ALAW"),
    "ADPCM": (".wav", "WAV", "IMA_ADPCM"),
    "flac called wav": (".wav", "FLAC", "PCM_16"),
}


@pytest.mark.parametrize(
    ("kinds", "are_wav"),
    [
        *(((kind,), kind in ("24 bits", "24 bits, extensible", "float", "double")) for kind in SOUND_FILES),
        (("24 bits", "float"), True),
        (("24 bits", "mu-law"), False),
        (tuple(SOUND_FILES), False),
    ],
)
def test_the_sounds_of_a_folder_are_decoded_whatever_their_format(
    tmp_path: Path, kinds: tuple[str, ...], are_wav: bool
) -> None:
    import soundfile

    lines: dict[str, list[str]] = {"train": ["id,label"], "test": ["id,label"]}
    for part, rows in lines.items():
        (tmp_path / part).mkdir()
        for number in range(max(6, len(kinds))):
            suffix, form, subtype = SOUND_FILES[kinds[number % len(kinds)]]
            path = tmp_path / part / f"{part}{number}{suffix}"
            soundfile.write(path, tone(300, 0.5), RATE, format=form, subtype=subtype)
            rows.append(f"{path.name},{'low' if number % 2 else 'high'}")
    (tmp_path / "train.csv").write_text("\n".join(lines["train"]) + "\n")
    (tmp_path / "sample_submission.csv").write_text("\n".join(lines["test"]) + "\n")

    task = task_in(tmp_path, "accuracy")
    cells = executed_alone(READING, task, "infer")

    assert (task.family, task.details["are_wav"], task.details["sample_rate"]) == ("audio", are_wav, RATE)
    for path in sorted(tmp_path.glob("t*/*.*")):
        assert cells.length_of(str(path), -1, 30) == pytest.approx(0.5, abs=0.1), path
        assert loudest_hertz(cells.load_sound(str(path), -1, 30, RATE)) == pytest.approx(300, abs=3), path


def test_sounds_that_are_no_wav_say_what_would_decode_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)

    with pytest.raises(ImportError, match=r"soundfile decodes these sounds.* Install it .*convert the sounds to WAV"):
        executed("read-part", details={"are_wav": False})


def test_of_wav_files_no_library_for_others_is_spoken_of() -> None:
    assert "soundfile" not in "".join(rendered_cells("keras", "train", TONES).values())


def test_sounds_that_cannot_be_read_are_told_from_those_that_can(tmp_path: Path) -> None:
    good = write_wav(tmp_path / "good.wav", tone(300, 0.5))
    (tmp_path / "cut.wav").write_bytes(good.read_bytes()[:3_000])
    (tmp_path / "empty.wav").touch()
    (tmp_path / "header.wav").write_bytes(good.read_bytes()[:30])
    (tmp_path / "text.wav").write_bytes(b"RIFF, but not really a sound")
    length_of = executed(*READING).length_of

    good_one, cut, *bad = (
        length_of(str(tmp_path / f"{name}.wav"), -1, 30) for name in ("good", "cut", "empty", "header", "text", "gone")
    )

    assert good_one == 0.5
    assert 0.1 < cut < 0.2
    assert all(map(math.isnan, bad))


def broken_flac(path: Path) -> None:
    """A sound with a whole header that cannot be decoded behind it."""
    import soundfile

    soundfile.write(path, tone(300, 0.5), RATE, format="FLAC", subtype="PCM_16")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] + bytes(len(content) // 4) + content[len(content) * 3 // 4 :])


@pytest.mark.slow
@pytest.mark.parametrize("part", ["train", "test"])
def test_a_sound_that_is_broken_behind_its_header_stops_a_notebook_or_is_left_out_by_the_knob(
    tmp_path: Path, part: str
) -> None:
    import soundfile

    (tmp_path / part).mkdir()
    files = [f"{number}.flac" for number in range(6)]
    for file in files:
        soundfile.write(tmp_path / part / file, tone(300, 0.5), RATE)
    broken_flac(tmp_path / part / "4.flac")
    table = "\n".join(["id,label", *(f"{file},{'low' if row % 2 else 'high'}" for row, file in enumerate(files))])
    for name in ("train.csv", "sample_submission.csv"):
        (tmp_path / name).write_text(table + "\n")
    task = replace(TONES, details=TONES.details | {"are_wav": False, "audio_suffix": ""})
    role, until = ("train", "lengths") if part == "train" else ("infer", "test-sounds")

    with pytest.raises(
        ValueError, match=r"1 of 6 (test )?sounds .*cannot be decoded: 4\.flac\..*SKIP_UNREADABLE = True"
    ):
        known_after(until, task, role, tmp_path, draws=True)
    names = known_after(until, task, role, tmp_path, draws=True, SKIP_UNREADABLE=True)

    if part == "train":
        assert names.train["id"].tolist() == [file for file in files if file != "4.flac"]
        assert len(names.paths) == len(names.truth) == len(names.targets) == 5
    else:
        assert names.readable.tolist() == [file != "4.flac" for file in files]


def test_ids_are_found_by_whole_name_by_stem_and_in_folders_below() -> None:
    import pandas as pd

    files = ["a.wav", "deep/b.ogg", "one/c.wav", "two/c.wav"]
    found = executed("files-named").files_named(pd.Series(["a", "a.wav", "b", "c"]), files, ".wav")

    assert found.tolist() == ["a.wav", "a.wav", "deep/b.ogg", "c.wav"]


@pytest.mark.parametrize("first", [5, 0])
def test_ids_with_a_second_are_parts_that_end_or_begin_there(tmp_path: Path, first: int) -> None:
    write_wav(tmp_path / "test" / "forest_12.wav", tone(300, 0.5))
    ids = [f"forest_12_{first + 5 * part}" for part in range(3)]
    (tmp_path / "sample_submission.csv").write_text("\n".join(["id,label", *(f"{key},low" for key in ids)]) + "\n")
    details: dict[str, Value] = {"part_seconds": 5.0}
    reading = ("read-table", "list-sounds", "files-named", *READING)
    mounted = {"INPUT_ROOT": str(tmp_path.parent), "COMPETITION": tmp_path.name}

    names = executed(*reading, "test-ids", "test-sounds", details=details, **mounted)

    assert names.paths.tolist() == [str(tmp_path / "test" / "forest_12.wav")] * 3
    assert names.middle.tolist() == [2.5, 7.5, 12.5]


@pytest.mark.parametrize(
    ("labels_from", "files", "labels"),
    [
        ("folders", ["train/no/1.wav", "train/yes/1.wav", "train/yes/far/2.wav"], ["no", "yes", "yes"]),
        ("names", ["big_dog-12.wav", "cat.1.wav"], ["big_dog", "cat"]),
    ],
)
def test_labels_are_read_from_folders_and_names(
    tmp_path: Path, labels_from: str, files: list[str], labels: list[str]
) -> None:
    for file in (*files, ".hidden/3.wav", "readme.txt"):
        path = tmp_path / "competition" / "train" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    mounted = {"INPUT_ROOT": str(tmp_path), "COMPETITION": "competition"}

    listing = ("list-sounds", "training-sounds")
    names = executed(*listing, role="train", details={"labels_from": labels_from}, **mounted)

    assert names.train["file"].tolist() == files
    assert names.train["label"].tolist() == labels


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "mels"), [(8_000, 128), (32_000, 64)])
def test_every_row_of_a_spectrogram_hears_something_and_tones_are_in_order(rate: int, mels: int) -> None:
    import numpy as np

    names = executed("fixed-matrices")
    hop = rate * 16 // 1000
    filters = names.mel_filters(rate, hop, mels, 50.0)
    waves = tone(1_000, 2 * hop / rate, rate, loudness=1.0) @ names.fourier_matrix(hop)
    power = waves[:hop] ** 2 + waves[hop:] ** 2

    assert not (names.fourier_matrix(hop).view("uint32") & 0xFFFF).any()  # bfloat16 has as many bits
    assert filters.shape == (hop, mels)
    assert (filters.max(axis=0) > 0.4).all()
    assert (np.diff(filters.argmax(axis=0)) >= 0).all()
    assert power.max() == pytest.approx(1, abs=0.02)
    assert (power.argmax() + 1) * rate / (2 * hop) == pytest.approx(1_000, abs=rate / (2 * hop))
