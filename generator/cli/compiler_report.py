"""Asking the TPU's compiler about what is checked, and telling what it said."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import click

from generator.check.source import CompilerWord, KernelSource, Purpose
from generator.cli.terminal import styled, warn
from generator.pair.workspace import Workspace
from generator.run.input_mounts import InputMissingError, Mount
from generator.tpu_compiler.compilation import CompileOptions, compile_steps
from generator.tpu_compiler.report import CompileReport
from generator.tpu_compiler.step_cost import StepCost
from generator.tpu_compiler.targets import NotebookTarget, pair_notebook
from generator.untrusted import printable

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
        warn(f"The TPU's compiler was not asked: {error.message}")
        return list(kernels), []
    report = _compiled(target, topology)
    return [_with_word(each, report) if each.purpose is Purpose.TRAINING else each for each in kernels], [report]


def notebooks_compiled(
    kernels: Sequence[KernelSource], workspace: Workspace, *, topology: str
) -> tuple[list[KernelSource], list[CompileReport]]:
    """Notebooks of anybody's with the compiler's word on each, on the competitions' data in this workspace."""
    folders = sorted(path for path in (workspace.input / "competitions").glob("*") if path.is_dir())
    told, reports = [], []
    for kernel in kernels:
        attached = kernel.refs("competition_sources")
        wanted = [path for path in folders if kernel.metadata is None or path.name in attached]
        mounted = tuple(Mount(PurePosixPath("competitions", path.name), path.resolve()) for path in wanted)
        if kernel.fault is not None or not kernel.notebook or kernel.purpose is Purpose.INFERENCE:
            told.append(kernel)
            continue
        reports.append(_compiled(NotebookTarget(kernel.code.path, mounted), topology))
        told.append(_with_word(kernel, reports[-1]))
    return told, reports


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


def _compiled(target: NotebookTarget, topology: str) -> CompileReport:
    def show(line: str) -> None:
        click.echo(styled(printable(line), sys.stderr, dim=True), err=True)

    return compile_steps(target, CompileOptions(topology=topology), progress=show)


def _with_word(kernel: KernelSource, report: CompileReport) -> KernelSource:
    words = (CompilerWord(each.kind, each.sentence, each.remedy, each.cell, each.line or 0) for each in report.problems)
    return replace(kernel, compiler=tuple(words))


def _step_line(step: StepCost) -> str:
    memory = ""
    if step.peak_memory is not None:
        limit = f" of {step.memory_limit / _GIB:.1f}" if step.memory_limit else ""
        memory = f", {step.peak_memory / _GIB:.2f}{limit} GiB"
    padding = f", padding {step.padding:.2f}" if step.padding else ""
    parameters = f", {step.parameters:,} parameters" if step.parameters else ""  # only Keras and PyTorch tell
    what = f"{step.what} of {step.batch_per_core:,} examples on each of {step.cores} cores"
    return f"{what}: {step.flops / 1e9:,.1f} GFLOP{memory}{padding}{parameters}"
