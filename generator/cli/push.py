"""The verb `push`: a pair on Kaggle, from its training to its score."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from generator.cli.chain_options import allow_option, carry, enum_option, json_option, verify_option
from generator.cli.options import pair_argument, shortest, to_option, workspace_option
from generator.cli.table import table
from generator.cli.terminal import is_interactive, warn
from generator.kaggle.api_types import KernelPush
from generator.kaggle.chain.errors import to_target
from generator.kaggle.chain.journal import Journals
from generator.kaggle.chain.options import Handoff, PushOptions
from generator.kaggle.chain.replay import has_chain
from generator.kaggle.chain.state import Step
from generator.kaggle.connect import Target, connect
from generator.kaggle.github_workflow import check_unedited, github_workflow
from generator.pair.owner import PLACEHOLDER_OWNER
from generator.pair.workspace import Role
from generator.rehearsal.record import check_rehearsed
from generator.untrusted import printable

if TYPE_CHECKING:
    from generator.kaggle.chain.prepared_kernel import PreparedKernel


@click.command()
@pair_argument
@click.option("--submit", is_flag=True, help="Submit what comes out, and wait for the score.")
@to_option(default="kaggle", show_default=True)
@enum_option("--from", "back_to", of=Step, help="Take this step again, and all behind it.")
@click.option("--restart", is_flag=True, help="Begin anew, whatever there is of the last chain.")
@click.option("--repair", is_flag=True, help="Go on from a damaged journal, with what Kaggle says was done.")
@click.option("--over-edits", is_flag=True, help="Push over a version that was edited on Kaggle.")
@enum_option("--handoff", of=Handoff, help="How the weights travel; the kernel's output by default.")
@click.option("--offline-wheels", is_flag=True, help="Take along what inference imports beyond Kaggle's image.")
@click.option("--message", default="", metavar="TEXT", help="What the submission says of itself.")
@click.option("--logs", "show_log", is_flag=True, help="Show the lines that the notebooks print on Kaggle.")
@verify_option
@allow_option
@click.option("--yes", is_flag=True, help="Do not ask before the first push of a pair.")
@click.option("--rehearsed", is_flag=True, help="Push only what passed `tandem rehearse`, cell for cell.")
@click.option("--specimen", is_flag=True, help="With --rehearsed: a rehearsal on made-up data will do.")
@click.option("--dry-run", is_flag=True, help="Say what would be pushed; nothing is sent.")
@click.option("--workflow", type=click.Choice(["github"]), help="Write a workflow that pushes the pair, and stop.")
@workspace_option
@json_option
@click.pass_context
def push(context: click.Context, /, **options: Any) -> int:
    """Carry a pair from its training to its score: push, wait, verify, push, wait, submit.

    Stopped at any moment, the same command goes on from there, and pushes nothing twice. The journal is in
    kernels/PAIR/.tandem/chains, the receipt in output/PAIR/receipt.html.

    \b
    tandem push digits --to local --submit
    tandem push titanic --submit
    tandem push titanic --from infer
    """  # noqa: D301 - click wants the character itself
    if sum(map(bool, (options["back_to"], options["restart"], options["repair"]))) > 1:
        context.fail(
            "--from goes back in the last chain, --repair goes on with it, and --restart begins a new one: choose one."
        )
    options["submit"] = options["submit"] or options["back_to"] is Step.SUBMIT
    wanted = PushOptions(**{name: value for name, value in options.items() if name in PushOptions.__dataclass_fields__})
    if options["workflow"]:
        return _write_workflow(wanted)
    if options["specimen"] and not options["rehearsed"]:
        context.fail("--specimen says which rehearsal counts: add --rehearsed.")
    if options["rehearsed"]:
        check_rehearsed(wanted.workspace, wanted.pair, specimen=options["specimen"])
    if options["dry_run"]:
        return _show_plan(wanted, to=options["to"], as_json=options["as_json"])
    kernels = _check(wanted, options["to"])
    if options["to"] == Target.KAGGLE and not options["yes"]:
        _ask(context, wanted, kernels)
    from generator.kaggle.chain.chain import push_pair

    return carry(push_pair, wanted, to=options["to"], as_json=options["as_json"])


def _check(options: PushOptions, to: str) -> dict[Role, "PreparedKernel"]:
    """Both kernels, made sure to be fit before anything is asked or sent; what is only doubtful is said."""
    from generator.check.finding import Severity, where
    from generator.kaggle.chain.prepared_kernel import prepare
    from generator.kaggle.chain.resume import check_exists

    check_exists(options, to)
    prepared = {role: prepare(options.folder, role, verify=options.verify, allow=options.allow) for role in Role}
    for finding in (finding for kernel in prepared.values() for finding in kernel.doubts):
        if finding.severity is Severity.WARNING:
            place = ": ".join(filter(None, (shortest(finding.place.path), where(finding.place))))
            warn(f"{place}: {finding.message} {finding.remedy} ({finding.rule})")
    return prepared


def _ask(context: click.Context, options: PushOptions, kernels: Mapping[Role, "PreparedKernel"]) -> None:
    """The first push of a pair to the real Kaggle begins only when somebody says so: it costs quota."""
    if has_chain(Journals(options.folder), Target.KAGGLE):
        return
    connect(Target.KAGGLE)  # says that there are no credentials before it is asked for anything else
    if not is_interactive():
        context.fail("This is the first push of the pair to the real Kaggle, and nobody is there to ask: add --yes.")
    from generator.kaggle.chain.plan import cost

    spec = options.spec
    # The kernels that are pushed: inference alone, where training ran elsewhere.
    pushed = [Role.INFER] if spec.handover_dataset else list(Role)
    sessions = (f"{kernels[role].push.ref} ({cost(kernels[role].push, Target.KAGGLE)})" for role in pushed)
    what = f"Push {' and then '.join(sessions)} to Kaggle"
    click.confirm(f"{printable(what)}{', and submit' if options.submit else ''}?", abort=True, err=True)


def _show_plan(options: PushOptions, *, to: str, as_json: bool) -> int:
    from generator.kaggle.chain.plan import LocalPair, cost

    kernels = _check(options, to)
    plan = LocalPair.of(options, to, kernels).plan(Journals(options.folder))
    there = plan.versions_that_stay
    pushes = {role: kernels[role].push for role in Role if role in (*plan.pushes, *there)}
    _warn_of_owner(options)
    if as_json:
        push = [
            {"role": str(role), **_facts(kernel), "cost": cost(kernel, to), "is_there": there.get(role)}
            for role, kernel in pushes.items()
        ]
        fields = {"pair": options.pair, "submit": options.submit, "reason": plan.reason, "push": push}
        click.echo(json.dumps(fields, indent=2))
        return 0
    rows = [
        (
            str(role),
            f"version {there[role]} stays" if role in there else "push",
            facts["kernel"],
            facts["machine_shape"],
            "" if role in there else cost(kernel, to),
            "on" if facts["internet"] else "off",
            "you" if facts["private"] else "EVERYBODY",
            f"{facts['bytes']:,} bytes, reads {', '.join(facts['sources'])}",
        )
        for role, kernel, facts in ((role, kernel, _facts(kernel)) for role, kernel in pushes.items())
    ]
    click.echo(table(("step", "plan", "kernel", "accelerator", "session", "internet", "seen by", "notebook"), rows))
    if plan.reason:
        click.echo(plan.reason)
    if not plan.pushes:
        command = f"tandem push {printable(options.pair)}{to_target(to)}"
        click.echo(f"No notebook is pushed: neither was changed since. `{command} --restart` pushes both again.")
    click.echo("Nothing was sent.")
    return 0


def _facts(kernel: KernelPush) -> dict[str, Any]:
    sources = (kernel.competition_sources, kernel.kernel_sources, kernel.dataset_sources, kernel.model_sources)
    return {
        "kernel": kernel.ref,
        "machine_shape": kernel.machine_shape,
        "internet": kernel.enable_internet,
        "private": kernel.is_private,
        "sources": [ref for refs in sources for ref in refs],
        "bytes": len(kernel.text.encode("utf-8")),
    }


def _write_workflow(options: PushOptions) -> int:
    _warn_of_owner(options)
    path = options.workspace.root / ".github" / "workflows" / f"tandem-{options.pair}.yml"
    check_unedited(path, options.pair)
    options.workspace.files.write(path, github_workflow(options.pair, submit=options.submit).encode("utf-8"))
    click.echo(
        f"{printable(str(path))}: add the repository secret KAGGLE_API_TOKEN, say in the variable TANDEM where pip "
        "installs Tandem from unless the repository is a clone of it, and run it from the Actions tab."
    )
    return 0


def _warn_of_owner(options: PushOptions) -> None:
    if options.spec.train.ref.partition("/")[0] == PLACEHOLDER_OWNER:
        slug, name = printable(options.spec.competition.slug), printable(options.pair)
        click.echo(
            f"Warning: the kernels belong to nobody yet ({PLACEHOLDER_OWNER}), and the real Kaggle would refuse them. "
            f"Render them for yourself: `tandem generate --competition {slug} --name {name} --owner NAME`.",
            err=True,
        )
