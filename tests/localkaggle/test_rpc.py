"""Fields of requests, which come from anywhere."""

from collections.abc import Callable
from typing import Any

import pytest

from generator.localkaggle.rpc import ApiCall, ApiError


def call(value: Any) -> ApiCall:
    return ApiCall("Service/Method", "tester", "http://localhost", {"field": value})


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (ApiCall.text, 1),
        (ApiCall.text, ["a"]),
        (ApiCall.text, "half a character: \ud83d"),
        (ApiCall.integer, "1"),
        (ApiCall.integer, True),
        (ApiCall.integer, 1.0),
        (ApiCall.integer, 2**63),
        (ApiCall.integer, -(10**30)),
        (ApiCall.flag, 1),
        (ApiCall.texts, "a"),
        (ApiCall.texts, ["a", 1]),
        (ApiCall.texts, ["\udc00"]),
        (ApiCall.part, [1]),
        (ApiCall.part, "a"),
    ],
)
def test_a_field_of_another_kind_is_refused_with_its_name(read: Callable[[ApiCall, str], object], value: Any) -> None:
    with pytest.raises(ApiError, match=r"^field is") as refused:
        read(call(value), "field")

    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (ApiCall.text, "é \N{GRINNING FACE}\n", "é \N{GRINNING FACE}\n"),
        (ApiCall.text, None, ""),
        (ApiCall.integer, 2**63 - 1, 2**63 - 1),
        (ApiCall.integer, None, 0),
        (ApiCall.flag, True, True),
        (ApiCall.flag, None, False),
        (ApiCall.texts, ["a", "b"], ("a", "b")),
        (ApiCall.texts, None, ()),
    ],
)
def test_a_field_of_its_kind_is_taken_as_it_is(
    read: Callable[[ApiCall, str], object], value: Any, expected: object
) -> None:
    assert read(call(value), "field") == expected
