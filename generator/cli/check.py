"""The verb `check`: what is wrong with notebooks and their metadata, before they cost quota."""

import gc
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

import click

from generator import __version__
from generator.cli.check_targets import CompilationFields, check_topology, compiler_fields, compiler_lines, read_kernels
from generator.cli.options import complete_pair, shortest, workspace_option
from generator.cli.terminal import apply_style, json_option, print_document, table, warn
from generator.pair.workspace import Role
from generator.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generator.check.checking import FixedFile
    from generator.check.findings import CheckFinding
    from generator.check.source import KernelSource
    from generator.tpu_compiler.compilation import CompileReport


_SILENT_SECONDS = 2.0
_MOST_NAMED = 5
_FOLDER, _MOST_DETAILS = 3, 50
"""From how many kernels on there is a table, and how many findings stand below it unasked."""
_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}

SeverityName = Literal["error", "warning", "note"]


class FindingFields(TypedDict):
    """A finding.

    Attributes:
        rule: The rule, which `tandem check --explain RULE` explains.
        severity: How bad it is: an error would fail on Kaggle.
        path: The file.
        cell: The cell's name or number; empty in a file without cells.
        line: The line of the cell or file; 0 for the whole of it.
        message: What is wrong.
        remedy: What to do.
        has_fix: Whether --fix can fix it.
    """

    rule: str
    severity: SeverityName
    path: str
    cell: str
    line: int
    message: str
    remedy: str
    has_fix: bool


class FixedFileFields(TypedDict):
    """A file with fixes.

    Attributes:
        path: The file.
        rules: The rules whose findings were fixed.
        diff: A unified diff.
    """

    path: str
    rules: list[str]
    diff: str


class CheckReport(TypedDict):
    """What was found. The exit code is 1 if there are errors.

    Attributes:
        schema_version: The version of this document.
        kernels: How many notebooks were checked.
        errors: How many errors there are.
        warnings: How many warnings there are.
        notes: How many notes there are.
        findings: The findings; with --fix, those that remain.
        fixed: With --fix or --diff: the files with fixes.
        compiled: What the TPU's compiler said of each training that was compiled.
    """

    schema_version: Literal[1]
    kernels: int
    errors: int
    warnings: int
    notes: int
    findings: list[FindingFields]
    fixed: NotRequired[list[FixedFileFields]]
    compiled: NotRequired[list[CompilationFields]]


class RuleFields(TypedDict):
    """A rule of the check.

    Attributes:
        rule: Its id.
        name: Its name.
        severity: The severity of its findings.
        explanation: What it finds and why.
    """

    rule: str
    name: str
    severity: SeverityName
    explanation: str


class RuleList(TypedDict):
    """With --explain: the rule, or all rules.

    Attributes:
        schema_version: The version of this document.
        rules: The rules.
    """

    schema_version: Literal[1]
    rules: list[RuleFields]


class BaselineReport(TypedDict):
    """With --write-baseline: the file that was written.

    Attributes:
        schema_version: The version of this document.
        baseline: Its path.
        findings: How many findings it lists.
    """

    schema_version: Literal[1]
    baseline: str
    findings: int


@click.command()
@click.argument("targets", nargs=-1, metavar="PAIR|PATH...", shell_complete=complete_pair)
@click.option(
    "--fix", "fixes", is_flag=True, help="Show the safe fixes (they do not change what the code does), and write them."
)
@click.option("--diff", "shows_fixes", is_flag=True, help="Show the safe fixes, but write nothing.")
@click.option(
    "--allow",
    "--ignore",
    multiple=True,
    metavar="RULE",
    help="Ignore this rule. Can be repeated.",
)
@click.option(
    "--details/--no-details", default=None, help="List every finding below the table. Default: if there are up to 50."
)
@click.option("--explain", metavar="RULE", help="Explain a rule and exit. `--explain all` lists all rules.")
@click.option("--sarif", "as_sarif", is_flag=True, help="Print SARIF 2.1.0.")
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Ignore the findings that are listed in this file.",
)
@click.option("--write-baseline", is_flag=True, help="Write the findings to the file of --baseline and exit.")
@click.option(
    "--code-competition",
    is_flag=True,
    help="Treat notebooks without a pair.toml as submissions to a code competition: without internet.",
)
@click.option(
    "--compile/--no-compile",
    "compiles",
    default=None,
    help="Run notebooks up to the first training step, and compile the step for a TPU. Default: only pairs without "
    "edits, if libtpu is installed.",
)
@click.option("--topology", metavar="NAME", default="v5e:2x4", show_default=True, help="The TPU to compile for.")
@workspace_option
@json_option(CheckReport, RuleList, BaselineReport)
@click.pass_context
def check(context: click.Context, /, **options: Any) -> int:
    """Check notebooks and their metadata: a pair, a kernel's folder, one notebook, or all notebooks in a folder.

    Nothing is sent. Code is executed only to compile a training step (see --compile). The exit code is 1 if there are
    errors. To ignore a finding, write the comment `# tandem: ignore[N042] the reason` on its line or the line above.

    \b
    tandem check titanic
    tandem check ~/Downloads/notebook.ipynb --code-competition
    tandem check kernels --baseline check-baseline.json
    tandem check --explain N042
    """  # noqa: D301 - click wants the character itself
    if options["explain"]:
        if options["as_json"]:
            print_document(_rule_list(options["explain"]))
        else:
            click.echo(_explain_rule(options["explain"]))
        return 0
    _refuse_nonsense(context, options)
    from generator.check import checking

    allowed_rules = {checking.rule_named(name).id for name in options["allow"]}
    result = _check_targets(options, allowed_rules)
    if options["write_baseline"]:
        return _write_baseline(result.findings, options["baseline"], as_json=options["as_json"])
    changed_files: list[FixedFile] = []
    if options["fixes"] or options["shows_fixes"]:
        changed_files = result.propose_fixes()
        if options["fixes"] and not options["shows_fixes"]:
            for file in changed_files:
                _warn_of_edit(file.path)
                file.write()
            # What is compiled is not compiled again: it was no part of what is fixed.
            result = _check_targets(options | {"compiles": False}, allowed_rules) if changed_files else result
    findings = result.findings
    if options["as_sarif"]:
        click.echo(_sarif(result))
    elif options["as_json"]:
        print_document(_check_report(result, changed_files))
    else:
        click.echo("\n".join([*_diff_lines(changed_files), *_report(result, details=options["details"])]))
        if options["fixes"] or options["shows_fixes"]:
            click.echo(_fixes_said(changed_files, is_written=options["fixes"] and not options["shows_fixes"]))
    return 1 if checking.errors(findings) else 0


@dataclass(frozen=True)
class _CheckResult:
    """What was checked, and what was found."""

    kernels: "list[KernelSource]"
    findings: "list[CheckFinding]"
    reports: "list[CompileReport]"

    def propose_fixes(self) -> "list[FixedFile]":
        """The files with the fixes of the findings."""
        from generator.check.checking import fixed_files

        return fixed_files(self.kernels, self.findings)


def _check_targets(options: dict[str, Any], allowed_rules: set[str]) -> _CheckResult:
    """Read and check the targets, without what is allowed or was there before."""
    from generator.check import checking

    kernels: list[KernelSource] = []
    reports: list[CompileReport] = []
    for target in options["targets"]:
        target_kernels, target_reports = read_kernels(
            options["workspace"],
            target,
            is_code_competition=options["code_competition"],
            compiles=options["compiles"],
            topology=options["topology"],
        )
        # Whoever names files, as pre-commit does, names a notebook and its metadata.
        known_paths = {_paths(kernel) for kernel in kernels}
        kernels += [kernel for kernel in target_kernels if _paths(kernel) not in known_paths]
        reports += target_reports
    findings = [
        finding for finding in checking.check_kernels(_track_progress(kernels)) if finding.rule not in allowed_rules
    ]
    gc.freeze()  # a million objects of syntax trees, which are not searched for cycles before the process ends
    if options["baseline"] is not None and not options["write_baseline"]:
        from generator.check.checking import new_findings

        findings = new_findings(findings, options["baseline"])
    return _CheckResult(kernels, findings, reports)


def _refuse_nonsense(context: click.Context, options: dict[str, Any]) -> None:
    """Ends with an error where options do not fit together, before anything is read."""
    if not options["targets"]:
        context.fail(
            "Name a pair, a notebook or a folder. `tandem check .` checks all notebooks in the current folder."
        )
    if options["as_json"] and options["as_sarif"]:
        context.fail("--json and --sarif are two output formats: choose one.")
    if options["as_sarif"] and (options["fixes"] or options["shows_fixes"]):
        context.fail("--sarif only reports fixes: remove --fix and --diff.")
    if options["write_baseline"] and (options["fixes"] or options["shows_fixes"]):
        context.fail("--write-baseline records the findings, but --fix and --diff fix them: choose one.")
    if options["write_baseline"] and options["baseline"] is None:
        context.fail("--write-baseline needs a file: add --baseline FILE.")

    from generator.check.checking import check_replaceable

    check_topology(options["topology"])
    if options["write_baseline"]:
        check_replaceable(options["baseline"])


def _track_progress(kernels: "list[KernelSource]") -> "Iterator[KernelSource]":
    """The kernels one after the other; how far it is, where that takes long."""
    report_time = time.monotonic()
    for number, kernel in enumerate(kernels):
        if time.monotonic() - report_time > _SILENT_SECONDS:
            click.echo(f"Checked {number:,} of {len(kernels):,} notebooks", err=True)
            report_time = time.monotonic()
        yield kernel


def _paths(kernel: "KernelSource") -> tuple[Path, ...]:
    return tuple(path.absolute() for path in (kernel.metadata_path, kernel.code.path) if path is not None)


def _sarif(result: _CheckResult) -> str:
    from generator.check.checking import sarif

    log = sarif(result.findings, root=Path.cwd(), version=__version__, kernels=result.kernels)
    return json.dumps(log, indent=2)


def _check_report(result: _CheckResult, changed_files: "list[FixedFile]") -> CheckReport:
    counts = Counter(str(finding.severity) for finding in result.findings)
    document: CheckReport = {
        "schema_version": 1,
        "kernels": len(result.kernels),
        "errors": counts["error"],
        "warnings": counts["warning"],
        "notes": counts["note"],
        "findings": [_fields(finding) for finding in result.findings],
    }
    if changed_files:
        document["fixed"] = [
            {
                "path": shortest(file.path),
                "rules": sorted({finding.rule for finding in file.findings}),
                "diff": "\n".join(file.diff(name=shortest(file.path))),
            }
            for file in changed_files
        ]
    if result.reports:
        document["compiled"] = [compiler_fields(report) for report in result.reports]
    return document


def _diff_lines(changed_files: "list[FixedFile]") -> list[str]:
    lines = [line for file in changed_files for line in file.diff(name=shortest(file.path))]
    colours = {"+": "green", "-": "red", "@": "cyan"}
    return [apply_style(printable(line), sys.stdout, fg=colours.get(line[:1])) for line in lines]


def _fixes_said(changed_files: "list[FixedFile]", *, is_written: bool) -> str:
    if not changed_files:
        return "No finding has a safe fix."
    count = sum(len(file.findings) for file in changed_files)
    findings = "1 finding" if count == 1 else f"{count:,} findings"
    files = "1 file" if len(changed_files) == 1 else f"{len(changed_files):,} files"
    if is_written:
        return f"{findings} fixed in {files}. The remaining findings are listed above."
    return f"{findings} can be fixed in {files}: `tandem check --fix` writes the fixes."


def _warn_of_edit(path: Path) -> None:
    """Say so where a file is changed that the kit has rendered, whose choices are in `pair.toml`."""
    folder = path.parent
    if folder.name in tuple(Role) and (folder.parent / "pair.toml").is_file():
        warn(
            f"{shortest(path)} belongs to a pair. After this change it counts as edited, and `tandem generate` "
            f"overwrites it only with --force. If {shortest(folder.parent / 'pair.toml')} has a key for the change, "
            "set it there instead."
        )


def _report(result: _CheckResult, *, details: bool | None) -> list[str]:
    """The findings and their sum; of several kernels a table first."""
    findings = result.findings
    lines = [*map(_lines, findings), *_compiler_lines(result.reports)]
    if len(result.kernels) >= _FOLDER and findings:
        shows = len(findings) <= _MOST_DETAILS if details is None else details
        left_out = f"To list all {len(findings):,} findings, add --details or name one kernel."
        rows = _table_rows(result)
        header = ("kernel", "errors", "warnings", "notes", "worst")
        lines = [table(header, rows), "", *(lines if shows else [*_compiler_lines(result.reports), left_out])]
    elif details is False:
        lines = _compiler_lines(result.reports)
    return [*lines, *_languages(result.kernels), _summary(findings, len(result.kernels))]


def _languages(kernels: "list[KernelSource]") -> list[str]:
    """A sentence on the kernels whose code is not read."""
    paths = [printable(shortest(kernel.code.path)) for kernel in kernels if not kernel.is_python]
    if not paths:
        return []
    listing = ", ".join(paths[:_MOST_NAMED]) + (" …" if len(paths) > _MOST_NAMED else "")
    return [f"Only Python code is checked. Of these kernels, only files and metadata were checked: {listing}."]


def _table_rows(result: _CheckResult) -> list[tuple[str, ...]]:
    """A row for each kernel with findings, those with the most errors first; how many have none."""
    by_path: dict[Path, list[CheckFinding]] = {}
    for finding in result.findings:
        by_path.setdefault(finding.place.path, []).append(finding)
    rows: list[tuple[tuple[int, ...], str, str]] = []
    sound = 0
    for kernel in result.kernels:
        paths = dict.fromkeys(path for path in (kernel.metadata_path, kernel.code.path) if path is not None)
        kernel_findings = [finding for path in paths for finding in by_path.get(path, [])]
        if not kernel_findings:
            sound += 1
            continue
        counts = Counter(str(finding.severity) for finding in kernel_findings)
        worst = next(name for name in _COLOURS if counts[name])
        (rule, count), *_ = Counter(
            worst_finding.rule for worst_finding in kernel_findings if worst_finding.severity == worst
        ).most_common()
        rule_text = f"{rule}, {count:,} times" if count > 1 else rule
        rows.append((tuple(counts[name] for name in _COLOURS), shortest(kernel.code.path), rule_text))
    rows.sort(key=lambda row: (*(-number for number in row[0]), row[1]))
    lines: list[tuple[str, ...]] = [
        (path, *(str(number) if number else "" for number in numbers), rule_text) for numbers, path, rule_text in rows
    ]
    return [*lines, (f"{sound:,} without findings", "", "", "", "")] if sound else lines


def _compiler_lines(reports: "list[CompileReport]") -> list[str]:
    if not reports:
        return []

    return [line for report in reports for line in compiler_lines(report)]


def _fields(finding: "CheckFinding") -> FindingFields:
    place = finding.place
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "path": shortest(place.path),
        "cell": place.cell,
        "line": place.line,
        "message": finding.message,
        "remedy": finding.remedy,
        "has_fix": finding.fix is not None,
    }


def _lines(finding: "CheckFinding") -> str:
    """A finding on two lines: where and what, and then what to do."""
    place = finding.place
    location = ":".join(map(printable, filter(None, (shortest(place.path), place.cell, str(place.line or "")))))
    severity = apply_style(str(finding.severity), sys.stdout, fg=_COLOURS[finding.severity])
    rule = apply_style(finding.rule, sys.stdout, bold=True)
    return f"{location}: {rule} {severity}: {printable(finding.message)}\n    {printable(finding.remedy)}"


def _summary(findings: "list[CheckFinding]", kernels: int) -> str:
    counts = Counter(str(finding.severity) for finding in findings)
    notebooks = "1 notebook" if kernels == 1 else f"{kernels:,} notebooks"
    if not counts:
        return f"No findings in {notebooks}."
    totals = ", ".join(f"{counts[name]:,} {name}{'s' * (counts[name] > 1)}" for name in _COLOURS if counts[name])
    return f"{totals} in {notebooks}. `tandem check --explain RULE` explains a rule."


def _explain_rule(name: str) -> str:
    from generator.check.checking import all_rules, rule_named

    if name == "all":
        return "\n".join(f"{rule.id}  {rule.severity:<8} {rule.name}" for rule in all_rules())
    chosen_rule = rule_named(name)
    return f"{chosen_rule.id} {chosen_rule.name} ({chosen_rule.severity})\n\n{chosen_rule.explanation}"


def _rule_list(name: str) -> RuleList:
    from generator.check.checking import all_rules, rule_named

    rules = all_rules() if name == "all" else [rule_named(name)]
    return {
        "schema_version": 1,
        "rules": [
            {"rule": rule.id, "name": rule.name, "severity": rule.severity.value, "explanation": rule.explanation}
            for rule in rules
        ],
    }


def _write_baseline(findings: "list[CheckFinding]", path: Path, *, as_json: bool) -> int:
    from generator.check.checking import write_baseline

    write_baseline(findings, path)
    if as_json:
        print_document(BaselineReport(schema_version=1, baseline=shortest(path), findings=len(findings)))
        return 0
    click.echo(f"{printable(shortest(path))}: {len(findings):,} findings. A check with --baseline ignores them.")
    return 0
