"""The verb `check`: what is wrong with notebooks and their metadata, before they cost quota."""

import json
import os
import sys
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator import __version__
from generator.cli.completion import complete_pair
from generator.cli.options import json_option, shortest, workspace_option
from generator.cli.terminal import styled, warn
from generator.errors import CheckError, did_you_mean
from generator.untrusted import is_slug, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generator.check.finding import Finding
    from generator.check.source import KernelSource
    from generator.pair.workspace import PairFolder, Workspace
    from generator.tpu_compiler.report import CompileReport

_SILENT_SECONDS = 2.0
_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


@click.command()
@click.argument("targets", nargs=-1, metavar="PAIR|PATH...", shell_complete=complete_pair)
@click.option("--explain", metavar="RULE", help="Say what a rule is about, or list all of them, and stop.")
@click.option("--sarif", "as_sarif", is_flag=True, help="Report as SARIF 2.1.0.")
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Leave out the findings that this file has.",
)
@click.option("--write-baseline", is_flag=True, help="Write what is found into the file of --baseline, and stop.")
@click.option(
    "--code-competition",
    is_flag=True,
    help="Notebooks without a pair.toml are submitted to a code competition: they have no internet.",
)
@click.option(
    "--compile/--no-compile",
    "compiles",
    default=None,
    help="Run notebooks to their first step, and compile it for a TPU; by default for pairs as rendered, with libtpu.",
)
@click.option("--topology", default="v5e:2x4", show_default=True, help="The TPU to compile for.")
@workspace_option
@json_option
@click.pass_context
def check(context: click.Context, /, **options: Any) -> int:
    """Check notebooks and their metadata: of a pair, a kernel's folder, a notebook, or all below a folder.

    Nothing is sent, and nothing executed but what is compiled. The exit code is 1 if there are errors. A comment
    `# tandem: ignore[N042] the reason` on a line or above it ignores a finding there.

    \b
    tandem check titanic
    tandem check ~/Downloads/notebook.ipynb --code-competition
    tandem check kernels --baseline check-baseline.json
    tandem check --explain N042
    """  # noqa: D301 - click wants the character itself
    if options["explain"]:
        click.echo(_explained(options["explain"]))
        return 0
    _refuse_nonsense(context, options)
    from generator.check import checking

    kernels, reports = [], []
    for target in options["targets"]:
        read, told = _kernels(options["workspace"], target, options)
        kernels += read
        reports += told
    findings = checking.check(_told(kernels))
    if options["write_baseline"]:
        return _write_baseline(findings, options["baseline"])
    if options["baseline"] is not None:
        from generator.check.baseline import new_findings

        findings = new_findings(findings, options["baseline"])
    if options["as_sarif"]:
        click.echo(_sarif(findings))
    elif options["as_json"]:
        click.echo(_json(findings, len(kernels), reports))
    else:
        click.echo("\n".join([*map(_lines, findings), *_compiler_lines(reports), _summary(findings, len(kernels))]))
    return 1 if checking.errors(findings) else 0


def _refuse_nonsense(context: click.Context, options: dict[str, Any]) -> None:
    """Ends with an error where options do not fit together, before anything is read."""
    if not options["targets"]:
        context.fail("Name a pair, a notebook or a folder; `tandem check .` checks every one below the current folder.")
    if options["as_json"] and options["as_sarif"]:
        context.fail("--json and --sarif are two formats: choose one.")
    if options["write_baseline"] and options["baseline"] is None:
        context.fail("--write-baseline needs the file: --baseline FILE.")

    from generator.check.baseline import check_replaceable
    from generator.tpu_compiler.topologies import find_topology

    find_topology(options["topology"])
    if options["write_baseline"]:
        check_replaceable(options["baseline"])


def _kernels(
    workspace: "Workspace", target: str, options: dict[str, Any]
) -> "tuple[list[KernelSource], list[CompileReport]]":
    """Both kernels of a pair that is named, or what a path leads to, with the compiler's word where it is asked."""
    from generator.check.reading import read_pair, read_target
    from generator.pair.folder import existing_pair

    compiles, topology = options["compiles"], options["topology"]
    if is_slug(target) and (workspace.pair(target).choices.is_file() or not os.path.lexists(target)):
        folder = existing_pair(workspace, target)
        kernels = read_pair(folder)
        if compiles is False or (compiles is None and not _may_run(folder)):
            return kernels, []
        from generator.cli.compiler_report import pair_compiled

        return pair_compiled(kernels, workspace, target, topology=topology, is_asked_for=bool(compiles))
    kernels = read_target(Path(target), is_code_competition=options["code_competition"])
    # A notebook of anybody's is executed only when somebody says so.
    if not compiles:
        return kernels, []
    from generator.cli.compiler_report import notebooks_compiled

    return notebooks_compiled(kernels, workspace, topology=topology)


def _may_run(folder: "PairFolder") -> bool:
    """True if the training can be compiled, and its cells are the kit's own: nobody is asked before they run here."""
    if find_spec("libtpu") is None:
        return False
    from generator.pair.generation import is_rendered
    from generator.pair.workspace import Role

    if is_rendered(folder, Role.TRAIN):
        return True
    warn("The TPU's compiler was not asked: the training has cells of somebody's own, which --compile runs here.")
    return False


def _told(kernels: "list[KernelSource]") -> "Iterator[KernelSource]":
    """The kernels one after the other; how far it is, where that takes long."""
    said = time.monotonic()
    for number, kernel in enumerate(kernels):
        if time.monotonic() - said > _SILENT_SECONDS:
            click.echo(f"{number:,} of {len(kernels):,} notebooks are checked", err=True)
            said = time.monotonic()
        yield kernel


def _sarif(findings: "list[Finding]") -> str:
    from generator.check.rules import RULES
    from generator.check.sarif import sarif

    return json.dumps(sarif(findings, RULES, root=Path.cwd(), version=__version__), indent=2)


def _json(findings: "list[Finding]", kernels: int, reports: "list[CompileReport]") -> str:
    counts = Counter(str(finding.severity) for finding in findings)
    said: dict[str, Any] = {"kernels": kernels, **{name: counts[name] for name in _COLOURS}}
    said["findings"] = [_fields(finding) for finding in findings]
    if reports:
        from generator.cli.compiler_report import compiler_fields

        said["compiled"] = [compiler_fields(report) for report in reports]
    return json.dumps(said, indent=2)


def _compiler_lines(reports: "list[CompileReport]") -> list[str]:
    if not reports:
        return []
    from generator.cli.compiler_report import compiler_lines

    return [line for report in reports for line in compiler_lines(report)]


def _fields(finding: "Finding") -> dict[str, Any]:
    place = finding.place
    return {
        "rule": finding.rule,
        "severity": str(finding.severity),
        "path": shortest(place.path),
        "cell": place.cell,
        "line": place.line,
        "message": finding.message,
        "remedy": finding.remedy,
    }


def _lines(finding: "Finding") -> str:
    """A finding on two lines: where and what, and then what to do."""
    place = finding.place
    where = ":".join(map(printable, filter(None, (shortest(place.path), place.cell, str(place.line or "")))))
    severity = styled(str(finding.severity), sys.stdout, fg=_COLOURS[finding.severity])
    rule = styled(finding.rule, sys.stdout, bold=True)
    return f"{where}: {rule} {severity}: {printable(finding.message)}\n    {printable(finding.remedy)}"


def _summary(findings: "list[Finding]", kernels: int) -> str:
    counts = Counter(str(finding.severity) for finding in findings)
    checked = "1 notebook" if kernels == 1 else f"{kernels:,} notebooks"
    if not counts:
        return f"Nothing was found in {checked}."
    found = ", ".join(f"{counts[name]:,} {name}{'s' * (counts[name] > 1)}" for name in _COLOURS if counts[name])
    return f"{found} in {checked}; `tandem check --explain RULE` tells more of a rule."


def _explained(name: str) -> str:
    from generator.check.rules import RULES

    if name == "all":
        return "\n".join(f"{rule.id}  {rule.severity:<8} {rule.name}" for rule in RULES)
    found = next((rule for rule in RULES if name.casefold() in (rule.id.casefold(), rule.name)), None)
    if found is None:
        nearest = did_you_mean(name, [rule.id for rule in RULES])
        raise CheckError(f'There is no rule "{printable(name)}".{nearest} `tandem check --explain all` lists them.')
    return f"{found.id} {found.name} ({found.severity})\n\n{found.explanation}"


def _write_baseline(findings: "list[Finding]", path: Path) -> int:
    from generator.check.baseline import baseline_text
    from generator.workspace_files import WorkspaceFiles

    WorkspaceFiles(path.parent).write(path, baseline_text(findings, path.parent).encode("utf-8", "replace"))
    click.echo(f"{printable(shortest(path))}: {len(findings):,} findings, which a check with --baseline leaves out.")
    return 0
