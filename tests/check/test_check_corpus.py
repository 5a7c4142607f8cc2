"""Every fault of the corpus is found in its place and nothing else; nothing is found in sound notebooks."""

from pathlib import Path

import pytest
from check_corpus import SOUND, Case, cases, sound

from generator.check.checking import check


@pytest.mark.parametrize("name", SOUND)
def test_nothing_is_found_in_a_sound_notebook(name: str, tmp_path: Path) -> None:
    assert check([sound(name).read(tmp_path)]) == []


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_a_fault_is_found_where_it_is_and_nothing_else(case: Case, tmp_path: Path) -> None:
    found = check([case.kernel().read(tmp_path)])

    assert len(found) == 1
    assert case.is_found(found[0]), found[0]
