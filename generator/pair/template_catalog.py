"""The frameworks, families and submissions that a folder of templates offers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.accelerators.catalog import AcceleratorKind, Service
from generator.competition.schema import families, read_declaration
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


class NoTpuError(PairError):
    """A framework that cannot use the TPU of a platform."""

    def __init__(self, *, framework: str, platform: str, others: Sequence[str]) -> None:
        super().__init__(
            f"The framework {framework} cannot use the TPU of {platform.capitalize()}, whose TPU runtime does not have "
            f"it: take another one (--framework {' or '.join(others)}), or a GPU (-P ACCELERATOR=gpu)."
        )


class NoBackendError(PairError):
    """Something to infer with that does not load the weights of a framework."""

    def __init__(self, *, name: str, family: str, framework: str, known: Sequence[str]) -> None:
        super().__init__(
            f'INFERENCE_BACKEND is "{printable(name)}", and what the family {printable(family)} trained in {framework} '
            f"is loaded by {' or '.join(known)}.{did_you_mean(name, known)}"
        )


class NotOfFamilyError(PairError):
    """A task that a family's templates do not carry out."""

    def __init__(self, *, family: str, what: str, value: str, known: list[str], source: str) -> None:
        super().__init__(
            f'{printable(source)}: the family "{printable(family)}" has no templates for the {what} '
            f'"{printable(value)}"; there are some for: {", ".join(known)}. Another family or {what} may fit: '
            "`tandem generate --list` shows them."
        )


@dataclass(frozen=True)
class Framework:
    """A framework that notebooks can be written in.

    Attributes:
        name: Its folder's name, such as "keras".
        title: What people call it.
        description: One sentence for those who choose.
        models: Of Kaggle Models, those for what it reads pretrained models of texts from, such as "keras".
        tpu: The platforms whose TPU it can use.
        backbones: The names of those for photographs; none where they are too many to know.
        encoders: The same for what is no photograph.
    """

    name: str
    title: str
    description: str
    models: tuple[str, ...] = ()
    tpu: Sequence[str] = (Service.KAGGLE, Service.COLAB)
    backbones: Sequence[str] = ()
    encoders: Sequence[str] = ()


def frameworks(templates: Path) -> list[Framework]:
    """All frameworks that the templates offer, by name.

    Raises:
        SchemaError: A description is broken.
    """
    described = {path.parent.name: read_declaration(path) for path in templates.glob("frameworks/*/framework.toml")}
    return [Framework(name, **said) for name, said in sorted(described.items())]


def check_tpu(templates: Path, *, framework: str, platform: str, accelerator: AcceleratorKind) -> None:
    """Makes sure that a framework can use the TPU of a platform, if that is what the pair trains on.

    Raises:
        NoTpuError: It cannot.
    """
    able = [known.name for known in frameworks(templates) if platform in known.tpu]
    if accelerator is AcceleratorKind.TPU and framework not in able:
        raise NoTpuError(framework=framework, platform=platform, others=able)


def check_backend(templates: Path, *, family: str, framework: str, backend: str) -> None:
    """Makes sure that inference can load the weights of a framework into another's model of the family.

    Args:
        templates: The folder of templates; `frameworks/<framework>/<backend>` says that weights can be converted.
        family: A family's name.
        framework: The framework that the pair trains with.
        backend: The framework that inference computes with, perhaps the same.

    Raises:
        NoBackendError: It cannot.
    """
    if backend == framework:
        return
    converted = [path.parent.name for path in templates.glob(f"frameworks/{framework}/*/load.infer.py.j2")]
    known = [framework, *sorted(set(converted) & set(families(templates)[family].frameworks))]
    if backend not in known:
        raise NoBackendError(name=backend, family=family, framework=framework, known=known)


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
    offered = families(templates)
    if family not in offered:
        raise UnknownTemplateError(what="family", name=family, known=list(offered), source=source)
    names = [known.name for known in frameworks(templates)]
    if framework not in names:
        raise UnknownTemplateError(what="framework", name=framework, known=names, source=source)
    of_family = offered[family].frameworks
    if framework not in of_family:
        raise FrameworkOfFamilyError(family=family, framework=framework, frameworks=of_family, source=source)
    kinds = {
        "target_kind": list(map(str, offered[family].targets)),
        "submission": sorted(path.name.split(".")[0] for path in templates.glob("submissions/*.infer.py.j2")),
    }
    for what, known in kinds.items():
        if known and wanted.get(what, known[0]) not in known:
            raise NotOfFamilyError(family=family, what=what, value=wanted[what], known=known, source=source)
