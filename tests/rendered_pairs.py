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
NOTHING_NEW = {
    *("images_without_a_sample_submission", "several_rows_for_each_scan", "a_metric_that_does_not_suit_the_target"),
    *("a_metric_that_nobody_names", "two_tables_to_train_on", "two_columns_that_could_be_the_target"),
    *("grades_that_could_be_numbers", "an_answer_that_is_called_as_no_column_is", "humpback_whales", "dog_breeds"),
    *("planet_amazon", "class_names_of_several_words_as_folders", "state_farm_drivers"),
    *("labels_before_a_hyphen_and_grey_images", "petfinder_pawpularity", "two_numbers_for_each_16_bit_scan"),
    *("paths_with_folders_in_a_column", "a_code_competition_that_shows_one_test_image"),
    *("protein_atlas_with_numbers_as_labels", "organs_named_in_a_column", "classes_of_masks_with_an_underscore"),
    *("nuclei_in_folders_of_their_own", "carvana_masks_as_images", "an_index_that_pandas_wrote"),
    *("labels_beside_upper_case_photographs", "labels_at_the_end_of_names", "digits_that_several_people_say"),
    *("spaces_behind_commas", "facial_expressions_as_pixel_strings", "a_folder_for_each_patient"),
    *("paddy_diseases_in_folders_and_in_a_table", "hotels_in_the_folders_of_their_chains"),
    *("whales_known_by_the_names_in_the_sample", "a_training_table_in_parts", "speech_commands"),
    *("sounds_named_in_a_table", "spaceship_with_truth_values", "several_tables_of_which_one_is_the_main_one"),
    *("classes_as_columns_that_have_a_prefix", "roles_that_only_the_content_tells", "one_prediction_for_each_series"),
    *("contradictory_my_dear_watson", "jigsaw_toxic_comments", "pairs_of_short_phrases"),
    *("essays_with_several_scores", "essays_on_two_prompts_and_the_test_on_others"),
    *("questions_with_answers_to_choose_from",),
}
"""Layouts whose cells are all, to the letter, in pairs of others, apart from parameters, imports and metrics."""
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
    chosen = [layout for layout in ALL_LAYOUTS if layout.name not in NOTHING_NEW]
    return [pytest.param(layout, id=layout.name, marks=marks[layout.name]) for layout in chosen]
