"""Text: somebody else's made harmless for a terminal, Markdown or Python code, and figures in words."""

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

Value = bool | int | float | str | list[str]
"""The value of a setting or a parameter."""

# Text and objects that somebody else wrote: for a terminal, Markdown or Python code, and out of JSON.


_SHORT_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LAST_OF_TWO_DIGITS, _LAST_OF_FOUR_DIGITS = 0xFF, 0xFFFF
_MARKDOWN_SPECIAL = re.compile(r"[\\`*_{}\[\]<>$|~&#]")
# `%%` would begin a cell in a py:percent file, and a `%` that begins a line would begin a magic.
_MARKDOWN_PERCENT = re.compile(r"^%|%(?=%)|(?<=%)%")
_MARKDOWN_LINE_START = re.compile(r"^(?:[-+=]|(?P<number>\d+)(?P<delimiter>[.)]))")
_NOT_IN_CODE_SPAN = re.compile(r"[`|]|%%")
_SLUG = re.compile(r"[a-z0-9]+(?:-+[a-z0-9]+)*")
_LONGEST_LIST = 60
_WIDEST_LIST = 95
_LONGEST_QUOTE = 200
_LONGEST_SLUG = 100
_DEEPEST_JSON = 100  # levels; whatever copies or writes a value again goes down level by level
_ZERO_WIDTH_JOINER = "\u200d"


def printable(text: str) -> str:
    """Escapes what a terminal would obey or hide: control, ANSI and bidirectional characters, line ends, surrogates.

    Args:
        text: One line of text; a line end in it is escaped like any other control character.

    Returns:
        The text with every character that is not printable written as a Python escape.
    """
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escape(character) for character in text)


def quote_text(text: str) -> str:
    """Makes a value that somebody else chose fit for a message: printable, and cut where it is long.

    Args:
        text: The value, of any length.

    Returns:
        Up to 200 characters, the last of them an ellipsis where something was cut off.
    """
    printable_text = printable(text[: _LONGEST_QUOTE + 1])
    return printable_text if len(printable_text) <= _LONGEST_QUOTE else f"{printable_text[: _LONGEST_QUOTE - 1]}…"


def markdown(text: str) -> str:
    """Makes text safe to stand in a line of Markdown, in a heading or a table cell as well.

    Args:
        text: Any text; white space of any kind, line ends included, becomes one space.

    Returns:
        One line that renders as the text and nothing else.
    """
    line = _MARKDOWN_SPECIAL.sub(r"\\\g<0>", _one_line(text))
    line = _MARKDOWN_PERCENT.sub(r"\\%", line)
    return _MARKDOWN_LINE_START.sub(_escaped_line_start, line)


def markdown_code(text: str) -> str:
    """Makes text a code span in a line of Markdown.

    Args:
        text: Any text; white space of any kind, line ends included, becomes one space.

    Returns:
        The text between backticks, or escaped as prose where it has what a code span cannot hold everywhere.
    """
    line = _one_line(text)
    return markdown(text) if not line or _NOT_IN_CODE_SPAN.search(line) else f"`{line}`"


def python_literal(value: object) -> str:
    """Writes a value as the Python literal that `ruff format` would leave alone, as long as it fits on a line.

    Args:
        value: None, a bool, an int, a finite float, a string, or a list, tuple or dict of these.

    Returns:
        Printable text that `ast.literal_eval` reads back as the same value: on one line, or a long list on several.

    Raises:
        TypeError: The value has no literal.
    """
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        return _string_literal(str(value))
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float) and math.isfinite(value):
        return repr(float(value)).replace("e+", "e")
    if isinstance(value, list | tuple | dict):
        return _collection_literal(value)
    raise TypeError(f"{type(value).__name__} {value!r} has no Python literal")


def filled_list(texts: Sequence[str]) -> str:
    """Write a list of texts as a Python literal with as many of them on a line as fit.

    `ruff format` writes one text a line, unless `# fmt: skip` stands behind the list.
    """
    lines: list[str] = []
    for literal in map(python_literal, texts):
        if lines and len(lines[-1]) + len(literal) < _WIDEST_LIST:
            lines[-1] += f" {literal},"
        else:
            lines.append(f"    {literal},")
    return "\n".join(["[", *lines, "]"])


def parsed_json(text: str | bytes) -> Any:
    """Reads JSON that somebody else wrote.

    Raises:
        ValueError: It is no JSON, or its lists and objects are nested deeper than anybody writes them.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_DEEPEST_JSON):
        inner = (container.values() if isinstance(container, dict) else container for container in level)
        level = [item for items in inner for item in items if isinstance(item, dict | list)]
    if level:
        raise ValueError("it is nested too deep")
    return value


class JsonObject(dict[str, Any]):
    """An object out of JSON that somebody else wrote: a field of another type than asked for counts as left out."""

    @classmethod
    def of(cls, value: object) -> "JsonObject":
        """The value, if it is an object; else an empty one."""
        return cls(value) if isinstance(value, dict) else cls()

    @classmethod
    def parse(cls, text: str | bytes) -> "JsonObject":
        """The object that a text is as JSON; an empty one where it is none."""
        try:
            return cls.of(parsed_json(text))
        except ValueError:
            return cls()

    def text(self, name: str) -> str:
        """A field that is a text, or nothing."""
        value = self.get(name)
        return value if isinstance(value, str) else ""

    def count(self, name: str) -> int:
        """A field that is a whole number, or 0."""
        value = self.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    def number(self, name: str) -> float | None:
        """A field that is a finite number, or None."""
        value = self.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        try:
            return float(value) if math.isfinite(value) else None
        except OverflowError:  # of a whole number
            return None

    def flag(self, name: str) -> bool:
        """True if a field is."""
        return self.get(name) is True

    def section(self, name: str) -> "JsonObject":
        """A field that is an object, or an empty one."""
        return JsonObject.of(self.get(name))

    def sections(self, name: str) -> "list[JsonObject]":
        """The items of a field that is a list; what is no object among them is an empty one."""
        value = self.get(name)
        return [JsonObject.of(item) for item in value] if isinstance(value, list) else []


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Write a value as JSON that every program reads: a number that is NaN or infinite is null.

    A dataclass is an object of its fields. What else JSON has no form for, such as a path or a date, is text.
    """
    return json.dumps(_finite(value), indent=indent, allow_nan=False, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _finite(getattr(value, field.name)) for field in fields(value)}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def storable(text: str) -> str:
    """The text as UTF-8 can hold it: half of a surrogate pair, or of a file name's odd bytes, becomes `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")


def is_slug(text: str) -> bool:
    """True if the text can be a folder and part of a Kaggle URL: lower-case letters, digits, hyphens between them."""
    return len(text) <= _LONGEST_SLUG and _SLUG.fullmatch(text) is not None


def slug_of(title: str) -> str:
    """The slug that Kaggle makes of a title.

    The rules are those of python-slugify: letters without their accents, a comma between digits left out, and a hyphen
    for everything else that is no letter or digit.
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"(?<=\d),(?=\d)", "", plain)).strip("-")


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return "".join(c if c.isprintable() or c == _ZERO_WIDTH_JOINER else "\N{REPLACEMENT CHARACTER}" for c in line)


def _escape(character: str) -> str:
    code = ord(character)
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    if code <= _LAST_OF_TWO_DIGITS:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _LAST_OF_FOUR_DIGITS else f"\\U{code:08x}"


def _escaped_line_start(match: re.Match[str]) -> str:
    if match["number"]:
        return f"{match['number']}\\{match['delimiter']}"
    return f"\\{match[0]}"


def _string_literal(text: str) -> str:
    # The formatter's rule: double quotes, unless single ones need fewer escapes.
    quote = "'" if text.count('"') > text.count("'") else '"'
    body = "".join(f"\\{c}" if c == quote else c if c.isprintable() and c != "\\" else _escape(c) for c in text)
    return f"{quote}{body}{quote}"


def _collection_literal(value: list[Any] | tuple[Any, ...] | dict[Any, Any]) -> str:
    if isinstance(value, dict):
        pairs = (f"{python_literal(key)}: {python_literal(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    items = [python_literal(item) for item in value]
    body = ", ".join(items)
    if isinstance(value, list):
        # A comma after the last item keeps a formatter from joining the lines again.
        return f"[{body}]" if len(body) <= _LONGEST_LIST else "[\n" + "".join(f"    {item},\n" for item in items) + "]"
    return f"({body},)" if len(value) == 1 else f"({body})"


# Times, sizes and shares as people say them.


_MINUTE, _HOUR = 60, 3600
_LONGEST_IN_SECONDS, _LONGEST_IN_MINUTES = 100, 6000
_WHOLE_MILLISECONDS = 0.01
_TENTHS_BELOW = 10
_KILO = 1000
_LEAST_SHARE = 0.001
_WHOLE_SHARE = 0.1
_LEAST_DOLLARS = 0.01
_WHOLE_DOLLARS = 10
_UNITS = {6: "M", 9: "G", 12: "T", 15: "P"}


def score_in_words(metric: str, score: float | None, deviation: float | None) -> str:
    """Return a score with its metric, and with the standard deviation of the folds if there is one."""
    if score is None:
        return ""
    return f"{metric} {score:.5f}" + ("" if deviation is None else f" ± {deviation:.4f}")


def duration(seconds: float) -> str:
    """Writes a time to be waited for: `42 s`, `12 min`, `3.4 h`."""
    if seconds < _TENTHS_BELOW:
        return f"{seconds:.1f} s"
    if seconds < _LONGEST_IN_SECONDS:
        return f"{seconds:.0f} s"
    if seconds < _LONGEST_IN_MINUTES:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h" if seconds < _LONGEST_IN_SECONDS * _HOUR else f"{seconds / _HOUR:,.0f} h"


def milliseconds(seconds: float) -> str:
    """Writes the time of a step: `0.35 ms`, `17 ms`, `2.1 s`."""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.0f} ms" if seconds >= _WHOLE_MILLISECONDS else f"{seconds * 1e3:.2g} ms"


def size(count: float) -> str:
    """Writes bytes: `5.6 MB`, `12 GB`."""
    mega = count / _KILO**2
    return f"{mega:.2g} MB" if mega < _KILO / 10 else f"{mega / _KILO:.2g} GB"


def share(part: float) -> str:
    """Writes a part of a whole: `<0.1%`, `3.2%`."""
    if part < _LEAST_SHARE:
        return f"<{_LEAST_SHARE:.1%}"
    return f"{part:.1%}" if part < _WHOLE_SHARE else f"{part:.0%}"


def dollars(amount: float) -> str:
    """Writes money: `<$0.01`, `$0.38`."""
    if amount < _LEAST_DOLLARS:
        return f"<${_LEAST_DOLLARS:.2f}"
    return f"${amount:.2f}" if amount < _WHOLE_DOLLARS else f"${amount:,.0f}"


def operations(count: float) -> str:
    """Writes operations: `588 MFLOP`, `1.58 PFLOP`."""
    power = min(max(_UNITS), max(min(_UNITS), 3 * math.floor(math.log10(max(count, 1.0)) / 3)))
    return f"{count / 10.0**power:.3g} {_UNITS[power]}FLOP"
