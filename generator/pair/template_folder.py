"""The folder of templates: where it is, and which families and frameworks it offers."""

import tomllib
from collections.abc import Mapping
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


class NotOfFamilyError(PairError):
    """A task that a family's templates do not carry out."""

    def __init__(self, *, family: str, what: str, value: str, known: list[str], source: str) -> None:
        super().__init__(
            f'{printable(source)}: the family "{printable(family)}" has no templates for the {what} '
            f'"{printable(value)}"; there are some for: {", ".join(known)}. Another family or {what} may fit: '
            "`tandem generate --list` shows them."
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
    """A kind of task that there are templates for, with the frameworks and the kinds of target that it has them for."""

    name: str
    title: str
    description: str
    frameworks: tuple[str, ...]
    targets: tuple[str, ...]


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


def check_offered(templates: Path, *, family: str, framework: str, wanted: Mapping[str, str], source: str) -> None:
    """Makes sure that there are templates for a family in a framework, and for what the task wants of it.

    Args:
        templates: The folder of templates.
        family: A family's name.
        framework: A framework's name.
        wanted: The task's `target_kind` and `submission`, as far as they are known.
        source: Where the names come from, for messages: a file, or an option of the command line.

    Raises:
        UnknownTemplateError: There is no such family, or no such framework at all.
        FrameworkOfFamilyError: The family does not come in this framework.
        NotOfFamilyError: The family has nothing for this kind of target, or there is nothing for the submission.
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
    kinds = {
        "target_kind": list(offered[family].targets),
        "submission": sorted(path.name.split(".")[0] for path in templates.glob("submissions/*.infer.py.j2")),
    }
    for what, known in kinds.items():
        if known and wanted.get(what, known[0]) not in known:
            raise NotOfFamilyError(family=family, what=what, value=wanted[what], known=known, source=source)


def _family(path: Path) -> Family:
    title, description, data = _description(path)
    return Family(path.parent.name, title, description, _names(path, data, "frameworks"), _names(path, data, "targets"))


def _names(path: Path, data: Mapping[str, object], key: str) -> tuple[str, ...]:
    names = data.get(key)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TemplateDescriptionError(path=path, problem=f'"{key}" must be a list of names')
    return tuple(names)


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
