"""pair.toml keeps what the user chose, and everything else is chosen anew."""

import re
from pathlib import Path

import pytest

from generator.competition import builtin
from generator.pair.settings import (
    Origin,
    SettingError,
    Settings,
    SettingValue,
    parse_settings,
    propose_settings,
    settings_toml,
)

PATH = Path("kernels/digits/pair.toml")


def proposal(framework: str = "keras") -> Settings:
    digits = builtin.require("digits")
    owner = SettingValue("ada", Origin.INFERRED, "KAGGLE_USERNAME")
    return propose_settings(digits.competition, digits.task, framework=framework, owner=owner)


def regenerated(text: str, as_written: str | None = None, flags: dict[str, str] | None = None) -> Settings:
    return proposal().merge(parse_settings(text, path=PATH, as_written=as_written), flags or {})


def test_settings_survive_being_written_and_read() -> None:
    assert parse_settings(settings_toml(proposal()), path=PATH) == proposal()


def test_writing_the_same_settings_again_changes_no_byte() -> None:
    text = settings_toml(proposal())

    assert settings_toml(regenerated(text, as_written=text), existing=text) == text


def test_each_setting_is_one_line_that_says_who_chose_it() -> None:
    text = settings_toml(proposal())

    assert 'framework = { value = "keras", by = "default" }\n' in text
    assert 'owner = { value = "ada", by = "inferred", evidence = "KAGGLE_USERNAME" }\n' in text


def test_a_plain_value_is_the_users_own_and_stays_with_its_comment() -> None:
    text = settings_toml(proposal()).replace(
        'framework = { value = "keras", by = "default" }', 'framework = "tensorflow"  # the team knows it'
    )
    settings = regenerated(text)

    assert settings.pair["framework"] == SettingValue("tensorflow", Origin.HAND)
    assert 'framework = "tensorflow"  # the team knows it\n' in settings_toml(settings, existing=text)


def test_a_value_edited_inside_its_table_is_noticed_as_made_by_hand() -> None:
    written = settings_toml(proposal())
    edited = re.sub("epochs = { value = [0-9]+", "epochs = { value = 5", written)
    assert edited != written
    settings = regenerated(edited, as_written=written)

    assert settings.task["epochs"] == SettingValue(5, Origin.HAND)
    assert 'epochs = { value = 5, by = "hand" }' in settings_toml(settings, existing=edited)


def test_an_edit_that_changes_only_the_type_is_noticed_too() -> None:
    written = "[parameters]\nTTA = { value = 1, by = 'default' }\n"
    settings = parse_settings(written.replace("value = 1", "value = true"), path=PATH, as_written=written)

    assert settings.parameters["TTA"] == SettingValue(True, Origin.HAND)


def test_inferred_and_default_choices_are_made_anew() -> None:
    text = settings_toml(proposal("tensorflow"))

    assert regenerated(text, as_written=text).pair["framework"] == SettingValue("keras", Origin.DEFAULT)


def test_a_flag_is_kept_until_another_flag_overrules_it() -> None:
    first = proposal().merge(Settings(), {"framework": "tensorflow"})
    text = settings_toml(first)

    assert regenerated(text, as_written=text).pair["framework"] == SettingValue("tensorflow", Origin.FLAG)
    again = regenerated(text, as_written=text, flags={"framework": "keras"})
    assert again.pair["framework"] == SettingValue("keras", Origin.FLAG)


def test_a_flag_overrules_a_choice_by_hand() -> None:
    text = '[pair]\nframework = "tensorflow"  # mine\n'
    settings = regenerated(text, flags={"framework": "keras"})

    assert 'framework = { value = "keras", by = "flag" }  # mine\n' in settings_toml(settings, existing=text)


def test_comments_order_and_own_parameters_survive_regeneration() -> None:
    text = '# mine\n[parameters]\nEPOCHS = 10 # short\nSIZES = [1, 2]\n\n[pair]\nowner = "grace"\nflagship = true\n'
    again = settings_toml(regenerated(text), existing=text)

    assert again.startswith("# mine\n[parameters]\nEPOCHS = 10 # short\nSIZES = [1, 2]\n")
    assert 'owner = "grace"\nflagship = true\n' in again
    assert parse_settings(again, path=PATH).parameters["SIZES"].value == [1, 2]


def test_what_a_minimal_file_leaves_open_is_completed_and_what_it_says_stays() -> None:
    settings = parse_settings('[pair]\ncompetition = "digits"\nowner = "grace"\n', path=PATH).fill(proposal())

    assert (settings.pair["owner"].value, settings.pair["framework"].value) == ("grace", "keras")
    assert settings.task["image_size"].value == 16


@pytest.mark.parametrize(
    "title", ["it's", 'say "hi"', "two\nlines", "back\\slash", "]]\n[pair]", "🚀", "\x1b[31m", "'''", "\u2028"]
)
def test_any_title_survives_the_file(title: str) -> None:
    settings = Settings(pair={"title": SettingValue(title, Origin.INFERRED, title)})

    assert parse_settings(settings_toml(settings), path=PATH) == settings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[pair\n", "kernels/digits/pair.toml is not TOML: "),
        (f"[{'.'.join('a' * 5_000)}]\n", "kernels/digits/pair.toml is not TOML: "),
        ("[pair]\nframwork = 'keras'\n", 'unknown key "pair.framwork". Valid keys: pair.competition'),
        ("[pair]\nframwork = 'keras'\n", 'Did you mean "pair.framework"?'),
        ("[parameter]\n", 'Did you mean "parameters"?'),
        ("pair = 3\n", "pair is 3, but it must be a section"),
        ("[pair]\nframework = 3\n", "pair.framework is 3, but it must be text"),
        ("[pair]\ncompetition = '../x'\n", "pair.competition is '../x', but it must be lower-case letters"),
        ("[pair]\nframework = '../../etc'\n", "must be a name that `tandem generate --list` shows"),
        ("[task]\nepochs = '3'\n", "task.epochs is '3', but it must be a whole number"),
        ("[task]\nepochs = true\n", "task.epochs is True, but it must be a whole number"),
        ("[task]\nepochs = 0\n", "task.epochs is 0, but it must be at least 1"),
        ("[task]\nflip = 1\n", "task.flip is 1, but it must be true or false"),
        ("[task]\nmetric = 'acuracy'\n", 'must be a metric that can be computed. There is no metric "acuracy"'),
        ("[task]\ntrain_folder = '/etc'\n", "must be a path inside of the competition's folder"),
        ("[task]\ntrain_folder = 'a/../..'\n", "must be a path inside of the competition's folder"),
        ("[task]\nepochs = { by = 'hand' }\n", "but it must be a value, or a table with one"),
        ("[task]\nepochs = { value = 3, by = 'me' }\n", "task.epochs.by is 'me', but it must be one of inferred"),
        ("[task]\nepochs = { value = 3, evidense = 'x' }\n", 'Did you mean "task.epochs.evidence"?'),
        ("[parameters]\nDAY = 2026-01-01\n", "parameters.DAY is datetime.date(2026, 1, 1), but it must be a number"),
        ("[parameters.EPOCHS]\nvalues = 3\n", 'Did you mean "parameters.EPOCHS.value"?'),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence_with_the_key(text: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        parse_settings(text, path=PATH)

    assert message in str(caught.value)
    assert "pair.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_broken_copy_of_the_kit_counts_as_none() -> None:
    text = settings_toml(proposal())

    assert parse_settings(text, path=PATH, as_written="[[broken") == proposal()
