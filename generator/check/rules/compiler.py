"""Rules of what the TPU's compiler says of a notebook's steps; they find nothing where it was not asked."""

from collections.abc import Iterator

from generator.check.finding import Place, Severity
from generator.check.rule import Problem, rule
from generator.check.source import KernelSource


@rule("C001", "step-not-reached", Severity.WARNING)
def step_not_reached(kernel: KernelSource) -> Iterator[Problem]:
    """The notebook stops before the compiler sees a step.

    Its cells run here up to the first training step, on eight virtual devices and the data that are on this machine;
    one of them failed, or the process ended. On Kaggle it may fail, too, or only data or memory are missing here.
    Run it with `tandem run` first, or write made-up data with `tandem specimen`.

    Source (2026-11-25): our own reading: the cells of the notebook, as they ran here; docs/adr/0018.
    """
    yield from _said(kernel, "error", "died")


@rule("C002", "step-refused")
def step_refused(kernel: KernelSource) -> Iterator[Problem]:
    """The compiler refuses a step.

    On a TPU the session would end there, after minutes of preparing data.
    Move the operation into the input pipeline, or take one that the compiler has.

    Source (2026-11-27): Google's TPU compiler (libtpu) in this very check; docs/adr/0017.
    """
    yield from _said(kernel, "refused")


@rule("C003", "step-does-not-fit")
def step_does_not_fit(kernel: KernelSource) -> Iterator[Problem]:
    """A step needs more memory than a core of the TPU has.

    The session would end with RESOURCE_EXHAUSTED at its first step.
    Give a core fewer examples; the remedy names the largest batch that fits, where it was looked for.

    Source (2026-11-27): Google's TPU compiler (libtpu) in this very check, for 15.5 GB a core; docs/adr/0017.
    """
    yield from _said(kernel, "memory")


@rule("C004", "step-compiled-again", Severity.WARNING)
def step_compiled_again(kernel: KernelSource) -> Iterator[Problem]:
    """A step is called with several shapes, and compiled for each.

    Every compilation takes seconds to minutes, in every epoch that brings a new shape.
    Drop the last batch (drop_remainder=True) or fill it up, and pad texts to few lengths.

    Source (2026-11-25): the shapes of the steps, as they were called here; docs/adr/0018.
    """
    yield from _said(kernel, "recompilation")


@rule("C005", "one-core-of-many", Severity.WARNING)
def one_core_of_many(kernel: KernelSource) -> Iterator[Problem]:
    """A step runs on one core while the others wait.

    The session costs the same quota, and is up to eight times as slow.
    Split the batch over all devices: keras.distribution.DataParallel, a jax.sharding.Mesh, or PyTorch/XLA's SPMD.

    Source (2026-11-25): the sharding of the step that was compiled; docs/adr/0018.
    """
    yield from _said(kernel, "one-core")


@rule("C006", "padding", Severity.NOTE)
def padding(kernel: KernelSource) -> Iterator[Problem]:
    """A step's arrays take several times their size, since the TPU keeps them in tiles of 8 by 128.

    Memory and time go to zeros.
    Take batches in multiples of 8, at best 128, and features in multiples of 128.

    Source (2026-11-27): Cloud TPU performance guide, padding; the arrays of the step that was compiled.
    """
    yield from _said(kernel, "padding")


@rule("C007", "compiler-out-of-time", Severity.WARNING)
def compiler_out_of_time(kernel: KernelSource) -> Iterator[Problem]:
    """The time limit ended before the compiler did.

    What it said by then is reported; what was compiled is kept, and the next check goes on from there.

    Source (2026-11-27): this very check.
    """
    yield from _said(kernel, "time-limit")


@rule("C008", "left-to-the-host", Severity.WARNING)
def left_to_the_host(kernel: KernelSource) -> Iterator[Problem]:
    """PyTorch/XLA has the host compute an operation of a step.

    Each time, the step is cut in two, its values go to the host and back, and the TPU waits.
    Take an operation whose result has a constant shape, such as torch.where in the place of a mask, or move it into the
    loader.

    Source (2026-11-22): the counters of torch_xla 2.9 in this very check; docs/adr/0018.
    """
    yield from _said(kernel, "on-host")


def _said(kernel: KernelSource, *kinds: str) -> Iterator[Problem]:
    for word in kernel.compiler:
        if word.kind in kinds:
            yield Problem(Place(kernel.code.path, word.cell, word.line), word.message, word.remedy)
