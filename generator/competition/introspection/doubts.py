"""What the user is told of a reading: values that are hardly more than a guess, and what has to be done first."""

from collections.abc import Iterable, Iterator

from generator.competition.introspection.clues import Clues
from generator.competition.introspection.facts import Confidence, Finding
from generator.competition.introspection.weighing import flag
from generator.untrusted import printable

_CALLED = {
    "family": "The family",
    "metric": "The metric",
    "target_kind": "What is predicted",
    "submission": "The shape of the submission",
    "id_column": "The id column",
    "targets": "The target",
    "train_table": "The training table",
    "labels_table": "The table of labels",
    "test_table": "The test table",
    "sample_submission": "The sample submission",
}
_HAVE_FLAGS = ("family", "metric", "id_column", "targets", "train_table", "test_table", "sample_submission")
_SETTLED_BY = {"target_kind": "metric", "submission": "metric"}
_LIST_SHOWN = 5


def warnings_of(findings: Iterable[Finding], clues: Clues) -> tuple[str, ...]:
    """The sentences, each of which names the flag that settles its matter."""
    guesses = (_guess(finding) for finding in findings if finding.confidence is Confidence.THIN)
    return (*guesses, *_about_files(clues))


def _guess(finding: Finding) -> str:
    called = _CALLED.get(finding.key, f"The value {finding.key}")
    rivals = [rival for rival in finding.candidates[1:] if rival.weight > 0]
    instead = f", and {_shown(rivals[0].value)} is hardly less likely" if rivals else ""
    why = f": {finding.evidence}" if finding.evidence else ""
    return f"{called} is a guess, {_shown(finding.value)}{instead}{why}; {_remedy(finding.key)} settles it."


def _remedy(key: str) -> str:
    key = _SETTLED_BY.get(key, key)
    return flag(key) if key in _HAVE_FLAGS else f"{key} in pair.toml"


def _about_files(clues: Clues) -> Iterator[str]:
    tables, source = clues.tables, clues.source
    if tables.sample is None:
        where = tables.test.path if tables.test is not None else "the test files"
        yield (
            f"There is no sample submission; the submission is built from the ids of {printable(where)}, "
            "--sample names one."
        )
    archives = (
        {place.path for place in (source.labelling.train, source.test) if place is not None and place.is_archive}
        if source
        else set()
    )
    if archives:
        listed = " and ".join(printable(path) for path in sorted(archives))
        yield f"A notebook cannot read {listed} before it is unpacked; `tandem data` does so."


def _shown(value: object) -> str:
    if isinstance(value, list):
        more = f" and {len(value) - _LIST_SHOWN} more" if len(value) > _LIST_SHOWN else ""
        return ", ".join(printable(str(item)) for item in value[:_LIST_SHOWN]) + more
    return printable(str(value)) or "none"
