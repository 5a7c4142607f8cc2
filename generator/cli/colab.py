"""The verb `colab`: training on a machine of Google Colab, and giving that machine back."""

import json
from typing import Any, Literal, TypedDict

import click

from generator.accelerators import Service, catalog
from generator.cli.options import (
    KnobCommand,
    assignments_option,
    pair_argument,
    shortest,
    workspace_option,
)
from generator.cli.terminal import confirm, json_option, print_document, timed_lines
from generator.colab.options import ColabOptions, KaggleLogin, PlannedTraining
from generator.colab.rental import (
    MACHINES,
    PROGRAM,
    AssignedMachine,
    ColabReceipt,
    CommandLine,
    machine_named,
    read_receipt,
)
from generator.kaggle.credentials import AccessToken, LegacyKey, find_credentials, redacted_secrets
from generator.kaggle.errors import CredentialsError
from generator.text import printable

_FOLDER = "/content/tandem"


class ColabReceiptFields(TypedDict):
    """A training on Colab.

    Attributes:
        schema_version: The version of this document.
    """

    schema_version: Literal[1]


class ColabStatus(ColabReceiptFields):
    """The last training on Colab, and what is rented.

    Attributes:
        sessions: The machines of this pair, or of nobody knows whom, that are still rented.
    """

    sessions: list[AssignedMachine]


class ColabPlan(TypedDict):
    """With --dry-run: what would be rented.

    Attributes:
        schema_version: The version of this document.
        pair: The pair.
        machine: The machine.
        kind: cpu, gpu or tpu.
        hours: The time limit.
        data: How the data get there, as a sentence.
        parameters: The parameters that differ from the notebook's.
    """

    schema_version: Literal[1]
    pair: str
    machine: str
    kind: str
    hours: float
    data: str
    parameters: dict[str, Any]


def _program_options(command: Any) -> Any:
    """The options by which Google's command line is found and signed in."""
    auth = click.Choice(["oauth2", "adc"])
    command = click.option("--auth", type=auth, help="How Google's command line signs in. Default: its own choice.")(
        command
    )
    return click.option(
        "--program", default=PROGRAM, show_default=True, metavar="PATH", help="The path of Google's command line."
    )(command)


@click.group()
def colab() -> None:
    """Train a pair on a machine of Google Colab. Needs Google's command line (google-colab-cli).

    \b
    tandem generate --competition titanic --platform colab
    tandem colab run titanic --machine v6e1
    tandem push titanic --submit
    """  # noqa: D301 - click wants the character itself


@colab.command("run", cls=KnobCommand)
@pair_argument
@click.option(
    "--machine",
    metavar="NAME",
    help=f"{', '.join(candidate.name for candidate in MACHINES)}. Default: a machine for the pair's accelerator.",
)
@click.option("--high-memory", is_flag=True, help="Rent the variant with more memory and more cores, if there is one.")
@click.option(
    "--hours", type=click.FloatRange(0, 24, min_open=True), metavar="N", help="The time limit in hours. Default: 24."
)
@assignments_option("Set a parameter of the training notebook. Can be repeated.")
@click.option("--smoke", is_flag=True, help="Run every cell on a few rows.")
@click.option("--resume", is_flag=True, help="Continue from the checkpoints of the last training.")
@click.option("--yes", is_flag=True, help="Rent the machine without a question.")
@click.option("--dry-run", is_flag=True, help="Show what would be rented, but rent nothing.")
@_program_options
@workspace_option
@json_option((ColabReceipt, ColabReceiptFields), ColabPlan)
def colab_run(**options: Any) -> int:
    """Rent a machine, train on it, fetch the results and release the machine, even after an error.

    The results are in output/PAIR/train, as after `tandem run`: continue with `tandem run PAIR --only infer` or
    `tandem push PAIR`. The receipt in output/PAIR/colab/receipt.json lists the requested and the rented machine.
    """
    machine = machine_named(options["machine"]) if options["machine"] else None
    fields = {name: options[name] for name in ("high_memory", "hours", "assignments", "smoke", "resume")}
    planned_training = PlannedTraining.of(ColabOptions(options["workspace"], options["pair"], machine, **fields))
    planned_training.check_data()
    if options["dry_run"]:
        if options["as_json"]:
            print_document(_plan(planned_training))
        else:
            click.echo(_plan_as_text(planned_training))
        return 0
    question = f"{_price(planned_training)} {_data(planned_training)} Rent it"
    confirm(question, reason="Machines cost compute units.", is_confirmed=options["yes"])
    from generator.colab import train_on_colab

    result = train_on_colab(planned_training, _command_line(options), login=_login(), tell=timed_lines())
    if options["as_json"]:
        print_document({"schema_version": 1, **vars(result.receipt)})
        return 0
    pair, score = printable(options["pair"]), result.handover.out_of_fold
    rows = [("out-of-fold", f"{score.metric} {score.value:.4f}")] if score else []
    rows += [("results", shortest(result.folder)), ("machine", _machine(result.receipt))]
    next_command = f"tandem push {pair}" if result.handover.is_complete else f"tandem colab run {pair} --resume"
    click.echo("\n".join(f"{name:<13}{printable(value)}" for name, value in [*rows, ("next", next_command)]))
    return 0


@colab.command("status")
@pair_argument
@_program_options
@workspace_option
@json_option((ColabReceipt, ColabStatus))
def colab_status(**options: Any) -> int:
    """Show the receipt of the last training and whether its machine is still rented."""
    receipt = read_receipt(options["workspace"], options["pair"])
    command_line = _command_line(options)
    command_line.check_installed()
    sessions = [session for session in command_line.sessions() if session.name in (receipt.session, "?")]
    if options["as_json"]:
        print_document({"schema_version": 1, **vars(receipt), "sessions": sessions})
        return 0
    rows = [("machine", _machine(receipt)), ("began", receipt.began), ("ended", receipt.ended or "not yet")]
    rows += [("failure", receipt.failure)] if receipt.failure else []
    for session in sessions:
        owner = (
            "is rented"
            if session.name == receipt.session
            else "is rented; this computer does not know for which training"
        )
        rows.append(("Colab", f"{session.hardware} {session.endpoint} {owner}"))
    rows += [] if sessions else [("Colab", "no machine is rented for this pair")]
    click.echo("\n".join(f"{name:<13}{printable(value)}" for name, value in rows))
    return 0


@colab.command()
@pair_argument
@_program_options
@workspace_option
@json_option((ColabReceipt, ColabReceiptFields))
def stop(**options: Any) -> int:
    """Release the machine of the last training, if it is still rented."""
    from generator.colab import stop_on_colab

    receipt = stop_on_colab(options["workspace"], options["pair"], _command_line(options), tell=timed_lines())
    if options["as_json"]:
        print_document({"schema_version": 1, **vars(receipt)})
    else:
        click.echo(f"{printable(receipt.session)} is {receipt.stage}.")
    return 0


def _command_line(options: dict[str, Any]) -> CommandLine:
    return CommandLine(options["program"], ("--auth", options["auth"]) if options["auth"] else ())


def _login() -> KaggleLogin | None:
    """What signs the machine in at Kaggle; None if there is nothing that a file can carry there."""
    try:
        credentials = find_credentials()
    except CredentialsError:
        return None
    secrets = redacted_secrets(credentials)
    if isinstance(credentials, AccessToken):
        return KaggleLogin("token", credentials.token, "KAGGLE_API_TOKEN", f"{_FOLDER}/token", secrets)
    if isinstance(credentials, LegacyKey):
        text = json.dumps({"username": credentials.username, "key": credentials.key})
        return KaggleLogin("kaggle.json", text, "KAGGLE_CONFIG_DIR", _FOLDER, secrets)
    return None


def _plan(planned_training: PlannedTraining) -> ColabPlan:
    machine = planned_training.machine
    return {
        "schema_version": 1,
        "pair": planned_training.options.pair,
        "machine": machine.name,
        "kind": str(machine.kind),
        "hours": planned_training.hours,
        "data": _data(planned_training),
        "parameters": dict(planned_training.values),
    }


def _plan_as_text(planned_training: PlannedTraining) -> str:
    data = _data(planned_training)
    values = ", ".join(f"{name} = {value!r}" for name, value in planned_training.values.items())
    return "\n".join(map(printable, (_price(planned_training), data, f"Parameters: {values}.", "Nothing was rented.")))


def _data(planned_training: PlannedTraining) -> str:
    slug = planned_training.slug
    if planned_training.sends_data:
        return f"Data: the files of {slug} are uploaded to the machine."
    return f"Data: the machine downloads {slug} from Kaggle. For this it gets your Kaggle token."


def _price(planned_training: PlannedTraining) -> str:
    """The machine in a sentence, with the latest price that is known."""
    machine, accelerators = planned_training.machine, catalog().all_accelerators
    of_colab = {accelerator.name: accelerator for accelerator in accelerators if accelerator.service is Service.COLAB}
    units = of_colab[machine.in_catalog].units if machine.in_catalog in of_colab else ()
    price = (
        f"{units[-1].per_hour:g} compute units an hour as of {units[-1].as_of}"
        if units
        else "at a price that is not published"
    )
    return f"Machine: {machine.name} of Google Colab for up to {planned_training.hours:g} hours, {price}."


def _machine(receipt: ColabReceipt) -> str:
    accelerator = receipt.accelerator or receipt.machine
    device = (
        f"got {accelerator.get('device_count')} x {accelerator.get('device_kind')}"
        if accelerator.get("device_kind")
        else "got none"
    )
    before, after = receipt.units
    cost = f", {before - after:.2f} units" if before is not None and after is not None else ""
    return f"asked for {receipt.asked}, {device}, {receipt.stage}{cost}"
