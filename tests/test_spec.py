"""Kernels are called what Kaggle calls them, and a pair's id is what both notebooks share."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from slugify import slugify

from generator.competition import builtin
from generator.pair.settings import Origin, Settings, SettingValue, propose_settings
from generator.pair.spec import PairSpec, spec_of
from generator.text import Value

LONG = "house-prices-advanced-regression-techniques-and-more-of-them"


def spec(
    *, competition: str = "digits", flags: dict[str, str] | None = None, task: Mapping[str, Value] | None = None
) -> PairSpec:
    digits = builtin.require("digits")
    facts = replace(digits.competition, slug=competition)
    proposal = propose_settings(facts, digits.task, framework="keras", owner=SettingValue("ada", Origin.DEFAULT))
    changed = {key: SettingValue(value, Origin.HAND) for key, value in (task or {}).items()}
    return spec_of(proposal.merge(Settings(task=changed), flags or {}))


def test_kernels_are_called_after_competition_framework_and_role() -> None:
    assert (spec().train.title, spec().train.ref) == ("Digits keras train", "ada/digits-keras-train")
    assert (spec().infer.title, spec().infer.slug) == ("Digits keras infer", "digits-keras-infer")


@pytest.mark.parametrize("framework", ["keras", "tensorflow", "jax", "torch"])
@pytest.mark.parametrize("competition", ["digits", "a", "2026", "a--b", "x" * 60, LONG, "titanic-2e3"])
def test_titles_fit_and_make_the_slug_that_kaggle_makes(framework: str, competition: str) -> None:
    pair = spec(competition=competition, flags={"framework": framework})

    for kernel in (pair.train, pair.infer):
        assert 5 <= len(kernel.title) <= 50
        assert len(kernel.slug) >= 5
        assert slugify(kernel.title) == kernel.slug
    assert pair.train.slug != pair.infer.slug


def test_long_competitions_with_the_same_beginning_stay_apart() -> None:
    first, second = spec(competition=LONG).train.slug, spec(competition=f"{LONG}-2").train.slug

    assert first.startswith("house-prices-advanced-regression-")
    assert first != second


def test_the_pair_id_is_the_same_every_time() -> None:
    assert spec().pair_id == spec().pair_id
    assert spec().pair_id.startswith("digits-keras-")
    assert len(spec().pair_id) == len("digits-keras-") + 8


def test_a_choice_that_both_notebooks_must_share_changes_the_pair_id() -> None:
    assert spec(task={"image_size": 32}).pair_id != spec().pair_id
    assert spec(flags={"framework": "tensorflow"}).pair_id != spec().pair_id


def test_a_choice_of_training_alone_leaves_the_pair_id() -> None:
    assert spec(task={"epochs": 3, "batch_size": 8}).pair_id == spec().pair_id
    assert spec(flags={"owner": "grace"}).pair_id == spec().pair_id


@pytest.mark.parametrize(
    ("task", "separator"),
    [
        ({"separator": ";"}, ","),
        ({"submission_separator": ";"}, ";"),
        ({"sample_submission": "sample.tsv"}, "\t"),
        ({"submission_file": "submission.tsv"}, ","),
        ({"sample_submission": ""}, ","),
    ],
)
def test_a_sample_is_read_with_its_own_separator(task: Mapping[str, Value], separator: str) -> None:
    assert spec(task=task).files.sample_separator == separator
