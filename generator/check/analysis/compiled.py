"""The functions of a notebook that a TPU runs, those that are traced, and those of the host's input pipeline."""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from math import inf
from typing import TypeGuard

from generator.check.analysis.function_kinds import (
    BASES,
    CALLBACKS,
    GRADIENTS,
    JIT,
    KERAS_METHODS,
    LOOPS,
    PIPELINE,
    PMAP,
    SHARD_MAP,
    Kind,
    transformed,
)
from generator.check.analysis.platform import Platform, is_keras
from generator.check.code import NotebookCode
from generator.check.syntax import Call, FunctionNode, walk

_MOST_FOLLOWED = 60  # names and transformations between an expression and a function
_MOST_REACHED = 500  # functions below one that are looked at
_TRANSFORMING = JIT | PMAP | GRADIENTS | {"functools.partial", "tensorflow.function", "jax.vmap"} | SHARD_MAP
_MOST_KEPT = 200  # functions whose callees are remembered


class Compiled:
    """How each function of a notebook is run."""

    def __init__(self, code: NotebookCode, platform: Platform) -> None:
        self.code, self.platform = code, platform
        self.kinds: dict[FunctionNode, Kind] = {}
        self.static: dict[FunctionNode, set[str]] = {}  # parameters that are no arrays
        self.by_reference: set[FunctionNode] = set()  # given to a transformation: every parameter is an array
        self._kind_inside: dict[FunctionNode, Kind] = {}
        self.inner: set[FunctionNode] = set()  # compiled because others call them
        self._reached: dict[FunctionNode, set[FunctionNode]] = {}
        self._called: dict[FunctionNode, set[FunctionNode]] = {}
        self._referred: dict[ast.AST, list[FunctionNode]] = {}
        self.settings: dict[FunctionNode, list[Call]] = {}  # the calls of jit, pmap and tf.function that compile it
        self._calls_by_kind: dict[Kind, list[Call]] = {}
        for function in code.defined:
            for decorator in function.decorator_list:
                self._decorated(function, decorator)
            self._method(function)
        for call in code.calls:
            self._passed(call)
        self._propagate()

    def kind(self, node: ast.AST) -> Kind:
        """How the code is run that a node is in."""
        function = self.code.function(node)
        return Kind.NOTHING if function is None else self._kind_in(function)

    def _kind_in(self, function: FunctionNode) -> Kind:
        if function not in self._kind_inside:
            self._kind_inside[function] = self._found_kind(function)
        return self._kind_inside[function]

    def _found_kind(self, function: FunctionNode) -> Kind:
        own = self.kinds.get(function, Kind.NOTHING)
        given_to = self.code.call(self.code.parent(function))
        if given_to is not None and given_to.last in CALLBACKS:
            return Kind.NOTHING
        if Kind.HOST in own or (own and not isinstance(function, ast.Lambda)):
            return own
        return own | self.kind(function)

    def is_on_device(self, node: ast.AST) -> bool:
        """True if a TPU runs the code that a node is in."""
        return Kind.DEVICE in self.kind(node)

    def calls(self, kind: Kind) -> list[Call]:
        """The calls in functions that are run so."""
        if kind not in self._calls_by_kind:
            inside = {None: False} | {each: kind in self._kind_in(each) for each in self.code.functions}
            self._calls_by_kind[kind] = [each for each in self.code.calls if inside[self.code.function(each.node)]]
        return self._calls_by_kind[kind]

    def functions(self, kind: Kind) -> list[FunctionNode]:
        """The functions that are run so, in every way that is asked for."""
        return [function for function, own in self.kinds.items() if kind in own]

    def referred(self, node: ast.AST | None) -> list[FunctionNode]:
        """The functions of the notebook that an expression may stand for."""
        if not isinstance(node, ast.Lambda | ast.IfExp | ast.Call | ast.Attribute | ast.Name):
            return []
        if node not in self._referred:
            self._referred[node] = self._functions_meant(node)
        return self._referred[node]

    def _functions_meant(self, node: ast.AST) -> list[FunctionNode]:
        """Follow an expression to functions, through names and transformations; no node twice, and not endlessly."""
        found: dict[FunctionNode, None] = {}
        seen: set[ast.AST] = set()
        waiting = [node]
        while waiting and len(seen) < _MOST_FOLLOWED:
            each = waiting.pop()
            if each in seen:  # `step = jax.jit(step)` of a step that is not known
                continue
            seen.add(each)
            following: list[ast.AST] = []
            if isinstance(each, FunctionNode):
                found[each] = None
            elif isinstance(each, ast.IfExp):
                following = [each.body, each.orelse]
            elif isinstance(each, ast.Call):  # partial(f, x), jax.grad(f), tf.function(f)
                following = [*each.args[:1]]
            elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "self":
                found.update(dict.fromkeys(self._methods_beside(each)))
            elif isinstance(each, ast.Name) and each.id in self._names_of_functions:
                following = [meant for meant in self.code.meant(each) if self._may_be_function(meant)]
            waiting += reversed(following)
        return list(found)

    @cached_property
    def _names_of_functions(self) -> frozenset[str]:
        """The names that may stand for a function somewhere in the notebook."""
        return frozenset(name for name, value in self.code.definitions() if self._may_be_function(value))

    def _may_be_function(self, value: ast.AST | None) -> TypeGuard[ast.AST]:
        is_transformed = isinstance(value, ast.Call) and not self._is_made(value)
        return is_transformed or isinstance(value, FunctionNode | ast.Name | ast.IfExp)

    def _is_made(self, node: ast.AST) -> bool:
        """True if a call gives something else than its first argument transformed."""
        call = self.code.call(node)
        return call is not None and call.name not in _TRANSFORMING

    def _methods_beside(self, node: ast.Attribute) -> list[FunctionNode]:
        for function in self.code.functions_around(node):
            owner = self.code.class_of(function)
            if owner is not None:
                return self.code.methods.get((owner, node.attr), [])[-2:]  # of a property, what reads and what sets it
        return []

    def _decorated(self, function: ast.FunctionDef | ast.AsyncFunctionDef, decorator: ast.expr) -> None:
        call, name = self.code.call(decorator), self.code.name(decorator)
        if call is not None:
            name = call.name
            if call.last == "partial" and call.node.args:
                name = self.code.name(call.node.args[0])
        self._mark(function, transformed(name, call), call)

    def _method(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        owner = self.code.class_of(function)
        if owner is None:
            return
        for base in self._bases(owner):
            last = base.rpartition(".")[2]
            if is_keras(base, self.code) and last in {"Model", "Layer", "Loss", "Metric", "Sequential", "Functional"}:
                if function.name in KERAS_METHODS:
                    kind = Kind.JAX if self.platform.keras_jax and not self.platform.tensorflow else Kind.TENSORFLOW
                    self._mark(function, Kind.DEVICE | Kind.TRACED | kind)
            elif base in BASES and function.name in BASES[base][0]:
                kind = BASES[base][1]
                traced = Kind.NOTHING if kind is Kind.TORCH else Kind.TRACED
                if kind is not Kind.TORCH or self.platform.torch:
                    self._mark(function, Kind.DEVICE | traced | kind)

    def _bases(self, owner: ast.ClassDef, depth: int = 0) -> Iterator[str]:
        for base in owner.bases:
            name = self.code.name(base)
            if name in self.code.classes and depth < len(BASES):
                yield from self._bases(self.code.classes[name], depth + 1)
            else:
                yield name

    def _passed(self, call: Call) -> None:
        """Mark the functions that are given to a call which compiles them."""
        arguments = [*call.node.args, *(each.value for each in call.node.keywords)]
        if kind := transformed(call.name, call):
            self._mark_all(arguments[:1], kind, call)
        elif call.name.startswith("jax.lax.") and call.last in LOOPS:
            self._mark_all(arguments, Kind.TRACED | Kind.DEVICE | Kind.JAX, call)
        elif call.last in {"run", "experimental_run_v2"} and self._is_strategy(call):
            self._mark_all(arguments[:1], Kind.TRACED | Kind.DEVICE | Kind.TENSORFLOW, call)
        elif call.last == "compile" and (call.keyword("loss", "metrics") is not None):
            kind = Kind.JAX if self.platform.keras_jax else Kind.TENSORFLOW
            metrics = call.keyword("metrics")
            given = [call.keyword("loss"), *(metrics.elts if isinstance(metrics, ast.List) else [])]
            given = [each for each in given if isinstance(each, ast.Name | ast.Lambda)]
            self._mark_all(given, Kind.TRACED | Kind.DEVICE | kind, call)
        elif call.last in PIPELINE and "tensorflow" in self.code.modules and not call.name.startswith("jax."):
            self._mark_all(arguments, Kind.HOST, None)

    def _is_strategy(self, call: Call) -> bool:
        made = self.code.call(self.code.resolved(call.receiver))
        names_one = "strategy" in call.name.lower()
        return self.platform.tensorflow and (names_one or (made is not None and made.last.endswith("Strategy")))

    def _mark_all(self, arguments: Iterable[ast.expr | None], kind: Kind, call: Call | None) -> None:
        for argument in arguments:
            for function in self.referred(argument):
                self._mark(function, kind, call)
                self.by_reference.add(function)

    def _mark(self, function: FunctionNode, kind: Kind, call: Call | None = None) -> None:
        if not kind:
            return
        self.kinds[function] = self.kinds.get(function, Kind.NOTHING) | kind
        if call is not None:
            self.settings.setdefault(function, []).append(call)
            self.static.setdefault(function, set()).update(self._static(function, call))

    def _static(self, function: FunctionNode, call: Call) -> Iterator[str]:
        names = call.keyword("static_argnames")
        numbers = call.keyword("static_argnums", "static_broadcasted_argnums")
        for node in walk(names) if names is not None else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
        own = [*function.args.posonlyargs, *function.args.args]
        for node in walk(numbers) if numbers is not None else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, int) and 0 <= node.value < len(own):
                yield own[node.value].arg

    def _propagate(self) -> None:
        """What a compiled function calls, or hands on, is compiled with it."""
        roots = {function for function, kind in self.kinds.items() if Kind.HOST not in kind}
        waiting = list(self.kinds)
        while waiting:
            function = waiting.pop()
            kind = self.kinds[function] & ~Kind.PMAP
            for node in self.code.inside(function):
                for called in self._mentioned(node):
                    before = self.kinds.get(called, Kind.NOTHING)
                    if Kind.HOST in kind and called in roots:
                        continue
                    if called is not function and before | kind != before:
                        self.kinds[called] = before | kind
                        self.inner.update({called} - roots)
                        waiting.append(called)
        for function in self._with_gradient() & set(self.kinds):
            self.kinds[function] |= Kind.GRADIENT
        for function in _reachable(self.functions(Kind.GRADIENT), lambda each: self.calls_of(each) & self.kinds.keys()):
            self.kinds[function] |= Kind.STEP

    def training_steps(self) -> list[FunctionNode]:
        """The compiled functions of the outermost level that compute a gradient, in the order of the text."""
        steps = [each for each in self.functions(Kind.TRACED | Kind.GRADIENT) if each not in self.inner]
        return sorted(steps, key=self.code.order)

    def _with_gradient(self) -> set[FunctionNode]:
        """The functions that compute a gradient, by themselves or by what they call."""
        around = [self.code.function(call.node) for call in self.code.calls if call.name in GRADIENTS]
        callers: dict[FunctionNode, set[FunctionNode]] = defaultdict(set)
        for function in self.code.functions if any(around) else ():
            for called in self.calls_of(function):
                callers[called].add(function)
        return _reachable(filter(None, around), callers.__getitem__)

    def _mentioned(self, node: ast.AST) -> list[FunctionNode]:
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            return []
        if isinstance(node, ast.Name) and node.id not in self._names_of_functions:
            return []
        parent = self.code.parent(node)
        if isinstance(parent, ast.Attribute):
            return []
        given_to = self.code.call(parent)
        if given_to is not None and given_to.node.func is not node:
            is_pipeline = given_to.last in PIPELINE and given_to.receiver is not None
            is_pipeline = is_pipeline and not given_to.name.startswith("jax.")
            if is_pipeline or given_to.last in CALLBACKS or not isinstance(node, ast.Name):
                return []
            found = self.referred(node)
            self.by_reference.update(found)
            return found
        return self.referred(node)

    def calls_of(self, function: FunctionNode) -> set[FunctionNode]:
        """The functions of the notebook that a function calls or hands on."""
        if function not in self._called:
            nodes = self.code.inside(function)
            found = {each for node in nodes for each in self._mentioned(node)}
            self._called[function] = found | {node for node in nodes if isinstance(node, ast.Lambda)}
        return self._called[function]

    def reached(self, function: FunctionNode) -> set[FunctionNode]:
        """A function and those that it calls or hands on, by any number of steps."""
        if function not in self._reached:
            found = _reachable([function], self.calls_of, most=_MOST_REACHED)
            if len(self._reached) > _MOST_KEPT:
                self._reached.clear()
            self._reached[function] = found
        return self._reached[function]

    def calls_in(self, function: FunctionNode) -> Iterator[Call]:
        """The calls of a function and of those that it reaches."""
        for each in self.reached(function):
            yield from self.code.calls_inside(each)


def _reachable(
    start: Iterable[FunctionNode], following: Callable[[FunctionNode], set[FunctionNode]], *, most: float = inf
) -> set[FunctionNode]:
    """Some functions and those that follow from them by any number of steps, until there are so many."""
    found = set(start)
    waiting = list(found)
    while waiting and len(found) < most:
        new = following(waiting.pop()) - found
        found |= new
        waiting += new
    return found
