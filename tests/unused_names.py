"""Names of a notebook that nothing which runs makes use of.

What runs is every statement at the top level, and the bodies of the functions and classes whose names come up in what
runs. A use inside a function that nobody calls is therefore no use. Names are resolved as Python resolves them: an
argument hides a variable of the notebook that has the same name.
"""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

# Frameworks call with these, whether a method needs them or not.
_GIVEN = frozenset({"self", "cls", "logs", "training"})


@dataclass(frozen=True, order=True)
class Unused:
    """A name that nothing uses; an argument is named with its function, as `predict(batch)`."""

    kind: str
    name: str


@dataclass(eq=False)
class _Scope:
    """A function, a class or an expression with names of its own: the names that it binds and refers to.

    Attributes:
        kind: "module", "function", "class", or "header" for what is computed where a function or class is defined.
        name: What to call it in an answer.
        parent: The scope around it.
        bound: The kind of each name that is bound here.
        uses: The names that are read here.
        elsewhere: The scope of each name that `global` or `nonlocal` declares.
        defined: Functions and classes, which run if their names are used.
        inner: Scopes that run if this one does.
        is_derived: It is a class with a base class.
    """

    kind: str
    name: str = ""
    parent: "_Scope | None" = None
    bound: dict[str, str] = field(default_factory=dict)
    uses: set[str] = field(default_factory=set)
    elsewhere: "dict[str, _Scope]" = field(default_factory=dict)
    function_defs: "list[tuple[str, _Scope]]" = field(default_factory=list)
    inner: "list[_Scope]" = field(default_factory=list)
    is_derived: bool = False

    def owner(self, name: str) -> "_Scope | None":
        """The scope whose name is meant by one that is read here, or None if it is one of Python's own."""
        if self.kind == "header" and self.parent is not None:
            return self.parent.owner(name)
        if name in self.elsewhere:
            return self.elsewhere[name]
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.bound and (scope is self or scope.kind != "class"):
                return scope
            scope = scope.parent
        return None


class _Reader(ast.NodeVisitor):
    """Reads statements into scopes."""

    def __init__(self, module: _Scope) -> None:
        self._module = self._scope = module

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._scope.uses.add(node.id)
        else:
            self._bind(node.id, "variable")

    def visit_Assign(self, node: ast.Assign) -> None:
        if _is_called(node.value, "subplots"):
            for target in node.targets:
                if isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
                    self._bind(target.elts[0].id, "figure")
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        here = self._scope
        while self._scope.kind == "comprehension" and self._scope.parent is not None:
            self._scope = self._scope.parent
        self._bind(node.target.id, "variable")
        self._scope = here

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._bind(alias.asname or alias.name.partition(".")[0], "import")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self._bind(alias.asname or alias.name, "import")

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._bind(node.name, "error")
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self._scope.elsewhere.update(dict.fromkeys(node.names, self._module))

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        outside = self._scope.parent or self._module
        self._scope.elsewhere.update({name: outside.owner(name) or outside for name in node.names})

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        is_method = self._scope.kind == "class"
        function = _Scope("function", node.name, self._scope)
        self._header(function, [*node.decorator_list, *_of_arguments(node.args), node.returns])
        if is_method:
            function.name = f"{self._scope.name}.{node.name}"
            self._scope.inner.append(function)
        else:
            self._scope.function_defs.append((node.name, function))
        self._bind(node.name, "function")
        # What a method that a base class calls is given is not for the method to choose.
        fixed = self._scope.is_derived and node.name != "__init__"
        self._body(function, node.args, node.body, kind="given" if fixed else "argument")

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> None:
        function = _Scope("function", "lambda", self._scope)
        self._scope.inner.append(function)
        self._header(function, _of_arguments(node.args))
        self._body(function, node.args, [node.body], kind="argument")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        made = _Scope("class", node.name, self._scope, is_derived=bool(node.bases))
        self._header(made, [*node.decorator_list, *node.bases, *node.keywords])
        self._scope.function_defs.append((node.name, made))
        self._bind(node.name, "class")
        self._inside(made, node.body)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        items = _Scope("comprehension", parent=self._scope)
        self._scope.inner.append(items)
        self.visit(node.generators[0].iter)
        results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        first, *others = node.generators
        self._inside(items, [first.target, *first.ifs, *others, *results])

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp  # noqa: N815

    def _bind(self, name: str, kind: str) -> None:
        scope = self._scope.elsewhere.get(name, self._scope)
        scope.bound.setdefault(name, kind)

    def _header(self, scope: _Scope, nodes: Iterable[ast.AST | None]) -> None:
        header = _Scope("header", parent=self._scope)
        scope.inner.append(header)
        here, self._scope = self._scope, header
        for node in nodes:
            if node is not None:
                self.visit(node)
        self._scope = here

    def _body(self, scope: _Scope, arguments: ast.arguments, body: Iterable[ast.AST], *, kind: str) -> None:
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        scope.bound.update({argument.arg: kind for argument in every if argument is not None})
        self._inside(scope, body)

    def _inside(self, scope: _Scope, nodes: Iterable[ast.AST]) -> None:
        here, self._scope = self._scope, scope
        for node in nodes:
            self.visit(node)
        self._scope = here


@cache
def _tree(source: str) -> ast.Module:
    return ast.parse(source)


def _read_by_runtime(source: str) -> str:
    """Statements that use the names which the runtime looks up by strings, as in `settings["PAIR_ID"]`."""
    texts = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return "\n".join(text for text in texts if isinstance(text, str) and text.isidentifier())


def unused_names(cells: Mapping[str, str]) -> list[Unused]:
    """Finds what a notebook does not need.

    A function, class, import or variable of the notebook whose name begins with `_` may be left over, and so may an
    argument that does, the figure that `subplots` returns beside its axes, and what a framework passes to the methods
    of a class that it calls.

    Args:
        cells: The source of each code cell by its name, in their order.

    Returns:
        Every name once, with "parameter" for a variable of the cell `parameters`.
    """
    module = _Scope("module")
    reader = _Reader(module)
    for name, source in cells.items():
        before = set(module.bound)
        reader.visit(_tree(source))
        if name == "runtime":
            reader.visit(ast.parse(_read_by_runtime(source)))
        if name == "parameters":
            module.bound.update(dict.fromkeys(module.bound.keys() - before, "parameter"))
    live, used = _followed(module)
    found = set()
    for scope in live:
        kinds = ("function", "class", "import", "argument")
        kinds += ("variable", "parameter") if scope is module else ()
        for name, kind in scope.bound.items() if scope.kind != "class" else ():
            if kind in kinds and (scope, name) not in used and name not in _GIVEN and not name.startswith("_"):
                found.add(Unused(kind, name if scope is module else f"{scope.name}({name})"))
    return sorted(found)


def _followed(module: _Scope) -> tuple[list[_Scope], set[tuple[_Scope, str]]]:
    """The scopes that run, and the names in them that are used."""
    live, used = [module], set()
    for scope in live:
        for name in scope.uses:
            owner = scope.owner(name)
            if owner is not None and (owner, name) not in used:
                used.add((owner, name))
                live += [inner for defined, inner in owner.function_defs if defined == name]
        live += scope.inner
    return live, used


def _of_arguments(arguments: ast.arguments) -> list[ast.AST | None]:
    """The expressions computed where a function is defined: defaults and annotations."""
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    annotations = [argument.annotation for argument in every if argument is not None]
    return [*arguments.defaults, *arguments.kw_defaults, *annotations]


def _is_called(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name
