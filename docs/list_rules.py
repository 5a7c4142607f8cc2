"""Lists the rules of `tandem check` in docs/check.md: `python docs/list_rules.py`; `--check` compares only.

Ids, names, severities and sentences are those of `generator/check/rules`.
"""

import sys
from itertools import groupby
from pathlib import Path

from generator.check.rules import RULES

PAGE = Path(__file__).resolve().with_name("check.md")
BEGINNING, END = "<!-- listed by docs/list_rules.py -->\n", "<!-- end of the list -->\n"
THEMES = {
    "M": "Metadata",
    "N": "Notebooks on Kaggle",
    "T": "Training on TPUs",
    "C": "What the compiler says, with libtpu",
}


def listing() -> str:
    """Return a table for each theme."""
    lines: list[str] = []
    by_theme = sorted(RULES, key=lambda rule: list(THEMES).index(rule.id[0]))
    for letter, rules in groupby(by_theme, key=lambda rule: rule.id[0]):
        lines += [f"### {THEMES[letter]}", "", "| rule | name | | what it finds |", "|---|---|---|---|"]
        for rule in rules:
            first = " ".join(rule.explanation.partition("\n\n")[0].split()).replace("|", "\\|")
            lines.append(f"| {rule.id} | {rule.name} | {rule.severity} | {first} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Write the page, or with `--check` say if it has something else than what would be written."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGINNING)
    _, _, after = rest.partition(END)
    listed = f"{before}{BEGINNING}\n{listing()}\n{END}{after}"
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(listed, encoding="utf-8")
    elif listed != text:
        sys.exit("docs/check.md is not what generator/check/rules has: python docs/list_rules.py")


if __name__ == "__main__":
    main()
