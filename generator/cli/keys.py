"""The keys of `pair.toml` as options of the command line, the words that complete them, and the list of them all."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal, TypedDict

import click

from generator.cli.documents import print_document
from generator.cli.options import word_completer
from generator.cli.terminal import table
from generator.competition import builtin
from generator.competition.metrics import METRICS, metric_named
from generator.competition.schema import Family, Framework, Setting, common, families, frameworks, keys_of
from generator.pair.settings import checked_owner

_Command = Callable[..., Any]


class FamilyFields(TypedDict):
    """A family: a kind of task that there are templates for.

    Attributes:
        name: Its name.
        title: What people call it.
        description: One sentence.
        frameworks: The frameworks that it has a model in.
        targets: The kinds of target that it has models for.
        keys: The keys of its tasks in pair.toml, with what each means.
    """

    name: str
    title: str
    description: str
    frameworks: list[str]
    targets: list[str]
    keys: dict[str, str]


class KeyList(TypedDict):
    """With --list: what a pair can be.

    Attributes:
        schema_version: The version of this document.
        families: The families.
        frameworks: The frameworks.
        competitions: The built-in competitions.
        metrics: The titles of the metrics by name.
    """

    schema_version: Literal[1]
    families: list[FamilyFields]
    frameworks: list[Framework]
    competitions: list[str]
    metrics: dict[str, str]


def _keys_with_flags(section: str) -> dict[str, Setting]:
    return {key: rule for key, rule in common()[section].items() if rule.flag}


def flags_of_keys(command: _Command) -> _Command:
    """Gives a command an option for each key of `pair.toml` that is declared with a flag."""
    for key, rule in reversed({**_keys_with_flags("pair"), **_keys_with_flags("task")}.items()):
        flag, metavar = rule.flag.split()
        is_list, complete = rule.type is list, word_completer(partial(_words, key, rule))
        option = click.option(flag, key, metavar=metavar, multiple=is_list, help=rule.help, shell_complete=complete)
        command = option(command)
    return command


def competition_names(context: click.Context) -> set[str]:
    """The names of competitions that are built in, or whose files are here."""
    data_folder = context.params["workspace"].competition_data("x").parent
    return {*builtin.competition_slugs(), *(path.name for path in data_folder.glob("*/"))}


def _words(key: str, rule: Setting, _: click.Context) -> Iterable[str]:
    """What a shell completes the option of a key with."""
    if key == "metric":
        return [facts.task_name(facts.parameter_default) for facts in METRICS.values()]
    if key == "framework":
        return list(frameworks())
    return families() if key == "family" else rule.options


def names_of_keys() -> set[str]:
    """The keys of `pair.toml` that have flags."""
    return {*_keys_with_flags("pair"), *_keys_with_flags("task")}


def parse_values(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the pair and of its task that options of their own set, by key."""
    pair_keys = [key for key in _keys_with_flags("pair") if options[key] is not None]
    values: dict[str, Any] = {key: _canonical(key, options[key]) for key in pair_keys}
    if options["inference_hours"] is not None:
        values["inference_hours"] = options["inference_hours"]
    if options["owner"]:
        values["owner"] = checked_owner(options["owner"])
    for key in _keys_with_flags("task"):
        if value := options[key]:
            is_name = key in ("target_kind", "submission")
            values[key] = list(value) if isinstance(value, tuple) else _canonical(key, value) if is_name else value
    if "metric" in values:
        values["metric"] = metric_named(values["metric"])
    return values


def _canonical(key: str, name: str) -> str:
    """A name that the kit declares, where the text is it in another case, or what it is called elsewhere."""
    lower = name.strip().lower()
    candidates: list[Family | Framework] = []
    if key in ("family", "framework"):
        candidates = [*(families() if key == "family" else frameworks()).values()]
    alias = lower.replace("-", "_").replace(" ", "_")
    return next((candidate.name for candidate in candidates if alias in candidate.aliases), lower)


def show_list(*, as_json: bool) -> int:
    """Prints families, frameworks, built-in competitions and metrics."""
    if as_json:
        report: KeyList = {
            "schema_version": 1,
            "families": [_family_fields(family) for family in families().values()],
            "frameworks": list(frameworks().values()),
            "competitions": list(builtin.competition_slugs()),
            "metrics": {name: facts.title for name, facts in METRICS.items()},
        }
        print_document(report)
        return 0
    rows = [[family.name, ", ".join(family.frameworks), family.description] for family in families().values()]
    click.echo(table(["family", "frameworks", "what it is"], rows) + "\n")
    rows = [[framework.name, framework.title, framework.description] for framework in frameworks().values()]
    click.echo(table(["framework", "title", "what it is"], rows) + "\n")
    rows = [[slug, builtin.require(slug).competition.title] for slug in builtin.competition_slugs()]
    click.echo(table(["competition", "title"], rows) + "\n")
    rows = [
        [facts.task_name(facts.parameter_default), facts.title, "higher" if facts.higher_is_better else "lower"]
        for facts in METRICS.values()
    ]
    click.echo(table(["metric", "title", "better"], rows))
    return 0


def _family_fields(family: Family) -> FamilyFields:
    return {
        "name": family.name,
        "title": family.title,
        "description": family.description,
        "frameworks": list(family.frameworks),
        "targets": [str(target) for target in family.targets],
        "keys": {key: rule.help for key, rule in keys_of(family.name).items()},
    }
