"""The verbs `run` and `rehearse`: a pair on this machine, under Kaggle's conditions."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.cli.options import (
    KnobCommand,
    assignments_option,
    output_option,
    pair_argument,
    shortest,
    workspace_option,
)
from generator.cli.progress import progress
from generator.cli.terminal import json_option, print_document, table, timed_lines, warn
from generator.pair.workspace import Role
from generator.text import printable

if TYPE_CHECKING:
    from generator.pair.handover import Score
    from generator.rehearsal import Rehearsal
    from generator.run.result import RunResult


@click.command(cls=KnobCommand)
@pair_argument
@click.option(
    "--smoke", is_flag=True, help="Run every cell on a few rows. Takes one or two minutes, more with a backbone."
)
@assignments_option("Set a parameter in each notebook that has it. Can be repeated.")
@click.option(
    "--only",
    type=click.Choice([str(role) for role in Role], case_sensitive=False),
    help="Run only one of the two notebooks.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop a notebook after this time.",
)
@click.option("--resume", is_flag=True, help="Continue the last training from its checkpoints.")
@click.option("--specimen", is_flag=True, help="Run on the synthetic data of `tandem specimen`.")
@workspace_option
@output_option(metavar="DIRECTORY", default="output/PAIR")
@json_option("generator.run.report:RunReport")
@click.pass_context
def run(context: click.Context, /, **options: Any) -> int:
    """Execute a pair on this machine, check and score its submission, and write a report.

    Inputs are read-only and have the same paths as on Kaggle. The executed notebooks, their outputs, report.html and
    report.json are written to output/PAIR. The previous finished run is kept in output/PAIR/previous. Runs with
    --smoke go to output/PAIR/smoke, and runs with --specimen to output/PAIR/specimen. They never replace a full run.

    \b
    tandem run digits
    tandem run digits --smoke
    tandem run digits -P EPOCHS=3 -P N_FOLDS=5
    """  # noqa: D301 - click wants the character itself
    if options["resume"] and options["only"] == Role.INFER:
        context.fail("--resume continues a training, but --only infer runs no training: remove one of them.")

    from generator.run.pair_run import RunOptions, run_pair

    only, as_json = options.pop("only"), options.pop("as_json")
    roles = tuple(Role) if only is None else (Role(only),)
    with progress() as listener:
        result = run_pair(RunOptions(roles=roles, **options), listener)
    for sentence in result.warnings:
        warn(sentence)
    if as_json:
        from generator.run.report import report_fields

        print_document(report_fields(result))
    else:
        click.echo(_run_as_text(result))
    return 0


def _run_as_text(result: "RunResult") -> str:
    from generator.run.report import conclusions

    rows: list[tuple[str, str]] = []
    if result.out_of_fold is not None:
        rows.append(("out-of-fold", _score_text(result.out_of_fold)))
    if result.hidden_test is not None:
        rows.append(("hidden test", _score_text(result.hidden_test)))
    if result.is_measure:
        rows += [("baseline", f"{baseline.score:.4f} {baseline.name}") for baseline in result.baselines]
    if result.submission is not None:
        validity = "valid" if result.submission.has_sample else "not checked: there is no sample submission"
        rows.append(("submission", f"{shortest(result.submission.path)} ({result.submission.rows:,} rows, {validity})"))
    rows.append(("report", shortest(result.report)))
    if result.record is not None:
        rows.append(("run", f"{result.record.name}: `tandem runs {result.pair}` compares all runs"))
    rows += [("weights", sentence) for sentence in result.notes]
    rows += [("next", sentence) for sentence in conclusions(result).advice]
    lines = [f"{label:<13}{printable(value)}" for label, value in rows]
    if result.is_smoke and (result.hidden_test or result.out_of_fold):
        lines.append("This was a smoke run: its scores mean nothing.")
    if result.is_specimen:
        lines.append("This run used synthetic data (a specimen): its scores mean nothing.")
    return "\n".join(lines)


def _score_text(score: "Score") -> str:
    return f"{score.metric} {score.value:.4f}"


# The verb `rehearse`: both notebooks under the conditions that they will meet on Kaggle.


@click.command(cls=KnobCommand)
@pair_argument
@click.option("--specimen", is_flag=True, help="Use the synthetic data of `tandem specimen`.")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder with the competition's data, if it is outside the workspace. Links that came with the workspace "
    "are not followed.",
)
@assignments_option("Set a parameter in each notebook that has it. Can be repeated. Defaults: EPOCHS=2 and N_FOLDS=1.")
@click.option(
    "--examples",
    type=click.IntRange(min=1),
    metavar="N",
    help="The number of test examples to use. Default: 300 files or 1,000 rows.",
)
@click.option(
    "--hidden-rows",
    type=click.IntRange(min=1),
    metavar="N",
    help="The number of rows in the hidden test, to predict time and memory for it.",
)
@click.option(
    "--gpu-image",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="A virtual environment with the versions of Kaggle's GPU image. Default: .venv-gpu in the kit's folder.",
)
@workspace_option
@json_option("generator.rehearsal.record:RehearsalReport")
def rehearse(**options: Any) -> int:
    """Test a pair under Kaggle's conditions: training on 8 devices, inference on ten kinds of hidden tests.

    Training runs for a few steps on 8 virtual devices of this CPU, and again on one device. Inference runs as in
    Kaggle's rerun, in a sandbox without network. Its hidden tests are larger, shuffled, damaged or empty, have unseen
    ids, or have one row. If the competition has no hidden test, a failure there is only a warning. The results are in
    output/PAIR/rehearsal.html, and `tandem push --rehearsed` requires them. The exit code is 1 if something would
    fail on Kaggle.

    \b
    tandem rehearse digits
    tandem rehearse titanic --hidden-rows 50000
    tandem rehearse birdclef --specimen -P MELS=64
    """  # noqa: D301 - click wants the character itself
    from generator.run.kernel import require_packages

    require_packages()
    from generator.rehearsal import RehearsalOptions, as_fields, rehearse_pair

    as_json = options.pop("as_json")
    if options["data"] is not None and options["specimen"]:
        raise click.UsageError(
            "--specimen uses the synthetic data in the workspace, but --data names another folder: remove one of them."
        )
    rehearsal = rehearse_pair(RehearsalOptions(**options), timed_lines())
    if as_json:
        print_document(as_fields(rehearsal))
    else:
        click.echo(_rehearsal_as_text(rehearsal))
    return 0 if rehearsal.is_passed else 1


def _rehearsal_as_text(rehearsal: "Rehearsal") -> str:
    rows = [
        (trial.name, str(trial.verdict), f"{trial.found} ({trial.when})" if trial.when else trial.found)
        for trial in rehearsal.trials()
    ]
    lines = [table(("test", "verdict", "result"), rows), ""]
    lines += [f"{printable(trial.name)}, on Kaggle: {printable(trial.on_kaggle)}" for trial in rehearsal.failed]
    lines += [rehearsal.rerun, rehearsal.conclusion]
    lines.append(f"{'report':<13}{printable(shortest(rehearsal.report))}")
    return "\n".join(lines)
