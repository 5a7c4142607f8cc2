"""Rules of TPUs: Python, shapes and number types in compiled functions."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from generator.check.cell_text import CodeCall, FunctionNode, arguments_given, is_true, walk_nodes
from generator.check.compiled import CALLBACKS, ExecutionMode, is_keras
from generator.check.findings import CodeLocation, Severity
from generator.check.rule import RuleProblem, rule
from generator.check.rules.tpu_input import is_data_parallel
from generator.check.source import KernelSource
from generator.check.tpu import DEVICES, TpuCode, batched_datasets, tpu_rule, training_loaders

_READS = {"numpy", "item", "tolist"}
_CASTS = {"float", "int", "bool", "complex"}
_NUMPY_SAFE = {"numpy.shape", "numpy.ndim", "numpy.finfo", "numpy.iinfo", "numpy.dtype", "numpy.random"}
_CLOCKS = {"time.time", "time.perf_counter", "time.monotonic", "datetime.datetime.now", "datetime.now"}
_KEYS = {"jax.random.PRNGKey", "jax.random.key", "jax.random.split"}
_SAMPLES = ("numpy.random.", "random.")
_FEW_VALUES = 5  # values, for each of which a step may well be compiled
_MANY_VALUES = 50  # values of a static argument, for each of which a function is compiled
_DEEPEST_QUESTION = 3  # names and helpers between an `if` and the comparison
_MOST_TERMS = 50  # of a sum that is given to a function
_CALLBACKS = {"jax.debug.print", "jax.debug.callback", "jax.pure_callback", "jax.experimental.io_callback"}


@tpu_rule("T030", "value-of-traced", Severity.ERROR, on_any_device=True)
def value_of_traced(tpu: TpuCode) -> Iterator[RuleProblem]:
    """A compiled function uses the value of an array, which is unknown during compilation.

    `.numpy()`, `.item()`, `float(x)` and functions of NumPy need numbers; while a function is compiled there are none,
    and it stops (ConcretizationTypeError, TracerArrayConversionError, "'SymbolicTensor' object has no attribute
    'numpy'"). Return the array and read it outside of the compiled function, or use `jnp` and `tf` within.

    Source (2026-11-23): JAX, "Errors"; TensorFlow's guide to tf.function.
    """
    for call in tpu.traces.calls(kind=ExecutionMode.TRACED):
        is_jax = ExecutionMode.JAX in tpu.compilation.kind(call.node)
        reads = call.last in _READS and not call.node.args and tpu.traces.is_traced(call.receiver)
        casts = is_jax and call.name in _CASTS and any(map(tpu.traces.is_traced, call.node.args))
        numpy = call.name.startswith("numpy.") and not call.name.startswith(tuple(_NUMPY_SAFE))
        if reads or casts or (numpy and any(map(tpu.traces.is_traced, call.node.args))):
            expression = f".{call.last}()" if reads else f"{'np.' if numpy else ''}{call.last}()"
            message = f"`{expression}` needs a number, but a compiled function has only a traced array."
            yield RuleProblem(
                tpu.code.place(call.node),
                message,
                "Return the array, and read it outside of the function. Inside, use jnp or tf instead of np.",
            )


@tpu_rule("T031", "branch-on-traced", Severity.ERROR, on_any_device=True)
def branch_on_traced(tpu: TpuCode) -> Iterator[RuleProblem]:
    """A Python `if` or `while` of a function that JAX compiles depends on the value of an array.

    Python decides while the function is traced, when there is no value: TracerBoolConversionError. Choose with
    `jnp.where(condition, a, b)`, `jax.lax.cond` or `jax.lax.while_loop`, or make the argument static.

    Source (2026-11-23): JAX, "Control flow and logical operators with JIT".
    """
    code = tpu.code
    decisions: list[ast.If | ast.While | ast.IfExp | ast.Assert] = [*code.nodes(ast.If), *code.nodes(ast.While)]
    decisions += [*code.nodes(ast.IfExp), *code.nodes(ast.Assert)]
    for node in decisions:
        if ExecutionMode.TRACED | ExecutionMode.JAX in tpu.compilation.kind(node) and _asks_for_value(tpu, node.test):
            message = "This Python condition needs the value of an array, which is unknown during compilation."
            yield RuleProblem(
                tpu.code.place(node), message, "Write jnp.where(condition, a, b), or jax.lax.cond(condition, f, g, x)."
            )


@tpu_rule("T032", "side-effect-in-compiled", Severity.WARNING, on_any_device=True)
def side_effect_in_compiled(tpu: TpuCode) -> Iterator[RuleProblem]:
    """A compiled function prints, appends to a list outside, or sets a global name.

    Its Python runs once, while it is traced: a `print` shows a symbol and never again, a list gets one symbol that
    leaks out of the function, a counter stays at 1. Return what is to be kept, and print or collect it outside.

    Source (2026-11-23): JAX, "Sharp bits", pure functions; TensorFlow's guide to tf.function.
    """
    remedy = "Return the value, and keep or print it outside of the function."
    for call in tpu.traces.calls(kind=ExecutionMode.TRACED):
        is_traced = any(
            map(tpu.traces.is_traced, [*call.node.args, *(keyword.value for keyword in call.node.keywords)])
        )
        if call.name == "print" and is_traced:
            yield RuleProblem(
                tpu.code.place(call.node), "This prints a traced array, only once, during compilation.", remedy
            )
        elif call.last in {"append", "extend"} and is_traced and _is_outside(tpu, call):
            message = "This outer list gets one traced array during compilation, and no values."
            yield RuleProblem(tpu.code.place(call.node), message, remedy)
    outer: list[ast.Global | ast.Nonlocal] = [*tpu.code.nodes(ast.Global), *tpu.code.nodes(ast.Nonlocal)]
    for node in outer:
        if ExecutionMode.TRACED in tpu.compilation.kind(node):
            message = f"`{node.names[0]}` changes once, during compilation, and not in every step."
            yield RuleProblem(tpu.code.place(node), message, remedy)


@tpu_rule("T033", "frozen-chance", Severity.WARNING, on_any_device=True)
def frozen_chance(tpu: TpuCode) -> Iterator[RuleProblem]:
    """A compiled function draws random numbers with NumPy or Python, or reads the clock.

    That happens once, while it is traced: every step then has the same "random" number or the same time, and nothing
    says so. Draw with `jax.random` and a key that changes, with `tf.random.stateless_uniform`, or on the host.

    Source (2026-11-23): JAX, "Sharp bits"; TensorFlow's guide to tf.function.
    """
    for call in tpu.traces.calls(kind=ExecutionMode.TRACED):
        if call.name.startswith(_SAMPLES) and call.name.partition(".")[0] in tpu.code.modules:
            message = f"`{call.last}` draws once, during compilation. Every step has the same number."
            yield RuleProblem(
                tpu.code.place(call.node),
                message,
                "Pass a key: jax.random.uniform(key, shape); in TensorFlow tf.random.stateless_uniform.",
            )
        elif call.name in _CLOCKS:
            message = "The clock is read once, during compilation."
            yield RuleProblem(tpu.code.place(call.node), message, "Measure outside of the compiled function.")


@tpu_rule("T034", "constant-key", Severity.WARNING, on_any_device=True)
def constant_key(tpu: TpuCode) -> Iterator[RuleProblem]:
    """A training step that JAX compiles has the same random key each time.

    Dropout and augmentation then repeat the same numbers in every step, as they do with a key that was made before the
    loop and is given to each step. Hand the key in, and split it for each step
    (`key, step_key = jax.random.split(key)`), or fold the step's number in (`jax.random.fold_in(key, state.step)`).

    Source (2026-11-23): JAX, "Pseudorandom numbers".
    """
    for call in tpu.calls("jax.random.PRNGKey", "jax.random.key"):
        is_step = ExecutionMode.TRACED | ExecutionMode.JAX | ExecutionMode.STEP in tpu.compilation.kind(call.node)
        parent = tpu.code.call(tpu.code.parent(call.node))
        is_folded = parent is not None and parent.last == "fold_in"
        if is_step and not is_folded and tpu.devices.number(call.argument(0, "seed")) is not None:
            message = "Every step draws the same numbers, because its key is a constant."
            yield RuleProblem(
                tpu.code.place(call.node),
                message,
                "Pass the key, and write key, step_key = jax.random.split(key) before each step.",
            )
    for call, key in _calls_with_one_key(tpu):
        message = f"Every step draws the same numbers, because it gets the same `{key}`."
        remedy = f"Write {key}, step_key = jax.random.split({key}) before the step, and pass step_key."
        yield RuleProblem(tpu.code.place(call.node), message, remedy)


@tpu_rule("T035", "host-op-in-step", Severity.ERROR)
def host_op_in_step(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The TPU's step calls back to Python or writes from the host.

    `tf.py_function`, `tf.numpy_function`, `tf.print`, `tf.summary` and `tf.timestamp` run in graph mode on a GPU, and
    the TPU's compiler refuses them. Do it in the input pipeline, or with what the step returns.

    Source (2026-11-23): 145 steps given to Google's TPU compiler, see docs/adr/0017.
    """
    host_ops = {f"tensorflow.{name}" for name in ("py_function", "numpy_function", "print", "timestamp")}
    host_ops |= {"tensorflow.compat.v1.py_func", "tensorflow.io.write_file"}
    for call in tpu.device_calls(ExecutionMode.TENSORFLOW):
        if call.name in host_ops or call.name.startswith("tensorflow.summary."):
            message = f"The TPU's compiler refuses `{call.last}`, because it runs on the host."
            yield RuleProblem(
                tpu.code.place(call.node), message, "Move it into the function of dataset.map, or after the step."
            )


@tpu_rule("T036", "host-callback", Severity.WARNING, on_any_device=True)
def host_callback(tpu: TpuCode) -> Iterator[RuleProblem]:
    """A training step that JAX compiles calls back to Python on the host.

    `jax.debug.print`, `pure_callback` and `io_callback` stop the step on every device until Python has answered. They
    are for finding a mistake; return the values and print them every hundred steps outside.

    Source (2026-11-23): JAX, "External callbacks".
    """
    for call in tpu.compilation.calls(ExecutionMode.TRACED | ExecutionMode.JAX | ExecutionMode.STEP):
        is_callback = call.name in _CALLBACKS or call.name.startswith("jax.experimental.host_callback.")
        is_switched = any(
            isinstance(ancestor, ast.If) for ancestor in tpu.code.ancestors(call.node, within_function=True)
        )  # by `if DEBUG:`
        if is_callback and not is_switched:
            message = f"Every step waits for Python on the host (`{call.last}`)."
            yield RuleProblem(
                tpu.code.place(call.node),
                message,
                "Return the value, and print it after the step, every hundred steps.",
            )


@tpu_rule("T037", "compiled-in-loop", Severity.WARNING, on_any_device=True)
def compiled_in_loop(tpu: TpuCode) -> Iterator[RuleProblem]:
    """A function is created and compiled in every iteration of a loop.

    Compiled programs are kept by the function that they are of: a lambda, a `partial` or a function that is defined in
    the loop is a new one each time, and a compilation takes a minute. Make it once before the loop, and hand in what
    changes as an argument.

    Source (2026-11-23): JAX, "Just-in-time compilation", caching.
    """
    compilers = {
        "jax.jit", "jax.pmap", "flax.nnx.jit", "flax.nnx.pmap", "tensorflow.function", "equinox.filter_jit",
    }  # fmt: skip
    remedy = "Create it before the loop, and pass the changing values as arguments."
    message = "This is compiled again in every iteration of the loop."
    for call in tpu.code.calls:
        if call.name in compilers and call.node.args:
            argument = call.node.args[0]
            is_new = isinstance(argument, ast.Lambda | ast.Call) or call.name == "tensorflow.function"
            if is_new and _is_in_step_loop(tpu, call.node):
                yield RuleProblem(tpu.code.place(call.node), message, remedy)
    for function in tpu.code.nodes(ast.FunctionDef):
        names = [
            tpu.code.name(decorator.func if isinstance(decorator, ast.Call) else decorator)
            for decorator in function.decorator_list
        ]
        partials = [
            decorator.args[0]
            for decorator in function.decorator_list
            if isinstance(decorator, ast.Call) and decorator.args
        ]
        if compilers & {*names, *map(tpu.code.name, partials)} and _is_in_step_loop(tpu, function):
            yield RuleProblem(tpu.code.place(function), message, remedy)


@tpu_rule("T038", "number-that-compiles-anew", Severity.WARNING, on_any_device=True)
def number_that_compiles_anew(tpu: TpuCode) -> Iterator[RuleProblem]:
    """A learning rate or a step's number is part of the compiled program, and changes.

    A static argument of `jax.jit`, and a Python number given to a `tf.function`, is compiled in: each new value is a
    compilation of a minute, until the memory is full. Hand it in as an array (`jnp.asarray(rate)`,
    `tf.constant(step)`), or let the optimizer's schedule compute it from the step's number.

    Source (2026-11-27): TensorFlow's guide to tf.function (retracing); JAX, "Just-in-time compilation" and `jax.jit`
    (static arguments are part of the compilation cache's key).
    """
    changing = {"lr", "learning_rate", "step", "global_step", "epoch", "iteration", "i", "it", "rate"}
    for function, static in tpu.compilation.static.items():
        for name in (
            parameter for parameter in sorted(static & changing) if not _is_given_constants(tpu, function, parameter)
        ):
            message = f"`{name}` is static. Each of its values compiles the function again."
            yield RuleProblem(
                tpu.code.place(function),
                message,
                f"Remove `{name}` from static_argnames, and pass jnp.asarray({name}).",
            )
    for call, name, number in _static_numbers(tpu):
        if name not in changing:
            message = f"`{name}` is static. Each value of `{number}` compiles the step again."
            remedy = f"Remove `{name}` from the static arguments, and pass jnp.asarray({number})."
            if any(_is_slice_bound(function, name) for function in tpu.compilation.resolve_functions(call.node.func)):
                remedy += " Slice with jax.lax.dynamic_slice_in_dim(x, start, size)."
            yield RuleProblem(tpu.code.place(call.node), message, remedy)
    for call in tpu.code.calls:
        if any(
            _is_plain_tf_function(tpu, candidate) for candidate in tpu.compilation.resolve_functions(call.node.func)
        ):
            for argument in [*call.node.args, *(keyword.value for keyword in call.node.keywords)]:
                if _counts(tpu, call, argument):
                    number = ast.unparse(argument)
                    message = f"`{number}` is a Python number. Each of its values compiles the function again."
                    yield RuleProblem(tpu.code.place(call.node), message, f"Pass tf.constant({number}).")


def _calls_with_one_key(tpu: TpuCode) -> Iterator[tuple[CodeCall, str]]:
    """The calls of training steps in a loop that give each of them one key: the call, and the key's name."""
    steps = set(tpu.compilation.training_steps()) if tpu.platform.jax else set()
    for call in tpu.code.calls if steps else ():
        functions = [candidate for candidate in tpu.compilation.resolve_functions(call.node.func) if candidate in steps]
        loops = list(tpu.loops(call.node)) if functions else []
        if not loops or tpu.is_fold_loop(loops[0]):
            continue
        for function in functions:
            values = [value for _, value in arguments_given(function, call.node) if isinstance(value, ast.Name)]
            keys = [name_node.id for name_node in values if (tpu.code.function(name_node), name_node.id) in _keys(tpu)]
            is_kept = not _is_thrown_away(tpu, call, function)
            if keys and keys[0] not in _names_set_in(loops[-1]) and _draws(tpu, function) and is_kept:
                yield call, keys[0]


@lru_cache(maxsize=1)
def _keys(tpu: TpuCode) -> frozenset[tuple[FunctionNode | None, str]]:
    """The names that are given keys of `jax.random`, alone or among others, with the functions that they are in."""
    keys = set[tuple[FunctionNode | None, str]]()
    for assign in tpu.code.nodes(ast.Assign):
        call = tpu.code.call(assign.value)
        if call is not None and call.name in _KEYS:
            names = [node for target in assign.targets for node in walk_nodes(target) if isinstance(node, ast.Name)]
            keys |= {(tpu.code.function(assign), node.id) for node in names}
    return frozenset(keys)


@lru_cache(maxsize=100)  # a loop may call a step thousands of times
def _names_set_in(loop: ast.For | ast.While) -> frozenset[str]:
    names = [node for node in ast.walk(loop) if isinstance(node, ast.Name)]
    return frozenset(node.id for node in names if isinstance(node.ctx, ast.Store))


def _draws(tpu: TpuCode, function: FunctionNode) -> bool:
    """True if a step draws from the keys that it is given as they are: no step's number is folded in."""
    calls = list(tpu.compilation.calls_in(function))
    samples = [call for call in calls if call.name.startswith("jax.random.") and call.name not in _KEYS]
    has_dropout = any(call.keyword("rngs") is not None for call in calls)
    is_folded = any(call.last == "fold_in" for call in calls)
    return (bool(samples) or has_dropout) and not is_folded and not _picks_a_key(tpu, function)


def _picks_a_key(tpu: TpuCode, function: FunctionNode) -> bool:
    """True for `jax.random.split(key, n)[i]` and `keys[i]` in a step that is given `i`."""
    for node in (node for callee in tpu.compilation.find_reachable(function) for node in tpu.code.inside(callee)):
        if isinstance(node, ast.Subscript) and not isinstance(tpu.code.resolve(node.slice), ast.Constant):
            call = tpu.code.call(tpu.code.resolve(node.value))
            is_of_keys = isinstance(node.value, ast.Name) and "key" in node.value.id.lower()
            if is_of_keys or (call is not None and call.name == "jax.random.split"):
                return True
    return False


def _is_thrown_away(tpu: TpuCode, call: CodeCall, function: FunctionNode) -> bool:
    """True for a call whose result nobody keeps: a warm-up, or a measurement; a step of NNX changes its model."""
    kinds = {setting.name for setting in tpu.compilation.settings.get(function, ())}
    kinds |= {tpu.code.name(decorator) for decorator in getattr(function, "decorator_list", ())}
    if any(name.startswith("flax.nnx.") for name in kinds):
        return False
    node: ast.AST = call.node
    parent = tpu.code.parent(node)
    while isinstance(parent, ast.Attribute | ast.Subscript | ast.Call):
        outer = tpu.code.call(parent)
        if outer is not None and outer.last != "block_until_ready":
            return False
        node, parent = parent, tpu.code.parent(parent)
    if isinstance(parent, ast.Assign):
        names = [
            name_node.id
            for target in parent.targets
            for name_node in walk_nodes(target)
            if isinstance(name_node, ast.Name)
        ]
        return set(names) == {"_"}
    return isinstance(parent, ast.Expr)


def _asks_for_value(  # noqa: C901 - a kind of question a line
    tpu: TpuCode, test: ast.expr, depth: int = 0
) -> bool:
    """True for a comparison of traced code, for `jnp.any` and the like, and for what a helper returns of these."""
    parts = [test]
    for part in parts:
        if isinstance(part, ast.BoolOp):
            parts += part.values
        elif isinstance(part, ast.UnaryOp):
            parts.append(part.operand)
        elif isinstance(part, ast.Compare) and tpu.traces.is_traced(part):
            return True
        elif isinstance(part, ast.Name) and depth < _DEEPEST_QUESTION:
            values = tpu.code.find_meanings(part)
            if len(values) == 1 and isinstance(values[0], ast.expr) and _asks_for_value(tpu, values[0], depth + 1):
                return True
        elif isinstance(part, ast.Call):
            call = tpu.code.call(part)
            if call is None:
                continue
            is_reduced = call.last in {"any", "all"} and call.receiver is not None
            if (call.name.startswith("jax.numpy.") or is_reduced) and tpu.traces.is_traced(part):
                return True
            if depth < _DEEPEST_QUESTION and any(
                _asks_for_value(tpu, value, depth + 1)
                for function in tpu.traces.follow_call(call)
                for value in _list_return_values(tpu, function)
            ):
                return True
    return False


def _list_return_values(tpu: TpuCode, function: FunctionNode) -> list[ast.expr]:
    if isinstance(function, ast.Lambda):
        return [function.body]
    nodes = tpu.code.inside(function)
    return [node.value for node in nodes if isinstance(node, ast.Return) and node.value is not None]


def _is_outside(tpu: TpuCode, call: CodeCall) -> bool:
    """True for a method of a list that the function did not make."""
    function = tpu.code.function(call.node)
    if function is None or not isinstance(call.receiver, ast.Name):
        return False
    name = call.receiver.id
    own_names = [
        node.id
        for node in tpu.code.inside(function)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    ]
    return name not in own_names and any(value is not None for value in tpu.code.find_values(call.receiver))


def _is_in_step_loop(tpu: TpuCode, node: ast.AST) -> bool:
    """True within a loop over epochs or steps; each fold has a model of its own, and compiles it."""
    around = list(tpu.loops(node))
    return bool(around) and not tpu.is_fold_loop(around[0])


def _static_numbers(tpu: TpuCode) -> Iterator[tuple[CodeCall, str, str]]:
    """The calls that give a static argument a number that a loop around counts: its name, and the number.

    The function is a training step, or the loop is a long one: a few sizes may well be compiled each.
    """
    steps = set(tpu.compilation.training_steps())
    for call in tpu.code.calls if any(tpu.compilation.static.values()) else ():
        for function in _compiled_functions(tpu, call):
            for name, argument in arguments_given(function, call.node):
                is_static = name in tpu.compilation.static.get(function, ())
                if is_static and _counts(tpu, call, argument, at_least=0 if function in steps else _MANY_VALUES):
                    yield call, name, ast.unparse(argument)


def _is_given_constants(tpu: TpuCode, function: FunctionNode, name: str) -> bool:
    """True if every call gives a static argument one constant, such as a rate of dropout, or leaves it out."""
    calls = [caller for caller in tpu.code.calls if function in _compiled_functions(tpu, caller)]
    values = [value for call in calls for parameter, value in arguments_given(function, call.node) if parameter == name]
    is_open = any(
        call.is_open or any(isinstance(argument, ast.Starred) for argument in call.node.args) for call in calls
    )
    return (
        bool(calls)
        and not is_open
        and all(isinstance(tpu.code.resolve(expression), ast.Constant) for expression in values)
    )


def _is_slice_bound(function: FunctionNode, name: str) -> bool:
    slices = [node for node in ast.walk(function) if isinstance(node, ast.Slice)]
    return any(isinstance(node, ast.Name) and node.id == name for part in slices for node in ast.walk(part))


def _compiled_functions(tpu: TpuCode, call: CodeCall) -> list[FunctionNode]:
    """The functions of the notebook that a call runs compiled: not one that is compiled under another name only."""
    func = call.node.func
    plain = tpu.code.find_meanings(func) if isinstance(func, ast.Name) else []
    functions = tpu.compilation.resolve_functions(func)
    return [function for function in functions if function not in plain or getattr(function, "decorator_list", None)]


def _is_plain_tf_function(tpu: TpuCode, function: ast.AST) -> bool:
    decorators = function.decorator_list if isinstance(function, ast.FunctionDef) else []
    names = [
        tpu.code.name(decorator.func if isinstance(decorator, ast.Call) else decorator) for decorator in decorators
    ]
    has_signature = any(isinstance(decorator, ast.Call) and decorator.keywords for decorator in decorators)
    return "tensorflow.function" in names and not has_signature


def _counts(tpu: TpuCode, call: CodeCall, number: ast.expr, *, at_least: float = 0) -> bool:
    """True for the number of a loop around a call, or a sum or product of it, such as `i * 8`.

    Not of a loop over folds, whose models are compiled anew in any case. The loop has a known length of `at_least`.
    """
    lengths = {tpu.find_counter(loop): _length(tpu, loop) for loop in reversed([*tpu.loops(call.node)])}
    waiting, visited_terms = [number], set[ast.expr]()
    while waiting and len(visited_terms) < _MOST_TERMS:
        term = waiting.pop()
        if term in visited_terms:  # `start = start * 2`
            continue
        visited_terms.add(term)
        if isinstance(term, ast.Name):
            if term.id in lengths:
                return lengths[term.id] >= at_least and not 0 < lengths[term.id] <= _FEW_VALUES
            value = tpu.code.resolve(term)
            waiting += [value] if isinstance(value, ast.BinOp) else []
        elif isinstance(term, ast.BinOp) and isinstance(term.op, ast.Add | ast.Sub | ast.Mult):  # and not `i % 2`
            waiting += [term.left, term.right]
    return False


def _length(tpu: TpuCode, loop: ast.For | ast.While) -> float:
    """How many numbers a loop over `range` counts; 0 where that is not known."""
    call = tpu.code.call(loop.iter) if isinstance(loop, ast.For) else None
    bounds = [tpu.devices.number(argument) or 0 for argument in call.node.args] if call and call.name == "range" else []
    first, last, step = {1: [0, *bounds, 1], 2: [*bounds, 1], 3: bounds}.get(len(bounds), [0, 0, 1])
    return (last - first) / step if step else 0


# Rules of TPUs: shapes, which have to be constant, and are best multiples of 8 and 128.


_TILE, _LANES = 8, 128
_HIDDEN = {"relu", "gelu", "selu", "elu", "swish", "silu", "tanh", "mish", "leaky_relu"}
_DYNAMIC_SHAPES = {"nonzero", "argwhere", "flatnonzero", "unique", "unique_values", "unique_counts", "union1d",
                   "setdiff1d", "intersect1d", "setxor1d", "extract", "compress"}  # fmt: skip
_DYNAMIC_TENSORFLOW = {
    "tensorflow.boolean_mask", "tensorflow.unique", "tensorflow.unique_with_counts", "tensorflow.dynamic_partition",
    "tensorflow.image.non_max_suppression", "tensorflow.sparse.to_dense", "tensorflow.sets.intersection",
}  # fmt: skip
_DYNAMIC_TORCH = {"nonzero", "masked_select", "unique", "unique_consecutive", "argwhere"}


@tpu_rule("T020", "batch-not-in-eights", Severity.WARNING)
def batch_not_in_eights(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The training batch of a core is not a multiple of 8.

    The compiler lays arrays out in tiles of 8 by 128 and pads what does not fill them: a batch of 10 costs as much as
    one of 16. A global batch that eight devices do not divide is refused by sharding, and uneven elsewhere. Take 8, 16
    or, best, 128 examples for each core.

    Source (2026-11-23): Cloud TPU performance guide.
    """
    datasets = [
        dataset
        for dataset in batched_datasets(tpu)
        if dataset.is_for_training or "repeat" in dataset.before | dataset.after
    ]
    sizes = [(dataset.call.node, dataset.call.argument(0, "batch_size"), True) for dataset in datasets]
    if tpu.platform.torch:
        sizes += [(call.node, call.argument(1, "batch_size"), False) for call in training_loaders(tpu)]
    else:
        sizes += [(call.node, call.keyword("batch_size"), True) for call in tpu.code.calls if call.last == "fit"]
    for node, size, is_global in sizes:
        number = tpu.devices.number(size)
        if number is None or number < 1 or (number % DEVICES and is_data_parallel(tpu)):  # T025 refuses those
            continue
        scales = size is not None and tpu.devices.decide(size)
        a_core = number / DEVICES if is_global and scales else number
        if a_core % _TILE:
            scope = "of a core" if scales or not is_global else "of all cores"
            message = f"The training batch {scope} is {a_core:g}, not a multiple of {_TILE}."
            yield RuleProblem(
                tpu.code.place(node),
                message,
                f"Write {_next_batch(number, a_core):g}, a multiple of {_TILE} for each core.",
            )


@tpu_rule("T021", "features-not-in-eights", Severity.NOTE)
def features_not_in_eights(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The number of units of a hidden layer is not a multiple of 8.

    The matrix unit works on 128 features at a time and the compiler pads up to that: 300 units cost what 384 do. Where
    the number is yours to choose, take a multiple of 128, or at least of 8.

    Source (2026-11-23): Cloud TPU performance guide.
    """
    for call in tpu.code.calls:
        if call.last != "Dense" or not is_keras(call.name, tpu.code):
            continue
        units = tpu.devices.number(call.argument(0, "units"))
        activation = call.argument(1, "activation")
        name = tpu.code.text(activation) or tpu.code.name(activation or ast.Constant(None)).rpartition(".")[2]
        if units is not None and units >= _TILE and units % _TILE and name in _HIDDEN:
            padded_units = -(-int(units) // _LANES) * _LANES
            message = f"The {units:g} units of this hidden layer are padded to {padded_units}."
            yield RuleProblem(
                tpu.code.place(call.node), message, f"Write {padded_units}, or {-(-int(units) // _TILE) * _TILE}."
            )


@tpu_rule("T022", "data-dependent-shape", Severity.ERROR, on_any_device=True)
def data_dependent_shape(tpu: TpuCode) -> Iterator[RuleProblem]:
    """A function that JAX compiles creates an array whose shape depends on values.

    While the function is traced there are no values: `jnp.nonzero`, `jnp.unique`, one-armed `jnp.where` and `x[mask]`
    raise NonConcreteBooleanIndexError or ConcretizationTypeError. Give them `size=`, or compute on everything and mask
    with `jnp.where(mask, x, 0)`.

    Source (2026-11-23): JAX, "Sharp bits", dynamic shapes.
    """
    for call in tpu.traces.calls(kind=ExecutionMode.TRACED | ExecutionMode.JAX):
        arguments = len(call.node.args) + len(call.node.keywords)
        is_sized = call.last in _DYNAMIC_SHAPES or (call.last == "where" and arguments == 1)
        is_numpy = call.name.startswith(("jax.numpy.", "keras.ops."))
        if not is_sized or not is_numpy or call.keyword("size") is not None:
            continue
        if any(tpu.traces.is_traced(argument) for argument in call.node.args):
            message = (
                f"The shape of the result of `{call.last}` depends on values, which are unknown during compilation."
            )
            yield RuleProblem(tpu.code.place(call.node), message, "Add size=, or mask with jnp.where(mask, x, y).")
    for node in _find_mask_indexing(tpu, ExecutionMode.TRACED | ExecutionMode.JAX):
        message = "An array is indexed with a mask. The shape of the result is unknown during compilation."
        yield RuleProblem(tpu.code.place(node), message, "Compute all values, and select with jnp.where(mask, x, y).")


@tpu_rule("T023", "dynamic-shape", Severity.WARNING)
def dynamic_shape(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The TPU's step creates a tensor whose shape depends on values.

    In TensorFlow the compiler takes `boolean_mask`, `unique`, one-armed `where`, `dynamic_partition` and non-max
    suppression with a bound on the shape: slow, and it may compile anew. In PyTorch/XLA `nonzero`, `masked_select`,
    `unique` and `x[mask]` fall back to the host or compile a program for each count. Weigh by the mask instead of
    selecting with it: `tf.where(mask, x, 0)`, `(x * mask).sum() / mask.sum()`.

    Source (2026-11-23): 145 steps given to Google's TPU compiler, see docs/adr/0017; PyTorch/XLA, "Recompilation".
    """
    remedy = "Keep the whole tensor, and multiply by the mask: tf.where(mask, x, 0), (x * mask).sum() / mask.sum()"
    for call in tpu.device_calls(ExecutionMode.TENSORFLOW):
        is_one_armed = call.name in {"tensorflow.where", "tensorflow.compat.v1.where"} and _arguments(call.node) == 1
        if call.name in _DYNAMIC_TENSORFLOW or is_one_armed:
            message = (
                f"The shape of the result of `{call.last}` depends on values. This is slow, and may compile again."
            )
            yield RuleProblem(tpu.code.place(call.node), message, remedy)
    if not tpu.platform.torch:
        return
    for call in tpu.device_calls(ExecutionMode.TORCH):
        is_one_armed = call.name == "torch.where" and _arguments(call.node) == 1
        if (call.last in _DYNAMIC_TORCH and not call.name.startswith(("numpy.", "pandas."))) or is_one_armed:
            message = f"The shape of the result of `{call.last}` depends on values. Each new shape compiles again."
            yield RuleProblem(tpu.code.place(call.node), message, remedy)
    for node in _find_mask_indexing(tpu, ExecutionMode.TORCH):
        message = "A tensor is indexed with a mask. Each number of true values compiles again."
        yield RuleProblem(tpu.code.place(node), message, remedy)


@tpu_rule("T024", "ragged-tensor", Severity.ERROR)
def ragged_tensor(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The TPU's step has a ragged tensor.

    The compiler has none: the step is refused. Make it dense on the host, `ragged.to_tensor(shape=[None, length])`
    in the input pipeline, and hand the lengths or a mask to the model.

    Source (2026-11-23): 145 steps given to Google's TPU compiler, see docs/adr/0017.
    """
    message, remedy = (
        "The TPU's compiler refuses ragged tensors.",
        "Write x.to_tensor(shape=[None, LENGTH]) in the function of dataset.map.",
    )
    for call in tpu.device_calls(ExecutionMode.TENSORFLOW):
        if call.name.startswith(("tensorflow.ragged.", "tensorflow.RaggedTensor.")):
            yield RuleProblem(tpu.code.place(call.node), message, remedy)
    if tpu.platform.tensorflow:
        for call in tpu.code.calls:
            is_input = call.last in {"Input", "InputLayer"} and is_keras(call.name, tpu.code)
            if is_input and is_true(call.keyword("ragged")):
                yield RuleProblem(tpu.code.place(call.node), message, remedy)


def _next_batch(number: float, a_core: float) -> float:
    """The batch as it is written, for the next multiple of a tile for each core."""
    return number * (-(-a_core // _TILE) * _TILE) / a_core


def _find_mask_indexing(tpu: TpuCode, kind: ExecutionMode) -> Iterator[ast.Subscript]:
    """Subscripts `x[y > 0]` of values on the device; `x.at[mask].set(y)` keeps its shape."""
    for node in tpu.code.nodes(ast.Subscript):
        is_read = isinstance(node.ctx, ast.Load) and not (
            isinstance(node.value, ast.Attribute) and node.value.attr == "at"
        )
        if is_read and kind in tpu.compilation.kind(node) and tpu.traces.is_traced(node.value):
            index = _mask(tpu, node.slice)
            if isinstance(index, ast.Compare) and tpu.traces.is_traced(index):
                yield node


def _mask(tpu: TpuCode, node: ast.expr) -> ast.expr | None:
    """A subscript's expression, or what its name was given."""
    index = tpu.code.resolve(node)
    while isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert):
        index = tpu.code.resolve(index.operand)
    return index


def _arguments(node: ast.Call) -> int:
    return len(node.args) + len([keyword for keyword in node.keywords if keyword.arg != "name"])


# Rules of TPUs: the types of numbers that they compute with.


_DOUBLES = {
    "tensorflow.float64", "tensorflow.double", "jax.numpy.float64", "torch.float64", "torch.double",
    "tensorflow.complex128", "numpy.float64", "numpy.double", "jax.numpy.complex128",
}  # fmt: skip
_ENDS = {name.rpartition(".")[2] for name in _DOUBLES}
_POLICIES = {"set_global_policy", "set_policy", "set_dtype_policy", "Policy", "DTypePolicy"}


@tpu_rule("T050", "double-precision", Severity.WARNING)
def double_precision(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The TPU's step computes in float64.

    A TPU has no unit for it: the compiler emulates it, many times slower, and complex128 is refused. In JAX a float64
    is silently a float32 unless jax_enable_x64 is on. Cast to float32 before the step, or to bfloat16.

    Source (2026-11-23): Cloud TPU performance guide; 145 steps given to Google's TPU compiler, see docs/adr/0017.
    """
    message, remedy = "A TPU emulates float64, many times slower.", "Write float32, or bfloat16."
    for node in tpu.code.nodes(ast.Attribute):
        if node.attr in _ENDS and tpu.code.name(node) in _DOUBLES and _is_computed_with(tpu, node):
            yield RuleProblem(tpu.code.place(node), message, remedy)
    for call in tpu.code.calls:
        is_setting = call.name == "jax.config.update" and tpu.code.text(call.argument(0)) == "jax_enable_x64"
        is_on = is_setting and isinstance(value := call.argument(1), ast.Constant) and bool(value.value)
        is_floatx = call.last == "set_floatx" and tpu.code.text(call.argument(0)) == "float64"
        is_double = call.last == "double" and tpu.platform.torch and tpu.compilation.is_on_device(call.node)
        texts = [keyword.value for keyword in call.node.keywords if keyword.arg == "dtype"]
        texts += call.node.args[1:2] if call.last in {"cast", "astype"} else []
        is_cast = any(tpu.code.text(expression) == "float64" for expression in texts) and tpu.compilation.is_on_device(
            call.node
        )
        if is_on or is_floatx or is_double or is_cast:
            yield RuleProblem(tpu.code.place(call.node), message, remedy)


@tpu_rule("T051", "half-precision", Severity.WARNING)
def half_precision(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The notebook computes in float16, or scales its loss for it.

    That is a GPU's type. A TPU's is bfloat16, which has the range of float32 and needs no scaling of the loss:
    `mixed_bfloat16`, `torch.autocast("xla", dtype=torch.bfloat16)`, `dtype=jnp.bfloat16`.

    Source (2026-11-23): Keras, guide to mixed precision; PyTorch/XLA, "Automatic mixed precision".
    """
    for call in tpu.code.calls:
        is_policy = call.last in _POLICIES and tpu.code.text(call.argument(0)) == "mixed_float16"
        is_scaler = tpu.platform.torch and call.last == "GradScaler" and not _is_switched(call.node)
        is_known = call.name.startswith(("keras.", "tensorflow.", "torch.", "torch_xla."))
        # Below an `if` another type may be taken on a TPU.
        if (is_policy or is_scaler) and is_known and not tpu.code.is_conditional(call.node):
            remedy = 'Write "mixed_bfloat16".'
            if is_scaler:
                remedy = 'Remove the scaler, and compute in torch.autocast("xla", dtype=torch.bfloat16).'
            yield RuleProblem(tpu.code.place(call.node), "A TPU computes in bfloat16, not in float16.", remedy)


def _is_computed_with(tpu: TpuCode, node: ast.AST) -> bool:
    """True for a type that an array on the device gets: `tf.cast(x, tf.float64)`, `dtype=jnp.float64`."""
    parent = tpu.code.parent(node)
    given_to = tpu.code.call(tpu.code.parent(parent) if isinstance(parent, ast.keyword) else parent)
    return given_to is not None and given_to.last not in CALLBACKS and tpu.compilation.is_on_device(node)


def _is_switched(node: ast.Call) -> bool:
    """True with an `enabled=` that is computed: it may be off on a TPU."""
    return any(keyword.arg == "enabled" and not isinstance(keyword.value, ast.Constant) for keyword in node.keywords)


# Rules of what the TPU's compiler says of a notebook's steps; they find nothing where it was not asked.


@rule("C001", "step-not-reached", Severity.WARNING)
def step_not_reached(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The notebook stops before the compiler sees a step.

    Its cells run here up to the first training step, on eight virtual devices and the data that are on this machine;
    one of them failed, or the process ended. On Kaggle it may fail, too, or only data or memory are missing here.
    Run it with `tandem run` first, or write made-up data with `tandem specimen`.

    Source (2026-11-25): our own reading: the cells of the notebook, as they ran here; docs/adr/0018.
    """
    yield from _report_problems(kernel, "error", "died")


@rule("C002", "step-refused")
def step_refused(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The compiler refuses a step.

    On a TPU the session would end there, after minutes of preparing data.
    Move the operation into the input pipeline, or take one that the compiler has.

    Source (2026-11-27): Google's TPU compiler (libtpu) in this very check; docs/adr/0017.
    """
    yield from _report_problems(kernel, "refused")


@rule("C003", "step-does-not-fit")
def step_does_not_fit(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A step needs more memory than a core of the TPU has.

    The session would end with RESOURCE_EXHAUSTED at its first step.
    Give a core fewer examples; the remedy names the largest batch that fits, where it was looked for.

    Source (2026-11-27): Google's TPU compiler (libtpu) in this very check, for 15.5 GB a core; docs/adr/0017.
    """
    yield from _report_problems(kernel, "memory")


@rule("C004", "step-compiled-again", Severity.WARNING)
def step_compiled_again(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A step is called with several shapes, and compiled for each.

    Every compilation takes seconds to minutes, in every epoch that brings a new shape.
    Drop the last batch (drop_remainder=True) or fill it up, and pad texts to few lengths.

    Source (2026-11-25): the shapes of the steps, as they were called here; docs/adr/0018.
    """
    yield from _report_problems(kernel, "recompilation")


@rule("C005", "one-core-of-many", Severity.WARNING)
def one_core_of_many(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A step runs on one core while the others wait.

    The session costs the same quota, and is up to eight times as slow.
    Split the batch over all devices: keras.distribution.DataParallel, a jax.sharding.Mesh, or PyTorch/XLA's SPMD.

    Source (2026-11-25): the sharding of the step that was compiled; docs/adr/0018.
    """
    yield from _report_problems(kernel, "one-core")


@rule("C006", "padding", Severity.NOTE)
def padding(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A step's arrays take several times their size, since the TPU keeps them in tiles of 8 by 128.

    Memory and time go to zeros.
    Take batches in multiples of 8, at best 128, and features in multiples of 128.

    Source (2026-11-27): Cloud TPU performance guide, padding; the arrays of the step that was compiled.
    """
    yield from _report_problems(kernel, "padding")


@rule("C007", "compiler-out-of-time", Severity.WARNING)
def compiler_out_of_time(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The time limit ended before the compiler did.

    What it said by then is reported; what was compiled is kept, and the next check goes on from there.

    Source (2026-11-27): this very check.
    """
    yield from _report_problems(kernel, "time-limit")


@rule("C008", "left-to-the-host", Severity.WARNING)
def left_to_the_host(kernel: KernelSource) -> Iterator[RuleProblem]:
    """PyTorch/XLA has the host compute an operation of a step.

    Each time, the step is cut in two, its values go to the host and back, and the TPU waits.
    Take an operation whose result has a constant shape, such as torch.where in the place of a mask, or move it into the
    loader.

    Source (2026-11-22): the counters of torch_xla 2.9 in this very check; docs/adr/0018.
    """
    yield from _report_problems(kernel, "on-host")


def _report_problems(kernel: KernelSource, *kinds: str) -> Iterator[RuleProblem]:
    for word in kernel.compiler:
        if word.kind in kinds:
            yield RuleProblem(CodeLocation(kernel.code.path, word.cell, word.line), word.message, word.remedy)
