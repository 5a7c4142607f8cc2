"""The verb `generate`: a pair of notebooks for a competition, its questions and its report."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypedDict

import click

from generator.cli.generate_report import PairReport, pair_as_text, pair_report
from generator.cli.kaggle import fact_source
from generator.cli.options import (
    KeyList,
    KnobCommand,
    assignments_option,
    competition_name,
    competition_names,
    data_option,
    flags_of_keys,
    names_of_keys,
    parse_values,
    show_list,
    to_option,
    version_option,
    word_completer,
    workspace_option,
)
from generator.cli.questions import ask_about_unclear
from generator.cli.terminal import is_interactive, json_option, print_document, warn
from generator.cli.update import conflicts_code
from generator.pair import generation
from generator.pair.generation import GenerateOptions, PairDraft
from generator.pair.workspace import (
    Workspace,
    ensure_built_in,
    link_data,
    unpack_if_packed,
    unpack_whole,
    whole_archive,
)
from generator.text import is_slug, printable

# With the keys of pair.toml that have flags.
_DECIDING = ("data", "to", "inference_hours", "settings", "assignments", "owner", "name", "explain")


class WrittenPairs(TypedDict):
    """With --all: the files that were written.

    Attributes:
        schema_version: The version of this document.
        written: Their paths in the workspace.
    """

    schema_version: Literal[1]
    written: list[str]


class PairDifferences(TypedDict):
    """With --all --check or --all --dry-run: the files that --all would change.

    Attributes:
        schema_version: The version of this document.
        differs: A unified diff for each file, by its path in the workspace.
        edited: What somebody edited in those files since they were rendered.
    """

    schema_version: Literal[1]
    differs: dict[str, str]
    edited: dict[str, str]


@click.command(cls=KnobCommand)
@click.argument("named", metavar="[COMPETITION]", required=False, shell_complete=word_completer(competition_names))
@click.option(
    "--competition",
    metavar="SLUG",
    help="The same as the argument COMPETITION.",
    shell_complete=word_completer(competition_names),
)
@data_option(default="input/competitions/SLUG")
@to_option(
    "Which Kaggle to ask if the files are not on this machine: the real one (default) or the local one of "
    "`tandem serve`. With --to, title, metric and rules come from there even if the files are on this machine."
)
@flags_of_keys
@click.option(
    "--inference-hours",
    type=click.FloatRange(0, 48, min_open=True),
    metavar="N",
    help="Time limit of the inference notebook in hours, if the competition's pages do not state it.",
)
@click.option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set any other key of the task in pair.toml."
)
@assignments_option("Set a parameter of the notebooks (see docs/knobs.md). Can be repeated.")
@click.option("--owner", metavar="NAME", help="Your Kaggle user name. Default: the name in Kaggle's credentials.")
@click.option("--name", metavar="NAME", help="The name of the folder in kernels/. Default: the competition's name.")
@click.option(
    "--force",
    is_flag=True,
    help="Overwrite edits in notebooks and metadata instead of merging, and a pair of another competition or "
    "framework. With --all: in every pair.",
)
@workspace_option
@click.option("--explain", is_flag=True, help="Show all candidates for each value, with their evidence.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, but write nothing.")
@json_option(PairReport, KeyList, WrittenPairs, PairDifferences)
@click.option("--list", "show_list", is_flag=True, help="List families, frameworks, built-in competitions and metrics.")
@click.option("--all", "all_pairs", is_flag=True, help="Render every pair of the workspace again from its pair.toml.")
@click.option("--check", is_flag=True, help="With --all: write nothing; show a diff and exit with 1 if a file differs.")
@version_option
@click.pass_context
def generate(context: click.Context, /, **options: Any) -> int:
    """Write a pair of notebooks for a competition to kernels/NAME.

    COMPETITION is the name of a competition on Kaggle, its address, or the name of a built-in competition.

    The task is inferred from the competition's files. If the files are not on this machine, parts of them are read
    through Kaggle's API. The report shows the evidence for each value. You can set every value with an option or in
    pair.toml, and your values are kept. Notebooks that you edited are merged with what is new, as `tandem update` does.

    \b
    tandem generate digits
    tandem generate --competition titanic --data ~/Downloads/titanic --metric accuracy
    tandem generate --competition titanic -P N_FOLDS=10 -P DROPOUT=0.2
    """  # noqa: D301 - click wants the character itself
    argument = options.pop("named")
    if argument is not None and options["competition"] is not None:
        context.fail(
            f"There are two competitions, {printable(argument)} and {printable(options['competition'])}: name only one."
        )
    if (competition := argument or options["competition"]) is not None:
        options["competition"] = competition_name(competition)
    _check_usage(context, options)
    if options["show_list"]:
        return show_list(as_json=options["as_json"])
    workspace: Workspace = options["workspace"]
    if options["all_pairs"]:
        if options["check"] or options["dry_run"]:
            return _check_all(workspace, as_json=options["as_json"])
        return _write_all(workspace, force=options["force"], as_json=options["as_json"])
    return _generate(workspace, options)


def _check_usage(context: click.Context, options: Mapping[str, Any]) -> None:
    """Refuses combinations that mean nothing, as usage errors with exit code 2."""
    modes = [name for name in ("competition", "show_list", "all_pairs") if options[name]]
    if len(modes) != 1:
        context.fail("Name one competition, for example `tandem generate titanic`, or use --list or --all.")
    if options["check"] and not options["all_pairs"]:
        context.fail("--check works only with --all.")
    if options["force"] and (options["show_list"] or options["check"]):
        context.fail("--force does not work with --list or --check: these write nothing.")
    of_one_pair = {*_DECIDING, *names_of_keys()}
    flags = [option.opts[0] for option in context.command.params if option.name in of_one_pair and options[option.name]]
    if flags and not options["competition"]:
        context.fail(f"{flags[0]} works only with a competition.")


def _generate(workspace: Workspace, options: Mapping[str, Any]) -> int:
    values = parse_values(options)
    slug = options["competition"]
    if not options["dry_run"]:
        data = unpack_if_packed(slug, options["data"], workspace, tell=partial(click.echo, err=True))
        return _generate_from(workspace, data, values, options)
    with TemporaryDirectory() as place:
        archive = whole_archive(slug, options["data"] or workspace.competition_data(slug)) if is_slug(slug) else None
        if archive is None:
            return _generate_from(workspace, options["data"], values, options)
        unpack_whole(slug, archive, Workspace(Path(place)))
        return _generate_from(workspace, Workspace(Path(place)).competition_data(slug), values, options)


def _generate_from(workspace: Workspace, data: Path | None, values: dict[str, Any], options: Mapping[str, Any]) -> int:
    generate_options = GenerateOptions(
        options["competition"],
        name=options["name"],
        values=values,
        data=data,
        task_assignments=options["settings"],
        parameter_assignments=options["assignments"],
        ask=fact_source(options["to"]),
        asks_always=options["to"] is not None,
        force=options["force"],
    )
    may_ask = is_interactive() and not (options["as_json"] or options["dry_run"])
    draft = generation.draft(workspace, generate_options, ask=ask_about_unclear if may_ask else None)
    if not options["dry_run"]:
        bring_data(workspace, draft)
        generation.write(draft)
    for warning in draft.proposal.warnings:
        warn(warning)
    details = {"is_dry_run": options["dry_run"], "explain": options["explain"], "to": options["to"]}
    if options["as_json"]:
        print_document(pair_report(workspace, draft, **details))
    else:
        click.echo(pair_as_text(workspace, draft, **details))
    return conflicts_code(draft.plan, is_dry_run=options["dry_run"])


def bring_data(workspace: Workspace, draft: PairDraft) -> None:
    """Puts the competition's files where the notebooks look for them: writes or links them, if they are not there."""
    competition = draft.proposal.competition.slug
    target_folder = workspace.competition_data(competition)
    data = draft.proposal.facts.folder
    if draft.proposal.is_built_in:
        ensure_built_in(competition, workspace, tell=partial(click.echo, err=True))
    elif data is not None and link_data(data, target_folder, workspace.files):
        click.echo(f"{target_folder} is now a link to {data}.", err=True)


def _write_all(workspace: Workspace, *, force: bool, as_json: bool) -> int:
    from generator.pair import reference_pairs

    paths = [path.as_posix() for path in reference_pairs.write_reference_pairs(workspace, force=force)]
    if as_json:
        print_document(WrittenPairs(schema_version=1, written=paths))
    else:
        click.echo("\n".join(f"{path}  written" for path in paths) or "All files are up to date.")
    return 0


def _check_all(workspace: Workspace, *, as_json: bool) -> int:
    from generator.pair import reference_pairs

    files = reference_pairs.render_pairs(workspace)
    diffs = reference_pairs.compare_files(workspace, files)
    edits = reference_pairs.edits_of(workspace, files) if diffs else {}
    if as_json:
        report: PairDifferences = {
            "schema_version": 1,
            "differs": {path.as_posix(): diff for path, diff in diffs.items()},
            "edited": {path.as_posix(): str(changes) for path, changes in edits.items()},
        }
        print_document(report)
    elif diffs:
        click.echo("".join(diffs.values()))
        ways = reference_pairs.EditedPairsError(lost_edits=edits) if edits else "`tandem generate --all` writes them."
        click.echo(f"{len(diffs)} files differ from the rendered ones. {ways}", err=True)
    else:
        click.echo("All files are up to date.")
    return 1 if diffs else 0
