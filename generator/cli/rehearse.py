"""The verb `rehearse`: both notebooks under the conditions that they will meet on Kaggle."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.cli.options import (
    KnobCommand,
    assignments_option,
    json_option,
    pair_argument,
    shortest,
    workspace_option,
)
from generator.cli.progress import timed_lines
from generator.cli.table import table
from generator.untrusted import printable

if TYPE_CHECKING:
    from generator.rehearsal.result import Rehearsal


@click.command(cls=KnobCommand)
@pair_argument
@click.option("--specimen", is_flag=True, help="Try it on the made-up data that `tandem specimen` wrote.")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder of the competition's data, where it is not in the workspace. Links that came with a workspace are "
    "not followed.",
)
@assignments_option(
    "Set a parameter in each notebook that has it; repeatable. EPOCHS is 2 and N_FOLDS is 1 by default."
)
@click.option(
    "--examples",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many examples of the test to take; by default 300 files, or 1,000 rows.",
)
@click.option(
    "--hidden-rows",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many rows the hidden test has, to say if time and memory suffice for them.",
)
@click.option(
    "--gpu-image",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="A virtual environment with the versions of Kaggle's GPU image; by default .venv-gpu beside the kit.",
)
@workspace_option
@json_option
def rehearse(**options: Any) -> int:
    """Try a pair under the conditions of Kaggle: training on 8 devices, inference on hidden tests of ten kinds.

    Training takes a few steps on 8 devices of this CPU and on one. Inference runs as in a rerun, in a sandbox without a
    network, on tests that are larger, shuffled, of unseen ids, damaged, of one row, empty. Where Kaggle scores the file
    and runs no hidden test, these give warnings only. The page is output/PAIR/rehearsal.html; `tandem push --rehearsed`
    asks for it. The exit code is 1 if anything would have failed on Kaggle.

    \b
    tandem rehearse digits
    tandem rehearse titanic --hidden-rows 50000
    tandem rehearse birdclef --specimen -P IMAGE_SIZE=64
    """  # noqa: D301 - click wants the character itself
    from generator.run.kernel import require_packages

    require_packages()
    from generator.rehearsal.record import as_fields
    from generator.rehearsal.rehearsal import RehearsalOptions, rehearse_pair

    as_json = options.pop("as_json")
    if options["data"] is not None and options["specimen"]:
        raise click.UsageError(
            "--specimen takes made-up data of the workspace, and --data names others; leave out one."
        )
    rehearsal = rehearse_pair(RehearsalOptions(**options), timed_lines())
    click.echo(json.dumps(as_fields(rehearsal), indent=2) if as_json else _as_text(rehearsal))
    return 0 if rehearsal.is_passed else 1


def _as_text(rehearsal: "Rehearsal") -> str:
    rows = [
        (trial.name, str(trial.verdict), f"{trial.found} ({trial.when})" if trial.when else trial.found)
        for trial in rehearsal.trials()
    ]
    lines = [table(("tried", "verdict", "what came of it"), rows), ""]
    lines += [f"{printable(trial.name)}, on Kaggle: {printable(trial.on_kaggle)}" for trial in rehearsal.failed]
    lines += [rehearsal.rerun, rehearsal.conclusion]
    lines.append(f"{'report':<13}{printable(shortest(rehearsal.report))}")
    return "\n".join(lines)
