"""Sounds: the sampling rate and the length that the model needs to know."""

from itertools import pairwise

from generator.competition.introspection.column_statistics import key_column
from generator.competition.introspection.data_profile import Observations
from generator.competition.introspection.example_files import ExampleFiles
from generator.competition.introspection.findings import Confidence, Findings
from generator.competition.survey.facts import Column
from generator.competition.survey.sound import SUFFIXES

_HIGHEST_RATE, _USUAL_RATE = 32_000, 32_000
_SHORTEST, _LONGEST, _USUAL_SECONDS = 1.0, 30.0, 5.0


def settle_audio(seen: Observations, files: ExampleFiles, found: Findings) -> None:
    """Settles what there is to know of the sounds."""
    form, sample = files.audio, seen.tables.sample
    rate = min(form.sample_rate, _HIGHEST_RATE) if form is not None and form.sample_rate else _USUAL_RATE
    heard = f"the sounds have {form.sample_rate:,} samples a second" if form is not None else "no sound could be read"
    sure = Confidence.SURE if form is not None else Confidence.THIN
    ids = key_column(sample)
    step = _seconds_per_part(seen.targets.parts) or _seconds_per_part(_ends(ids))
    seconds = form.seconds if form is not None and form.seconds else _USUAL_SECONDS
    length = step or round(min(_LONGEST, max(_SHORTEST, seconds)), 1)
    evidence = "the ids end in seconds, so far apart" if step else f"the median is {seconds:.1f} s"
    found.settle("sample_rate", rate, heard, sure)
    found.settle("seconds", length, evidence, sure)
    found.settle("part_seconds", step, evidence if step else "the ids name whole sounds")
    found.settle("are_wav", *_are_wav(files))
    if files.test is None or files.test.names:
        found.settle("hidden_test", False, "there are test sounds, or no folder for them")
    else:
        evidence = f"{files.test.path} has no sounds; they are there when the notebook is scored"
        found.settle("hidden_test", True, evidence)


def _are_wav(files: ExampleFiles) -> tuple[bool, str]:
    folders = [folder for folder in (files.source.train, files.test) if folder is not None]
    suffixes = {suffix for folder in folders for part in folder.folders for suffix in part.suffixes}
    others = sorted((suffixes & (SUFFIXES | {".mp3"})) - {".wav"})
    if others or ".wav" not in suffixes:
        return False, f"there are {', '.join(others)}" if others else "no WAV file was seen"
    formats = [part.audio for folder in folders for part in folder.folders if part.audio is not None]
    if not all(form.is_plain_wav for form in formats):
        return False, "some .wav files have samples that are neither integers nor floats"
    return True, "all sounds are .wav"


def _ends(ids: Column | None) -> tuple[str, ...]:
    """The ends of the ids, where all of them are of one long sound, as a sample of a hidden test may be."""
    found = [key.rpartition("_") for key in ids.present] if ids is not None else []
    return tuple(end for _, _, end in found) if len({start for start, _, _ in found}) == 1 else ()


def _seconds_per_part(parts: tuple[str, ...]) -> float:
    """The length of a part, where parts are named by the second at which they end: `5`, `10`, `15`; else 0."""
    ends = sorted(float(part) for part in parts if part.isdecimal())
    if len(ends) <= 1 or len(ends) < len(parts):
        return 0.0
    steps = {later - earlier for earlier, later in pairwise(ends)}
    step = min(steps)
    return step if steps == {step} and ends[0] in (0, step) and step > 1 else 0.0
