"""Draws who imports whom into docs/architecture.md: `python docs/draw_architecture.py`; `--check` compares only.

An arrow goes from a package to one that it imports, unless another arrow already leads there by way of a third.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "generator"
PAGE = ROOT / "docs" / "architecture.md"
BEGINNING, END = "<!-- drawn by docs/draw_architecture.py -->\n", "<!-- end of the drawing -->\n"


def package_of(module: str) -> str:
    """The package of a module of the kit, as `generator.run.engine` is of `run`; "plain" for those that are in none."""
    parts = module.split(".")[1:]
    return parts[0] if parts and (PACKAGE / parts[0]).is_dir() else "plain"


def imported(path: Path) -> Iterator[str]:
    """The modules of the kit that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "generator":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("generator."))


def arrows() -> dict[str, set[str]]:
    """The packages that each package imports, without those that it reaches by way of another."""
    found: dict[str, set[str]] = {"plain": set()}
    for folder in sorted(path.parent for path in PACKAGE.glob("*/__init__.py")):
        names = {name for path in folder.rglob("*.py") for name in imported(path)}
        found[folder.name] = {package_of(name) for name in names} - {folder.name}
    return {name: direct - {far for near in direct for far in _reached(near, found)} for name, direct in found.items()}


def _reached(name: str, arrows: dict[str, set[str]]) -> set[str]:
    return arrows[name] | {far for near in arrows[name] for far in _reached(near, arrows)}


def drawing() -> str:
    """The picture in Mermaid, and a table of what is in each package."""
    edges = [f"  {name} --> {below}" for name, belows in sorted(arrows().items()) for below in sorted(belows)]
    rows = []
    for path in sorted(PACKAGE.glob("**/__init__.py")):
        name = path.parent.relative_to(PACKAGE).as_posix()
        about = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0].replace("\n", " ")
        if name != ".":
            rows.append(f"| `{name}` | {about} |")
    return "\n".join(
        ["```mermaid", "flowchart TD", *edges, "```", "", "| package | what is in it |", "|---|---|", *rows, ""]
    )


def main() -> None:
    """Draws, or with `--check` says if the page has something else than what would be drawn."""
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGINNING)
    _, _, after = rest.partition(END)
    drawn = before + BEGINNING + drawing() + END + after
    if "--check" not in sys.argv:
        PAGE.write_text(drawn)
    elif drawn != page:
        sys.exit("docs/architecture.md is not what the code is: run `python docs/draw_architecture.py`")


if __name__ == "__main__":
    main()
