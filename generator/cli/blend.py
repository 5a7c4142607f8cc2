"""The verb `blend`: the predictions of several pairs of a competition, joined by weights."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import click

from generator.cli.options import KnobCommand, workspace_option
from generator.cli.progress import progress
from generator.cli.terminal import json_option, print_document, table, warn
from generator.cli.update import conflicts_code
from generator.pair.blend import METHODS
from generator.pair.workspace import Role
from generator.text import JsonObject, printable

if TYPE_CHECKING:
    from generator.run.blend import BlendPlan


_CV = "CV, mean of folds"  # also the name of the column in the hand-over


class MemberFields(TypedDict):
    """A member of a blend, before it is blended.

    Attributes:
        member: The pair, or the run of the ledger.
        kernel: The kernel whose output is attached; empty for a member that is files.
        dataset: The dataset with the predictions of a member that is files; empty for a pair.
        framework: The framework of its inference; empty for a member that is files.
        mean_of_folds: The mean of its scores over folds; null if it is not known.
        out_of_fold: Its out-of-fold score, of all rows together; null if it has none.
        inference_seconds: The time of its inference; null if it was not measured.
    """

    member: str
    kernel: str
    dataset: str
    framework: str
    mean_of_folds: float | None
    out_of_fold: float | None
    inference_seconds: float | None


class BlendScore(TypedDict):
    """A score of a blend.

    Attributes:
        metric: The name of the metric.
        score: The score of all rows together, by nested folds.
    """

    metric: str
    score: float | None


class BlendReport(TypedDict):
    """A blend, and the results of its training.

    Attributes:
        schema_version: The version of this document.
        blend: The name of the blend.
        members: Its members.
        warnings: What to know of them, in sentences.
        mean_of_folds: The mean of the blend's scores over nested folds; null with --dry-run.
        out_of_fold: The score of the blend; null with --dry-run.
        method: The method that was chosen; null with --dry-run.
        method_scores: The mean score of each method over folds, the larger the better.
        results: What the training says of each member: weight, gain, correlation, advice.
        correlations: The correlation of each two members; null with --dry-run.
    """

    schema_version: Literal[1]
    blend: str
    members: list[MemberFields]
    warnings: list[str]
    mean_of_folds: float | None
    out_of_fold: BlendScore | None
    method: str | None
    method_scores: dict[str, Any]
    results: list[dict[str, Any]]
    correlations: object


@click.command(cls=KnobCommand)
@click.argument("name")
@click.argument("members", nargs=-1, required=True, metavar="PAIR[@RUN]...")
@click.option(
    "--oof",
    "oof_files",
    multiple=True,
    metavar="[NAME=]FILE",
    help="A CSV file with the out-of-fold predictions of another model. Can be repeated, each with a --test.",
)
@click.option(
    "--test", "test_files", multiple=True, metavar="FILE", help="A CSV file with its predictions for the test."
)
@click.option(
    "--method",
    "methods",
    type=click.Choice(METHODS, case_sensitive=False),
    multiple=True,
    help="A method for the weights. Can be repeated; one is chosen by folds. Default: all that suit.",
)
@click.option("--force", is_flag=True, help="Overwrite edits in a blend of this name.")
@click.option("--dry-run", is_flag=True, help="Only check the members; write and run nothing.")
@workspace_option
@json_option(BlendReport)
def blend(**options: Any) -> int:
    """Join the predictions of several pairs of a competition.

    The blend is a pair itself, in kernels/NAME: `tandem run`, `check`, `rehearse` and `push --submit` take it like any
    other. Its training notebook fits the weights to the members' out-of-fold predictions, on a CPU session without
    quota; its inference notebook runs each member's own inference. A member is what is in output/PAIR, or a run of
    the ledger, such as titanic@7. Members need the same data, ids and folds. A model from elsewhere is a member by two
    CSV files with its predictions.

    \b
    tandem blend both titanic titanic-lightgbm
    tandem blend both titanic@3 titanic-lightgbm@1 --method hill-climbing
    tandem blend both titanic --oof catboost=oof.csv --test test.csv
    """  # noqa: D301 - click wants the character itself
    from generator.run.blend import plan_blend, read_results, write_blend
    from generator.run.pair_run import RunOptions, run_pair

    workspace, name = options["workspace"], options["name"]
    choices = {key: options[key] for key in ("oof_files", "test_files", "methods", "force")}
    plan = plan_blend(workspace, name, options["members"], **choices)
    for sentence in plan.warnings:
        warn(sentence)
    results = JsonObject()
    if not options["dry_run"]:
        write_blend(workspace, plan)
        if plan.files.conflicts:
            if options["as_json"]:
                print_document(_report(plan, results))
            return conflicts_code(plan.files)
        with progress() as listener:
            result = run_pair(RunOptions(workspace=workspace, pair=name, roles=(Role.TRAIN,)), listener)
        for sentence in result.warnings:
            warn(sentence)
        results = read_results(workspace, name)
    if options["as_json"]:
        print_document(_report(plan, results))
    else:
        click.echo(_as_text(plan, results, command=_command(options)))
    return 0


def _command(options: Mapping[str, Any]) -> str:
    """The command without --dry-run."""
    arguments = ["tandem", "blend", options["name"], *options["members"]]
    for oof, test in zip(options["oof_files"], options["test_files"], strict=True):
        arguments += ["--oof", oof, "--test", test]
    for method in options["methods"]:
        arguments += ["--method", method]
    if options["force"]:
        arguments.append("--force")
    if options["workspace"].root.resolve() != Path.cwd():
        arguments += ["--workspace", str(options["workspace"].root)]
    return printable(shlex.join(arguments))


def _report(plan: "BlendPlan", results: JsonObject) -> BlendReport:
    score = results.section("out_of_fold")
    members: list[MemberFields] = [
        {
            "member": candidate.member.name,
            "kernel": candidate.member.kernel,
            "dataset": "",
            "framework": candidate.member.framework,
            "mean_of_folds": candidate.fold_mean,
            "out_of_fold": candidate.score.value if candidate.score else None,
            "inference_seconds": candidate.seconds,
        }
        for candidate in plan.candidates
    ]
    members += [
        {
            "member": member.name,
            "kernel": "",
            "dataset": plan.dataset_ref,
            "framework": "",
            "mean_of_folds": None,
            "out_of_fold": None,
            "inference_seconds": None,
        }
        for member in plan.file_members
    ]
    return {
        "schema_version": 1,
        "blend": plan.folder.name,
        "members": members,
        "warnings": [*plan.warnings],
        "mean_of_folds": results.number("mean_of_folds"),
        "out_of_fold": {"metric": score.text("metric"), "score": score.number("score")} if score else None,
        "method": results.text("method") or None,
        "method_scores": dict(results.section("method_scores")),
        "results": [dict(entry) for entry in results.sections("report")],
        "correlations": results.get("correlations"),
    }


def _better_alone(scores: Mapping[str, float], score: float | None, *, is_higher_better: bool) -> str:
    """The name of the member that scores better than the blend; "" where none does."""
    sign = 1 if is_higher_better else -1
    scores = {name: value * sign for name, value in scores.items()}
    best = max(scores, key=scores.__getitem__, default="")
    return best if best and score is not None and scores[best] > score * sign else ""


def _as_text(plan: "BlendPlan", results: JsonObject, *, command: str) -> str:
    rows = []
    by_name = {entry.text("member"): entry for entry in results.sections("report")}
    scores = {
        candidate.member.name: candidate.fold_mean for candidate in plan.candidates if candidate.fold_mean is not None
    }
    frameworks = {candidate.member.name: candidate.spec.framework for candidate in plan.candidates}
    for name in [*frameworks, *(member.name for member in plan.file_members)]:
        entry = by_name.get(name, JsonObject())
        value = entry.number(_CV)
        if value is not None:
            scores[name] = value
        cells = [name, frameworks.get(name, "files")]
        cells.append(f"{scores[name]:.4f}" if name in scores else "")
        for key, form in (("weight", ".3f"), ("gain", "+.5f"), ("correlation", ".3f")):
            value = entry.number(key)
            cells.append("" if value is None else f"{value:{form}}")
        rows.append([*cells, entry.text("advice")])
    header = ["member", "framework", _CV, "weight", "gain", "correlation", "advice"]
    lines = [table(header, rows)]
    score = results.section("out_of_fold")
    if score:
        number = results.number("mean_of_folds")
        text = "no score" if number is None else f"{number:.4f}"
        lines.append(f"\n{printable(score.text('metric'))} {text} of the blend ({_CV}, nested)")
        lines.append(f"method       {printable(results.text('method'))}")
        is_higher_better = results.get("higher_is_better") is not False
        if better_member := _better_alone(scores, number, is_higher_better=is_higher_better):
            lines.append(
                f"note         {better_member} alone scores better: the members are too alike, or too few rows"
            )
        lines.append(f"next         tandem run {plan.folder.name} --only infer")
        if plan.dataset is not None:
            lines.append(f"on Kaggle    `tandem push` uploads {printable(str(plan.dataset))} as {plan.dataset_ref}")
    else:
        lines.append(f"\nThe members can be blended. Write it with: {command}")
    return "\n".join(lines)
