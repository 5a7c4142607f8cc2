"""What the templates are told of a pair, and what its two kernels are called on Kaggle."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from generator.accelerators.catalog import catalog
from generator.competition.facts import Competition, ImageTask, Metric
from generator.pair.choices import TASK_TYPES, Choices
from generator.pair.workspace import Role

_LONGEST_TITLE = 50
# They may differ between training and inference without harm: no weight and no prediction depends on them.
_OF_TRAINING_ONLY = ("batch_size", "epochs", "flip")


@dataclass(frozen=True)
class KernelName:
    """What a kernel is called: `title` is 5 to 50 characters, and its slug is the kernel's slug on Kaggle."""

    title: str
    owner: str

    @property
    def slug(self) -> str:
        """What Kaggle makes of the title."""
        return slugified(self.title)

    @property
    def ref(self) -> str:
        """The id in `kernel-metadata.json`."""
        return f"{self.owner}/{self.slug}"


@dataclass(frozen=True)
class PairSpec:
    """Everything that the templates need to know of a pair.

    Attributes:
        pair_id: What both notebooks must agree on: the competition, the framework, and a digest of the rest.
        framework: What the notebooks are written in.
        owner: The Kaggle user name under which the kernels are pushed.
        train: The training kernel's name.
        infer: The inference kernel's name.
        competition: The competition.
        task: The task, with the evidence for it.
    """

    pair_id: str
    framework: str
    owner: str
    train: KernelName
    infer: KernelName
    competition: Competition
    task: ImageTask

    @property
    def family(self) -> str:
        """The kind of task, which has its own templates."""
        return self.task.family

    @property
    def session_hours(self) -> float:
        """How long Kaggle lets the training notebook run."""
        return float(catalog().training.session_hours)

    def kernel(self, role: Role) -> KernelName:
        """The name of one of the two kernels."""
        return self.train if role is Role.TRAIN else self.infer


def spec_of(choices: Choices) -> PairSpec:
    """Makes the specification of a pair from a complete set of choices.

    Raises:
        KeyError: The choices are not complete, see `generator.pair.choices.completed`.
    """
    chosen: dict[str, Any] = {key: choice.value for key, choice in choices.pair.items()}
    competition = Competition(
        slug=chosen["competition"], title=chosen["title"], is_code_competition=chosen["code_competition"]
    )
    values: dict[str, Any] = {key: choices.task[key].value for key in TASK_TYPES}
    values["metric"] = Metric(values["metric"])
    evidence = {key: choice.evidence for key, choice in choices.task.items() if choice.evidence}
    evidence["family"] = choices.pair["family"].evidence
    names = {role: _kernel_name(chosen, role) for role in Role}
    return PairSpec(
        pair_id=_pair_id(chosen, values),
        framework=chosen["framework"],
        owner=chosen["owner"],
        train=names[Role.TRAIN],
        infer=names[Role.INFER],
        competition=competition,
        task=ImageTask(family=chosen["family"], evidence=evidence, **values),
    )


def slugified(title: str) -> str:
    """The slug that Kaggle makes of a title that consists of ASCII letters, digits, spaces and hyphens."""
    return "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())


def _kernel_name(chosen: dict[str, Any], role: Role) -> KernelName:
    ending = f"{chosen['framework']}-{role}".replace("_", "-")
    stem = _shortened(chosen["competition"], _LONGEST_TITLE - len(ending) - 1)
    title = f"{stem}-{ending}".replace("-", " ")
    return KernelName(title=title[0].upper() + title[1:], owner=chosen["owner"])


def _shortened(slug: str, room: int) -> str:
    """Cuts a slug at a hyphen, and adds four digits of its hash so that two long ones do not become the same."""
    slug = slugified(slug)
    if len(slug) <= room:
        return slug
    digest = hashlib.sha256(slug.encode()).hexdigest()[:4]
    start = slug[: room - len(digest)]
    return f"{start.rpartition('-')[0] or start[:-1]}-{digest}"


def _pair_id(chosen: dict[str, Any], task: dict[str, Any]) -> str:
    shared = {
        "competition": chosen["competition"],
        "family": chosen["family"],
        "framework": chosen["framework"],
        **{key: value for key, value in task.items() if key not in _OF_TRAINING_ONLY},
    }
    digest = hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:8]
    return f"{chosen['competition']}-{chosen['framework']}-{digest}"
