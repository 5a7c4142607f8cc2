"""What a kernel's code does on a TPU: everything that its rules ask for."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, wraps

from generator.check.analysis.compiled import Compiled
from generator.check.analysis.devices import Devices
from generator.check.analysis.function_kinds import Kind
from generator.check.analysis.layers import Layers
from generator.check.analysis.platform import Platform, platform_of
from generator.check.analysis.traced import Traced
from generator.check.code import NotebookCode
from generator.check.finding import Severity
from generator.check.rule import Problem, Rule
from generator.check.shell import strings_and_commands
from generator.check.source import KernelSource
from generator.check.syntax import Call, FunctionNode, walk


@dataclass(frozen=True, eq=False)
class TpuCode:
    """The analysed code of a kernel that is for a TPU."""

    platform: Platform
    code: NotebookCode
    devices: Devices
    compiled: Compiled
    traced: Traced
    layers: Layers

    def calls(self, *names: str) -> Iterator[Call]:
        """The calls of these full names."""
        return (call for call in self.code.calls if call.name in names)

    def device_calls(self, kind: Kind) -> Iterator[Call]:
        """The calls that a TPU runs: in compiled functions, and in the models of Keras."""
        compiled = self.compiled.calls(Kind.DEVICE | kind)
        yield from compiled
        seen = {call.node for call in compiled}
        if kind is Kind.TENSORFLOW and self.platform.tensorflow:
            yield from (call for call in self.layers.operations() if call.node not in seen)

    def mentions(self, *texts: str) -> bool:
        """True if one of these texts is a string of the code, or in a command."""
        return any(text in each for text in texts for each in strings_and_commands(self.code))

    def is_fold_loop(self, loop: ast.For | ast.While) -> bool:
        """True for a loop over the folds of a cross-validation."""
        if isinstance(loop, ast.While):
            return False
        names = [each.id for each in [*walk(loop.target), *walk(loop.iter)] if isinstance(each, ast.Name)]
        splits = any(call.last == "split" for call in self.code.below(loop.iter))
        return splits or any("fold" in name.lower() for name in names)

    def counted(self, loop: ast.For | ast.While) -> str:
        """The name of the number of a loop over `range(n)` or `enumerate(data)`; "" for another loop."""
        call = self.code.call(loop.iter) if isinstance(loop, ast.For) and not self.is_fold_loop(loop) else None
        if call is None or not isinstance(loop, ast.For):
            return ""
        is_pair = isinstance(loop.target, ast.Tuple)
        target = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
        is_number = call.name == "range" or (call.name == "enumerate" and is_pair)
        return target.id if is_number and isinstance(target, ast.Name) else ""

    def spawned(self) -> list[Call]:
        """The calls that start a process for each core of PyTorch/XLA."""
        starts = "torch_xla.distributed.xla_multiprocessing.spawn", "torch_xla.launch"
        return [call for call in self.calls(*starts) if self.devices.number(call.argument(9, "nprocs")) != 1]

    def loops(self, node: ast.AST) -> Iterator[ast.For | ast.While]:
        """The loops around a node in its own function, from inside to outside."""
        for around in self.code.ancestors(node, within_function=True):
            if isinstance(around, ast.For | ast.While):
                yield around

    def runs_in(self, node: ast.AST) -> list[Call]:
        """The calls in a node, and in the functions of the notebook that it calls."""
        calls = self.code.below(node)
        functions: set[FunctionNode] = set()
        for call in calls:
            for function in self.compiled.referred(call.node.func):
                functions |= self.compiled.reached(function)
        return calls + [call for function in functions for call in self.code.calls_inside(function)]


def tpu_rule(
    id: str,  # noqa: A002 - what a rule has, in every linter
    name: str,
    severity: Severity,
    *,
    on_any_device: bool = False,
) -> Callable[[Callable[[TpuCode], Iterator[Problem]]], Rule]:
    """Make a rule of a function that is asked about the analysed code of a kernel.

    Args:
        id: The rule's id.
        name: Its name.
        severity: How grave a finding is.
        on_any_device: True for what holds on a GPU as well; the other rules pass by code that names no TPU.
    """

    def made(find: Callable[[TpuCode], Iterator[Problem]]) -> Rule:
        def find_in(kernel: KernelSource) -> Iterator[Problem]:
            tpu = tpu_code(kernel)
            return find(tpu) if on_any_device or tpu.platform.is_named else iter(())

        return Rule(id, name, severity, wraps(find)(find_in))

    return made


@lru_cache(maxsize=1)
def tpu_code(kernel: KernelSource) -> TpuCode:
    """Return the analysed code of a kernel, none if it is not for a TPU; asked by every rule, done once.

    Where cells are left out nothing is said: what the rules miss may stand there.
    """
    nothing = NotebookCode(kernel.code.path, ())
    code = kernel.code if kernel.code.is_whole else nothing
    platform = platform_of(kernel, code)
    code = code if platform.any else nothing
    compiled = Compiled(code, platform)
    return TpuCode(platform, code, Devices(code), compiled, Traced(code, compiled), Layers(code, compiled))
