"""The kit's own files, in a clone and in an installed package: templates of pages and of notebooks."""

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generator.errors import TandemError
from generator.text import printable

if TYPE_CHECKING:
    import jinja2


# The kit's own files, in a clone and in an installed package, and the command that adds packages to it.


_PACKAGE = Path(__file__).resolve().parent


class PackageMissingError(TandemError):
    """Something takes a package that the light install leaves out."""

    def __init__(self, *, clause: str, package: str) -> None:
        super().__init__(
            f"{clause} {package}, which is not installed beside {printable(sys.executable)}.",
            remedy=f"Install it with: pip install {printable(package)}",
        )


def installed_version(package: str) -> str:
    """The version of a package that is installed; "" of one that is not."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def template_folder() -> Path:
    """The kit's templates: inside of the package when it was installed from a wheel, else beside it in the clone."""
    wheel_folder = _PACKAGE / "templates"
    return wheel_folder if wheel_folder.is_dir() else _PACKAGE.parent / "templates"


def skill_path() -> Path:
    """The file that says how a program works with the kit: inside of the package, or in the docs of the clone."""
    wheel_path = _PACKAGE / "skill" / "SKILL.md"
    return wheel_path if wheel_path.is_file() else _PACKAGE.parent / "docs" / "skill" / "SKILL.md"


def install_command(extra: str) -> str:
    """The command that installs what an extra of the kit names: by the clone, or else by the packages' own names.

    The kit is on no package index, so its name there would be an error, or some day a stranger's program.
    """
    clone = _PACKAGE.parent
    if (clone / "pyproject.toml").is_file():
        arguments = ["-e", f"{clone}[{extra}]"]
    else:
        from importlib.metadata import requires

        condition = re.compile(rf"(;| and) extra == ['\"]{extra}['\"]$")
        requirements = [line for line in requires("kaggle-tandem") or () if condition.search(line)]
        arguments = [condition.sub("", line).replace("'", '"') for line in requirements]
    return printable(shlex.join(["pip", "install", *arguments]))


# The templates of pages and receipts; those of notebooks, which are Python, are `generator.pair.rendering`'s.


# What pages of several packages have alike.
SHARED_FOLDER = Path(__file__).with_name("page_parts")


class PageTemplates:
    """The templates of a folder: those that end in `.html.j2` escape what they show, `.md.j2` do not.

    They can also include and import what is in `SHARED`.

    Args:
        folder: Where they are.
        functions: What they call by name, as `name(value)`.
        filters: What they call as `value | name`.
    """

    def __init__(self, folder: Path, *, functions: Mapping[str, Callable[..., Any]] = {}, **filters: Any) -> None:
        self._folder, self._functions, self._filters = folder, functions, filters

    def render(self, name: str, /, **values: Any) -> str:
        """Fills in a template; a value that it names and does not get is an error."""
        return self._environment.get_template(name).render(**values)

    @cached_property
    def _environment(self) -> "jinja2.Environment":
        import jinja2

        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader([self._folder, SHARED_FOLDER]),
            autoescape=jinja2.select_autoescape(["html.j2"]),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,
        )
        environment.filters.update(self._filters)
        environment.globals.update(self._functions)
        return environment


# Files of templates that have several sections, and what a family or framework takes from another one.
#
# A line `# {# section NAME #}` begins a section, which ends at the next such line. A template includes it as
# `FILE#NAME`, and what stands before the first section as `FILE`. A family or framework whose TOML says `extends =
# "OTHER"` has every section that it does not write itself from that one, and every other from `common`:
#
# families/image_regression/train.py.j2#pictures stands in families/image_classification/train.py.j2
# families/tabular/train.py.j2#configuration stands in families/common/train.py.j2, and is empty


SUFFIX = ".py.j2"
_SECTION = re.compile(r"^# \{# section (?P<name>\w+) #\}\n", re.MULTILINE)
_OF_CHOICE = re.compile(r"^(families|frameworks)/[^/]+/")


def sections(text: str) -> dict[str, str]:
    """Return the sections of a file by name, "" being what stands before the first.

    A comment of Jinja in front of each keeps the numbers of its lines.
    """
    section_texts = {}
    starts = [*_SECTION.finditer(text)]
    ends = [*(start.start() for start in starts), len(text)]
    preamble = text[: ends[0]].rstrip("\n")
    if not starts or preamble:
        section_texts[""] = f"{preamble}\n" if starts else text
    for start, end in zip(starts, ends[1:], strict=True):
        lines = text.count("\n", 0, start.end())
        body = text[start.end() : end].rstrip("\n")
        section_texts[start["name"]] = "# {#" + "\n" * (lines - 1) + "#}\n" + (f"{body}\n" if body else "")
    return section_texts


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
        waiting += [re.sub(rf"\b{child}\b", parent, place) for child, parent in parents.items() if child in names]
    yield _OF_CHOICE.sub(r"\1/common/", name)
