"""The keys that a family adds to a task: described in its `family.toml`, checked wherever a value comes from."""

from pathlib import Path

import pytest
from miniature import write_tree

from generator.installation import template_folder
from generator.pair.task_keys import SettingError, TaskKeyError, broken_rule, keys_of, known_keys, setting_of
from generator.pair.template_folder import NotOfFamilyError, check_offered, families

HEAD = 'title = "T"\ndescription = "D."\nframeworks = ["keras"]\ntargets = ["number"]\n'


def family(tmp_path: Path, facts: str) -> Path:
    return write_tree(tmp_path, {"families/waves/family.toml": HEAD + facts})


def test_a_family_in_a_folder_of_its_own_brings_its_keys(tmp_path: Path) -> None:
    templates = family(tmp_path, '[facts.rate]\ntype = "whole number"\nminimum = 1\nhelp = "hertz"\n')

    rate = keys_of("waves", templates=templates)["rate"]
    assert [broken_rule(rate, value) for value in (8_000, 0, "fast")] == ["", "1 or more", "a whole number"]
    assert "rate" not in keys_of("ripples", templates=templates)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ('[facts.rate]\ntype = "hertz"\n', 'key "rate": its type is none of text, whole number'),
        ('[facts.rate]\ntype = "number"\nmaximum = 3\n', 'there is no "maximum"; known: type, options'),
        ('[facts.rate]\ntype = "text"\ndefault = 3\n', "its default must be text"),
        ("[facts.rate\n", "family.toml"),
    ],
)
def test_a_key_that_cannot_be_is_told_with_the_file(tmp_path: Path, facts: str, message: str) -> None:
    with pytest.raises(TaskKeyError) as caught:
        keys_of("waves", templates=family(tmp_path, facts))

    assert message in str(caught.value)


def test_a_key_that_two_families_share_means_the_same_in_both() -> None:
    templates = template_folder()
    for known in families(templates):
        for key, rule in keys_of(known.name).items():
            others = known_keys()[key]
            assert {(other.type, other.is_path) for other in others} == {(rule.type, rule.is_path)}, (known.name, key)


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("epochs=3", ("epochs", 3)),
        ("flip=yes", ("flip", True)),
        ("drop_columns=Name, Ticket", ("drop_columns", ["Name", "Ticket"])),
        ("image_suffix=", ("image_suffix", "")),
        ("separator=;", ("separator", ";")),
        ("labels_from=names", ("labels_from", "names")),
        ("labels_from=folders", ("labels_from", "folders")),
    ],
)
def test_a_setting_of_the_command_line_gets_the_type_of_its_key(text: str, setting: tuple[str, object]) -> None:
    assert setting_of(text) == setting


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epochs", "write KEY=VALUE"),
        ("epoch=3", 'Did you mean "epochs"?'),
        ("epochs=3.5", "epochs must be a whole number"),
        ("flip=maybe", "flip must be true or false"),
        ("train_folder=../../etc", "train_folder must be a path inside of the competition's folder"),
        ("\x1b[31m=1", "\\x1b[31m"),
    ],
)
def test_a_setting_that_cannot_be_is_one_printable_sentence(text: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        setting_of(text)

    assert message in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_target_that_a_family_has_no_model_for_is_refused() -> None:
    wanted = {"target_kind": "mask", "submission": "run_length"}

    with pytest.raises(NotOfFamilyError, match='the family "tabular" has no templates for the target_kind "mask"'):
        check_offered(template_folder(), family="tabular", framework="keras", wanted=wanted, source="pair.toml")
