"""The keys that `common.toml` and a `family.toml` declare, checked wherever a value comes from."""

from collections.abc import Callable
from pathlib import Path

import pytest
from miniature import replace_templates

from generator.competition.schema import SchemaError, check_offered, common, families, keys_of, known_keys
from generator.errors import PairError
from generator.pair.overrides import parse_setting
from generator.pair.settings import SettingError

HEAD = 'title = "T"\ndescription = "D."\nmedium = "audio"\ntargets = ["number"]\n'


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Adds a family `waves` to the kit's."""

    def added(keys: str, *, head: str = HEAD, **files: str) -> None:
        replace_templates(monkeypatch, tmp_path, {"families/waves/family.toml": head + keys, **files})

    return added


def test_a_family_in_a_folder_of_its_own_brings_its_keys(family: Callable[..., None]) -> None:
    family('[task.rate]\ntype = "int"\nrange = "at least 1"\nhelp = "hertz"\n')

    rate = keys_of("waves")["rate"]
    assert [rate.expected(value) for value in (8_000, 0, "fast")] == ["", "at least 1", "a whole number"]
    assert "rate" not in keys_of("ripples")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('[task.rate]\ntype = "hertz"\n', 'key "rate": its type is none of str, int, float, bool, list'),
        ('[task.rate]\ntype = "float"\nmaximum = 3\n', 'there is no "maximum"; known: type, help, options'),
        ('[task.rate]\ntype = "str"\ndefault = 3\n', "its default must be text"),
        ("[task.rate\n", "family.toml"),
        ('[task.rate]\ntype = "int"\nscope = "training"\n', 'there is no scope "training"'),
        ("kind = 1\n", 'there is no "kind"'),
        (
            '[task.rate]\ntype = "int"\nrange = "3 or more"\n',
            '"3 or more" is no range, such as "at least 0 and below 1"',
        ),
    ],
)
def test_a_key_that_cannot_be_is_told_with_the_file(family: Callable[..., None], keys: str, message: str) -> None:
    family(keys)

    with pytest.raises(SchemaError) as caught:
        keys_of("waves")

    assert message in str(caught.value)


def test_a_key_that_is_rendered_to_a_parameter_has_its_range_unless_it_has_its_own(family: Callable[..., None]) -> None:
    family('[task.epochs]\ntype = "int"\n[task.batch_size]\ntype = "int"\nrange = "at least 8"\n')

    assert [str(keys_of("waves")[key].range) for key in ("epochs", "batch_size")] == ["at least 1", "at least 8"]


def test_a_key_that_two_families_share_means_the_same_in_both() -> None:
    for name in families():
        for key, rule in keys_of(name).items():
            others = known_keys()[key]
            assert {(other.type, other.form) for other in others} == {(rule.type, rule.form)}, (name, key)


def test_every_key_says_what_it_is() -> None:
    rules = [*common()["pair"].items(), *((key, rule) for key, rules in known_keys().items() for rule in rules)]
    assert [key for key, rule in rules if not rule.help] == []


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
    assert parse_setting(text) == setting


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epochs", "Write KEY=VALUE"),
        ("epoch=3", 'Did you mean "epochs"?'),
        ("epochs=3.5", "epochs must be a whole number"),
        ("flip=maybe", "flip must be true or false"),
        ("seconds=nan", "seconds must be a number"),
        ("train_folder=../../etc", "train_folder must be a path inside of the competition's folder"),
        ("\x1b[31m=1", "\\x1b[31m"),
    ],
)
def test_a_setting_that_cannot_be_is_one_printable_sentence(text: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        parse_setting(text)

    assert message in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_target_that_a_family_has_no_model_for_is_refused() -> None:
    wanted = {"target_kind": "mask", "submission": "run_length"}

    with pytest.raises(PairError, match='the family "tabular" has no templates for the target_kind "mask"'):
        check_offered(family="tabular", framework="keras", requirements=wanted, source="pair.toml")


def test_a_family_has_the_frameworks_that_it_has_a_model_in(family: Callable[..., None]) -> None:
    models = {f"families/waves/models/{name}.py.j2": "" for name in ("jax", "torch")}
    said = 'title = "T"\ndescription = "D."\n'
    family("", **models, **{f"frameworks/{name}/framework.toml": said for name in ("jax", "keras")})

    assert families()["waves"].frameworks == ("jax", "torch")
    with pytest.raises(PairError, match=r'no templates for the framework "keras"\. It has: jax, torch'):
        check_offered(family="waves", framework="keras", requirements={}, source="pair.toml")


def test_a_framework_that_extends_another_is_had_by_every_family_that_has_the_other(
    family: Callable[..., None],
) -> None:
    said = 'title = "T"\ndescription = "D."\n'
    declared = {"frameworks/jax/framework.toml": said, "frameworks/beads/framework.toml": f'{said}extends = "jax"\n'}
    family("", **{"families/waves/models/jax.py.j2": ""}, **declared)

    assert families()["waves"].frameworks == ("beads", "jax")


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (f'{HEAD}extends = "ripples"\n', '"extends" has to be one that extends nothing itself: '),
        (HEAD.replace("audio", "smell"), "'smell' is not a valid Medium"),
        (HEAD.replace("number", "chord"), "'chord' is not a valid TargetKind"),
        (HEAD.replace("title", "heading"), 'it needs the texts "title" and "description"'),
    ],
)
def test_a_family_that_cannot_be_is_told_with_the_file(family: Callable[..., None], head: str, message: str) -> None:
    family("", head=head)

    with pytest.raises(SchemaError, match=r"families/waves/family\.toml cannot be used") as caught:
        families()

    assert message in str(caught.value)
