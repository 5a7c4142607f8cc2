"""The pairs of every layout in every framework."""

from typing import Any

import pytest
from layouts import ALL_LAYOUTS, Layout

from generator.competition.facts import Competition
from generator.competition.schema import families
from generator.pair.settings import Origin, Settings, SettingValue, propose_settings

FIRST = (
    *("birdclef", "scans_whose_paths_a_gateway_shares", "severstal_steel_defects", "nlp_getting_started"),
    *("tables_and_sample_in_zips", "cells_in_four_grey_files", "one_answer_for_each_sequence_of_a_gateway"),
    *("denoising_dirty_documents", "tpu_getting_started", "ventilator_pressure", "whole_grades_in_another_encoding"),
    *("ids_of_an_essay_and_a_sentence", "facial_keypoints", "store_sales", "a_search_beside_what_was_found"),
    *("numbers_with_commas_and_question_marks",),
)
"""Layouts whose pairs have three quarters of all texts that a cell can have, one behind the other."""
FRAMEWORKS_OF = {family.name: family.frameworks for family in families().values()}


def layout_choices(layout: Layout) -> dict[str, Settings]:
    """The choices of a layout's pair in every framework that its family has."""
    task = layout.read().task
    competition = Competition(slug=layout.name.replace("_", "-"), title=layout.name, is_code_competition=True)
    owner = SettingValue("ada", Origin.FLAG)
    return {
        framework: propose_settings(competition, task, framework=framework, owner=owner)
        for framework in FRAMEWORKS_OF[task.family]
    }


def rendered_layouts() -> list[Any]:
    """The layouts as parameters of a test that renders the pair of each: the first ones are among the fast ones."""
    marks = {layout.name: () if layout.name in FIRST else (pytest.mark.slow,) for layout in ALL_LAYOUTS}
    return [pytest.param(layout, id=layout.name, marks=marks[layout.name]) for layout in ALL_LAYOUTS]
