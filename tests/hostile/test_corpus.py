"""Inputs that atheris found: some that reached code which others had not, and whatever failed once."""

from pathlib import Path

import pytest
from guided import CORPUS, HARNESSES, corpus_of, fuzzed

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("harness", HARNESSES)
def test_what_was_found_once_ends_well_or_in_a_sentence(
    harness: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = sorted(corpus_of(harness).iterdir())
    monkeypatch.chdir(tmp_path)
    replay = fuzzed(harness)

    assert inputs
    for path in inputs:
        replay(path.read_bytes())


def test_every_folder_of_the_corpus_belongs_to_a_test() -> None:
    assert {path.name for path in CORPUS.iterdir()} == {corpus_of(harness).name for harness in HARNESSES}
