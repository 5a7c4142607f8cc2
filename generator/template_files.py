"""Files of templates that have several sections, and what a family or framework takes from another one.

A line `# {# section NAME #}` begins a section, which ends at the next such line. A template includes it as
`FILE#NAME`, and what stands before the first section as `FILE`. A family or framework whose TOML says
`extends = "OTHER"` has every section that it does not write itself from that one, and every other from `common`:

    families/image_regression/train.py.j2#pictures   stands in families/image_classification/train.py.j2
    families/tabular/train.py.j2#configuration       stands in families/common/train.py.j2, and is empty
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

SUFFIX = ".py.j2"
_SECTION = re.compile(r"^# \{# section (?P<name>\w+) #\}\n", re.MULTILINE)
_OF_CHOICE = re.compile(r"^(families|frameworks)/[^/]+/")


def sections(text: str) -> dict[str, str]:
    """Return the sections of a file by name, "" being what stands before the first.

    A comment of Jinja in front of each keeps the numbers of its lines.
    """
    found = {}
    starts = [*_SECTION.finditer(text)]
    ends = [*(start.start() for start in starts), len(text)]
    own = text[: ends[0]].rstrip("\n")
    if not starts or own:
        found[""] = f"{own}\n" if starts else text
    for start, end in zip(starts, ends[1:], strict=True):
        lines = text.count("\n", 0, start.end())
        body = text[start.end() : end].rstrip("\n")
        found[start["name"]] = "# {#" + "\n" * (lines - 1) + "#}\n" + (f"{body}\n" if body else "")
    return found


def all_sections(templates: Path) -> dict[str, str]:
    """Return every section of every template, by the name that it is included by."""
    return {
        f"{path.relative_to(templates).as_posix()}#{name}".removesuffix("#"): text
        for path in sorted(templates.rglob(f"*{SUFFIX}"))
        for name, text in sections(path.read_text(encoding="utf-8")).items()
    }


def places(name: str, parents: Mapping[str, str]) -> Iterator[str]:
    """Yield the names under which a template may stand, the nearest first.

    Args:
        name: What a template includes.
        parents: What each family and framework extends.
    """
    waiting = [name]
    for place in waiting:
        yield place
        names = re.findall(r"\w+", place)
        waiting += [re.sub(rf"\b{own}\b", parent, place) for own, parent in parents.items() if own in names]
    yield _OF_CHOICE.sub(r"\1/common/", name)
