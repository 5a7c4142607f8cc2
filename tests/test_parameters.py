"""Parameters are read, replaced in place, and typed by their defaults."""

import datetime

import pytest

from generator.pair.notebook import (
    ParameterError,
    ParametersCellError,
    UnknownParameterError,
    override,
    parse_assignment,
    read_parameters,
)

SOURCE = """\
INPUT_ROOT = "/kaggle/input"
DEBUG = False  # True runs it in a minute

EPOCHS = 30
OFFSET = -1  # negative
LEARNING_RATE = 0.004  # "per" batch = 128
LABEL = "naïve 🚀"  # β
SIZES = [
    1,
    2,
]  # several lines"""


def test_parameters_have_their_order_and_types() -> None:
    assert read_parameters(SOURCE) == {
        "INPUT_ROOT": "/kaggle/input",
        "DEBUG": False,
        "EPOCHS": 30,
        "OFFSET": -1,
        "LEARNING_RATE": 0.004,
        "LABEL": "naïve 🚀",
        "SIZES": [1, 2],
    }


def test_values_are_replaced_and_comments_stay() -> None:
    changed = override(
        SOURCE, {"EPOCHS": 3, "OFFSET": 2, "LEARNING_RATE": 1, "LABEL": 'a "b"', "SIZES": [], "DEBUG": True}
    )

    assert changed == (
        'INPUT_ROOT = "/kaggle/input"\n'
        "DEBUG = True  # True runs it in a minute\n"
        "\n"
        "EPOCHS = 3\n"
        "OFFSET = 2  # negative\n"
        'LEARNING_RATE = 1.0  # "per" batch = 128\n'
        "LABEL = 'a \"b\"'  # β\n"
        "SIZES = []  # several lines"
    )


def test_overriding_nothing_changes_nothing() -> None:
    assert override(SOURCE, {}) == SOURCE


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("EPOCHS=3", "EPOCHS", 3),
        ("EPOCHS = 1_000", "EPOCHS", 1_000),
        ("DEBUG=true", "DEBUG", True),
        ("DEBUG=False", "DEBUG", False),
        ("LEARNING_RATE=1e-3", "LEARNING_RATE", 0.001),
        ("LEARNING_RATE=1", "LEARNING_RATE", 1.0),
        ("LABEL=efficientnetv2-b0", "LABEL", "efficientnetv2-b0"),
        ('LABEL="true"', "LABEL", "true"),
        ("LABEL='a=b'", "LABEL", "a=b"),
        ("LABEL=it's", "LABEL", "it's"),
        ("LABEL=3", "LABEL", "3"),
        ("LABEL=", "LABEL", ""),
        ('SIZES=[1, "a"]', "SIZES", [1, "a"]),
    ],
)
def test_the_default_says_how_a_value_is_read(text: str, name: str, value: object) -> None:
    assert parse_assignment(text, read_parameters(SOURCE)) == (name, value)
    assert type(parse_assignment(text, read_parameters(SOURCE))[1]) is type(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("EPOCHS=3.5", "must be a whole number, like its value 30, not 3.5"),
        ("EPOCHS=true", "must be a whole number, like its value 30, not 'true'"),
        ("DEBUG=1", "must be true or false, like its value False, not '1'"),
        ("LEARNING_RATE=nan", "must be a number, like its value 0.004, not nan"),
        ("SIZES=1,2", "must be a list, such as"),
        ('SIZES={"a": 1}', "must be a list, such as"),
        ("SIZES=[1", "must be a list, such as"),
    ],
)
def test_a_value_of_another_type_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_assignment(text, read_parameters(SOURCE))

    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("text", "default", "expected"),
    [
        ("N_FOLDS=0", 1, "N_FOLDS must be at least 1, like its value 1, not 0"),
        ("K=0", 16, "at least 1"),
        ("DROPOUT=1.5", 0.1, "at least 0 and below 1, like its value 0.1, not 1.5"),
        ("LEARNING_RATE=-1", 0.004, "above 0"),
        ("LEARNING_RATE=0", 0.004, "above 0"),
        ("LEARNING_RATE=-1", 0.0, "at least 0"),
        ("DEVICES=3", 0, "at least 0 and at most 1"),
        ("WARMUP_EPOCHS=-1", 2, "at least 0"),
        ("EPOCHS=0", 3, "at least 1"),
    ],
)
def test_a_number_that_makes_no_sense_is_refused(text: str, default: float, expected: str) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_assignment(text, {text.partition("=")[0]: default})
    assert expected in str(caught.value)


def test_a_list_with_something_that_python_has_no_literal_for_is_refused() -> None:
    with pytest.raises(ParameterError, match="SIZES must be a list"):
        override(SOURCE, {"SIZES": [datetime.date(2026, 1, 1)]})


def test_true_is_no_number() -> None:
    with pytest.raises(ParameterError, match="EPOCHS must be a whole number"):
        override(SOURCE, {"EPOCHS": True})


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownParameterError, match=r'no parameter "epoch".* Did you mean "EPOCHS"'):
        parse_assignment("epoch=3", read_parameters(SOURCE))
    with pytest.raises(UnknownParameterError, match=r"Examples of parameters: EPOCHS, LEARNING_RATE. docs/knobs\.md"):
        override(SOURCE, {"QQQ": 3})


@pytest.mark.parametrize("text", ["EPOCHS", "=3", ""])
def test_text_that_sets_nothing_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="Write NAME=VALUE"):
        parse_assignment(text, read_parameters(SOURCE))


@pytest.mark.parametrize(
    "source",
    [
        *("A = 1\nimport os", "A = 1\nB = A", "A = B = 1", "A = 1\nB, C = 1, 2", "A = 1\nif", 'A = {"a": 1}'),
        *("A = {[]: 1}", "A = " + "-" * 9_000 + "1", "A = 1" + " + 1j" * 9_000),
    ],
)
def test_a_cell_with_anything_but_literals_is_refused_with_the_line(source: str) -> None:
    with pytest.raises(ParametersCellError, match=r"line \d"):
        read_parameters(source)
