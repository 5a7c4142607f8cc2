"""Lists the rules of `tandem check` in docs/check.md: `python docs/list_rules.py`; `--check` compares only.

Ids, names, severities, sentences and evidence are those of `generator/check/rules`; how often a rule is right
is that of docs/check_precision.toml.
"""

import sys
import tomllib
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from generator.check.rules import RULES

PAGE = Path(__file__).resolve().with_name("check.md")
LISTED = "<!-- listed by docs/list_rules.py -->\n", "<!-- end of the list -->\n"
COUNTED = "<!-- counted by docs/list_rules.py -->\n", "<!-- end of the counts -->\n"
THEMES = {
    "M": "Metadata",
    "N": "Notebooks on Kaggle",
    "T": "Training on TPUs",
    "C": "What the compiler says, with libtpu",
}
# Of each rule and severity: right, debatable, wrong.
PRECISION = tomllib.loads(PAGE.with_name("check_precision.toml").read_text(encoding="utf-8"))["findings"]


def listing() -> str:
    """Return a table for each theme."""
    lines: list[str] = []
    by_theme = sorted(RULES, key=lambda rule: list(THEMES).index(rule.id[0]))
    for letter, rules in groupby(by_theme, key=lambda rule: rule.id[0]):
        lines += [f"### {THEMES[letter]}", "", "| rule | name | | what it finds | evidence | right |", "|---" * 6 + "|"]
        for rule in rules:
            date, evidence = rule.evidence
            right, _, _, found = _sum(PRECISION.get(rule.id, {}).values())
            texts = (rule.id, rule.name, rule.severity, rule.summary, f"{evidence.rstrip('.')} ({date})")
            shown = f"{right} of {found}" if found else ""
            lines.append("| " + " | ".join(each.replace("|", "\\|") for each in (*texts, shown)) + " |")
        lines.append("")
    return "\n".join(lines)


def counts() -> str:
    """Return a table of how often the severities, and the rules of TPUs, are right."""
    by_severity = {
        f"{severity}s": [rows[severity] for rows in PRECISION.values() if severity in rows]
        for severity in ("error", "warning", "note")
    }
    of_tpus = [row for rule, rows in PRECISION.items() if rule.startswith("T") for row in rows.values()]
    lines = ["| | findings | right | right or debatable |", "|---|---|---|---|"]
    for name, rows in {**by_severity, "rules T…": of_tpus}.items():
        right, debatable, _, found = _sum(rows)
        lines.append(f"| {name} | {found} | {100 * right / found:.0f} % | {100 * (right + debatable) / found:.0f} % |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page, or with `--check` say if it has something else than what would be written."""
    text = PAGE.read_text(encoding="utf-8")
    listed = text
    for (beginning, end), table in ((LISTED, listing()), (COUNTED, counts())):
        before, _, rest = listed.partition(beginning)
        listed = f"{before}{beginning}\n{table}\n{end}{rest.partition(end)[2]}"
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(listed, encoding="utf-8")
    elif listed != text:
        sys.exit("docs/check.md is not what generator/check/rules has: python docs/list_rules.py")


def _sum(rows: Iterable[list[int]]) -> tuple[int, int, int, int]:
    """The right, debatable and wrong findings, and all of them."""
    right, debatable, wrong = (sum(column) for column in zip(*rows, strict=True)) if (rows := list(rows)) else (0, 0, 0)
    return right, debatable, wrong, right + debatable + wrong


if __name__ == "__main__":
    main()
