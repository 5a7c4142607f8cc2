"""The choices behind a pair: what they are, who made each, and which of two prevails."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from generator.competition.facts import Competition, Task, Value
from generator.competition.schema import common, keys_of, values_of
from generator.untrusted import storable


class MadeBy(StrEnum):
    """The maker of a choice."""

    INFERRED = "inferred"
    DEFAULT = "default"
    FLAG = "flag"
    HAND = "hand"

    @property
    def is_the_users(self) -> bool:
        """True if the choice stays when a pair is generated again."""
        return self in (MadeBy.FLAG, MadeBy.HAND)


@dataclass(frozen=True)
class Choice:
    """A value, who chose it, and for an inferred one what it rests on."""

    value: Value
    by: MadeBy
    evidence: str = ""


@dataclass(frozen=True)
class Choices:
    """Every choice of a pair, by section and key.

    Attributes:
        pair: The competition and what the pair is made of.
        task: What the competition asks for.
        parameters: Values that the user sets in both notebooks' parameters cells.
    """

    pair: Mapping[str, Choice] = field(default_factory=dict)
    task: Mapping[str, Choice] = field(default_factory=dict)
    parameters: Mapping[str, Choice] = field(default_factory=dict)

    def sections(self) -> dict[str, Mapping[str, Choice]]:
        """The sections in the order of the file."""
        return {"pair": self.pair, "task": self.task, "parameters": self.parameters}


def proposed(competition: Competition, task: Task, *, framework: str, owner: Choice) -> Choices:
    """The kit's own choices for a competition, where nobody says anything else.

    Args:
        competition: The competition as its source describes it.
        task: The task as inferred, with evidence.
        framework: The default framework.
        owner: Who owns the kernels, see `generator.pair.owner`.
    """

    def inferred(**values: Value | None) -> dict[str, Choice]:
        known = "what is known of the competition"
        return {
            key: Choice(value, MadeBy.INFERRED, competition.evidence.get(key, known))
            for key, value in values.items()
            if value is not None
        }

    pair = {
        "competition": Choice(competition.slug, MadeBy.FLAG),
        **inferred(title=storable(competition.title), code_competition=competition.is_code_competition),
        "family": Choice(task.family, MadeBy.INFERRED, task.evidence.get("family", "")),
        "framework": Choice(framework, MadeBy.DEFAULT),
        "owner": owner,
        **inferred(inference_hours=competition.inference_hours, internet=competition.internet),
    }
    return Choices(pair=pair, task=_task_choices(task))


def decisions(kept: Choices, *, flags: Mapping[str, Value], task_flags: Mapping[str, Value]) -> dict[str, Value]:
    """The user's decisions on a task, made now or before, by key; the family is among them.

    Args:
        kept: The choices of the pair as it is.
        flags: As for `merged`.
        task_flags: As for `merged`.
    """
    before = {key: choice.value for key, choice in {**_users(kept.pair), **_users(kept.task)}.items()}
    decided = {**before, **flags, **task_flags}
    return {key: value for key, value in decided.items() if key == "family" or key not in common()["pair"]}


def merged(
    proposal: Choices, kept: Choices, *, flags: Mapping[str, Value], task_flags: Mapping[str, Value] | None = None
) -> Choices:
    """Combines what the kit proposes with what the user said, now and before.

    Args:
        proposal: What the kit would choose.
        kept: The choices of the pair as it is; inferred and default ones are replaced by the proposal.
        flags: Values of the section `pair` that the command line sets; they overrule everything, but saying again what
            the user had said before does not change who said it.
        task_flags: The same for the section `task`.

    Returns:
        The choices in the proposal's order, with the user's own keys after them.
    """
    # What pages said once stays in the file, even if nobody could be asked this time.
    optional = {key for key, rule in common()["pair"].items() if rule.optional}
    said = {key: choice for key, choice in kept.pair.items() if key in optional and key not in proposal.pair}
    return Choices(
        pair={**proposal.pair, **_users(kept.pair), **said, **_flagged(flags, kept.pair)},
        task={**proposal.task, **_users(kept.task), **_flagged(task_flags or {}, kept.task)},
        parameters=_users(kept.parameters),
    )


def completed(written: Choices, proposal: Choices) -> Choices:
    """Adds to the choices of a file those of the proposal that it leaves open; what the file says stays."""
    return replace(written, pair={**proposal.pair, **written.pair}, task={**proposal.task, **written.task})


def _task_choices(task: Task) -> dict[str, Choice]:
    keys = keys_of(task.family)
    return {
        key: Choice(value, MadeBy.DEFAULT if keys[key].chosen_blindly else MadeBy.INFERRED, task.evidence.get(key, ""))
        for key, value in values_of(task, keys).items()
        if key in task.evidence or keys[key].default != value
    }


def _flagged(flags: Mapping[str, Value], kept: Mapping[str, Choice]) -> dict[str, Choice]:
    said = {key: choice.value for key, choice in _users(kept).items()}
    return {key: Choice(value, MadeBy.FLAG) for key, value in flags.items() if said.get(key) != value}


def _users(kept: Mapping[str, Choice]) -> dict[str, Choice]:
    return {key: choice for key, choice in kept.items() if choice.by.is_the_users}
