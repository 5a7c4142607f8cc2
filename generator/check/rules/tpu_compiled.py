"""Rules of TPUs: Python in compiled functions, which runs once, while they are traced."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from generator.check.analysis.function_kinds import Kind
from generator.check.analysis.tpu import TpuCode, tpu_rule
from generator.check.finding import Severity
from generator.check.rule import Problem
from generator.check.syntax import Call, FunctionNode, arguments_given, walk

_READS = {"numpy", "item", "tolist"}
_CASTS = {"float", "int", "bool", "complex"}
_NUMPY_SAFE = {"numpy.shape", "numpy.ndim", "numpy.finfo", "numpy.iinfo", "numpy.dtype", "numpy.random"}
_CLOCKS = {"time.time", "time.perf_counter", "time.monotonic", "datetime.datetime.now", "datetime.now"}
_KEYS = {"jax.random.PRNGKey", "jax.random.key", "jax.random.split"}
_SAMPLES = ("numpy.random.", "random.")
_FEW = 5  # values, for each of which a step may well be compiled
_MANY = 50  # values of a static argument, for each of which a function is compiled
_DEEPEST_QUESTION = 3  # names and helpers between an `if` and the comparison
_MOST_TERMS = 50  # of a sum that is given to a function
_CALLBACKS = {"jax.debug.print", "jax.debug.callback", "jax.pure_callback", "jax.experimental.io_callback"}


@tpu_rule("T030", "value-of-traced", Severity.ERROR, on_any_device=True)
def value_of_traced(tpu: TpuCode) -> Iterator[Problem]:
    """A compiled function asks for the value of an array that it has only as a symbol.

    `.numpy()`, `.item()`, `float(x)` and functions of NumPy need numbers; while a function is compiled there are none,
    and it stops (ConcretizationTypeError, TracerArrayConversionError, "'SymbolicTensor' object has no attribute
    'numpy'"). Return the array and read it outside of the compiled function, or use `jnp` and `tf` within.

    Source (2026-11-23): JAX, "Errors"; TensorFlow's guide to tf.function.
    """
    for call in tpu.traced.calls(kind=Kind.TRACED):
        is_jax = Kind.JAX in tpu.compiled.kind(call.node)
        reads = call.last in _READS and not call.node.args and tpu.traced.is_traced(call.receiver)
        casts = is_jax and call.name in _CASTS and any(map(tpu.traced.is_traced, call.node.args))
        numpy = call.name.startswith("numpy.") and not call.name.startswith(tuple(_NUMPY_SAFE))
        if reads or casts or (numpy and any(map(tpu.traced.is_traced, call.node.args))):
            what = f".{call.last}()" if reads else f"{'np.' if numpy else ''}{call.last}()"
            message = f"`{what}` needs a number, and a compiled function has only a symbol."
            yield Problem(
                tpu.code.place(call.node),
                message,
                "Return the array, and read it outside of the function; within write jnp or tf instead of np.",
            )


@tpu_rule("T031", "branch-on-traced", Severity.ERROR, on_any_device=True)
def branch_on_traced(tpu: TpuCode) -> Iterator[Problem]:
    """A Python `if` or `while` of a function that JAX compiles depends on the value of an array.

    Python decides while the function is traced, when there is no value: TracerBoolConversionError. Choose with
    `jnp.where(condition, a, b)`, `jax.lax.cond` or `jax.lax.while_loop`, or make the argument static.

    Source (2026-11-23): JAX, "Control flow and logical operators with JIT".
    """
    code = tpu.code
    decisions: list[ast.If | ast.While | ast.IfExp | ast.Assert] = [*code.nodes(ast.If), *code.nodes(ast.While)]
    decisions += [*code.nodes(ast.IfExp), *code.nodes(ast.Assert)]
    for node in decisions:
        if Kind.TRACED | Kind.JAX in tpu.compiled.kind(node) and _asks_for_value(tpu, node.test):
            message = "Python decides here on the value of an array, which is not known while the function is compiled."
            yield Problem(
                tpu.code.place(node), message, "Write jnp.where(condition, a, b), or jax.lax.cond(condition, f, g, x)."
            )


@tpu_rule("T032", "side-effect-in-compiled", Severity.WARNING, on_any_device=True)
def side_effect_in_compiled(tpu: TpuCode) -> Iterator[Problem]:
    """A compiled function prints, appends to a list outside, or sets a global name.

    Its Python runs once, while it is traced: a `print` shows a symbol and never again, a list gets one symbol that
    leaks out of the function, a counter stays at 1. Return what is to be kept, and print or collect it outside.

    Source (2026-11-23): JAX, "Sharp bits", pure functions; TensorFlow's guide to tf.function.
    """
    remedy = "Return the value, and keep or print it outside of the function."
    for call in tpu.traced.calls(kind=Kind.TRACED):
        traced = any(map(tpu.traced.is_traced, [*call.node.args, *(each.value for each in call.node.keywords)]))
        if call.name == "print" and traced:
            yield Problem(tpu.code.place(call.node), "This prints a symbol, once, while the step is compiled.", remedy)
        elif call.last in {"append", "extend"} and traced and _is_outside(tpu, call):
            message = "This list outside gets one symbol, while the step is compiled, and no code."
            yield Problem(tpu.code.place(call.node), message, remedy)
    outer: list[ast.Global | ast.Nonlocal] = [*tpu.code.nodes(ast.Global), *tpu.code.nodes(ast.Nonlocal)]
    for node in outer:
        if Kind.TRACED in tpu.compiled.kind(node):
            message = f"`{node.names[0]}` changes once, while the step is compiled, and not in every step."
            yield Problem(tpu.code.place(node), message, remedy)


@tpu_rule("T033", "frozen-chance", Severity.WARNING, on_any_device=True)
def frozen_chance(tpu: TpuCode) -> Iterator[Problem]:
    """A compiled function draws with NumPy's or Python's random numbers, or looks at the clock.

    That happens once, while it is traced: every step then has the same "random" number or the same time, and nothing
    says so. Draw with `jax.random` and a key that changes, with `tf.random.stateless_uniform`, or on the host.

    Source (2026-11-23): JAX, "Sharp bits"; TensorFlow's guide to tf.function.
    """
    for call in tpu.traced.calls(kind=Kind.TRACED):
        if call.name.startswith(_SAMPLES) and call.name.partition(".")[0] in tpu.code.modules:
            message = f"`{call.last}` draws once, while the step is compiled: every step has the same number."
            yield Problem(
                tpu.code.place(call.node),
                message,
                "Hand a key in: jax.random.uniform(key, shape); in TensorFlow tf.random.stateless_uniform.",
            )
        elif call.name in _CLOCKS:
            message = "The clock is read once, while the step is compiled."
            yield Problem(tpu.code.place(call.node), message, "Measure outside of the compiled function.")


@tpu_rule("T034", "constant-key", Severity.WARNING, on_any_device=True)
def constant_key(tpu: TpuCode) -> Iterator[Problem]:
    """A training step that JAX compiles has the same random key each time.

    Dropout and augmentation then repeat the same numbers in every step, as they do with a key that was made before the
    loop and is given to each step. Hand the key in, and split it for each step
    (`key, step_key = jax.random.split(key)`), or fold the step's number in (`jax.random.fold_in(key, state.step)`).

    Source (2026-11-23): JAX, "Pseudorandom numbers".
    """
    for call in tpu.calls("jax.random.PRNGKey", "jax.random.key"):
        is_step = Kind.TRACED | Kind.JAX | Kind.STEP in tpu.compiled.kind(call.node)
        parent = tpu.code.call(tpu.code.parent(call.node))
        is_folded = parent is not None and parent.last == "fold_in"
        if is_step and not is_folded and tpu.devices.number(call.argument(0, "seed")) is not None:
            message = "Every step draws the same numbers, since its key is a constant."
            yield Problem(
                tpu.code.place(call.node),
                message,
                "Hand the key in, and write key, step_key = jax.random.split(key) before each step.",
            )
    for call, key in _calls_with_one_key(tpu):
        message = f"Every step draws the same numbers, since each is given the same `{key}`."
        remedy = f"Write {key}, step_key = jax.random.split({key}) before the step, and give it step_key."
        yield Problem(tpu.code.place(call.node), message, remedy)


@tpu_rule("T035", "host-op-in-step", Severity.ERROR)
def host_op_in_step(tpu: TpuCode) -> Iterator[Problem]:
    """The TPU's step calls back to Python or writes from the host.

    `tf.py_function`, `tf.numpy_function`, `tf.print`, `tf.summary` and `tf.timestamp` run in graph mode on a GPU, and
    the TPU's compiler refuses them. Do it in the input pipeline, or with what the step returns.

    Source (2026-11-23): 145 steps given to Google's TPU compiler, see docs/adr/0017.
    """
    refused = {f"tensorflow.{name}" for name in ("py_function", "numpy_function", "print", "timestamp")}
    refused |= {"tensorflow.compat.v1.py_func", "tensorflow.io.write_file"}
    for call in tpu.device_calls(Kind.TENSORFLOW):
        if call.name in refused or call.name.startswith("tensorflow.summary."):
            message = f"The TPU's compiler refuses `{call.last}`, which runs on the host."
            yield Problem(
                tpu.code.place(call.node), message, "Move it into the function of dataset.map, or behind the step."
            )


@tpu_rule("T036", "host-callback", Severity.WARNING, on_any_device=True)
def host_callback(tpu: TpuCode) -> Iterator[Problem]:
    """A training step that JAX compiles calls back to Python on the host.

    `jax.debug.print`, `pure_callback` and `io_callback` stop the step on every device until Python has answered. They
    are for finding a mistake; return the values and print them every hundred steps outside.

    Source (2026-11-23): JAX, "External callbacks".
    """
    for call in tpu.compiled.calls(Kind.TRACED | Kind.JAX | Kind.STEP):
        is_callback = call.name in _CALLBACKS or call.name.startswith("jax.experimental.host_callback.")
        is_switched = any(
            isinstance(each, ast.If) for each in tpu.code.ancestors(call.node, within_function=True)
        )  # by `if DEBUG:`
        if is_callback and not is_switched:
            message = f"Every step waits for Python on the host (`{call.last}`)."
            yield Problem(
                tpu.code.place(call.node), message, "Return the value, and print it behind the step, once in a hundred."
            )


@tpu_rule("T037", "compiled-in-loop", Severity.WARNING, on_any_device=True)
def compiled_in_loop(tpu: TpuCode) -> Iterator[Problem]:
    """A function is made and compiled in every pass of a loop.

    Compiled programs are kept by the function that they are of: a lambda, a `partial` or a function that is defined in
    the loop is a new one each time, and a compilation takes a minute. Make it once before the loop, and hand in what
    changes as an argument.

    Source (2026-11-23): JAX, "Just-in-time compilation", caching.
    """
    compilers = {
        "jax.jit", "jax.pmap", "flax.nnx.jit", "flax.nnx.pmap", "tensorflow.function", "equinox.filter_jit",
    }  # fmt: skip
    remedy = "Make it before the loop, and hand in what changes as an argument."
    message = "This is compiled anew in every pass of the loop."
    for call in tpu.code.calls:
        if call.name in compilers and call.node.args:
            given = call.node.args[0]
            is_new = isinstance(given, ast.Lambda | ast.Call) or call.name == "tensorflow.function"
            if is_new and _is_in_step_loop(tpu, call.node):
                yield Problem(tpu.code.place(call.node), message, remedy)
    for function in tpu.code.nodes(ast.FunctionDef):
        names = [tpu.code.name(each.func if isinstance(each, ast.Call) else each) for each in function.decorator_list]
        partials = [each.args[0] for each in function.decorator_list if isinstance(each, ast.Call) and each.args]
        if compilers & {*names, *map(tpu.code.name, partials)} and _is_in_step_loop(tpu, function):
            yield Problem(tpu.code.place(function), message, remedy)


@tpu_rule("T038", "number-that-compiles-anew", Severity.WARNING, on_any_device=True)
def number_that_compiles_anew(tpu: TpuCode) -> Iterator[Problem]:
    """A learning rate or a step's number is part of the compiled program, and changes.

    A static argument of `jax.jit`, and a Python number given to a `tf.function`, is compiled in: each new value is a
    compilation of a minute, until the memory is full. Hand it in as an array (`jnp.asarray(rate)`,
    `tf.constant(step)`), or let the optimizer's schedule compute it from the step's number.

    Source (2026-11-27): TensorFlow's guide to tf.function (retracing); JAX, "Just-in-time compilation" and `jax.jit`
    (static arguments are part of the compilation cache's key).
    """
    changing = {"lr", "learning_rate", "step", "global_step", "epoch", "iteration", "i", "it", "rate"}
    for function, static in tpu.compiled.static.items():
        for name in (each for each in sorted(static & changing) if not _is_given_constants(tpu, function, each)):
            message = f"`{name}` is static, so that each of its values compiles the function anew."
            yield Problem(
                tpu.code.place(function),
                message,
                f"Take `{name}` out of static_argnames, and hand in jnp.asarray({name}).",
            )
    for call, name, number in _static_numbers(tpu):
        if name not in changing:
            message = f"`{name}` is static, and each value of `{number}` compiles the step anew."
            remedy = f"Take `{name}` out of the static arguments, and hand in jnp.asarray({number})."
            if any(_is_slice_bound(function, name) for function in tpu.compiled.referred(call.node.func)):
                remedy += " Slice by jax.lax.dynamic_slice_in_dim(x, start, size)."
            yield Problem(tpu.code.place(call.node), message, remedy)
    for call in tpu.code.calls:
        if any(_is_plain_tf_function(tpu, each) for each in tpu.compiled.referred(call.node.func)):
            for argument in [*call.node.args, *(each.value for each in call.node.keywords)]:
                if _counts(tpu, call, argument):
                    number = ast.unparse(argument)
                    message = f"`{number}` is a Python number: each of its values compiles the function anew."
                    yield Problem(tpu.code.place(call.node), message, f"Hand in tf.constant({number}).")


def _calls_with_one_key(tpu: TpuCode) -> Iterator[tuple[Call, str]]:
    """The calls of training steps in a loop that give each of them one key: the call, and the key's name."""
    steps = set(tpu.compiled.training_steps()) if tpu.platform.jax else set()
    for call in tpu.code.calls if steps else ():
        functions = [each for each in tpu.compiled.referred(call.node.func) if each in steps]
        loops = list(tpu.loops(call.node)) if functions else []
        if not loops or tpu.is_fold_loop(loops[0]):
            continue
        for function in functions:
            values = [value for _, value in arguments_given(function, call.node) if isinstance(value, ast.Name)]
            keys = [each.id for each in values if (tpu.code.function(each), each.id) in _keys(tpu)]
            is_kept = not _is_thrown_away(tpu, call, function)
            if keys and keys[0] not in _names_set_in(loops[-1]) and _draws(tpu, function) and is_kept:
                yield call, keys[0]


@lru_cache(maxsize=1)
def _keys(tpu: TpuCode) -> frozenset[tuple[FunctionNode | None, str]]:
    """The names that are given keys of `jax.random`, alone or among others, with the functions that they are in."""
    found = set[tuple[FunctionNode | None, str]]()
    for assign in tpu.code.nodes(ast.Assign):
        call = tpu.code.call(assign.value)
        if call is not None and call.name in _KEYS:
            names = [each for target in assign.targets for each in walk(target) if isinstance(each, ast.Name)]
            found |= {(tpu.code.function(assign), each.id) for each in names}
    return frozenset(found)


@lru_cache(maxsize=100)  # a loop may call a step thousands of times
def _names_set_in(loop: ast.For | ast.While) -> frozenset[str]:
    names = [each for each in ast.walk(loop) if isinstance(each, ast.Name)]
    return frozenset(each.id for each in names if isinstance(each.ctx, ast.Store))


def _draws(tpu: TpuCode, function: FunctionNode) -> bool:
    """True if a step draws from the keys that it is given as they are: no step's number is folded in."""
    calls = list(tpu.compiled.calls_in(function))
    samples = [each for each in calls if each.name.startswith("jax.random.") and each.name not in _KEYS]
    has_dropout = any(each.keyword("rngs") is not None for each in calls)
    is_folded = any(each.last == "fold_in" for each in calls)
    return (bool(samples) or has_dropout) and not is_folded and not _picks_a_key(tpu, function)


def _picks_a_key(tpu: TpuCode, function: FunctionNode) -> bool:
    """True for `jax.random.split(key, n)[i]` and `keys[i]` in a step that is given `i`."""
    for node in (node for each in tpu.compiled.reached(function) for node in tpu.code.inside(each)):
        if isinstance(node, ast.Subscript) and not isinstance(tpu.code.resolved(node.slice), ast.Constant):
            call = tpu.code.call(tpu.code.resolved(node.value))
            is_of_keys = isinstance(node.value, ast.Name) and "key" in node.value.id.lower()
            if is_of_keys or (call is not None and call.name == "jax.random.split"):
                return True
    return False


def _is_thrown_away(tpu: TpuCode, call: Call, function: FunctionNode) -> bool:
    """True for a call whose result nobody keeps: a warm-up, or a measurement; a step of NNX changes its model."""
    kinds = {each.name for each in tpu.compiled.settings.get(function, ())}
    kinds |= {tpu.code.name(each) for each in getattr(function, "decorator_list", ())}
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
        names = [each.id for target in parent.targets for each in walk(target) if isinstance(each, ast.Name)]
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
        elif isinstance(part, ast.Compare) and tpu.traced.is_traced(part):
            return True
        elif isinstance(part, ast.Name) and depth < _DEEPEST_QUESTION:
            meant = tpu.code.meant(part)
            if len(meant) == 1 and isinstance(meant[0], ast.expr) and _asks_for_value(tpu, meant[0], depth + 1):
                return True
        elif isinstance(part, ast.Call):
            call = tpu.code.call(part)
            if call is None:
                continue
            is_reduced = call.last in {"any", "all"} and call.receiver is not None
            if (call.name.startswith("jax.numpy.") or is_reduced) and tpu.traced.is_traced(part):
                return True
            if depth < _DEEPEST_QUESTION and any(
                _asks_for_value(tpu, each, depth + 1)
                for function in tpu.traced.followed(call)
                for each in _returned(tpu, function)
            ):
                return True
    return False


def _returned(tpu: TpuCode, function: FunctionNode) -> list[ast.expr]:
    if isinstance(function, ast.Lambda):
        return [function.body]
    nodes = tpu.code.inside(function)
    return [each.value for each in nodes if isinstance(each, ast.Return) and each.value is not None]


def _is_outside(tpu: TpuCode, call: Call) -> bool:
    """True for a method of a list that the function did not make."""
    function = tpu.code.function(call.node)
    if function is None or not isinstance(call.receiver, ast.Name):
        return False
    name = call.receiver.id
    owned = [
        node.id
        for node in tpu.code.inside(function)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    ]
    return name not in owned and any(each is not None for each in tpu.code.given(call.receiver))


def _is_in_step_loop(tpu: TpuCode, node: ast.AST) -> bool:
    """True within a loop over epochs or steps; each fold has a model of its own, and compiles it."""
    around = list(tpu.loops(node))
    return bool(around) and not tpu.is_fold_loop(around[0])


def _static_numbers(tpu: TpuCode) -> Iterator[tuple[Call, str, str]]:
    """The calls that give a static argument a number that a loop around counts: its name, and the number.

    The function is a training step, or the loop is a long one: a few sizes may well be compiled each.
    """
    steps = set(tpu.compiled.training_steps())
    for call in tpu.code.calls if any(tpu.compiled.static.values()) else ():
        for function in _compiled_functions(tpu, call):
            for name, argument in arguments_given(function, call.node):
                is_static = name in tpu.compiled.static.get(function, ())
                if is_static and _counts(tpu, call, argument, at_least=0 if function in steps else _MANY):
                    yield call, name, ast.unparse(argument)


def _is_given_constants(tpu: TpuCode, function: FunctionNode, name: str) -> bool:
    """True if every call gives a static argument one constant, such as a rate of dropout, or leaves it out."""
    calls = [each for each in tpu.code.calls if function in _compiled_functions(tpu, each)]
    values = [value for call in calls for each, value in arguments_given(function, call.node) if each == name]
    is_open = any(call.is_open or any(isinstance(each, ast.Starred) for each in call.node.args) for call in calls)
    return bool(calls) and not is_open and all(isinstance(tpu.code.resolved(each), ast.Constant) for each in values)


def _is_slice_bound(function: FunctionNode, name: str) -> bool:
    slices = [each for each in ast.walk(function) if isinstance(each, ast.Slice)]
    return any(isinstance(each, ast.Name) and each.id == name for part in slices for each in ast.walk(part))


def _compiled_functions(tpu: TpuCode, call: Call) -> list[FunctionNode]:
    """The functions of the notebook that a call runs compiled: not one that is compiled under another name only."""
    func = call.node.func
    plain = tpu.code.meant(func) if isinstance(func, ast.Name) else []
    functions = tpu.compiled.referred(func)
    return [each for each in functions if each not in plain or getattr(each, "decorator_list", None)]


def _is_plain_tf_function(tpu: TpuCode, function: ast.AST) -> bool:
    decorators = function.decorator_list if isinstance(function, ast.FunctionDef) else []
    names = [tpu.code.name(each.func if isinstance(each, ast.Call) else each) for each in decorators]
    has_signature = any(isinstance(each, ast.Call) and each.keywords for each in decorators)
    return "tensorflow.function" in names and not has_signature


def _counts(tpu: TpuCode, call: Call, number: ast.expr, *, at_least: float = 0) -> bool:
    """True for the number of a loop around a call, or a sum or product of it, such as `i * 8`.

    Not of a loop over folds, whose models are compiled anew in any case. The loop has a known length of `at_least`.
    """
    lengths = {tpu.counted(loop): _length(tpu, loop) for loop in reversed([*tpu.loops(call.node)])}
    waiting, seen = [number], set[ast.expr]()
    while waiting and len(seen) < _MOST_TERMS:
        each = waiting.pop()
        if each in seen:  # `start = start * 2`
            continue
        seen.add(each)
        if isinstance(each, ast.Name):
            if each.id in lengths:
                return lengths[each.id] >= at_least and not 0 < lengths[each.id] <= _FEW
            assigned = tpu.code.resolved(each)
            waiting += [assigned] if isinstance(assigned, ast.BinOp) else []
        elif isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add | ast.Sub | ast.Mult):  # and not `i % 2`
            waiting += [each.left, each.right]
    return False


def _length(tpu: TpuCode, loop: ast.For | ast.While) -> float:
    """How many numbers a loop over `range` counts; 0 where that is not known."""
    call = tpu.code.call(loop.iter) if isinstance(loop, ast.For) else None
    bounds = [tpu.devices.number(each) or 0 for each in call.node.args] if call and call.name == "range" else []
    first, last, step = {1: [0, *bounds, 1], 2: [*bounds, 1], 3: bounds}.get(len(bounds), [0, 0, 1])
    return (last - first) / step if step else 0
