"""Fields of requests, which come from anywhere."""

from collections.abc import Callable
from typing import Any

import pytest

from generator.localkaggle.rpc import ApiError, Call


def call(value: Any) -> Call:
    return Call("Service/Method", "tester", "http://localhost", {"field": value})


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (Call.text, 1),
        (Call.text, ["a"]),
        (Call.text, "half a character: \ud83d"),
        (Call.integer, "1"),
        (Call.integer, True),
        (Call.integer, 1.0),
        (Call.integer, 2**63),
        (Call.integer, -(10**30)),
        (Call.flag, 1),
        (Call.texts, "a"),
        (Call.texts, ["a", 1]),
        (Call.texts, ["\udc00"]),
        (Call.part, [1]),
        (Call.part, "a"),
    ],
)
def test_a_field_of_another_kind_is_refused_with_its_name(read: Callable[[Call, str], object], value: Any) -> None:
    with pytest.raises(ApiError, match=r"^field is") as refused:
        read(call(value), "field")

    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (Call.text, "é \N{GRINNING FACE}\n", "é \N{GRINNING FACE}\n"),
        (Call.text, None, ""),
        (Call.integer, 2**63 - 1, 2**63 - 1),
        (Call.integer, None, 0),
        (Call.flag, True, True),
        (Call.flag, None, False),
        (Call.texts, ["a", "b"], ("a", "b")),
        (Call.texts, None, ()),
    ],
)
def test_a_field_of_its_kind_is_taken_as_it_is(
    read: Callable[[Call, str], object], value: Any, expected: object
) -> None:
    assert read(call(value), "field") == expected
