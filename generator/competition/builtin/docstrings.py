"""The competition `docstrings`: tell from a documentation string which part of Python's standard library it is from.

The texts are those of the Python that runs this, read from the source files of its library (Python Software Foundation
License): no two versions of Python have quite the same. What a text is called, and so its id and on which side of the
split it lies, follows from the name of the object that it documents, and is the same in all of them.
"""

import ast
import re
import sysconfig
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from generator.competition.builtin.built_in import Parts, Row, key_of, of_rows
from generator.errors import CompetitionError
from generator.untrusted import printable

_PARTS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["parts"]
_TEXTS_PER_PART = 500
_SHORTEST = 5  # words; anything shorter tells a person nothing either
_FEWEST_TEXTS = 1_500
_TEST_SHARE = 0.3
_MASK = "___"


@cache
def _parts() -> Parts:
    """All texts by id, no text twice, and about as many of each part of the library."""
    folder = Path(sysconfig.get_path("stdlib"))
    chosen: dict[str, Row] = {}
    for label, modules in _PARTS.items():
        texts = {
            key_of("docstrings", name): text
            for module in modules.split()
            for name, text in _texts_of_module(folder, module)
        }
        # The order of the ids is random, and the same with every version of Python.
        for key in sorted(texts)[:_TEXTS_PER_PART]:
            chosen.setdefault(texts[key], (key, texts[key], label))
    if len(chosen) < _FEWEST_TEXTS:
        raise CompetitionError(
            f"{printable(str(folder))} has {len(chosen):,} documentation strings to make a competition of, and "
            f"{_FEWEST_TEXTS:,} are needed. Use a Python whose standard library is installed with its source files."
        )
    rows = sorted(chosen.values())
    return ("text",), [row for row in rows if not _is_test(row[0])], [row for row in rows if _is_test(row[0])]


def _texts_of_module(folder: Path, module: str) -> Iterator[tuple[str, str]]:
    """Yields the qualified name and the masked text of every object of a module or package."""
    for path in [folder / f"{module}.py", *sorted((folder / module).rglob("*.py"))]:
        if not path.is_file():
            continue
        parts = [part for part in path.relative_to(folder).with_suffix("").parts if part != "__init__"]
        own_names = re.compile(rf"\b(?:{'|'.join(re.escape(part.strip('_')) for part in parts)})\b", re.IGNORECASE)
        for name, text in _texts_below(ast.parse(path.read_bytes()), ".".join(parts)):
            masked = own_names.sub(_MASK, text)
            if len(masked.split()) >= _SHORTEST and all(mark.isprintable() or mark in "\n\t" for mark in masked):
                yield name, masked


def _texts_below(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Yields the qualified name and the text of everything that a syntax tree documents, itself first."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        text = ast.get_docstring(node)
        if text:
            yield name, text
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _texts_below(child, f"{name}.{child.name}")
        elif isinstance(child, ast.If | ast.Try):  # definitions that depend on the platform
            yield from _texts_below(child, name)


def _is_test(key: str) -> bool:
    return int(key[-4:], 16) < _TEST_SHARE * 0x10000


DOCSTRINGS = of_rows("docstrings", _parts, sample_answer=min(_PARTS))
