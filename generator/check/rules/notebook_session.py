"""Rules of what a session is spent on: one that never ends, and hardware that the code does not use."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache

from generator.accelerators import AcceleratorKind
from generator.check.cell_text import CodeCall, FunctionNode, is_true
from generator.check.code import NotebookCode
from generator.check.environment import (
    gpu_keywords,
    gpu_modules,
    installed_modules,
    is_guarded,
    shell_commands,
    strings_and_commands,
)
from generator.check.findings import Severity
from generator.check.rule import RuleProblem, rule
from generator.check.source import KernelSource
from generator.check.tpu import is_keras_fit, is_long_keras_fit, keras_stars

_STEPS = {
    "fit": (12, "steps_per_epoch"),
    "fit_generator": (1, "steps_per_epoch"),
    "evaluate": (5, "steps"),
    "predict": (3, "steps"),
}
_ENDINGS = {"sys.exit", "exit", "quit", "os._exit", "os.abort", "os.kill", "next", "_exit"}
_SERVES = {"serve", "serve_forever", "wait", "run_forever", "recv", "accept", "poll", "input", "join", "read"}
# Programs that serve until they are stopped, some of them by a subcommand only.
_SERVERS = {
    "streamlit": {"run"}, "flask": {"run"}, "jupyter": {"notebook", "lab", "server"}, "jupyter-lab": set(),
    "jupyter-notebook": set(), "gradio": set(), "tensorboard": set(), "uvicorn": set(), "gunicorn": set(),
    "mlflow": {"ui", "server"},
    "ollama": {"serve"}, "vllm": {"serve"}, "optuna-dashboard": set(), "ngrok": {"http", "tcp"}, "localtunnel": set(),
    "lt": set(), "http.server": set(), "chainlit": {"run"}, "fastapi": {"run", "dev"},
}  # fmt: skip
_STARTERS = {"nohup", "npx", "python", "python3", "sudo", "-m", "-y", "--yes", "exec", "time"}
_UNTIL_STOPPED = "serves until somebody stops it, so that the session runs until its time is over."
_ONLY_TELLS = {"--help", "--version", "-h", "list", "dev_upload"}
_LONGEST_SLEEP = 600  # seconds
_BOUNDING_METHODS = {"take"}
_DATASETS = {
    "from_tensor_slices", "from_generator", "TFRecordDataset", "batch", "prefetch", "shuffle", "map", "Dataset",
    "cache", "interleave", "padded_batch", "from_tensors", "list_files", "TextLineDataset", "zip", "with_options",
    "filter", "image_dataset_from_directory", "apply", "range", "parallel_interleave", "ragged_batch", "enumerate",
    "unbatch", "options",
}  # fmt: skip
_DEEPEST = 40
_ENDLESS_ITERATORS = {"itertools.count", "itertools.cycle"}
_WRAPPERS = {"enumerate", "tqdm", "iter", "track"}  # what `zip` and `islice` are given may be endless
_BOOSTING = {"xgboost", "lightgbm", "catboost"}
_TPU_NAMES = {"TPUStrategy", "TPUClusterResolver", "initialize_tpu_system"}
_TRAINS = {"fit", "fit_generator", "backward", "train_on_batch", "train", "apply_gradients"}
_TWO = {
    "DataParallel", "DistributedDataParallel", "init_process_group", "Accelerator", "notebook_launcher", "spawn",
    "FullyShardedDataParallel", "Trainer", "SFTTrainer", "Seq2SeqTrainer", "DPOTrainer", "MirroredStrategy", "pmap",
    "set_distribution", "Mesh", "make_mesh", "replicate", "launch",
}  # fmt: skip
_HIGHER_LEVEL = {
    "fastai",
    "lightning",
    "pytorch_lightning",
    "accelerate",
    "deepspeed",
    "ultralytics",
    "vllm",
    "unsloth",
}
_KERAS_ON_TWO = "Build and compile the model within tf.distribute.MirroredStrategy().scope()"


@rule("N080", "loop-without-end", Severity.WARNING)
def loop_without_end(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A loop never ends, or the notebook sleeps: `while True` without an exit, a sleep of more than ten minutes.

    A `for` over `itertools.count()`, `itertools.cycle()` or a dataset that is repeated without a count is such a loop,
    and a server that serves forever blocks as one: `!streamlit run app.py`, `!tensorboard`, `app.run()` of Flask.

    A session that was pushed cannot be stopped by the API; it runs for 9 to 12 hours, and its quota is gone. What was
    to keep a session of the editor awake does the same harm here.
    Remove the cell, or leave the loop (`break`) after a count or a time.

    Source (2026-11-27): Kaggle/kaggle-cli#1063, #1172 (a run cannot be cancelled).
    """
    code = kernel.code
    for loop in code.nodes(ast.While):
        is_endless = _is_always(code, loop.test, truth=True) and not code.script  # a server
        if is_endless and not _leaves(code, loop) and _is_called(code, loop) and not _asks_where(code, loop):
            message = "This loop never ends. The session runs until its time limit."
            yield RuleProblem(
                code.place(loop), message, "Leave it with `break` after a count or a time, or remove the cell."
            )
    for for_loop in code.nodes(ast.For):
        is_endless = _is_endless_iterator(code, for_loop.iter) and not code.script
        if (
            is_endless
            and not _leaves(code, for_loop)
            and _is_called(code, for_loop)
            and not _asks_where(code, for_loop)
        ):
            message = "This loop never ends. The session runs until its time limit."
            remedy = "Leave it with `break` after a count or a time, or loop over range(STEPS) and take next(…)."
            yield RuleProblem(code.place(for_loop), message, remedy)
    for call in code.calls:
        seconds = code.number(call.argument(0)) if call.name in {"time.sleep", "asyncio.sleep"} else None
        is_long = seconds is not None and seconds > _LONGEST_SLEEP
        if seconds is not None and is_long and _is_called(code, call.node) and not _asks_where(code, call.node):
            message = f"The session sleeps for {seconds / 60:,.0f} minutes here."
            yield RuleProblem(code.place(call.node), message, "Remove the cell.")
    yield from _servers(code)


@rule("N081", "dataset-without-end", Severity.WARNING)
def dataset_without_end(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A dataset with an endless `repeat()` is passed to `fit`, `evaluate` or `predict` without a number of steps.

    A generator whose `while True` yields batches is such a dataset.

    The first epoch never ends; nothing is saved, and the session runs until its time is over.
    Add `steps_per_epoch=` (for evaluate and predict `steps=`), or take `.repeat()` away: `fit` starts the dataset anew
    in each epoch.

    Source (2026-11-27): Keras, Model.fit ("if x is an infinitely repeating dataset, you must specify steps_per_epoch").
    """
    code = kernel.code
    if not {"tensorflow", "keras", "tensorflow_datasets"} & code.modules and not code.stars:
        return
    for call in code.calls:
        if call.last in _STEPS and call.receiver is not None and not call.is_open:
            position, keyword = _STEPS[call.last]
            steps = call.argument(position, keyword)
            is_missing = steps is None or (isinstance(steps, ast.Constant) and steps.value is None)
            dataset = call.argument(0, "x", "data", "dataset", "generator")
            if is_missing and dataset is not None and _is_endless(code, dataset):
                message = f"This dataset repeats without end, and `{call.last}` has no number of steps per epoch."
                remedy = f"Add {keyword}=NUMBER_OF_EXAMPLES // BATCH_SIZE, or remove .repeat()."
                yield RuleProblem(code.place(call.node), message, remedy)
        if call.last == "fit" and call.receiver is not None and not call.is_open:
            held_out = call.keyword("validation_data")
            if held_out is not None and call.keyword("validation_steps") is None and _is_endless(code, held_out):
                message = "The validation data repeat without end, and `fit` has no number of validation steps."
                yield RuleProblem(
                    code.place(call.node),
                    message,
                    "Add validation_steps=NUMBER_OF_EXAMPLES // BATCH_SIZE, or remove .repeat().",
                )


@rule("N090", "tpu-code-without-a-tpu", Severity.WARNING)
def tpu_code_without_a_tpu(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The code is for a TPU, but the metadata request a CPU or a GPU.

    The connection fails, or the code falls back to the CPU and takes hours for minutes.
    Set `"machine_shape": "TpuV5E8"` in kernel-metadata.json (and enable_tpu, with enable_gpu false).

    Source (2026-11-27): kagglesdk 0.1.38 (machine_shape decides); Kaggle/kaggle-cli#1197.
    """
    code = kernel.code
    if kernel.accelerator not in (AcceleratorKind.CPU, AcceleratorKind.GPU) or kernel.is_on_tpu:
        return
    for node in _tpu_uses(code):
        machine = "a GPU" if kernel.accelerator is AcceleratorKind.GPU else "no accelerator"
        message = f"This is for a TPU, but kernel-metadata.json requests {machine}."
        yield RuleProblem(code.place(node), message, 'Set "machine_shape": "TpuV5E8" in kernel-metadata.json.')
        return


@rule("N091", "gpu-code-without-a-gpu", Severity.WARNING)
def gpu_code_without_a_gpu(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The code computes on an NVIDIA GPU, but the metadata request a TPU or no accelerator.

    `.cuda()`, RAPIDS and CuPy fail there; what asks `torch.cuda.is_available()` trains on the CPU, silently, for hours.
    Set `"machine_shape": "NvidiaTeslaT4"` and `"enable_gpu": true` in kernel-metadata.json; on a TPU take JAX or
    torch_xla.

    Source (2026-11-27): kagglesdk 0.1.38 (machine_shape decides); the images' packages, data/images.toml.
    """
    code = kernel.code
    if kernel.accelerator not in (AcceleratorKind.CPU, AcceleratorKind.TPU):
        return
    machine = "a TPU" if kernel.is_on_tpu else "no accelerator"
    remedy = 'Set "machine_shape": "NvidiaTeslaT4" and "enable_gpu": true in kernel-metadata.json.'
    pip = installed_modules(code)
    libraries = set(gpu_modules())
    for node, names in code.import_statements:
        heads = {name.partition(".")[0] for name in names}
        if heads & libraries and not heads & pip and not is_guarded(code, node):
            message = f"{sorted(heads & libraries)[0]} needs a GPU, but kernel-metadata.json requests {machine}."
            yield RuleProblem(code.place(node), message, remedy)
            return
    for call in code.calls:
        gpu_arguments = [
            (name, value)
            for name, value in gpu_keywords()
            if isinstance(code.text(call.keyword(name)), str) and str(code.text(call.keyword(name))).startswith(value)
        ]
        is_set = bool(gpu_arguments) or _settings_ask_for_gpu(code, call)
        is_cuda = call.last == "cuda" and call.receiver is not None and not call.name.startswith("torch.cuda")
        is_moved = call.last == "to" and (code.text(call.argument(0, "device")) or "").startswith("cuda")
        if (is_set or is_cuda or is_moved) and not is_guarded(code, call.node, any_if=True):
            message = f"This computes on a GPU, but kernel-metadata.json requests {machine}."
            yield RuleProblem(code.place(call.node), message, remedy)
            return
    # What asks first goes on by the CPU: for training that is a session lost, for a few predictions it is not.
    if "torch_xla" in code.modules or not any(_trains_torch(code, call) for call in code.calls):
        return
    for call in code.calls:
        if call.name == "torch.device" and "cuda" in ast.dump(call.node):
            message = f"Without a GPU this silently uses the CPU, and kernel-metadata.json requests {machine}."
            yield RuleProblem(code.place(call.node), message, remedy)
            return


@rule("N092", "backend-set-too-late", Severity.WARNING)
def backend_set_too_late(kernel: KernelSource) -> Iterator[RuleProblem]:
    """`KERAS_BACKEND` is set after the import of Keras, which reads it only at its import.

    The notebook goes on with TensorFlow, which has no TPU in Kaggle's image: it trains on the CPU.
    Set `os.environ["KERAS_BACKEND"]` in the first cell, above every import of Keras and of what imports it.

    Source (2026-11-27): Keras, "Configuring your backend"; keras-team/keras#19423, keras-core#749.
    """
    code = kernel.code
    importers = {"keras", "keras_hub", "keras_cv", "keras_nlp", "keras_tuner", "keras_core"}
    imports = [
        node
        for node, names in code.import_statements
        if code.function(node) is None
        and any(name.partition(".")[0] in importers or name.startswith("tensorflow.keras") for name in names)
    ]
    if not imports:
        return
    first = min(code.order(node) for node in imports)
    settings = [(node, value) for node, value in _environment(code, "KERAS_BACKEND") if code.function(node) is None]
    early = [node for node, _ in settings if code.order(node) < first]
    for node, value in settings:
        if not early and code.order(node) > first and code.text(value) != "tensorflow":
            message = "Keras was imported before this line, and already uses TensorFlow."
            remedy = 'Move os.environ["KERAS_BACKEND"] = … above every import of Keras.'
            yield RuleProblem(code.place(node), message, remedy)
            return
    for cell, line, command in code.commands():
        is_set = command.removeprefix("env ").replace(" ", "").startswith("KERAS_BACKEND=")
        if is_set and not early and (code.cells.index(cell), line) > first and not command.endswith("tensorflow"):
            message = "Keras was imported before this line, and already uses TensorFlow."
            yield RuleProblem(
                code.place(cell, line), message, "Set KERAS_BACKEND in the first cell, above the imports."
            )
            return


@rule("N093", "tpu-is-not-used", Severity.WARNING)
def tpu_is_not_used(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The metadata request a TPU, but the training does not use it.

    TensorFlow and Keras on TensorFlow find no TPU in Kaggle's image, PyTorch needs torch_xla, and trees run on the CPU:
    20 hours of TPU a week go to a CPU. A Trainer of transformers that no launcher starts is one process: it uses one
    chip of the TPU, if accelerate finds torch_xla, or else the CPU.
    Train with Keras on JAX (`KERAS_BACKEND=jax`) or with torch_xla; else ask for a GPU.

    Source (2026-11-27): Kaggle/docker-python tpu/requirements.in (tensorflow-cpu, torch+cpu), pull request 1499.
    """
    code = kernel.code
    is_elsewhere = {"jax", "flax", "torch_xla", "torchax", "easydel", "tunix"} & code.modules
    if not kernel.is_on_tpu or is_elsewhere or _tpu_uses(code) or code.stars - keras_stars(code):
        return
    backend = {code.text(value) for _, value in _environment(code, "KERAS_BACKEND")}
    texts = strings_and_commands(code)
    if backend - {"tensorflow"} or any(
        text in snippet for snippet in texts for text in ("KERAS_BACKEND", "torch_xla", "jax")
    ):
        return
    if not code.callee_names.isdisjoint({"Accelerator", "notebook_launcher", "xla_device"}):
        return
    for call in code.calls:
        if _is_trainer(code, call) and "train" in code.callee_names and not is_guarded(code, call.node, any_if=True):
            message = (
                "This Trainer is one process: it uses one of the TPU's chips, or the CPU if torch_xla is not found."
            )
            remedy = 'Start it by torch_xla.launch, or write "machine_shape": "NvidiaTeslaT4" in kernel-metadata.json.'
            yield RuleProblem(code.place(call.node), message, remedy)
            return
        is_keras = call.last in {"fit", "fit_generator"} and bool({"keras", "tensorflow"} & code.modules)
        is_torch = _trains_torch(code, call)
        if (is_keras and is_keras_fit(code, call)) or is_torch:
            framework = "PyTorch without torch_xla" if is_torch and not is_keras else "Keras on TensorFlow"
            message = f"{framework} does not use the TPU of kernel-metadata.json. This trains on the CPU."
            remedy = 'Write os.environ["KERAS_BACKEND"] = "jax" above the imports, or request a GPU in the metadata.'
            if is_torch and not is_keras:
                remedy = (
                    'Write device = torch_xla.device(), or "machine_shape": "NvidiaTeslaT4" in kernel-metadata.json.'
                )
            yield RuleProblem(code.place(call.node), message, remedy)
            return


@rule("N094", "one-gpu-of-two", Severity.NOTE)
def one_gpu_of_two(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The session has two T4 GPUs, but the training uses only the first.

    The quota counts the session, not the cards: the second one is free.
    Wrap the model (`torch.nn.DataParallel(model)`), start a process for each (`accelerate.notebook_launcher(train,
    num_processes=2)`), or train a fold on each. In Keras take `tf.distribute.MirroredStrategy()`.

    Source (2026-11-27): "GPU T4 x2" is the only GPU that Kaggle offers everybody; Kaggle/kaggle-cli pull request 1198,
    2026-09.
    """
    code = kernel.code
    if not kernel.is_on_t4:
        return
    names = code.callee_names
    texts = strings_and_commands(code)
    if names & _TWO or code.modules & _HIGHER_LEVEL or any("cuda:1" in t or "device_map" in t for t in texts):
        return
    if any(keyword.arg == "device_map" for keyword in code.nodes(ast.keyword)):
        return
    if any(word in text for text in texts for word in ("torchrun", "accelerate", "nproc_per_node", "CUDA_VISIBLE")):
        return
    is_on_gpu = any("cuda" in text for text in texts) or "cuda" in names
    has_strategy = "scope" in names or any(".distribute." in call.name for call in code.calls)
    for call in code.calls:
        is_torch = is_on_gpu and call.last == "backward" and _trains_torch(code, call)
        is_keras = not has_strategy and is_long_keras_fit(code, call)
        if is_torch or is_keras:
            message = "This trains on only one of the session's two T4 GPUs."
            way = "Write model = torch.nn.DataParallel(model)" if is_torch else _KERAS_ON_TWO
            yield RuleProblem(code.place(call.node), message, f"{way}, or train a fold on each.")
            return


def _servers(code: NotebookCode) -> Iterator[RuleProblem]:
    """What serves until it is stopped, in the notebook's process or in a shell that the notebook waits for."""
    if code.script:
        return
    for call in code.calls:
        if call.last == "serve_forever" and call.receiver is not None:
            is_server, message = True, "This serves forever. The session runs until its time limit."
            remedy = "Start it in a thread: threading.Thread(target=server.serve_forever, daemon=True).start()."
        else:
            is_server, message = _serves(code, call), f"This {_UNTIL_STOPPED}"
            remedy = "Remove it: nobody reaches a session that was pushed."
        if is_server and _is_called(code, call.node) and not _asks(code, call.node):
            yield RuleProblem(code.place(call.node), message, remedy)
    for command in shell_commands(code):
        servers = [server for server in map(_server, command.words) if server]
        if servers and command.is_waited_for and not command.is_optional:
            remedy = "Remove the line: nobody reaches a session that was pushed."
            yield RuleProblem(command.place, f"{servers[0]} {_UNTIL_STOPPED}", remedy)


def _server(words: tuple[str, ...]) -> str:
    """The program of a command that serves until it is stopped, in the foreground; else nothing."""
    if words[-1].endswith("&"):
        return ""
    last = max((at for at, word in enumerate(words) if word == "&"), default=-1)  # what is before it goes on alone
    rest = list(words[last + 1 :])
    while rest and (rest[0] in _STARTERS or "=" in rest[0]):
        del rest[0]
    program = rest[0].rpartition("/")[2] if rest else ""
    subcommands = _SERVERS.get(program)
    if subcommands is None or not _ONLY_TELLS.isdisjoint(rest):
        return ""
    return program if not subcommands or (rest[1:2] and rest[1] in subcommands) else ""


def _serves(code: NotebookCode, call: CodeCall) -> bool:
    """True for `app.run()` of Flask, `uvicorn.run`, and `launch(debug=True)` of Gradio, which wait for an end."""
    if call.name in {"uvicorn.run", "waitress.serve"}:
        return True
    if call.last == "run" and "flask" in code.modules:
        return [maker is not None and maker.name for maker in code.makers(call.receiver)] == ["flask.Flask"]
    return call.last == "launch" and "gradio" in code.modules and is_true(call.keyword("debug"))


def _asks(code: NotebookCode, node: ast.AST) -> bool:
    """True below a condition, but for that of a script's own guard, which is true in a notebook too."""
    tests = (ancestor.test for ancestor in code.ancestors(node) if isinstance(ancestor, ast.If))
    return any("__name__" not in ast.unparse(test) for test in tests)


def _is_endless_iterator(code: NotebookCode, iterable: ast.expr) -> bool:
    """True for what a `for` never comes to the end of, through enumerate and a progress bar."""
    node = code.resolve(iterable) or iterable
    call = code.call(node)
    if call is not None and call.last in _WRAPPERS and call.node.args:
        return _is_endless_iterator(code, call.node.args[0])
    if call is not None and call.name in _ENDLESS_ITERATORS:
        return True
    return "tensorflow" in code.modules and _is_endless(code, node)


def _leaves(code: NotebookCode, loop: ast.While | ast.For) -> bool:
    """True if something in a loop can end it, or it serves somebody who does."""
    stack: list[tuple[ast.AST, bool]] = [(statement, True) for statement in loop.body]
    while stack:
        node, is_own_loop = stack.pop()
        if isinstance(node, ast.Break) and is_own_loop:
            return True
        if isinstance(node, ast.Return | ast.Raise | ast.Assert | ast.Yield | ast.YieldFrom | ast.Await):
            return True
        call = code.call(node)
        if call is not None and (call.name in _ENDINGS or call.last in _SERVES or call.name.endswith(".exit")):
            return True
        if call is not None and call.last == "get" and (not call.node.args or is_true(call.node.args[0])):  # of a queue
            return True
        is_inner = isinstance(node, ast.While | ast.For | ast.AsyncFor)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            stack += [(child, is_own_loop and not is_inner) for child in ast.iter_child_nodes(node)]
    return False


def _is_always(code: NotebookCode, test: ast.expr, *, truth: bool) -> bool:
    """True for a condition that stays as it is: a constant, or a name that is given constants of this truth alone."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_always(code, test.operand, truth=not truth)
    if isinstance(test, ast.Name):
        return _truths(code).get(test.id) == {truth} and not code.makes_names_unseen()
    return isinstance(test, ast.Constant) and bool(test.value) is truth


@lru_cache(maxsize=1)
def _truths(code: NotebookCode) -> Mapping[str, set[bool | None]]:
    """Of each name whether what it is given, in any scope, is true or false; None stands for what is no constant."""
    truths: dict[str, set[bool | None]] = defaultdict(set)
    for name, value in code.definitions():
        truths[name].add(bool(value.value) if isinstance(value, ast.Constant) else None)
    return truths


def _is_called(code: NotebookCode, node: ast.AST) -> bool:
    """True for what runs: outside of functions, or in one that something of the notebook names."""
    function = code.function(node)
    is_method = function is not None and code.class_of(function) is not None
    return function is None or getattr(function, "name", "") in _names_used(code, are_attributes=is_method)


@lru_cache(maxsize=4)
def _names_used(code: NotebookCode, *, are_attributes: bool) -> frozenset[str]:
    """The names or attributes of a notebook, but for those that threads are given, which end with the session."""
    helpers = [call for call in code.calls if call.last in {"Thread", "Timer", "Process"}]
    beside = {node for call in helpers for node in ast.walk(call.node)}
    if are_attributes:
        return frozenset(node.attr for node in code.nodes(ast.Attribute) if node not in beside)
    return frozenset(node.id for node in code.nodes(ast.Name) if node not in beside)


def _asks_where(code: NotebookCode, node: ast.AST) -> bool:
    return any(isinstance(ancestor, ast.If) for ancestor in code.ancestors(node))


def _is_endless(code: NotebookCode, node: ast.expr, depth: int = 0) -> bool:
    """True for a dataset of tf.data that repeats without end, through names and functions of the notebook."""
    node = code.resolve(node) or node
    call = code.call(node)
    if isinstance(node, ast.Name) and depth <= _DEEPEST:
        return _name_is_endless(code, node, depth)
    if call is None or depth > _DEEPEST or call.last in _BOUNDING_METHODS:
        return False
    if call.last == "repeat" and call.receiver is not None:
        return _repeats_without_end(code, call)
    if call.receiver is not None and call.last in _DATASETS:
        return _is_endless(code, call.receiver, depth + 1)
    if call.last == "experimental_distribute_dataset" and call.node.args:
        return _is_endless(code, call.node.args[0], depth + 1)
    return _function_is_endless(code, call, depth)


def _repeats_without_end(code: NotebookCode, call: CodeCall) -> bool:
    """True for `repeat()`, `repeat(None)` and `repeat(-1)` of a dataset."""
    count = code.resolve(call.argument(0, "count"))
    is_free = count is None and not call.node.args and not call.node.keywords
    is_minus = code.number(call.argument(0, "count")) == -1 or ast.unparse(count or ast.Constant(0)) == "-1"
    is_none = isinstance(count, ast.Constant) and count.value is None
    return (is_free or is_minus or is_none) and not call.name.startswith(("numpy.", "jax.", "itertools."))


def _name_is_endless(code: NotebookCode, node: ast.Name, depth: int) -> bool:
    """What is given to a name several times: `ds = ds.repeat()` in one of the lines, and none that bounds it."""
    return _all_given_is_endless(code, code.function(node), node.id, depth)


@lru_cache(maxsize=100)  # a loop over models asks for the same data set again
def _all_given_is_endless(code: NotebookCode, function: FunctionNode | None, name: str, depth: int) -> bool:
    values = _index_values(code).get((function, name), [])
    if not values or any(_asks_where(code, value) for value in values):
        return False
    return _chain_is_endless(code, values, name, depth)


@lru_cache(maxsize=1)
def _index_values(code: NotebookCode) -> Mapping[tuple[FunctionNode | None, str], list[ast.expr]]:
    """The expressions that each name of a scope is given alone."""
    values: dict[tuple[FunctionNode | None, str], list[ast.expr]] = defaultdict(list)
    for assignment in code.nodes(ast.Assign):
        if len(assignment.targets) == 1 and isinstance(assignment.targets[0], ast.Name):
            values[code.function(assignment), assignment.targets[0].id].append(assignment.value)
    return values


def _chain_is_endless(code: NotebookCode, values: list[ast.expr], name: str, depth: int) -> bool:
    state = False
    for value in values:
        call: CodeCall | None = code.call(value)
        methods: list[CodeCall] = []
        while call is not None and call.receiver is not None:
            methods.append(call)
            inner = call.receiver
            if isinstance(inner, ast.Name):
                break
            call = code.call(inner)
        begins = methods[-1].receiver if methods else None
        if not (isinstance(begins, ast.Name) and begins.id == name):
            state = _is_endless(code, value, depth + 1) if not isinstance(value, ast.Name) else False
            continue
        for method in reversed(methods):
            if method.last == "repeat" and _repeats_without_end(code, method):
                state = True
            elif method.last in _BOUNDING_METHODS:
                state = False
    return state


def _function_is_endless(code: NotebookCode, call: CodeCall, depth: int) -> bool:
    """True if a function of the notebook returns an endless dataset whatever it is given.

    A `repeat` under an `if` of one of its parameters counts where the call, or the default, makes it true.
    """
    function = _function_called(code, call)
    if function is None:
        return False
    if _yields_without_end(code, function):
        return True
    return_values = [
        assignment.value
        for assignment in code.nodes(ast.Return)
        if code.function(assignment) is function and assignment.value
    ]
    if len(return_values) != 1:
        return False
    value = begin = return_values[0]
    while (method := code.call(begin)) is not None and method.receiver is not None:
        begin = method.receiver
    name = begin.id if isinstance(begin, ast.Name) else ""
    assignments = [
        assignment
        for assignment in code.nodes(ast.Assign)
        if code.function(assignment) is function
        and isinstance(assignment.targets[0], ast.Name)
        and assignment.targets[0].id == name
    ]
    if not assignments:
        return _is_endless(code, value, depth + 1)
    values = [
        assignment.value
        for assignment in sorted(assignments, key=lambda assignment: assignment.lineno)
        if _is_taken(code, assignment, function, call)
    ]
    return _chain_is_endless(code, values if value is begin else [*values, value], name, depth)


def _yields_without_end(code: NotebookCode, function: ast.FunctionDef) -> bool:
    """True for a generator whose last statement is a `while True` that yields, with nothing that ends it."""
    last = function.body[-1]
    if not isinstance(last, ast.While) or not _is_always(code, last.test, truth=True):
        return False
    inside = [node for node in ast.walk(function) if code.function(node) is function]
    ends = (ast.Break, ast.Return, ast.Raise, ast.Assert)
    is_generator = any(isinstance(node, ast.Yield) for node in inside)
    # The break of an inner loop counts as an end, too, and so does `next`: rather silent than wrong.
    is_ended = any(isinstance(node, ends) for node in inside) or any(call.name in _ENDINGS for call in code.below(last))
    return is_generator and not is_ended


def _function_called(code: NotebookCode, call: CodeCall) -> ast.FunctionDef | None:
    """The one function of the notebook that a call means, or the one method of its object's class."""
    functions = code.functions_named.get(call.last, [])
    function = functions[0] if len(functions) == 1 else None
    if not isinstance(function, ast.FunctionDef):
        return None
    owner = code.class_of(function)
    if owner is None or call.receiver is None:
        return function if owner is None and call.receiver is None else None
    constructor = code.call(code.resolve(call.receiver))
    is_instance = constructor is not None and constructor.name == owner.name
    is_named = isinstance(call.receiver, ast.Name) and call.receiver.id in {"self", "cls", owner.name}
    return function if is_instance or is_named else None


def _is_taken(code: NotebookCode, node: ast.AST, function: ast.FunctionDef, call: CodeCall) -> bool:
    """True if a call goes through a statement of a function, as far as its arguments are plain."""
    inner = node
    for around in code.ancestors(node):
        if around is function:
            return True
        if isinstance(around, ast.If):
            truth = _truth(around.test, function, call)
            if truth is None or truth != (inner in around.body):
                return False
        inner = around
    return True


def _truth(test: ast.expr, function: ast.FunctionDef, call: CodeCall) -> bool | None:
    """Whether a test of one parameter holds in a call, or None."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _truth(test.operand, function, call)
        return None if inner is None else not inner
    if not isinstance(test, ast.Name):
        return None
    names = [parameter.arg for parameter in function.args.args if parameter.arg not in {"self", "cls"}]
    if test.id not in names:
        return None
    at = names.index(test.id)
    value = call.argument(at, test.id)
    if value is None:
        defaults = function.args.defaults
        behind = at - (len(names) - len(defaults))
        value = defaults[behind] if 0 <= behind < len(defaults) else None
    return bool(value.value) if isinstance(value, ast.Constant) else None


def _is_trainer(code: NotebookCode, call: CodeCall) -> bool:
    """True for what makes a Trainer of transformers or TRL, or of a class of the notebook that is one."""
    name = call.name
    for _ in range(_DEEPEST):
        owner = code.classes.get(name)
        if owner is None or not owner.bases:
            break
        name = code.name(owner.bases[0])
    return name.startswith(("transformers.", "trl.")) and name.endswith("Trainer")


def _settings_ask_for_gpu(code: NotebookCode, call: CodeCall) -> bool:
    """True if a call of a boosting library is given a dictionary with a setting that asks for a GPU."""
    if call.name.partition(".")[0] not in _BOOSTING:
        return False
    arguments = [
        *call.node.args,
        *(argument.value for argument in call.node.keywords if argument.arg in (None, "params")),
    ]
    for node in arguments:
        settings = code.resolve(node)
        if not isinstance(settings, ast.Dict):
            continue
        for key, value in zip(settings.keys, settings.values, strict=True):
            name, text = (code.text(key) if key is not None else None), code.text(value) or ""
            if any(name == keyword and text.startswith(begin) for keyword, begin in gpu_keywords()):
                return True
    return False


def _tpu_uses(code: NotebookCode) -> list[ast.AST]:
    """What asks for a TPU: a strategy, a device of torch_xla, `jax.devices("tpu")`; not where it is one of several."""
    uses = []
    for call in code.calls:
        is_strategy = call.last in _TPU_NAMES or call.name.endswith("TPUClusterResolver.connect")
        is_xla = call.name in {"torch_xla.device", "torch_xla.core.xla_model.xla_device", "torch_xla.launch"}
        is_xla |= call.name == "torch_xla.distributed.xla_multiprocessing.spawn"
        is_jax = call.name in {"jax.devices", "jax.local_devices"} and code.text(call.argument(0)) == "tpu"
        is_one_of_several = code.function(call.node) is not None and _has_fallback(code)
        is_asked_for = (is_strategy or is_xla or is_jax) and not is_guarded(code, call.node, any_if=True)
        if is_asked_for and not is_one_of_several:
            uses.append(call.node)
    claims = (
        assertion
        for assertion in code.nodes(ast.Assert)
        if "'tpu'" in ast.unparse(assertion.test) and "jax" in code.modules
    )
    return uses + list(claims)


@lru_cache(maxsize=2)  # asked for each call
def _has_fallback(code: NotebookCode) -> bool:
    """True if the notebook knows other machines too: it catches a missing TPU or asks for a GPU."""
    return any(call.name.endswith(("cuda.is_available", "list_physical_devices")) for call in code.calls) or any(
        isinstance(node, ast.Try) for node in code.nodes(ast.Try)
    )


def _environment(code: NotebookCode, variable: str) -> list[tuple[ast.AST, ast.expr | None]]:
    """Where an environment variable is set, and to what."""
    return [(node, value) for node, name, value in code.environment_settings if name == variable]


def _trains_torch(code: NotebookCode, call: CodeCall) -> bool:
    """True for `loss.backward()` in a loop of a notebook that steps an optimizer of torch."""
    if "torch" not in code.modules or call.last != "backward" or call.receiver is None:
        return False
    in_loop = any(isinstance(ancestor, ast.For | ast.While) for ancestor in code.ancestors(call.node))
    return in_loop and "step" in code.callee_names
