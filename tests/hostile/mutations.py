"""Hostile values, and valid documents and bytes in which something is hostile."""

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

HOSTILE_TEXTS = (
    *(
        "",
        " ",
        "\0",
        "\ud800",
        "a\nb",
        "\r",
        "\x1b[31m",
        "\u202e",
        "../..",
        "/etc/passwd",
        "x" * 300,
        "%",
        "%%",
        "{{ x }}",
    ),
    *(
        "'",
        '"',
        '"""',
        "\\",
        "`",
        "$(id)",
        "<b>",
        "None",
        "nan",
        "é",
        "\U0001f600",
        ".",
        "..",
        "CON",
        "a/b",
        "-",
        "--help",
    ),
)
HOSTILE_NUMBERS = [0, -1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, 1e308, float("inf"), float("nan"), 0.5]
VALUES = st.sampled_from(
    [None, True, False, [], {}, [[]], [None], {"": None}, {"a": {"b": []}}, *HOSTILE_TEXTS, *HOSTILE_NUMBERS]
)
BYTES = st.sampled_from(
    [
        *(
            b"\0",
            b"\xff",
            b"\xff\xfe",
            b"\xef\xbb\xbf",
            b'"',
            b'""',
            b"\r",
            b"\n",
            b",",
            b";",
            b"\t",
            b"\xc3",
            b"9" * 5_000,
        ),
        *(b"," * 200, b'"' * 99, b"\x1b[31m", b"=1+1", b"\xe2\x80\xae", b"NaN", b"1e999", b"x" * 9_000),
    ]
)


def places(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a document, itself included."""
    yield at
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for name, value in inner:
        yield from places(value, (*at, name))


def mutated(document: Any, *, most: int = 3) -> st.SearchStrategy[Any]:
    """The document with up to `most` of its values replaced, taken away, or added to."""
    change = st.tuples(st.sampled_from([*places(document)]), st.sampled_from(["set", "drop", "add"]), VALUES)
    return st.lists(change, min_size=1, max_size=most).map(lambda changes: _applied(document, changes))


def _applied(document: Any, changes: list[tuple[tuple[Any, ...], str, Any]]) -> Any:
    changed = {"document": copy.deepcopy(document)}
    for place, how, value in changes:
        at: Any = changed
        *way, last = ("document", *place)
        try:
            for step in way:
                at = at[step]
            if how == "set":
                at[last] = copy.deepcopy(value)
            elif how == "drop":
                del at[last]
            elif isinstance(at[last], dict):
                at[last][str(value)] = copy.deepcopy(value)
            elif isinstance(at[last], list):
                at[last].append(copy.deepcopy(value))
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took it away
    return changed.get("document")


def pieces(text: bytes) -> st.SearchStrategy[bytes]:
    """A text with other bytes here and there, or cut off."""
    cut = st.tuples(st.integers(0, len(text)), BYTES | st.binary(max_size=5), st.integers(0, 9))
    return st.lists(cut, min_size=1, max_size=5).map(lambda cuts: _cut(text, cuts)) | st.integers(0, len(text)).map(
        lambda end: text[:end]
    )


def _cut(text: bytes, cuts: list[tuple[int, bytes, int]]) -> bytes:
    for at, piece, left_out in cuts:
        text = text[:at] + piece + text[at + left_out :]
    return text
