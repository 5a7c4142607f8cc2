"""The folder of templates: where it is, and which families and frameworks it offers."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from generator.errors import PairError, did_you_mean
from generator.untrusted import printable


class UnknownTemplateError(PairError):
    """A family or framework that there are no templates for."""

    def __init__(self, *, what: str, name: str, known: list[str], source: str) -> None:
        super().__init__(
            f'{printable(source)}: there is no {what} "{printable(name)}"; the kit has: {", ".join(known) or "none"}.'
            f"{did_you_mean(name, known)}"
        )


class FrameworkOfFamilyError(PairError):
    """A framework that a family has no templates for."""

    def __init__(self, *, family: str, framework: str, frameworks: tuple[str, ...], source: str) -> None:
        super().__init__(
            f'{printable(source)}: the family "{family}" has no templates for the framework "{framework}"; '
            f"it has: {', '.join(frameworks)}."
        )


class TemplateDescriptionError(PairError):
    """A `family.toml` or `framework.toml` that does not say what it has to."""

    def __init__(self, *, path: Path, problem: str) -> None:
        super().__init__(f"{printable(str(path))} cannot be used: {printable(problem)}.")


@dataclass(frozen=True)
class Framework:
    """What notebooks can be written in."""

    name: str
    title: str
    description: str


@dataclass(frozen=True)
class Family:
    """A kind of task that there are templates for, and the frameworks that it has them in."""

    name: str
    title: str
    description: str
    frameworks: tuple[str, ...]


def template_folder() -> Path:
    """The kit's templates: inside of the package when it was installed from a wheel, else beside it in the clone."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent / "templates"


def families(templates: Path) -> list[Family]:
    """All families that the templates offer, by name.

    Raises:
        TemplateDescriptionError: A description is broken.
    """
    return [_family(path) for path in sorted(templates.glob("families/*/family.toml"))]


def frameworks(templates: Path) -> list[Framework]:
    """All frameworks that the templates offer, by name.

    Raises:
        TemplateDescriptionError: A description is broken.
    """
    return [_framework(path) for path in sorted(templates.glob("frameworks/*/framework.toml"))]


def check_offered(templates: Path, *, family: str, framework: str, source: str) -> None:
    """Makes sure that there are templates for a family in a framework.

    Args:
        templates: The folder of templates.
        family: A family's name.
        framework: A framework's name.
        source: Where the names come from, for messages: a file, or an option of the command line.

    Raises:
        UnknownTemplateError: There is no such family, or no such framework at all.
        FrameworkOfFamilyError: The family does not come in this framework.
    """
    offered = {known.name: known for known in families(templates)}
    if family not in offered:
        raise UnknownTemplateError(what="family", name=family, known=list(offered), source=source)
    names = [known.name for known in frameworks(templates)]
    if framework not in names:
        raise UnknownTemplateError(what="framework", name=framework, known=names, source=source)
    of_family = offered[family].frameworks
    if framework not in of_family:
        raise FrameworkOfFamilyError(family=family, framework=framework, frameworks=of_family, source=source)


def _family(path: Path) -> Family:
    title, description, data = _description(path)
    names = data.get("frameworks")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TemplateDescriptionError(path=path, problem='"frameworks" must be a list of framework names')
    return Family(path.parent.name, title, description, tuple(names))


def _framework(path: Path) -> Framework:
    title, description, _ = _description(path)
    return Framework(path.parent.name, title, description)


def _description(path: Path) -> tuple[str, str, dict[str, object]]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TemplateDescriptionError(path=path, problem=str(error)) from error
    title, description = data.get("title"), data.get("description")
    if not isinstance(title, str) or not isinstance(description, str):
        raise TemplateDescriptionError(path=path, problem='it needs the texts "title" and "description"')
    return title, description, data
