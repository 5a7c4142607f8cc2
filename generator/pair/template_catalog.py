"""The frameworks, families and submissions that a folder of templates offers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generator.accelerators.catalog import AcceleratorKind, Service
from generator.competition.schema import extended_names, families, read_declaration
from generator.errors import PairError, did_you_mean
from generator.installation import template_folder
from generator.template_files import SUFFIX, all_sections
from generator.untrusted import printable

_PARAMETER = re.compile(r"^([A-Z][A-Z0-9_]*) = ", re.MULTILINE)


@dataclass(frozen=True)
class Framework:
    """A framework that notebooks can be written in.

    Attributes:
        name: Its folder's name, such as "keras".
        title: What people call it.
        description: One sentence for those who choose.
        extends: The framework that its templates, and what is not said here, are taken from; "" for none.
        streams_with: The framework whose pipelines read its files; itself where nothing is said.
        models: Of Kaggle Models, those for what it reads pretrained models of texts from, such as "keras".
        tpu: The platforms whose TPU it can use.
        backbones: The names of those for photographs; none where they are too many to know.
        untested: What the names of those begin with that no test and no measurement of this kit has run.
        encoders: The same for what is no photograph.
        weights: The library that downloads pretrained weights of backbones; "" where none does.
        several_hosts: Whether its training notebooks can run on several hosts at once.
        aliases: What else people call it.
    """

    name: str
    title: str
    description: str
    extends: str = ""
    streams_with: str = ""
    models: tuple[str, ...] = ()
    tpu: Sequence[str] = (Service.KAGGLE, Service.COLAB)
    backbones: Sequence[str] = ()
    untested: Sequence[str] = ()
    encoders: Sequence[str] = ()
    weights: str = ""
    several_hosts: bool = False
    aliases: Sequence[str] = ()


def frameworks() -> dict[str, Framework]:
    """All frameworks that the templates offer, by name.

    Raises:
        SchemaError: A description is broken.
    """
    described = {
        path.parent.name: read_declaration(path) for path in template_folder().glob("frameworks/*/framework.toml")
    }
    extended = {name: described[parent] for name, parent in extended_names().items() if name in described}
    return {
        name: Framework(name, **({"streams_with": name} | extended.get(name, {}) | said))
        for name, said in sorted(described.items())
    }


def knob_names() -> set[str]:
    """The names in the parameters cells of all templates."""
    texts = [text for name, text in all_sections(template_folder()).items() if "parameters" in name]
    return {name for text in texts for name in _PARAMETER.findall(text)}


def check_tpu(*, framework: str, platform: str, accelerator: AcceleratorKind) -> None:
    """Makes sure that a framework can use the TPU of a platform, if that is what the pair trains on.

    Raises:
        PairError: It cannot.
    """
    able = [name for name, known in frameworks().items() if platform in known.tpu]
    if accelerator is AcceleratorKind.TPU and framework not in able:
        raise PairError(
            f"The framework {framework} cannot use the TPU of {platform.capitalize()}, whose TPU runtime does not have "
            f"it: take another one (--framework {' or '.join(able)}), or a GPU (-P ACCELERATOR=gpu)."
        )


def check_several_hosts(*, framework: str) -> None:
    """Makes sure that a framework can train on several hosts at once.

    Raises:
        PairError: It cannot.
    """
    able = [name for name, known in frameworks().items() if known.several_hosts]
    if framework not in able:
        raise PairError(
            f"several_hosts is true, and the framework {framework} trains on one host: set it to false "
            f"(--set several_hosts=false), or take another framework (--framework {' or '.join(able)})."
        )


def check_backend(*, family: str, framework: str, backend: str) -> None:
    """Makes sure that inference can load the weights of a framework into another's model of the family.

    That weights can be converted is said by a template `frameworks/<framework>/<backend>.py.j2`.

    Args:
        family: A family's name.
        framework: The framework that the pair trains with.
        backend: The framework that inference computes with, perhaps the same.

    Raises:
        PairError: It cannot.
    """
    if backend == framework:
        return
    converted = [path.name.removesuffix(SUFFIX) for path in template_folder().glob(f"frameworks/{framework}/*{SUFFIX}")]
    known = [framework, *sorted(set(converted) & set(families()[family].frameworks))]
    if backend not in known:
        raise PairError(
            f'INFERENCE_BACKEND is "{printable(backend)}", and what the family {printable(family)} trained in '
            f"{framework} is loaded by {' or '.join(known)}.{did_you_mean(backend, known)}"
        )


def check_offered(*, family: str, framework: str, wanted: Mapping[str, str], source: str) -> None:
    """Makes sure that there are templates for a family in a framework, and for what the task wants of it.

    Args:
        family: A family's name.
        framework: A framework's name.
        wanted: The task's `target_kind` and `submission`, as far as they are known.
        source: Where the names come from, for messages: a file, or an option of the command line.

    Raises:
        PairError: There is no such family, or no such framework at all; or the family does not come in this framework,
            or has nothing for this kind of target; or nothing is there for the submission.
    """
    offered = families()
    names = {"family": (family, list(offered)), "framework": (framework, list(frameworks()))}
    for what, (name, there) in names.items():
        if name not in there:
            raise PairError(
                f'{printable(source)}: there is no {what} "{printable(name)}"; the kit has: '
                f"{', '.join(there) or 'none'}.{did_you_mean(name, there)}"
            )
    of_family = offered[family].frameworks
    if framework not in of_family:
        raise PairError(
            f'{printable(source)}: the family "{family}" has no templates for the framework "{framework}"; it has: '
            f"{', '.join(of_family)}."
        )
    kinds = {
        "target_kind": list(map(str, offered[family].targets)),
        "submission": sorted(
            path.name.removesuffix(SUFFIX) for path in template_folder().glob(f"submissions/*{SUFFIX}")
        ),
    }
    for what, known in kinds.items():
        if known and wanted.get(what, known[0]) not in known:
            raise PairError(
                f'{printable(source)}: the family "{printable(family)}" has no templates for the {what} '
                f'"{printable(wanted[what])}"; there are some for: {", ".join(known)}. Another family or {what} may '
                "fit: `tandem generate --list` shows them."
            )
