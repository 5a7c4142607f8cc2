"""The layouts that Kaggle's competitions have are understood, and what is ambiguous in them is said."""

from pathlib import Path

import pytest
from layouts import AMBIGUOUS, LAYOUTS, Layout

from generator.competition.introspection.facts import Hints, Reading
from generator.competition.introspection.reading import read_task
from generator.competition.survey import survey_folder


def reading_of(layout: Layout, folder: Path) -> Reading:
    layout.write(folder)
    return read_task(survey_folder(folder), Hints(slug=layout.name.replace("_", "-"), metric_text=layout.metric))


def check(layout: Layout, reading: Reading) -> None:
    expected = {("metric" if key == "metric_is" else key): value for key, value in layout.task.items()}
    found = {key: getattr(reading.task, key) for key in expected}
    why = {key: reading.findings[key] for key in expected if found[key] != expected[key]}
    assert found == expected, why
    details = {key: reading.task.details.get(key) for key in layout.details}
    assert details == layout.details, {key: reading.task.evidence.get(key) for key in layout.details}


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_layout_is_understood_without_a_doubt(layout: Layout, tmp_path: Path) -> None:
    reading = reading_of(layout, tmp_path)

    check(layout, reading)
    assert reading.warnings == ()


@pytest.mark.parametrize("layout", AMBIGUOUS, ids=lambda layout: layout.name)
def test_what_is_ambiguous_is_said_with_the_flag_that_settles_it(layout: Layout, tmp_path: Path) -> None:
    reading = reading_of(layout, tmp_path)

    check(layout, reading)
    assert any(all(word in warning for word in layout.warns) for warning in reading.warnings), reading.warnings
