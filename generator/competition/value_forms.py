"""The forms that a value of `pair.toml` can have to have, beside its type."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from generator.untrusted import is_slug


def _is_inside(path: str) -> bool:
    parts = path.replace("\\", "/").split("/")
    return not path.startswith(("/", "\\", "~")) and ".." not in parts and ":" not in parts[0]


FORMS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "": (lambda _: True, "anything"),
    "path": (_is_inside, "a path inside of the competition's folder"),
    "file": (lambda name: name.strip(".") and not set("/\\:") & set(name), "the name of a file, without a folder"),
    "slug": (is_slug, "lower-case letters, digits and hyphens"),
    "template": (lambda name: name.replace("_", "a").isalnum(), "a name that `tandem generate --list` shows"),
    "share": (lambda share: 0 <= share < 1, "0 or more, and less than 1"),
    "hours": (lambda hours: 0 < hours < math.inf, "a number of hours above 0"),
}
"""By the name of a form: what tells if a value has it, and how messages say it."""
