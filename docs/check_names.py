"""Finds names in `generator/` that say nothing, and public names with two meanings: `python docs/check_names.py`.

A participle or a pronoun (`found`, `each`, `what`) is no name: values are nouns, functions verbs, predicates `is_…`.
Prints a line for each such name, and then exits with 1.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "generator"
WORDS = re.compile(r"\w+")
PRONOUNS = frozenset(
    WORDS.findall(
        "all any anything both each either enough everything few he her here him his how it its less many "
        "mine more much neither none nothing one ones other others own same she some something such that "
        "their them themselves then there these they this those us we what whatever when where which who "
        "whoever whom whose why"
    )
)
IRREGULAR = frozenset(
    WORDS.findall(
        "become been begun bought brought built caught cut dealt done felt found gone got had heard held kept "
        "known laid led lent lost made meant met paid put run said sent set shut sold sought spent spread "
        "stood struck sworn swept taught thought told understood won worn wound"
    )
)
# English verbs whose base form is that of the participle, or looks like one, are good names of functions.
VERBS = frozenset(WORDS.findall("cut embed feed listen open put read run set shorten split spread"))
# Nouns and adjectives of the field that end like participles.
NOUNS = frozenset(
    WORDS.findall(
        "children elapsed expected feed hidden len missing pretrained rest seed specimen speed split token unseen"
    )
)
# Names that leave the program: keys of JSON and TOML, columns of a database, variables of an HTML template.
EXTERNAL = frozenset(
    {
        ("cli/check.py", "compiled"),
        ("cli/check.py", "fixed"),
        ("cli/generate.py", "edited"),
        ("cli/generate.py", "written"),
        ("cli/generate_report.py", "unused"),
        ("cli/generate_report.py", "weighed"),
        ("cli/pairs.py", "created"),
        ("cli/pairs.py", "spread"),
        ("cli/plan.py", "compiled"),
        ("cli/plan.py", "here"),
        ("cli/plan.py", "measured"),
        ("cli/plan.py", "recommended"),
        ("cli/runs.py", "spread"),
        ("cli/update.py", "restored"),
        ("colab/rental.py", "asked"),
        ("colab/rental.py", "ended"),
        ("colab/rental.py", "others"),
        ("competition/schema.py", "called"),
        ("competition/schema.py", "untested"),
        ("kaggle/chain/journal.py", "sent"),
        ("kaggle/chain/journal.py", "what"),
        ("kaggle/receipt.py", "begun"),
        ("kaggle/receipt.py", "replaced"),
        ("localkaggle/services/kernel_records.py", "created"),
        ("localkaggle/services/kernel_records.py", "ended"),
        ("localkaggle/services/kernel_records.py", "started"),
        ("localkaggle/services/items.py", "created"),
        ("localkaggle/web/notebook_display.py", "added"),
        ("rehearsal/record.py", "passed"),
        ("rehearsal/sessions.py", "found"),
        ("rehearsal/sessions.py", "tried"),
        ("rehearsal/sessions.py", "when"),
        ("rehearsal/sessions.py", "failed"),
        ("run/report.py", "checked"),
        ("run/report.py", "executed"),
        ("run/report.py", "run"),
        ("run/ledger.py", "created"),
        ("tpu_compiler/compilation.py", "what"),
    }
)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def names_in(tree: ast.AST) -> Iterator[tuple[str, int, bool]]:
    """Yield each name that a module gives to something, its line, and whether it is a function's."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    states = {line.lineno for node in classes for line in node.body if isinstance(line, ast.Assign)}
    for node in ast.walk(tree):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node.name, node.lineno, isinstance(node, FUNCTIONS)
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno, False
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.lineno not in states:
            yield node.id, node.lineno, False
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            yield node.attr, node.lineno, False
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name, node.lineno, False


def says_nothing(name: str, *, is_function: bool) -> bool:
    """Return whether a name is a pronoun or a participle."""
    if name.startswith("__") or (is_function and name.strip("_") in VERBS):
        return False
    # `Removed`, `_SOME`; not `CellStarted`, and not a state of an enumeration such as `QUEUED`.
    word = name.strip("_")
    word = word.lower() if word in (word.upper(), word.capitalize()) else word
    return word not in NOUNS and (
        word in PRONOUNS or word in IRREGULAR or re.fullmatch("[a-z]+(ed|en)", word) is not None
    )


def main() -> int:
    """Print what is wrong; return how many names are."""
    problems: list[str] = []
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, line, is_function in names_in(tree):
            if says_nothing(name, is_function=is_function) and (module, name) not in EXTERNAL:
                problems.append(f"generator/{module}:{line}: {name} is a participle or a pronoun; use a noun or a verb")
        for node in tree.body:
            # Each program has a `main`.
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and not node.name.startswith("_") and node.name != "main":
                places[node.name].append(f"generator/{module}:{node.lineno}")
    problems += [
        f"{where[1]}: {name} is also the name of {where[0]}" for name, where in places.items() if len(where) > 1
    ]
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    return len(problems)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
