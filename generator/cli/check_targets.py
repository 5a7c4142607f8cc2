"""The targets of `tandem check`: the kernels of a pair or of a path, with the word of the TPU's compiler."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

import click

from generator.check.source import CompilerWord, KernelSource, Purpose, read_pair_sources, read_target
from generator.cli.terminal import apply_style, warn
from generator.pair.folder import existing_pair
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.run.input_mounts import InputMissingError, Mount
from generator.text import is_slug, printable
from generator.tpu_compiler.compilation import (
    CompileOptions,
    CompileReport,
    NotebookTarget,
    StepCost,
    compile_steps,
    find_topology,
    pair_notebook,
)


def read_kernels(
    workspace: Workspace, target: str, *, is_code_competition: bool, compiles: bool | None, topology: str
) -> tuple[list[KernelSource], list[CompileReport]]:
    """Both kernels of a pair that is named, or what a path leads to, with the compiler's word where it is asked."""
    if is_slug(target) and (workspace.pair(target).settings_path.is_file() or not os.path.lexists(target)):
        folder = existing_pair(workspace, target)
        kernels = read_pair_sources(folder)
        if compiles is False or (compiles is None and not _may_run(folder)):
            return kernels, []

        return pair_compiled(kernels, workspace, target, topology=topology, is_asked_for=bool(compiles))
    kernels = read_target(Path(target), is_code_competition=is_code_competition)
    # A notebook of anybody's is executed only when somebody says so.
    if not compiles:
        return kernels, []

    return notebooks_compiled(kernels, workspace, topology=topology)


def _may_run(folder: PairFolder) -> bool:
    """True if the training can be compiled, and its cells are the kit's own: nobody is asked before they run here."""
    if find_spec("libtpu") is None:
        return False
    from generator.pair.reference_pairs import is_rendered

    if is_rendered(folder, Role.TRAIN):
        return True
    warn("The training was not compiled for a TPU: it has edited cells. --compile executes them on this machine.")
    return False


def check_topology(name: str) -> None:
    """Makes sure that there is a TPU of this name to compile for.

    Raises:
        TandemError: There is none.
    """
    find_topology(name)


# Asking the TPU's compiler about what is checked, and telling what it said.


_GIB = 2**30


def pair_compiled(
    kernels: Sequence[KernelSource], workspace: Workspace, name: str, *, topology: str, is_asked_for: bool
) -> tuple[list[KernelSource], list[CompileReport]]:
    """The kernels of a pair with the compiler's word on its training.

    Without data and without a specimen it is not asked, which is said; an error only where it was asked for.
    """
    try:
        target = pair_notebook(workspace, name)
    except InputMissingError as error:
        if is_asked_for:
            raise
        warn(f"The training was not compiled for a TPU: {error.message}")
        return list(kernels), []
    report = _compile_notebook(target, topology)
    return [_with_word(kernel, report) if kernel.purpose is Purpose.TRAINING else kernel for kernel in kernels], [
        report
    ]


def notebooks_compiled(
    kernels: Sequence[KernelSource], workspace: Workspace, *, topology: str
) -> tuple[list[KernelSource], list[CompileReport]]:
    """Notebooks of anybody's with the compiler's word on each, on the competitions' data in this workspace."""
    folders = sorted(path for path in (workspace.input / "competitions").glob("*") if path.is_dir())
    annotated_kernels, reports = [], []
    for kernel in kernels:
        competitions = kernel.refs("competition_sources")
        data_folders = [path for path in folders if kernel.metadata is None or path.name in competitions]
        mounts = tuple(Mount(PurePosixPath("competitions", path.name), path.resolve()) for path in data_folders)
        if kernel.fault is not None or not kernel.notebook or kernel.purpose is Purpose.INFERENCE:
            annotated_kernels.append(kernel)
            continue
        reports.append(_compile_notebook(NotebookTarget(kernel.code.path, mounts), topology))
        annotated_kernels.append(_with_word(kernel, reports[-1]))
    return annotated_kernels, reports


def compiler_lines(report: CompileReport) -> list[str]:
    """What the compiler said beside its findings: a line for each step, and what is not known."""
    lines = [f"{report.compiler}, {report.topology}: {_step_line(step)}" for step in report.steps]
    return [printable(line) for line in (*lines, *report.unknown)]


def compiler_fields(report: CompileReport) -> dict[str, Any]:
    """The same for programs."""
    steps = [{**vars(step), "collectives": dict(step.collectives)} for step in report.steps]
    fields = {"topology": report.topology, "compiler": report.compiler, "seconds": round(report.seconds, 1)}
    largest = None if report.largest_batch is None else vars(report.largest_batch)
    return {**fields, "steps": steps, "unknown": report.unknown, "largest_batch": largest}


def _compile_notebook(target: NotebookTarget, topology: str) -> CompileReport:
    def show(line: str) -> None:
        click.echo(apply_style(printable(line), sys.stderr, dim=True), err=True)

    return compile_steps(target, CompileOptions(topology=topology), progress=show)


def _with_word(kernel: KernelSource, report: CompileReport) -> KernelSource:
    words = (
        CompilerWord(problem.kind, problem.sentence, problem.remedy, problem.cell, problem.line or 0)
        for problem in report.problems
    )
    return replace(kernel, compiler=tuple(words))


def _step_line(step: StepCost) -> str:
    memory = ""
    if step.peak_memory is not None:
        limit = f" of {step.memory_limit / _GIB:.1f}" if step.memory_limit else ""
        memory = f", {step.peak_memory / _GIB:.2f}{limit} GiB"
    padding = f", padding {step.padding:.2f}" if step.padding else ""
    parameters = f", {step.parameters:,} parameters" if step.parameters else ""  # only Keras and PyTorch tell
    description = f"{step.what} of {step.batch_per_core:,} examples on each of {step.cores} cores"
    return f"{description}: {step.flops / 1e9:,.1f} GFLOP{memory}{padding}{parameters}"
