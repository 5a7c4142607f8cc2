"""The layers that are in a Keras model, rather than in its input pipeline."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from generator.check.analysis.compiled import Compiled
from generator.check.analysis.platform import is_keras
from generator.check.code import NotebookCode
from generator.check.syntax import Call, FunctionNode, walk

_ROUNDS = 8
_DEEPEST = 6  # containers and functions around a layer
_MODELS = {"Model", "Functional", "Sequential"}


class Layers:
    """What a notebook's models are made of."""

    def __init__(self, code: NotebookCode, compiled: Compiled) -> None:
        self.code, self.compiled = code, compiled
        self._symbolic: set[tuple[FunctionNode | None, str]] = set()
        self._trained = {
            call.receiver.id
            for call in code.calls
            if call.last in {"compile", "fit"} and isinstance(call.receiver, ast.Name)
        }
        scopes: list[FunctionNode | None] = [*code.defined, None] if "Input" in code.called else []
        for _ in range(_ROUNDS):
            before = len(self._symbolic)
            for scope in scopes:
                self._spread(scope)
            if len(self._symbolic) == before:
                break

    def made(self, names: set[str]) -> Iterator[Call]:
        """The layers of these names that are in a model."""
        for call in self.code.calls:
            if call.last in names and is_keras(call.name, self.code) and self._is_in_model(call.node):
                yield call

    def operations(self) -> Iterator[Call]:
        """The calls on what flows through a model, other than of layers."""
        for call in self.code.calls:
            if call.name.startswith(("tensorflow.", "keras.ops.")) and self._takes_symbolic(call.node):
                yield call

    def is_symbolic(self, node: ast.AST | None) -> bool:
        """True for an expression that stands for what flows through a model."""
        stack = [] if node is None else [node]
        while stack:
            each = stack.pop()
            if isinstance(each, ast.Name) and (self.code.function(each), each.id) in self._symbolic:
                return True
            call = self.code.call(each)
            if call is not None and is_keras(call.name, self.code):
                if call.last == "Input":
                    return True
                if call.last in _MODELS:
                    continue
            if isinstance(each, ast.Lambda) or (isinstance(each, ast.Attribute) and each.attr in {"shape", "ndim"}):
                continue
            stack += ast.iter_child_nodes(each)
        return False

    def _takes_symbolic(self, node: ast.Call) -> bool:
        return any(self.is_symbolic(each) for each in [*node.args, *(each.value for each in node.keywords)])

    def _spread(self, scope: FunctionNode | None) -> None:
        for node in self.code.inside(scope):
            if isinstance(node, ast.Assign) and self.is_symbolic(node.value):
                self._symbolic |= {
                    (scope, each.id) for target in node.targets for each in walk(target) if isinstance(each, ast.Name)
                }
            elif isinstance(node, ast.Call):
                for called in self.compiled.referred(node.func):
                    own = [*called.args.posonlyargs, *called.args.args]
                    given = zip(own, node.args, strict=False)
                    self._symbolic |= {(called, each.arg) for each, value in given if self.is_symbolic(value)}

    def _is_in_model(self, made: ast.AST, depth: int = 0) -> bool:
        """True if what a call makes becomes part of a model that is trained or called."""
        if depth > _DEEPEST:
            return False
        node, parent = made, self.code.parent(made)
        while isinstance(parent, ast.List | ast.Tuple | ast.IfExp | ast.Starred):
            node, parent = parent, self.code.parent(parent)
        call = self.code.call(parent)
        if call is not None:
            return self._is_put_in_model(call, node, depth)
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
            return self._is_used(parent.targets[0].id, depth)
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Attribute):
            return self._is_called_by_model(parent.targets[0].attr)
        return isinstance(parent, ast.Return) and self._is_returned_to_model(parent, depth)

    def _is_put_in_model(self, call: Call, node: ast.AST, depth: int) -> bool:
        """True if a call applies a layer to what flows through a model, or puts it in a container of layers."""
        if call.node.func is node:
            return self._takes_symbolic(call.node) or self.compiled.is_on_device(call.node)
        if call.last == "Sequential":
            return self._is_in_model(call.node, depth + 1)
        return call.last == "add" and isinstance(call.receiver, ast.Name) and self._is_used(call.receiver.id, depth)

    def _is_used(self, name: str, depth: int) -> bool:
        """True if what has this name is trained, called in a model, put in a container, or returned to one that is."""
        if name in self._trained:
            return True
        for use in self._uses[name]:
            parent = self.code.parent(use)
            call = self.code.call(parent)
            if call is not None and call.node.func is use:
                if self._takes_symbolic(call.node) or self.compiled.is_on_device(call.node):
                    return True
            elif isinstance(parent, ast.List):
                outer = self.code.call(self.code.parent(parent))
                if outer is not None and outer.last == "Sequential" and self._is_in_model(outer.node, depth + 1):
                    return True
            elif isinstance(parent, ast.Return) and self._is_returned_to_model(parent, depth):
                return True
        return False

    @cached_property
    def _uses(self) -> dict[str, list[ast.Name]]:
        """Where each name is read."""
        uses: dict[str, list[ast.Name]] = defaultdict(list)
        for node in self.code.nodes(ast.Name):
            if isinstance(node.ctx, ast.Load):
                uses[node.id].append(node)
        return uses

    def _is_called_by_model(self, attribute: str) -> bool:
        return any(
            call.last == attribute and call.name == f"self.{attribute}" and self.compiled.is_on_device(call.node)
            for call in self.code.calls
        )

    def _is_returned_to_model(self, node: ast.Return, depth: int) -> bool:
        function = self.code.function(node)
        if not isinstance(function, ast.FunctionDef):
            return False
        calls = [call for call in self.code.calls if call.name == function.name]
        return any(self._is_in_model(call.node, depth + 1) for call in calls)
