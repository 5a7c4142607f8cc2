"""Lists every knob of the notebooks in docs/knobs.md: `python docs/list_knobs.py`; `--check` compares only.

Names, defaults and comments are those of the parameters cells in `templates/`, advice is that of
`templates/families/parameters.toml`.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from generator.competition.schema import all_parameters, extended_names, families
from generator.kit_files import all_sections, places

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES, PAGE = ROOT / "templates", ROOT / "docs/knobs.md"
BEGINNING, END = "<!-- listed by docs/list_knobs.py -->\n", "<!-- end of the list -->\n"
LINE = re.compile(r"(?P<name>[A-Z][A-Z0-9_]*) = (?P<value>.+?)(?:  # (?P<comment>.+))?")
CHOSEN = re.compile(r"\{\{task\.(\w+) \| py\}\}|\{\{.*\}\}")
PARTS = all_sections(TEMPLATES)
SECTIONS = {
    "Every training notebook": [f"shared/parameters.py.j2#{part}" for part in ("train", "data_train", "averages")],
    "Every inference notebook": [f"shared/parameters.py.j2#{part}" for part in ("infer", "data_infer", "serving")],
    **{f"`{name}`": [f"families/{name}/{role}.py.j2#parameters" for role in ("train", "infer")] for name in families()},
    "By what is predicted, by framework and by platform": sorted(
        (name for name in PARTS if "#parameters" in name and not name.startswith("families/")),
        key=lambda name: name.startswith("frameworks/common/"),
    ),
}


class Knob(NamedTuple):
    """A line of a parameters cell; `key` is the key of `pair.toml` that it is rendered from, if there is one."""

    name: str
    default: str
    key: str
    comment: str


def knobs(names: Iterable[str]) -> Iterator[Knob]:
    """Yield the lines of parameters in some sections of templates, and in those that they include."""
    for name in names:
        part = next(place for place in places(name, extended_names()) if place in PARTS)
        for line in PARTS[part].splitlines():
            if found := LINE.fullmatch(line):
                key = CHOSEN.search(found["value"])
                default = "" if key else f"`{found['value']}`"
                yield Knob(found["name"], default, (key and key[1]) or "", found["comment"] or "")
            elif below := re.search(r"{% include \"([^\"]*#parameters[^\"]*)\"", line):
                yield from knobs([below[1]])


def table(title: str, found: Iterable[Knob]) -> list[str]:
    """Return a section of the page: what to tune as a table, and what says how the data are read as a list."""
    by_name: dict[str, list[Knob]] = {}
    for knob in found:
        by_name.setdefault(knob.name, []).append(knob)
    rows, data = [], []
    for name, same in by_name.items():
        setting = all_parameters()[name]
        words = {**vars(setting), **setting.sections.get(title.strip("`"), {})}
        if not words["advice"]:
            data.append(f"`{name}`")
            continue
        default = " or ".join(dict.fromkeys(knob.default or words["default_text"] or "from the data" for knob in same))
        meaning = words["help"] or next((knob.comment for knob in same if knob.comment), "")
        keys = {knob.key for knob in same if knob.key}
        cell = default + "".join(f", `--set {key}=`" for key in sorted(keys))
        rows.append(f"| `{name}` | {cell} | {meaning} | {words['advice']} |".replace("||", "| |"))
    head = ["| knob | default | meaning | when to change it |", "|---|---|---|---|"] if rows else []
    facts = f"Parameters that describe the data (flags or keys of `pair.toml`): {', '.join(data)}." if data else ""
    return [f"## {title}", "", *head, *rows, *([""] if rows else []), *([facts, ""] if facts else [])]


def listing() -> str:
    """Return every section, one family after the other."""
    found = {title: list(knobs(paths)) for title, paths in SECTIONS.items()}
    names = {knob.name for same in found.values() for knob in same}
    without_advice = {name for name, setting in all_parameters().items() if not (setting.advice or setting.sections)}
    in_data = {name for name, setting in all_parameters().items() if setting.group in ("data", "fixed")}
    if wrong := (names ^ set(all_parameters())) | (without_advice ^ in_data):
        sys.exit(
            "templates/families/parameters.toml has to declare each parameter of the templates and no other, with "
            f"advice on all but those of the data: {', '.join(sorted(wrong))}"
        )
    return "\n".join(line for title, same in found.items() for line in table(title, same))


def main() -> None:
    """Write the page, or with `--check` say if it has something else than what would be written."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGINNING)
    _, _, after = rest.partition(END)
    listed = f"{before}{BEGINNING}\n{listing()}\n{END}{after}"
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(listed, encoding="utf-8")
    elif listed != text:
        sys.exit("docs/knobs.md is not what the templates have: python docs/list_knobs.py")


if __name__ == "__main__":
    main()
