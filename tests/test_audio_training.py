"""Pairs of the family `audio`, trained: batches, spectrograms, sounds that are not there yet."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from notebook_session import Mirror, Notebook, Sessions, needs_torch
from test_audio_family import RATE, TONES, tone, write_wav

pytest_plugins = ("notebook_session",)

# The loops that XLA compiles for spectrograms at level 0 take longer in a single epoch than compiling them at level 1.
COMPILED_BETTER = {"XLA_FLAGS": os.environ["XLA_FLAGS"].replace("_level=0", "_level=1")}


def write_competition(folder: Path) -> dict[str, str]:
    """Writes a competition of low and high tones, some shorter than the model hears; returns what is right."""
    import numpy as np

    draw = np.random.default_rng(7)
    kinds = {f"{number:03d}": ["low", "high"][int(draw.integers(2))] for number in range(100)}
    train, test = list(kinds)[:80], list(kinds)[80:]
    for key, kind in kinds.items():
        hertz = draw.uniform(200, 500) * (4 if kind == "high" else 1)
        sound = tone(hertz, draw.uniform(0.3, 0.9)) * draw.uniform(0.2, 1)
        write_wav(folder / ("train" if key in train else "test") / f"{key}.wav", sound)
    lines = [f"{key},{kinds[key]}" for key in train]
    (folder / "train.csv").write_text("\n".join(["id,label", *lines]) + "\n")
    (folder / "sample_submission.csv").write_text("\n".join(["id,label", *(f"{key},low" for key in test)]) + "\n")
    return {key: kinds[key] for key in test}


@pytest.mark.slow
def test_batches_keep_the_order_and_repeat_their_views_and_spectrograms_show_the_tone(
    sessions: Sessions, mirror: Mirror
) -> None:
    write_competition(mirror.competition)
    write_wav(mirror.competition / "train" / "000.wav", tone(1_000, 0.2, loudness=0.9))
    look = (
        "(lambda batches, shown: {'shapes': [list(batch.shape) for batch in batches(0)],"
        " 'filled': bool((batches(0)[2][2:] == batches(0)[0][:2]).all()),"
        " 'again': all((a == b).all() for a, b in zip(batches(1), batches(1))),"
        " 'other': all((a == b).all() for a, b in zip(batches(1), batches(2))),"
        " 'silence': [int(place) for place in np.flatnonzero(batches(0)[0][0])[[0, -1]]],"
        " 'loud': [int(row) for row in shown(batches(0)[0][:1])[0].argmax(axis=1)][8:24],"
        " 'bright': float(shown(batches(0)[0][:1]).max())})"
        "(lambda seed: [batch['sound'].numpy() for batch in batches_in_order("
        "{name: values[:10] for name, values in sounds.items()} | {'seed': np.full(10, seed)}, 4)],"
        " lambda sounds: np.asarray(log_mel(sounds, **spectrum)))"
    )
    train = Notebook("keras", "train", task=TONES)

    ended = sessions.finished(train, mirror.parameters(train), until="model-summary", look=look)
    samples = 33 * 128
    assert ended.seen["shapes"] == [[4, samples]] * 3
    assert ended.seen["filled"]
    assert ended.seen["again"]
    assert not ended.seen["other"]
    first, last = ended.seen["silence"]
    assert last - first == pytest.approx(0.2 * RATE, abs=3)
    assert first == pytest.approx(samples - last, abs=4)
    assert len(set(ended.seen["loud"][4:-4])) == 1
    assert ended.seen["bright"] == pytest.approx(0.99, abs=0.02)


@pytest.mark.slow
def test_test_sounds_that_are_not_there_yet_are_silence_and_wrong_names_are_an_error(
    sessions: Sessions, mirror: Mirror
) -> None:
    write_competition(mirror.competition)
    hidden = replace(TONES, details=TONES.details | {"hidden_test": True})
    train, infer = Notebook("tensorflow", "train", task=hidden), Notebook("tensorflow", "infer", task=hidden)
    ended = sessions.finished(train, mirror.parameters(train, EPOCHS=1))
    mirror.working.rename(mirror.root / "train")

    def ended_with(**knobs: bool) -> Any:
        return sessions.run(infer, mirror.parameters(infer, **knobs), until="predict-test", look="predictions.tolist()")

    for path in (mirror.competition / "test").iterdir():
        path.rename(path.with_name(f"clip-{path.name}"))
    error = ended_with().error
    assert "20 of 20 test sounds are missing or cannot be decoded" in error
    assert "080.wav, 081.wav" in error
    assert "The ids must be those of the sounds there." in error
    for path in (mirror.competition / "test").iterdir():
        path.unlink()
    assert "With SKIP_UNREADABLE = True" in ended_with(SKIP_UNREADABLE=False).error
    ended = ended_with()
    assert ended.is_done, ended
    assert ended.seen == [ended.seen[0]] * 20
    assert "There are no test sounds before Kaggle scores" in ended.said("predict-test")


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["keras", "tensorflow", "jax", pytest.param("torch", marks=needs_torch)])
def test_a_pair_tells_tones_apart_and_gives_every_id_its_prediction(
    sessions: Sessions, mirror: Mirror, framework: str
) -> None:
    right = write_competition(mirror.competition)
    small = {"EPOCHS": 8, "MELS": 64, "LEARNING_RATE": 0.03}

    _, *rows = sessions.predicted(mirror, framework, TONES, inference={"TTA": 2}, environment=COMPILED_BETTER, **small)

    assert [row[0] for row in rows] == list(right)
    assert sum(row[1] == right[row[0]] for row in rows) >= 0.9 * len(rows)
