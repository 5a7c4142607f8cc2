"""The features of sounds: how loud they are at each pitch, on average and how much that varies."""

from pathlib import Path
from typing import Any

from generator.competition.baseline.features import Features
from generator.competition.baseline.held_out import HeldOut
from generator.competition.baseline.image_features import Reader, read_files

_MOST_SAMPLED = 1_500
_FRAME = 1_024
_BANDS = 32
_MOST_SAMPLES = 1 << 19  # of one sound


def read(held_out: HeldOut, data: Path) -> Features | None:
    """The loudness by pitch of a sample of the sounds; None where they are no WAV files, or in archives."""
    if ".zip" in str(held_out.task.details["train_folder"]):
        return None
    return read_files(held_out, data, Reader(_loudness, "the loudness by pitch", _MOST_SAMPLED, "audio_column"))


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
