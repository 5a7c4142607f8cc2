"""What a kernel's code does on a TPU: everything that its rules ask for."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, wraps

from generator.check.analysis.compiled import Compiled
from generator.check.analysis.function_kinds import Kind
from generator.check.analysis.index import Call, FunctionNode, Index, walk
from generator.check.analysis.layers import Layers
from generator.check.analysis.platform import Platform, platform_of
from generator.check.analysis.traced import Traced
from generator.check.analysis.values import Values
from generator.check.code import NotebookCode
from generator.check.finding import Severity
from generator.check.rule import Problem, Rule
from generator.check.source import KernelSource

_MOST_NODES = 500_000  # of its syntax trees, or it was written by nobody


@dataclass(frozen=True, eq=False)
class TpuCode:
    """The analysed code of a kernel that is for a TPU."""

    platform: Platform
    index: Index
    values: Values
    compiled: Compiled
    traced: Traced
    layers: Layers

    def calls(self, *names: str) -> Iterator[Call]:
        """The calls of these full names."""
        return (call for call in self.index.calls if call.name in names)

    def device_calls(self, kind: Kind) -> Iterator[Call]:
        """The calls that a TPU runs: in compiled functions, and in the models of Keras."""
        seen = set()
        for call in self.index.calls:
            if Kind.DEVICE | kind in self.compiled.kind(call.node):
                seen.add(call.node)
                yield call
        if kind is Kind.TENSORFLOW and self.platform.tensorflow:
            yield from (call for call in self.layers.operations() if call.node not in seen)

    def mentions(self, *texts: str) -> bool:
        """True if one of these texts is a string of the code, or in a command."""
        strings = {node.value for node in self.index.nodes(ast.Constant) if isinstance(node.value, str)}
        commands = [command for cell in self.index.code.cells for command in cell.commands.values()]
        return any(text in each for text in texts for each in [*strings, *commands])

    def is_fold_loop(self, loop: ast.For | ast.While) -> bool:
        """True for a loop over the folds of a cross-validation."""
        if isinstance(loop, ast.While):
            return False
        names = [each.id for each in [*walk(loop.target), *walk(loop.iter)] if isinstance(each, ast.Name)]
        splits = any(call.last == "split" for call in self.index.below(loop.iter))
        return splits or any("fold" in name.lower() for name in names)

    def spawned(self) -> list[Call]:
        """The calls that start a process for each core of PyTorch/XLA."""
        starts = "torch_xla.distributed.xla_multiprocessing.spawn", "torch_xla.launch"
        return [call for call in self.calls(*starts) if self.values.number(call.argument(9, "nprocs")) != 1]

    def loops(self, node: ast.AST) -> Iterator[ast.For | ast.While]:
        """The loops around a node in its own function, from inside to outside."""
        for around in self.index.ancestors(node):
            if isinstance(around, ast.For | ast.While):
                yield around

    def runs_in(self, node: ast.AST) -> list[Call]:
        """The calls in a node, and in the functions of the notebook that it calls."""
        calls = self.index.below(node)
        functions: set[FunctionNode] = set()
        for call in calls:
            for function in self.compiled.referred(call.node.func):
                functions |= self.compiled.reached(function)
        inner = [each for function in functions for each in self.index.inside(function)]
        return calls + [self.index.call_of[each] for each in inner if isinstance(each, ast.Call)]


def tpu_rule(
    id: str,  # noqa: A002 - what a rule has, in every linter
    name: str,
    severity: Severity,
) -> Callable[[Callable[[TpuCode], Iterator[Problem]]], Rule]:
    """Make a rule of a function that is asked about the analysed code of a kernel."""

    def made(find: Callable[[TpuCode], Iterator[Problem]]) -> Rule:
        return Rule(id, name, severity, wraps(find)(lambda kernel: find(tpu_code(kernel))))

    return made


@lru_cache(maxsize=1)
def tpu_code(kernel: KernelSource) -> TpuCode:
    """Return the analysed code of a kernel, none if it is not for a TPU; asked by every rule, done once."""
    nodes = len(kernel.code.nodes)
    index = Index(kernel.code if nodes < _MOST_NODES else NotebookCode(kernel.code.path, ()))
    values = Values(index)
    platform = platform_of(kernel, index, values)
    if not platform.any:
        index = Index(NotebookCode(kernel.code.path, ()))
        values = Values(index)
    compiled = Compiled(index, values, platform)
    return TpuCode(platform, index, values, compiled, Traced(index, compiled), Layers(index, values, compiled))
