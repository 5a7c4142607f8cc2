"""The entry of the command line: the table of verbs, and the only handler of errors."""

import errno
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from generator import __version__
from generator.cli.terminal import DISK, INTERRUPT, complain, print_error
from generator.errors import TandemError, did_you_mean
from generator.text import printable

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

EXIT_ERROR = 1
EXIT_INTERRUPTED = 130


# What each does; the module of its name has a click command of its name.
VERBS = {
    "generate": "Write a pair of notebooks for a competition.",
    "data": "Download a competition's data.",
    "specimen": "Write a small synthetic copy of a competition's data.",
    "update": "Merge new templates or options into a pair that you edited.",
    "diff": "Show your edits in a pair.",
    "pull": "Bring edits made on Kaggle back into a pair.",
    "undo": "Restore the files from before the last update of a pair.",
    "adopt": "Make a pair of a fork, or of any other notebook.",
    "list": "List the pairs of the workspace: edits, last run, last push.",
    "run": "Execute a pair on this machine, and score its submission.",
    "runs": "Compare the runs of pairs: scores, and what changed between them.",
    "blend": "Join the predictions of several pairs of a competition.",
    "check": "Find errors in notebooks and their metadata before they cost quota.",
    "plan": "Predict the time, memory and cost of a training on every accelerator.",
    "rehearse": "Test a pair under Kaggle's conditions, including hidden tests.",
    "colab": "Train a pair on a machine of Google Colab.",
    "push": "Push a pair to Kaggle: training, inference, submission, score.",
    "submit": "Submit the result of the last push, and wait for the score.",
    "status": "Show the progress of the last push.",
    "receipt": "Write a report of a pair's pushes.",
    "serve": "Run a local Kaggle on this machine: API, sessions, web pages.",
    "schema": "Print the JSON Schema of what a verb prints with --json.",
    "skill": "Print how a program works with Tandem, or install it as a skill.",
    "completion": "Print the completion script for a shell.",
}


# What people call them elsewhere, and the command that does it here.
SYNONYMS = {
    **dict.fromkeys(("new", "init", "create", "render", "build", "make", "add"), "tandem generate COMPETITION"),
    **dict.fromkeys(("ls", "pairs", "workspace"), "tandem list"),
    **dict.fromkeys(("families", "frameworks", "builtins"), "tandem generate --list"),
    **dict.fromkeys(("download", "fetch", "get"), "tandem data COMPETITION"),
    **dict.fromkeys(("train", "fit"), "tandem run PAIR --only train"),
    **dict.fromkeys(("predict", "infer", "inference"), "tandem run PAIR --only infer"),
    **dict.fromkeys(("execute", "start", "demo", "score", "evaluate", "eval"), "tandem run PAIR"),
    **dict.fromkeys(("test", "smoke"), "tandem run PAIR --smoke"),
    **dict.fromkeys(("lint", "validate", "verify", "doctor"), "tandem check PAIR"),
    **dict.fromkeys(("recommend", "cost", "estimate"), "tandem plan PAIR"),
    **dict.fromkeys(("upload", "publish", "deploy", "kernels"), "tandem push PAIR"),
    **dict.fromkeys(("submission", "competitions"), "tandem submit PAIR"),
    **dict.fromkeys(("log", "logs", "watch", "progress"), "tandem status PAIR"),
    "report": "tandem receipt PAIR",
    **dict.fromkeys(("history", "ledger", "experiments", "compare", "leaderboard"), "tandem runs PAIR"),
    **dict.fromkeys(("prune", "note", "export"), "tandem runs"),
    **dict.fromkeys(("ensemble", "stack", "stacking", "average"), "tandem blend NAME PAIR PAIR"),
    **dict.fromkeys(("server", "ui", "local"), "tandem serve"),
    **dict.fromkeys(("merge", "upgrade", "migrate", "sync"), "tandem update PAIR"),
    **dict.fromkeys(("revert", "restore", "rollback"), "tandem undo PAIR"),
    **dict.fromkeys(("edits", "changes"), "tandem diff PAIR"),
    **dict.fromkeys(("fork", "import", "clone"), "tandem adopt OWNER/NOTEBOOK"),
    "version": "tandem --version",
}


# The modules of verbs that share one, and the name of the command where it is not that of the verb.
MODULES = {
    "rehearse": "run",
    "completion": "options",
    "submit": "push",
    "status": "receipt",
    "diff": "update",
    "undo": "update",
    "list": "pairs:list_pairs",
    "schema": "terminal",
}


class LazyGroup(click.Group):
    """A group that imports a verb only when it is used, so that `tandem --help` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The verbs, in the order of their use."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command behind a verb, imported now."""
        if cmd_name not in VERBS:
            return None
        module, _, name = MODULES.get(cmd_name, cmd_name).partition(":")
        command: click.Command = getattr(importlib.import_module(f"generator.cli.{module}"), name or cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Writes the verbs with their summaries, none of them imported."""
        with formatter.section("Verbs"):
            formatter.write_dl([*VERBS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """The verbs with their summaries, none of them imported; or options."""
        from click.shell_completion import CompletionItem

        verbs = [CompletionItem(name, help=summary) for name, summary in VERBS.items() if name.startswith(incomplete)]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command for the arguments; an unknown verb is answered with the known ones."""
        if args and args[0].lower() in VERBS:
            args = [args[0].lower(), *args[1:]]
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            listing = f"The verbs are {', '.join(VERBS)}."
            synonym = SYNONYMS.get(args[0].lower())
            suggestion = f" Did you mean `{synonym}`?" if synonym else did_you_mean(args[0], VERBS)
            ctx.fail(f'There is no verb "{printable(args[0])}".{suggestion} {listing}')
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, name="tandem", subcommand_metavar="VERB [ARGS]...")
@click.version_option(__version__, prog_name="tandem")
def verbs() -> None:
    """Write, run, check and submit a pair of Kaggle notebooks: training on a TPU, inference on a GPU without internet.

    \b
    tandem generate --competition digits
    tandem run digits
    """  # noqa: D301 - click wants the character itself


def main(arguments: Sequence[str], *, program: str = "tandem") -> int:
    """Runs a command line.

    Args:
        arguments: What stands behind the program's name.
        program: `tandem`, or the name of a verb that is a program of its own.

    With --json, the document of an error is printed on stdout too, whatever the exit code.

    Returns:
        The exit code: 0 done, 1 an error with its remedy, 2 usage, 130 interrupt.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show a character shows its code; it is no reason to fail.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _invoke(arguments, program)
        sys.stdout.flush()
        return code
    except TandemError as error:
        complain(error.message)
        print_error(arguments, error)
        return EXIT_ERROR
    except click.ClickException as error:
        error.show()
        print_error(arguments, error)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        print_error(arguments, "The command was interrupted.", code=INTERRUPT)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has left; Python must not complain of that when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_ERROR
    except OSError as error:
        if not (problem := _problem_of_disk(error)):
            raise
        message = f"{problem}, then run the command again."
        click.echo(f"Error: {message}", err=True)
        print_error(arguments, message, code=DISK)
        return EXIT_ERROR


def _problem_of_disk(error: OSError) -> str:
    """What is wrong with a disk, wherever it is written to, and what to do; "" for errors of other kinds."""
    from generator.files import reason

    place = f" ({printable(os.fspath(error.filename))})" if isinstance(error.filename, str | os.PathLike) else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{reason(error).capitalize()}{place}: make room"
    if error.errno == errno.EROFS:
        return f"The file system is read-only{place}: choose a workspace that can be written to"
    if "No usable temporary directory" in str(error):
        return "No folder for temporary files can be written to: set TMPDIR to one that can"
    return ""


def tandem() -> NoReturn:
    """The console script `tandem`."""
    _exit_with_code_of("tandem")


def generate_program() -> NoReturn:
    """The console script `generate_program`, which is `tandem generate`."""
    _exit_with_code_of("generate")


def _exit_with_code_of(program: str) -> NoReturn:
    try:
        code = main(sys.argv[1:], program=program)
        # The work is done and told: an interrupt while Python shuts down must not turn it into a failure.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    sys.exit(code)


def _invoke(arguments: Sequence[str], program: str) -> int:
    command: click.Command = verbs
    if program in VERBS:
        command = verbs.get_command(click.Context(verbs), program) or verbs
    elif arguments and arguments[0] == "help":
        arguments = [*arguments[1:2], "--help"]
    # A verb's context takes the options for help from that above it.
    names = ["-h", "--help"]
    result = command.main(list(arguments), prog_name=program, standalone_mode=False, help_option_names=names)
    return result if isinstance(result, int) else 0
