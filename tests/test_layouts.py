"""The layouts that Kaggle's competitions have are understood, and what is ambiguous in them is said."""

import pytest
from layouts import KAGGLE, LAYOUTS, REFUSED, WARNED, Layout

from generator.competition.introspection.evidence import IntrospectionError, Reading


def check(layout: Layout, reading: Reading) -> None:
    found = {key: getattr(reading.task, key) for key in layout.task}
    why = {key: reading.findings[key] for key, value in layout.task.items() if found[key] != value}
    assert found == layout.task, why
    details = {key: reading.task.details.get(key) for key in layout.details}
    assert details == layout.details, {key: reading.task.evidence.get(key) for key in layout.details}


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_layout_is_understood_without_a_warning(layout: Layout) -> None:
    reading = layout.read()

    check(layout, reading)
    assert reading.warnings == ()


@pytest.mark.parametrize("layout", WARNED, ids=lambda layout: layout.name)
def test_what_is_ambiguous_is_said_with_the_flag_that_settles_it(layout: Layout) -> None:
    reading = layout.read()

    check(layout, reading)
    assert any(all(word in warning for word in layout.warns) for warning in reading.warnings), reading.warnings


@pytest.mark.parametrize("layout", [layout for layout in WARNED if layout.settles], ids=lambda layout: layout.name)
def test_after_the_users_decision_nothing_is_warned_of(layout: Layout) -> None:
    reading = layout.read(layout.settles)

    assert reading.warnings == ()
    for key, value in layout.settles.items():
        assert reading.findings[key].value == value


@pytest.mark.parametrize("layout", KAGGLE, ids=lambda layout: layout.name)
def test_a_competition_as_it_stands_on_kaggle_is_understood(layout: Layout) -> None:
    check(layout, layout.read())


@pytest.mark.parametrize("layout", REFUSED, ids=lambda layout: layout.name)
def test_what_would_fail_in_a_notebook_is_refused_before(layout: Layout) -> None:
    with pytest.raises(IntrospectionError, match=layout.refused):
        layout.read()


def test_evidence_is_the_same_in_every_process() -> None:
    layout = next(layout for layout in KAGGLE if layout.name == "house-prices-advanced-regression-techniques")

    evidence = layout.read().task.evidence["formatted_columns"]

    # The first of the longest in the alphabet; a set has them in another order in each process.
    assert evidence == 'the numbers of HouseStyle have the format "1Story"'
