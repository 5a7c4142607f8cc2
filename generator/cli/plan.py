"""The verb `plan`: what a pair's training takes on each accelerator, and the one to take."""

from typing import TYPE_CHECKING, Any

import click

from generator.cli.options import (
    KnobCommand,
    assignments_option,
    json_option,
    optional_pair_argument,
    output_option,
    shortest,
    to_option,
    workspace_option,
)
from generator.cli.terminal import warn
from generator.untrusted import printable

if TYPE_CHECKING:
    from pathlib import Path

    from generator.kaggle.api_types import Quota
    from generator.plan.planning import PlannedPair


@click.command(cls=KnobCommand)
@optional_pair_argument
@click.option("--accelerators", is_flag=True, help="Compare what Kaggle and Colab lend, without a pair.")
@click.option("--apply", "is_applied", is_flag=True, help="Write the recommendation to pair.toml, and render it.")
@click.option("--specimen", is_flag=True, help="Measure on the made-up data that `tandem specimen` wrote.")
@click.option(
    "--examples", type=click.IntRange(1), metavar="N", help="The training examples, where those here are a specimen's."
)
@click.option("--compile/--no-compile", "asks_compiler", default=True, help="Ask Google's TPU compiler, if it is here.")
@assignments_option("Plan with another value of a parameter; repeatable.")
@to_option("Which Kaggle to ask what is left of the week's quota: kaggle by default, if its token is here.")
@workspace_option
@output_option(metavar="DIRECTORY", default="output/PAIR")
@json_option
@click.pass_context
def plan(context: click.Context, /, **options: Any) -> int:
    """Predict a pair's training on every accelerator: what bounds it, its hours, its memory, its cost.

    The notebook's own cells run here up to the first step, which is compiled and not taken, and the time that the input
    takes is measured. Nothing is sent but the question for the quota.

    \b
    tandem plan --accelerators
    tandem plan digits
    tandem plan digits --apply
    """  # noqa: D301 - click wants the character itself
    if options["accelerators"] == bool(options["pair"]):
        context.fail("Name a pair, or use --accelerators.")
    if options["accelerators"]:
        from generator.cli.accelerator_table import accelerators_as_json, accelerators_as_text

        click.echo(accelerators_as_json() if options["as_json"] else accelerators_as_text())
        return 0
    planned = _planned(options)
    picture = _write_picture(planned, options)
    from generator.cli.plan_report import plan_as_json, plan_as_text

    report = plan_as_json if options["as_json"] else plan_as_text
    click.echo(report(planned, quota=_quota(options["to"]), picture=picture))
    if options["is_applied"]:
        _apply(planned, options)
    elif not options["as_json"]:
        assigned = " and ".join(planned.assignments)
        click.echo(f"`tandem plan {printable(planned.name)} --apply` writes {assigned} to pair.toml.")
    return 0


def _planned(options: dict[str, Any]) -> "PlannedPair":
    from generator.cli.progress import progress
    from generator.plan.measurement import PlanOptions
    from generator.plan.planning import plan_pair

    wanted = PlanOptions(**{name: value for name, value in options.items() if name in PlanOptions.__dataclass_fields__})
    with progress() as listener:
        return plan_pair(wanted, listener, lambda text: click.echo(f"{printable(text)} …", err=True))


def _write_picture(planned: "PlannedPair", options: dict[str, Any]) -> "Path":
    from generator.files import writing
    from generator.plan.roofline_chart import roofline_picture
    from generator.workspace_files import WorkspaceFiles

    workspace = options["workspace"]
    path: Path = (options["output"] or workspace.output(planned.name)) / "plan.svg"
    files = WorkspaceFiles(options["output"]) if options["output"] else workspace.files
    drawn = roofline_picture(planned.plan, title=f"{planned.name}: a training step", here=planned.here)
    with writing(path):
        files.make_folder(path.parent)
    files.write(path, drawn.encode("utf-8"))
    return path


def _quota(to: str | None) -> "Quota | None":
    """What is left of the account's week, where it can be asked; that it cannot is no reason to fail."""
    from generator.cli.kaggle_facts import connected
    from generator.kaggle.errors import KaggleError

    try:
        kaggle = connected(to)
        click.echo("Asking Kaggle what is left of the week …", err=True)
        return kaggle.quota()
    except KaggleError as error:
        if to is not None:
            warn(f"The quota cannot be read: {error.message}")
        return None


def _apply(planned: "PlannedPair", options: dict[str, Any]) -> None:
    from generator.pair.folder import existing_pair
    from generator.pair.generation import turn_knobs

    folder = existing_pair(options["workspace"], planned.name)
    said = (*planned.assignments, *options["assignments"])
    turn_knobs(folder, said)
    click.echo(f"{shortest(folder.choices)} says {', '.join(said)} now, and the notebooks as well.", err=True)
