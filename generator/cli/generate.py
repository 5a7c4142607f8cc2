"""The verb `generate`: a pair of notebooks for a competition, or all reference pairs of a workspace again."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from generator import __version__
from generator.cli.completion import words
from generator.cli.generate_report import pair_as_json, pair_as_text
from generator.cli.kaggle_facts import KaggleFactSource
from generator.cli.options import (
    KnobCommand,
    assignments_option,
    competition_name,
    data_option,
    json_option,
    to_option,
    workspace_option,
)
from generator.cli.questions import asked
from generator.cli.table import table
from generator.cli.terminal import is_interactive, warn
from generator.competition import builtin
from generator.competition.metrics import METRICS, metric_named
from generator.competition.schema import Family, Key, common, families, keys_of
from generator.pair import generation
from generator.pair.generation import Draft, GenerateOptions
from generator.pair.mounted_data import ensure_data, has_data, link_data
from generator.pair.owner import checked_owner
from generator.pair.packed_data import unpack_if_packed, unpack_whole, whole_archive
from generator.pair.template_catalog import Framework, frameworks
from generator.pair.workspace import Workspace
from generator.untrusted import is_slug, printable

_Command = Callable[..., Any]
# With the keys of pair.toml that have flags.
_DECIDING = ("data", "to", "inference_hours", "settings", "assignments", "owner", "name", "explain")


def _keys_with_flags(section: str) -> dict[str, Key]:
    return {key: rule for key, rule in common()[section].items() if rule.flag}


def _flags_of_keys(command: _Command) -> _Command:
    """Gives a command an option for each key of `pair.toml` that is declared with a flag."""
    for key, rule in reversed({**_keys_with_flags("pair"), **_keys_with_flags("task")}.items()):
        flag, metavar = rule.flag.split()
        is_list, complete = rule.type is list, words(partial(_words, key, rule))
        option = click.option(flag, key, metavar=metavar, multiple=is_list, help=rule.help, shell_complete=complete)
        command = option(command)
    return command


def _competitions(context: click.Context) -> set[str]:
    here = context.params["workspace"].competition_data("x").parent
    return {*builtin.known(), *(path.name for path in here.glob("*/"))}


def _words(key: str, rule: Key, _: click.Context) -> Iterable[str]:
    """What a shell completes the option of a key with."""
    if key == "metric":
        return [facts.spelled(facts.parameter_default) for facts in METRICS.values()]
    if key == "framework":
        return list(frameworks())
    return families() if key == "family" else rule.options


@click.command(cls=KnobCommand)
@click.argument("named", metavar="[COMPETITION]", required=False, shell_complete=words(_competitions))
@click.option(
    "--competition",
    metavar="SLUG",
    help="The same as COMPETITION: its name on Kaggle or its address, or a built-in one.",
    shell_complete=words(_competitions),
)
@data_option(default="input/competitions/SLUG")
@to_option(
    "Which Kaggle to ask about a competition whose files are not here: kaggle by default, or the one of "
    "`tandem serve`. Said in so many words, it is asked for title, metric and rules even if the files are here."
)
@_flags_of_keys
@click.option(
    "--inference-hours",
    type=click.FloatRange(0, 48, min_open=True),
    metavar="N",
    help="How long the inference notebook may run, where the pages' limit is another.",
)
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Any other key of the task in pair.toml.")
@assignments_option("A knob of the notebooks, as their parameters cell calls it; repeatable.")
@click.option("--owner", metavar="NAME", help="Your Kaggle user name; by default the one that Kaggle's own tools know.")
@click.option("--name", metavar="NAME", help="The folder below kernels/; by default the competition.")
@click.option(
    "--force", is_flag=True, help="Overwrite what was edited in notebooks and metadata; with --all in every pair."
)
@workspace_option
@click.option("--explain", is_flag=True, help="Show everything that was weighed for each value.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@json_option
@click.option("--list", "show_list", is_flag=True, help="Show families, frameworks, built-in competitions and metrics.")
@click.option("--all", "all_pairs", is_flag=True, help="Render every pair of the workspace again from its pair.toml.")
@click.option("--check", is_flag=True, help="With --all: write nothing, and exit 1 with a diff if anything differs.")
@click.version_option(__version__, prog_name="tandem")
@click.pass_context
def generate(context: click.Context, /, **options: Any) -> int:
    """Write a pair of notebooks for a competition to kernels/NAME.

    COMPETITION is its name on Kaggle, its address, or a built-in one.

    What the task is gets inferred from the competition's files, or by looking at them through Kaggle's API where they
    are not here; each value comes with its evidence, and a flag or pair.toml overrules it. What you changed there
    is kept. Notebooks that you edited are not overwritten without --force.

    \b
    tandem generate digits
    tandem generate --competition titanic --data ~/Downloads/titanic --metric accuracy
    tandem generate --competition titanic -P N_FOLDS=10 -P DROPOUT=0.2
    """  # noqa: D301 - click wants the character itself
    named = options.pop("named")
    if named is not None and options["competition"] is not None:
        context.fail(f"Two competitions are named, {printable(named)} and {printable(options['competition'])}.")
    if (competition := named or options["competition"]) is not None:
        options["competition"] = competition_name(competition)
    _check_usage(context, options)
    if options["show_list"]:
        return _show_list(as_json=options["as_json"])
    workspace: Workspace = options["workspace"]
    if options["all_pairs"]:
        if options["check"] or options["dry_run"]:
            return _check_all(workspace, as_json=options["as_json"])
        return _write_all(workspace, force=options["force"], as_json=options["as_json"])
    return _generate(workspace, options)


def _check_usage(context: click.Context, options: Mapping[str, Any]) -> None:
    """Refuses combinations that mean nothing, as usage errors with exit code 2."""
    asked = [name for name in ("competition", "show_list", "all_pairs") if options[name]]
    if len(asked) != 1:
        context.fail("Name one competition, as `tandem generate titanic` does, or use one of --list and --all.")
    if options["check"] and not options["all_pairs"]:
        context.fail("--check goes with --all.")
    if options["force"] and (options["show_list"] or options["check"]):
        context.fail("--force goes with writing pairs.")
    of_one_pair = {*_DECIDING, *_keys_with_flags("pair"), *_keys_with_flags("task")}
    given = [option.opts[0] for option in context.command.params if option.name in of_one_pair and options[option.name]]
    if given and not options["competition"]:
        context.fail(f"{given[0]} goes with a competition.")


def _generate(workspace: Workspace, options: Mapping[str, Any]) -> int:
    flags = {key: _canonical(key, options[key]) for key in _keys_with_flags("pair") if options[key] is not None}
    if options["inference_hours"] is not None:
        flags["inference_hours"] = options["inference_hours"]
    if options["owner"]:
        flags["owner"] = checked_owner(options["owner"])
    slug = options["competition"]
    if not options["dry_run"]:
        data = unpack_if_packed(slug, options["data"], workspace, tell=partial(click.echo, err=True))
        return _generate_from(workspace, data, flags, options)
    with TemporaryDirectory() as place:
        archive = whole_archive(slug, options["data"] or workspace.competition_data(slug)) if is_slug(slug) else None
        if archive is None:
            return _generate_from(workspace, options["data"], flags, options)
        unpack_whole(slug, archive, Workspace(Path(place)))
        return _generate_from(workspace, Workspace(Path(place)).competition_data(slug), flags, options)


def _generate_from(workspace: Workspace, data: Path | None, flags: dict[str, Any], options: Mapping[str, Any]) -> int:
    asked_for = GenerateOptions(
        options["competition"],
        name=options["name"],
        flags=flags,
        task_flags=_task_flags(options),
        data=data,
        settings=options["settings"],
        assignments=options["assignments"],
        ask=KaggleFactSource(options["to"]),
        asks_always=options["to"] is not None,
        force=options["force"],
    )
    may_ask = is_interactive() and not (options["as_json"] or options["dry_run"])
    draft = generation.draft(workspace, asked_for, ask=asked if may_ask else None)
    if not options["dry_run"]:
        _bring_data(workspace, draft)
        generation.write(draft)
    for warning in draft.proposal.warnings:
        warn(warning)
    report = pair_as_json if options["as_json"] else pair_as_text
    click.echo(report(workspace, draft, is_dry_run=options["dry_run"], explain=options["explain"], to=options["to"]))
    return 0


def _task_flags(options: Mapping[str, Any]) -> dict[str, Any]:
    """The decisions of the command line on the task, by key."""
    given = {key: options[key] for key in _keys_with_flags("task") if options[key]}
    if "metric" in given:
        given["metric"] = metric_named(given["metric"])
    return {
        key: list(value)
        if isinstance(value, tuple)
        else _canonical(key, value)
        if key in ("target_kind", "submission")
        else value
        for key, value in given.items()
    }


def _canonical(key: str, name: str) -> str:
    """A name that the kit declares, where the text is it in another case, or what it is called elsewhere."""
    lower = name.strip().lower()
    declared: list[Family | Framework] = []
    if key in ("family", "framework"):
        declared = [*(families() if key == "family" else frameworks()).values()]
    alias = lower.replace("-", "_").replace(" ", "_")
    return next((each.name for each in declared if alias in each.aliases), lower)


def _bring_data(workspace: Workspace, draft: Draft) -> None:
    """Puts the competition's files where the notebooks look for them: writes or links them, if they are not there."""
    competition = draft.proposal.competition.slug
    mounted = workspace.competition_data(competition)
    data = draft.proposal.known.folder
    if draft.proposal.is_built_in:
        built_in = builtin.require(competition)
        if not has_data(built_in, workspace):
            click.echo(f"Writing the data of {competition} …", err=True)
        ensure_data(built_in, workspace)
    elif data is not None and link_data(data, mounted, workspace.files):
        click.echo(f"{mounted} is a link to {data} now.", err=True)


def _show_list(*, as_json: bool) -> int:
    if as_json:
        report = {
            "families": [_family_as_json(family) for family in families().values()],
            "frameworks": [vars(framework) for framework in frameworks().values()],
            "competitions": builtin.known(),
            "metrics": {name: facts.title for name, facts in METRICS.items()},
        }
        click.echo(json.dumps(report, indent=2))
        return 0
    rows = [[family.name, ", ".join(family.frameworks), family.description] for family in families().values()]
    click.echo(table(["family", "frameworks", "what it is"], rows) + "\n")
    rows = [[framework.name, framework.title, framework.description] for framework in frameworks().values()]
    click.echo(table(["framework", "title", "what it is"], rows) + "\n")
    rows = [[slug, builtin.require(slug).competition.title] for slug in builtin.known()]
    click.echo(table(["competition", "title"], rows) + "\n")
    rows = [
        [facts.spelled(facts.parameter_default), facts.title, "higher" if facts.higher_is_better else "lower"]
        for facts in METRICS.values()
    ]
    click.echo(table(["metric", "title", "better"], rows))
    return 0


def _family_as_json(family: Family) -> dict[str, Any]:
    names = ("name", "title", "description", "frameworks", "targets")
    keys = {key: rule.help for key, rule in keys_of(family.name).items()}
    return {name: getattr(family, name) for name in names} | {"keys": keys}


def _write_all(workspace: Workspace, *, force: bool, as_json: bool) -> int:
    from generator.pair import reference_pairs

    written = [path.as_posix() for path in reference_pairs.write(workspace, force=force)]
    text = "\n".join(f"{path}  written" for path in written) or "Every file is as rendered."
    click.echo(json.dumps({"written": written}, indent=2) if as_json else text)
    return 0


def _check_all(workspace: Workspace, *, as_json: bool) -> int:
    from generator.cli.main import EXIT_ERROR
    from generator.pair import reference_pairs

    diffs = reference_pairs.differences(workspace)
    edited = reference_pairs.edits_of(workspace, reference_pairs.rendered(workspace)) if diffs else {}
    if as_json:
        report = {
            "differs": {path.as_posix(): diff for path, diff in diffs.items()},
            "edited": {path.as_posix(): str(changes) for path, changes in edited.items()},
        }
        click.echo(json.dumps(report, indent=2))
    elif diffs:
        click.echo("".join(diffs.values()))
        ways = reference_pairs.EditedPairsError(edited=edited) if edited else "`tandem generate --all` writes them."
        click.echo(f"{len(diffs)} files differ from what renders. {ways}", err=True)
    else:
        click.echo("Every file is as rendered.")
    return EXIT_ERROR if diffs else 0
