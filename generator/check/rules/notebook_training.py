"""Rules of trainings whose result is lost or wrong, and of what leaves a notebook."""

import ast
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath

from generator.check.cell_text import CodeCall, FunctionNode, arguments_given, is_true, walk_nodes
from generator.check.code import UNKNOWN, NotebookCode
from generator.check.compiled import is_keras
from generator.check.environment import Write, installed_modules, is_guarded, shell_commands, writes
from generator.check.findings import Severity
from generator.check.rule import RuleProblem, rule
from generator.check.source import KernelSource, Purpose
from generator.check.tpu import is_keras_fit, is_keras_model, is_long_keras_fit, keras_stars
from generator.pair.handover import lacks
from generator.pair.notebook import code_sources, differing
from generator.pair.workspace import Role

_LEGACY = "TF_USE_LEGACY_KERAS"
_WATCHES = {"ModelCheckpoint": "val_loss", "EarlyStopping": "val_loss", "ReduceLROnPlateau": "val_loss"}
_SAVES = (
    "save", "savez", "savez_compressed", "save_weights", "save_model", "save_pretrained", "dump", "to_csv",
    "to_parquet", "to_json", "to_pickle", "savefig", "save_file", "save_checkpoint", "write_csv", "export", "savetxt",
    "export_model", "ModelCheckpoint", "save_state", "write_bytes", "write_text", "push_to_hub", "model_upload",
    "write", "to_feather", "BackupAndRestore", "SwapEMAWeights", "save_npz", "save_local", "writerow", "to_hdf",
    "export_graphviz", "save_lora", "sink_parquet", "write_parquet", "log_artifact", "submit", "Submission",
    "to_excel", "write_video", "imwrite",
)  # fmt: skip
_WRITES_MODEL = {"save", "save_weights", "save_model", "ModelCheckpoint"}
# Nothing of these is kept after a session.
_TEMPORARY_FOLDERS = tuple(f"/{name}/" for name in ("tmp", "kaggle/temp", "var/tmp", "dev/shm", "root", "home"))
_MAKES_FOLDERS = {"mkdir", "makedirs"}
_HARMLESS = ("pip", "matplotlib", "time", "config", "load_ext", "nvidia", "mkdir", "ls", "tensorboard", "autoreload")
_OWN_TRAINERS = {"Trainer", "SFTTrainer", "Seq2SeqTrainer", "Learner", "TabularPredictor", "YOLO", "AutoModel", "tuner"}
_ONE_UNIT = {"softmax", "keras.activations.softmax", "tensorflow.nn.softmax", "tensorflow.keras.activations.softmax"}
_CHANGES = {"update", "setdefault", "__setitem__"}
_ROUNDS = 3  # of functions that hand on what they are given
_OWN_STEPS = {"train_step", "test_step", "compute_metrics", "get_metrics_result", "metrics"}  # of a model's class


@rule("N033", "format-that-keras-refuses")
def format_that_keras_refuses(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A model or its weights are saved with a file name that Keras 3 refuses.

    ValueError, after all the training: `model.save` takes names that end in .keras or .h5, `save_weights` and a
    checkpoint of weights alone .weights.h5, a checkpoint of the model .keras. A folder (SavedModel) is written by
    `model.export`.
    Name it `model.keras`, or `model.weights.h5`.

    Source (2026-11-26): Keras 3.13 and 3.15, tried.
    """
    code = kernel.code
    if not _is_keras_3(code):
        return
    for call in code.calls:
        if call.last not in _WRITES_MODEL:
            continue
        is_function = call.name.endswith(".save_model") and is_keras(call.name, code)
        name = code.text(call.argument(1 if is_function else 0, "filepath", "filename"))
        end = (name or "").rpartition("/")[2] if name else ""
        is_known = bool(end) and not end.endswith(UNKNOWN)
        if not is_known or is_guarded(code, call.node):
            continue
        remedy = _name_that_keras_takes(code, call, end)
        if remedy:
            yield RuleProblem(code.place(call.node), f"Keras 3 refuses to save as {end}, with a ValueError.", remedy)


@rule("N034", "watched-name-does-not-exist", Severity.WARNING)
def watched_name_does_not_exist(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A callback watches a metric that the training does not compute.

    Keras warns once and goes on: nothing is stopped, no learning rate lowered, and with `save_best_only` nothing saved.
    The names are `loss`, those of `metrics=` in compile, and `val_` before them where there are validation data.

    Source (2026-11-27): Keras, callbacks (EarlyStopping: "Early stopping conditioned on metric … which is not
    available").
    """
    code = kernel.code
    fits = [call for call in code.calls if call.last in {"fit", "fit_generator"} and is_keras_fit(code, call)]
    if not fits or not {"keras", "tensorflow"} & code.modules or code.stars - keras_stars(code):
        return
    if _writes_logs(code):
        return
    validates = [
        call for call in fits if call.is_open or call.keyword("validation_data", "validation_split") is not None
    ]
    validates += [call for call in fits if len(call.node.args) > 6]  # noqa: PLR2004 - x, y, …, validation_split
    names = _metric_names(code)
    for call in code.calls:
        if call.last not in _WATCHES or not is_keras(call.name, code) or call.is_open:
            continue
        monitor = call.argument(1 if call.last == "ModelCheckpoint" else 0, "monitor")
        metric = code.text(monitor) if monitor is not None else _WATCHES[call.last]
        if not metric or UNKNOWN in metric:
            continue
        base = metric.removeprefix("val_")
        if metric.startswith("val_") and not validates:
            message = f"A callback monitors {metric}, but no fit has validation data."
            yield RuleProblem(code.place(call.node), message, 'Write monitor="loss", or give fit validation_data=….')
        elif names is not None and base != "loss" and base not in names and not base.endswith("_loss"):
            choices = ", ".join(sorted({"loss", *names}))
            message = f"A callback monitors {metric}, but compile has no metric of that name ({choices})."
            close = f"val_{sorted(names)[0]}" if names else "val_loss"
            yield RuleProblem(code.place(call.node), message, f'Write monitor="{close}".')


@rule("N035", "nothing-is-saved", Severity.NOTE)
def nothing_is_saved(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A model is trained, but the notebook writes no file.

    When the session ends, what it trained is gone: /kaggle/working has no weights, no predictions and no scores.
    Save the weights (`model.save_weights("model.weights.h5")`, `torch.save(model.state_dict(), "model.pt")`), or the
    predictions.

    Source (2026-11-27): kaggle.com/docs/notebooks (only /kaggle/working is kept).
    """
    code = kernel.code
    if kernel.metadata is None or kernel.purpose is Purpose.INFERENCE or code.stars - keras_stars(code):
        return
    if any(cell.syntax_error for cell in code.cells):
        return
    ends = code.callee_names
    if ends & {*_SAVES} or ends & _OWN_TRAINERS or not code.is_whole:
        return
    if any("w" in (code.text(call.argument(1, "mode")) or "") for call in code.calls if call.last == "open"):
        return
    commands = [command for _, _, command in code.commands()]
    if any(
        not command.startswith(("pip", "matplotlib", "time", "config", "load_ext", "nvidia")) for command in commands
    ):
        return
    fits = [call for call in code.calls if _is_long_training(code, call) and not is_guarded(code, call.node)]
    for call in fits[:1]:
        message = "This trains a model, but the notebook does not save it."
        remedy = 'Save the weights after it, e.g. model.save_weights("model.weights.h5").'
        if call.last == "backward":
            remedy = 'Save the weights after it: torch.save(model.state_dict(), "model.pt").'
        yield RuleProblem(code.place(call.node), message, remedy)


@rule("N039", "saved-where-it-is-lost", Severity.WARNING)
def saved_where_it_is_lost(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A model is trained, and all that the notebook saves lies outside of /kaggle/working.

    /tmp, /kaggle/temp and what else is beside it end with the session: the output has no weights and no scores.
    Save below /kaggle/working, or copy there what is to be kept.

    Source (2026-11-28): kaggle.com/docs/notebooks (only /kaggle/working is kept).
    """
    code = kernel.code
    if kernel.metadata is None or kernel.purpose is Purpose.INFERENCE or code.stars - keras_stars(code):
        return
    writings = [(writing.node, writing.path) for writing in writes(code)] + list(_outputs_of_trainers(code))
    is_lost = bool(writings) and all(path is not None and path.startswith(_TEMPORARY_FOLDERS) for _, path in writings)
    if not is_lost or not code.is_whole or any(cell.syntax_error for cell in code.cells):
        return
    trains = any(_is_long_training(code, call) or _is_train_of_trainer(code, call) for call in code.calls)
    if not trains or _may_save_elsewhere(code, {node for node, _ in writings}):
        return
    files = [(node, path) for node, path in writings if code.name(node.func).rpartition(".")[2] not in _MAKES_FOLDERS]
    for node, path in [writing for writing in files if not is_guarded(code, writing[0])][:1]:
        file_path = (path or "").replace(UNKNOWN, "…")
        message = f"{file_path} is gone when the session ends, and nothing else is saved."
        yield RuleProblem(code.place(node), message, f'Write "/kaggle/working/{PurePosixPath(file_path).name}".')


@rule("N036", "one-optimizer-for-several-models", Severity.WARNING)
def one_optimizer_for_several_models(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The models of several folds, or several models, share one optimizer.

    Keras 3 builds an optimizer for the variables of its first model: the second one ends with "The optimizer cannot
    recognize variable". In PyTorch it goes on training the first model.
    Make it in the loop, or hand in its name: `compile(optimizer="adam")`.

    Source (2026-11-26): Keras 3.13 and 3.15, tried.
    """
    code = kernel.code
    if _is_keras_legacy(code):
        return
    models_by_optimizer: dict[tuple[ast.AST, FunctionNode | None], list[CodeCall]] = defaultdict(list)
    compiles = [call for call in code.calls if call.last == "compile"]
    for call in sorted(compiles, key=lambda compile_call: code.order(compile_call.node)):
        if call.receiver is None or is_guarded(code, call.node):
            continue
        optimizer = call.argument(0, "optimizer")
        optimizer_call = code.call(code.resolve(optimizer)) if isinstance(optimizer, ast.Name | ast.Attribute) else None
        if (
            optimizer_call is None
            or ".optimizers." not in optimizer_call.name
            or not is_keras(optimizer_call.name, code)
        ):
            continue
        loop = _model_loop(code, call)
        if loop is not None and not _is_within(code, optimizer_call.node, loop):
            message = "The models of all folds share this optimizer. Keras 3 raises an error at the second one."
            remedy = f"Make it here: compile(optimizer={ast.unparse(optimizer_call.node)[:60]}, …)."
            yield RuleProblem(code.place(call.node), message, remedy)
            continue
        model = None if is_guarded(code, call.node, any_if=True) else _model_trained(code, call)
        other_models = models_by_optimizer[optimizer_call.node, code.function(call.node)]
        if model is not None and other_models and model not in other_models and _has_own_weights(code, model):
            message = "Another model already uses this optimizer. Keras 3 raises an error when this one is trained."
            remedy = f"Make one for each: compile(optimizer={ast.unparse(optimizer_call.node)[:60]}, …)."
            yield RuleProblem(code.place(call.node), message, remedy)
        if model is not None:
            other_models.append(model)


@rule("N037", "softmax-over-one-unit", Severity.WARNING)
def softmax_over_one_unit(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The last layer has one unit and a softmax, whose output is always 1.

    Nothing fails: the loss stays where it is, and every prediction is the same class.
    Take `activation="sigmoid"` with one unit, or two units with the softmax.

    Source (2026-11-27): the definition of softmax, exp(x) / exp(x).
    """
    code = kernel.code
    for call in code.calls:
        if call.last == "Dense" and code.number(call.argument(0, "units")) == 1:
            activation = call.argument(1, "activation")
            is_softmax = code.text(activation) == "softmax" or (
                activation is not None and code.name(activation) in _ONE_UNIT
            )
            if is_softmax and _belongs_to(code, call, {"keras", "tensorflow", "tf_keras"}):
                message = "A softmax over one unit is always 1."
                yield RuleProblem(code.place(call.node), message, 'Write activation="sigmoid".')
        layers: list[CodeCall | None] = []
        if call.name in {"torch.nn.Sequential", "keras.Sequential", "tensorflow.keras.Sequential"}:
            parts = call.node.args
            if len(parts) == 1 and isinstance(parts[0], ast.List):
                parts = parts[0].elts
            layers = [code.call(part) for part in parts]
        elif isinstance(call.node.func, ast.Call) and len(call.node.args) == 1:  # keras.layers.Softmax()(x)
            inner_call = code.call(_in_force(code, call.node.args[0]))
            layers = [code.call(inner_call.node.func) if inner_call is not None else None, code.call(call.node.func)]
        for before, after in pairwise(layers):
            if before is not None and after is not None and _has_one_unit(code, before) and _is_softmax(code, after):
                message = "A softmax over one unit is always 1."
                remedy = 'Write torch.nn.Sigmoid() or activation="sigmoid", which work with one unit.'
                yield RuleProblem(code.place(after.node), message, remedy)


@rule("N038", "split-after-shuffle", Severity.WARNING)
def split_after_shuffle(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A dataset is shuffled, and then split with `take` and `skip`.

    `shuffle` draws a new order each time that the dataset is read: each epoch of `take` sees other examples than those
    that `skip` left out, so that training and validation overlap and the score is too good.
    Split first and shuffle the training part, or `shuffle(…, reshuffle_each_iteration=False)`.

    Source (2026-11-27): TensorFlow, tf.data.Dataset.shuffle (reshuffle_each_iteration).
    """
    code = kernel.code
    if not {"tensorflow", "tensorflow_datasets", "keras"} & code.modules:
        return
    taken_shuffles = {_shuffle_of(code, call.receiver) for call in code.calls if call.last == "take"}
    for call in code.calls:
        shuffle = _shuffle_of(code, call.receiver) if call.last == "skip" else None
        if shuffle is not None and shuffle in taken_shuffles:
            message = "This dataset is shuffled again at each pass, so the parts from take and skip overlap."
            remedy = "Split before the shuffle, or write shuffle(…, reshuffle_each_iteration=False)."
            yield RuleProblem(code.place(call.node), message, remedy)


def _name_that_keras_takes(code: NotebookCode, call: CodeCall, end: str) -> str:
    """What to write where a call saves under a name that Keras 3 refuses, or nothing."""
    is_of_keras = is_keras(call.name, code)
    is_weights, is_whole = end.endswith(".weights.h5"), end.endswith((".keras", ".h5", ".hdf5"))
    if call.last == "save_weights" and not is_weights and is_keras_model(code, call):
        return f'Write save_weights("{_stem(end)}.weights.h5").'
    if call.last == "save" and not is_whole and is_keras_model(code, call):
        return f'Write save("{_stem(end)}.keras"), or export("{end}") for a SavedModel.'
    if call.name.endswith(".save_model") and is_of_keras and not is_whole:
        return f"Name it {_stem(end)}.keras."
    if call.last != "ModelCheckpoint" or not is_of_keras:
        return ""
    only = code.resolve(call.argument(4, "save_weights_only"))
    if is_true(only):
        return "" if is_weights else f"Name it {_stem(end)}.weights.h5."
    is_known = only is None or isinstance(only, ast.Constant)
    return f"Name it {_stem(end)}.keras." if is_known and not end.endswith((".keras", ".h5")) else ""


def _is_keras_3(code: NotebookCode) -> bool:
    return bool({"keras", "tensorflow"} & code.modules) and not _is_keras_legacy(code)


@lru_cache(maxsize=2)
def _is_keras_legacy(code: NotebookCode) -> bool:
    """True where the notebook takes Keras 2: by the variable of TensorFlow, or an old version that it installs."""
    texts = (constant.value for constant in code.nodes(ast.Constant) if isinstance(constant.value, str))
    commands = (command for _, _, command in code.commands())
    is_named = any(_LEGACY in text for text in [*texts, *commands])
    return (
        is_named
        or bool({"tensorflow", "keras", "tf_keras", "?"} & installed_modules(code))
        or "tf_keras" in code.modules
    )


def _metric_names(code: NotebookCode) -> set[str] | None:
    """What the metrics of every compile are called, or None where that is not certain."""
    names: set[str] = set()
    compiles = [call for call in code.calls if call.last == "compile" and call.receiver is not None]
    if not compiles or any(name in _OWN_STEPS for _, name in code.methods):
        return None
    for call in compiles:
        metrics = code.resolve(call.argument(2, "metrics"))
        if metrics is None:
            if call.is_open or len(call.node.args) > 2:  # noqa: PLR2004 - metrics may be among them
                return None
            continue
        if not isinstance(metrics, ast.List | ast.Tuple):
            return None
        for metric in metrics.elts:
            name = _metric_name(code, metric)
            if name is None:
                return None
            names.update(name)
    return names if code.callee_names.isdisjoint({"add_metric", "add_loss"}) else None


def _writes_logs(code: NotebookCode) -> bool:
    """True if a callback of the notebook adds metrics to those that Keras gives it: `logs["val_f1"] = …`."""
    targets = [node.value for node in code.nodes(ast.Subscript) if isinstance(node.ctx, ast.Store)]
    targets += [call.receiver for call in code.calls if call.last in _CHANGES and call.receiver]
    targets += [node.target for node in code.nodes(ast.AugAssign)]  # logs |= {…}
    names = [node for node in targets if isinstance(node, ast.Name)]
    if any(node.id in _names_of_logs(code, node) for node in names):
        return True
    log_parameters = _parameters_with_logs(code)
    return any((code.function(node), node.id) in log_parameters for node in names)


def _parameters_with_logs(code: NotebookCode) -> set[tuple[FunctionNode | None, str]]:
    """The parameters of the notebook's functions that are given the metrics of an epoch, by any number of calls."""
    parameters: set[tuple[FunctionNode | None, str]] = set()
    for _ in range(_ROUNDS):
        before = len(parameters)
        for call in code.calls:
            for function in code.functions_named.get(call.last, ()):
                for parameter, value in arguments_given(function, call.node):
                    is_named = isinstance(value, ast.Name)
                    if (
                        isinstance(value, ast.Name)
                        and is_named
                        and (value.id in _names_of_logs(code, value) or (code.function(value), value.id) in parameters)
                    ):
                        parameters.add((function, parameter))
        if len(parameters) == before:
            break
    return parameters


def _names_of_logs(code: NotebookCode, node: ast.AST) -> set[str]:
    """What the metrics of an epoch or a batch are called where a node is: `logs`, or the last parameter of `on_…`."""
    function = code.function(node)
    arguments = function.args.args if function is not None and getattr(function, "name", "").startswith("on_") else []
    return {"logs", *(argument.arg for argument in arguments[-1:])}


def _metric_name(code: NotebookCode, node: ast.expr) -> set[str] | None:
    text = code.text(node)
    if text is not None and UNKNOWN not in text:
        return {"accuracy", "acc"} & {text} or {text}
    call = code.call(code.resolve(node))
    if call is not None and is_keras(call.name, code):
        name = code.text(call.keyword("name"))
        return {name} if name else {_snake(call.last)}
    if isinstance(node, ast.Name) and node.id in code.functions_named:
        return {node.id}
    return None


def _snake(name: str) -> str:
    special_cases = {"AUC": "auc", "MeanSquaredError": "mean_squared_error", "MeanIoU": "mean_io_u"}
    text = "".join(f"_{character.lower()}" if character.isupper() else character for character in name).lstrip("_")
    return special_cases.get(name, text)


def _stem(name: str) -> str:
    return name.partition(".")[0].replace(UNKNOWN, "…") or "model"


def _is_long_training(code: NotebookCode, call: CodeCall) -> bool:
    """True for what trains a network for several epochs: a fit of Keras, or a loop around `backward`."""
    if is_long_keras_fit(code, call):
        return True
    if call.last == "backward" and "torch" in code.modules:
        loops = [ancestor for ancestor in code.ancestors(call.node) if isinstance(ancestor, ast.For | ast.While)]
        return bool(loops) and "step" in code.callee_names
    return False


@lru_cache(maxsize=2)
def _outputs_of_trainers(code: NotebookCode) -> tuple[tuple[ast.Call, str | None], ...]:
    """The settings of trainings of transformers, with the folders in which their checkpoints lie."""
    settings = [call for call in code.calls if call.last.endswith("TrainingArguments") or call.last == "SFTConfig"]
    folders = [call.argument(0, "output_dir") for call in settings]
    return tuple(
        (call.node, "trainer_output" if folder is None else code.text(folder))
        for call, folder in zip(settings, folders, strict=True)
    )


def _is_train_of_trainer(code: NotebookCode, call: CodeCall) -> bool:
    is_train = call.last == "train" and bool(_outputs_of_trainers(code))
    return is_train and any(
        maker is not None and maker.last.endswith("Trainer") for maker in code.makers(call.receiver)
    )


def _may_save_elsewhere(code: NotebookCode, nodes: set[ast.Call]) -> bool:
    """True if something beside these calls may save, or take a file to another folder."""
    if any(not command.startswith(_HARMLESS) for _, _, command in code.commands()):
        return True
    if code.callee_names & _OWN_TRAINERS and not _outputs_of_trainers(code):
        return True
    for call in code.calls:
        is_save = call.last in _SAVES and call.node not in nodes and not _fills(code, call)
        is_move = call.name in _MOVING or call.name.startswith(("shutil.", "subprocess.", "os.system", "zipfile."))
        if is_save or is_move or call.keyword("push_to_hub", "hub_model_id") is not None:
            return True
    return False


def _fills(code: NotebookCode, call: CodeCall) -> bool:
    """True for what writes into a file that the notebook opens, or saves into the folder of a trainer."""
    if call.last == "save_model" and not call.node.args and not call.node.keywords:
        return bool(_outputs_of_trainers(code))
    makers = code.makers(call.argument(1, "file", "fp")) if call.last == "dump" else code.makers(call.receiver)
    return all(maker is not None and maker.last == "open" for maker in makers)


def _model_loop(code: NotebookCode, call: CodeCall) -> ast.AST | None:
    """The loop around a compile, or around the one call of its function, that makes the model anew each time."""
    around = next((value for value in code.ancestors(call.node) if isinstance(value, ast.For)), None)
    function = code.function(call.node)
    if around is None and function is not None:
        name = getattr(function, "name", "")
        around_calls = (loop for value in code.calls_by_name.get(name, []) for loop in code.ancestors(value.node))
        return next((loop for loop in around_calls if isinstance(loop, ast.For)), None)
    if around is None or not isinstance(call.receiver, ast.Name):
        return around
    values = [value for value in code.find_values(call.receiver) if value is not None]
    return around if values and all(_is_within(code, value, around) for value in values) else None


def _model_trained(code: NotebookCode, compile_call: CodeCall) -> CodeCall | None:
    """The call that makes the model of a `compile`, if that model is trained as well."""
    name = compile_call.receiver
    values = code.find_meanings(name) if isinstance(name, ast.Name) else []
    if not isinstance(name, ast.Name) or len(values) != 1:
        return None
    fitted_values = (code.find_meanings(receiver) for receiver in _index_fit_calls(code).get(name.id, []))
    return code.call(values[0]) if values in fitted_values else None


@lru_cache(maxsize=2)  # asked for each compile
def _index_fit_calls(code: NotebookCode) -> Mapping[str, list[ast.Name]]:
    """Where a name stands of which `fit` or `train_on_batch` is called."""
    receivers: dict[str, list[ast.Name]] = defaultdict(list)
    for call in code.calls:
        if call.last in {"fit", "train_on_batch"} and isinstance(call.receiver, ast.Name):
            receivers[call.receiver.id].append(call.receiver)
    return receivers


def _has_own_weights(code: NotebookCode, model: CodeCall) -> bool:
    """True for a model that is made of constants alone, so that it shares no layer with another one."""
    arguments = [*model.node.args, *(node.value for node in model.node.keywords)]
    names = [node for argument in arguments for node in walk_nodes(argument) if isinstance(node, ast.Name)]
    return all(
        node.id in code.imports or isinstance(code.resolve(node), ast.Constant | ast.Tuple | ast.List) for node in names
    )


def _is_within(code: NotebookCode, node: ast.AST, around: ast.AST) -> bool:
    return any(ancestor is around for ancestor in code.ancestors(node)) or code.function(node) is not code.function(
        around
    )


def _belongs_to(code: NotebookCode, call: CodeCall, modules: set[str]) -> bool:
    return bool(modules & code.modules) and (call.name.partition(".")[0] in modules or "." not in call.name)


def _in_force(code: NotebookCode, node: ast.expr | None) -> ast.expr | None:
    """The expression that a name stands for where it is, which may be given another one elsewhere."""
    for _ in range(20):
        values = code.find_meanings(node) if isinstance(node, ast.Name) else []
        if len(values) != 1 or not isinstance(values[0], ast.expr):
            break
        node = values[0]
    return code.resolve(node)


def _has_one_unit(code: NotebookCode, layer: CodeCall) -> bool:
    is_linear = layer.name == "torch.nn.Linear" and code.number(layer.argument(1, "out_features")) == 1
    return is_linear or (layer.last == "Dense" and code.number(layer.argument(0, "units")) == 1)


def _is_softmax(code: NotebookCode, layer: CodeCall) -> bool:
    """True for a softmax over the last axis; over another one it weighs the steps of a sequence."""
    if layer.last == "Activation":
        return code.text(layer.argument(0, "activation")) == "softmax"
    axis = layer.argument(0, "axis", "dim")
    return layer.last in {"Softmax", "LogSoftmax"} and (axis is None or code.number(axis) == -1)


def _shuffle_of(code: NotebookCode, node: ast.expr | None) -> CodeCall | None:
    """The shuffle that a dataset went through last, if it draws anew each time and nothing keeps its order."""
    for _ in range(20):
        call = code.call(_in_force(code, node))
        if call is None or call.receiver is None:
            return None
        if call.last == "shuffle":
            again = code.resolve(call.argument(2, "reshuffle_each_iteration"))
            is_kept = isinstance(again, ast.Constant) and again.value is False
            return None if is_kept or call.name.startswith(("numpy.", "random.")) else call
        if call.last in {"cache", "snapshot", "take", "skip"}:
            return None
        node = call.receiver
    return None


# Rules of what leaves a notebook: the submission's name, formats that other images read, and cells that both share.


_USUAL = ("submission.csv", "submission.parquet", "submission.json", "submission.zip")
_TABLES = (".csv", ".parquet", ".json", ".jsonl", ".zip", ".tsv", ".xlsx", ".gz")
_WRITING_TABLES = {"to_csv", "to_parquet", "to_json", "write_csv", "write_parquet", "sink_csv", "open", "copy", "move"}
_SUB = re.compile(r"sub(?!set|ject|word|dir|sample)")
_WRITERS = {"save", "dump", "write", "writerow", "writerows", "savetxt", "tofile", "submit", "serve", "exec", "run"}
_MOVING = {"os.chdir", "?.chdir"}
_SCRIPT = re.compile(r"\b(?:python3?|papermill|bash|sh|accelerate|torchrun)\s+\S|^cd\s+(?!/kaggle/working/?\s*$)")
_ARRAYS_OF_SHAPE = {"numpy.zeros", "numpy.ones", "numpy.empty", "numpy.full"}
_SAME_LENGTH = {"list", "tuple", "numpy.array", "numpy.asarray", "pandas.Series"}
_SAME_LENGTH_METHODS = {"astype", "ravel", "flatten", "tolist", "round", "clip"}
_DEEPEST = 8  # names and operations that are followed to an array
_CHANGES_INDEX = {"index", "set_index", "rename_axis", "sort_index", "reindex"}  # where a table's index may get a name
_KEEPS_INDEX = {"copy", "astype", "fillna", "round", "sort_values", "drop", "rename", "assign", "head", "clip"}
_KERAS_LOADS = {"keras.models.load_model", "keras.saving.load_model", "tensorflow.keras.models.load_model"}
_PICKLE_DUMPS = {"pickle.dump", "joblib.dump", "dill.dump", "cloudpickle.dump", "?.to_pickle"}
_PICKLE_LOADS = {"pickle.load", "joblib.load", "dill.load", "cloudpickle.load", "pandas.read_pickle"}


@rule("N060", "submission-name")
def submission_name(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The submission does not have the file name that the competition expects.

    A code competition looks for that one file in the output of the rerun; without it the submission ends as "Submission
    CSV Not Found", and is counted.
    Write it under the name that the competition's page gives, which is mostly submission.csv, into /kaggle/working.

    Source (2026-11-23): kaggle.com/code-competition-debugging; the code requirements of competitions.
    """
    accepted_names = _names_taken(kernel)
    if not accepted_names or not kernel.code.is_whole:
        return
    file_writes = [write for write in writes(kernel.code) if not _is_folder(kernel.code, write)]
    paths = [_from_working(write.path or UNKNOWN) for write in file_writes]
    if any(path in accepted_names for path in paths) or _may_be_written_otherwise(kernel, accepted_names, file_writes):
        return
    for write, path in zip(file_writes, paths, strict=True):
        name, takes = PurePosixPath(path).name, " or ".join(accepted_names[:2])
        is_meant = name.lower().endswith(_TABLES) and _SUB.search(name.lower())
        if UNKNOWN in path or not (is_meant or name.lower() in accepted_names):
            continue
        if name in accepted_names:
            message = f"The submission is written to {write.path}, but Kaggle expects {takes} in /kaggle/working."
        else:
            message = f"The submission has the name {name}, but the competition expects {takes}."
        remedy = f'Write it to "/kaggle/working/{accepted_names[0]}".'
        yield RuleProblem(kernel.code.place(write.node), message, remedy)


@rule("N066", "no-submission", Severity.WARNING)
def no_submission(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The inference notebook of a code competition writes no file.

    The rerun ends as "Submission CSV Not Found", and is counted.
    Write the predictions for every row of the sample: `submission.to_csv("submission.csv", index=False)`.

    Source (2026-11-27): kaggle.com/code-competition-debugging; the code requirements of competitions.
    """
    code = kernel.code
    is_read = bool(code.calls) and code.is_whole and not any(cell.syntax_error for cell in code.cells)
    accepted_names = _names_taken(kernel)
    if not accepted_names or not is_read:
        return
    may_write = code.stars or code.scripts or code.script or shell_commands(code) or writes(code)
    by_helper = any(call.last in _WRITERS or "subm" in call.name.lower() for call in code.calls)
    if may_write or by_helper or _may_be_written_otherwise(kernel, accepted_names, []):
        return
    message = f"The notebook writes no file, but the competition expects {' or '.join(accepted_names[:2])}."
    yield RuleProblem(
        code.place(code.cells[-1]), message, f'Write it: submission.to_csv("{accepted_names[0]}", index=False).'
    )


@rule("N061", "keras-file-handed-over", Severity.WARNING)
def keras_file_handed_over(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A whole Keras model (.keras, .h5) goes from the TPU image to the GPU image.

    The TPU image has the newer Keras: every .keras file of Keras 3.15 that was tried fails to load in 3.13, with
    "unexpected keyword argument" for each initializer. Weights load.
    Save weights (`model.save_weights("fold0.weights.h5")`), and build the model with the same code in both notebooks.

    Source (2026-11-20): measured with Keras 3.10 to 3.15.
    """
    for write in writes(kernel.code) if _trains_on_tpu(kernel) else ():
        if write.path and write.path.endswith((".keras", ".h5", ".hdf5")) and not _is_weights(kernel, write):
            message = f"{_name(write.path)} is a whole model. The older Keras of the GPU image cannot load it."
            remedy = 'Write model.save_weights("model.weights.h5"), and build the same model in both notebooks.'
            yield RuleProblem(kernel.code.place(write.node), message, remedy)
    own_files = {_name(write.path) for write in writes(kernel.code) if write.path}
    for call in kernel.code.calls:
        node, name = call.node, call.name
        path = kernel.code.text(node.args[0]) if node.args else None
        is_whole = name in _KERAS_LOADS and path is not None and path.endswith(".keras")
        if is_whole and path and _name(path) not in own_files and kernel.has_no_internet:
            message = f"{_name(path)} is a whole model. Only the same Keras version or a newer one can load it."
            remedy = 'Build the model here, and load the weights: model.load_weights("….weights.h5").'
            yield RuleProblem(kernel.code.place(node), message, remedy)


@rule("N062", "pickle-handed-over", Severity.WARNING)
def pickle_handed_over(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A pickle goes from the TPU image to the GPU image.

    The two have another Python, NumPy (2.5 and 2.0) and scikit-learn; a pickle is bound to the versions that wrote it,
    and loading one executes whatever is in it. The same holds for `torch.save(model)` in place of its state_dict.
    Hand over arrays (.npz), weights (.weights.h5, .safetensors) and JSON, and fit or build the rest again.

    Source (2026-11-20): the images' packages as of 2026-08-12.
    """
    for call in kernel.code.calls:
        node, name = call.node, call.name
        is_dump = (name in _PICKLE_DUMPS or name.endswith(".to_pickle")) and _trains_on_tpu(kernel)
        is_load = name in _PICKLE_LOADS and kernel.purpose is Purpose.INFERENCE
        if is_dump or is_load:
            message = "A pickle needs the package versions of the image that wrote it."
            remedy = (
                "Write numpy.savez for arrays, save_weights or safetensors for weights, json.dump for other values."
            )
            yield RuleProblem(kernel.code.place(node), message, remedy)


@rule("N063", "bfloat16-on-t4", Severity.WARNING)
def bfloat16_on_t4(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A kernel on a T4 computes in bfloat16, which a T4 does not support.

    It is emulated, several times slower than float32; the policy comes along with code that was made for a TPU, and
    with every model that was saved under it.
    Build the model in float32, or in mixed_float16.

    Source (2026-11-23): the T4 is of compute capability 7.5; bfloat16 begins with 8.0.
    """
    if not kernel.is_on_t4:
        return
    for call in kernel.code.calls:
        node, name = call.node, call.name
        is_policy = name.rpartition(".")[2] in ("set_global_policy", "set_dtype_policy", "Policy", "DTypePolicy")
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        is_torch = name.endswith(("autocast", ".to")) and any(
            kernel.code.name(argument) == "torch.bfloat16" for argument in arguments
        )
        is_policy = is_policy and any("bfloat16" in (kernel.code.text(argument) or "") for argument in arguments)
        is_torch = is_torch or (call.last == "bfloat16" and not arguments and "torch" in kernel.code.modules)
        if is_torch or is_policy or _asks_for_bfloat16(kernel, call):
            message = "A T4 has no bfloat16. The emulation is slow."
            yield RuleProblem(
                kernel.code.place(node),
                message,
                'Write "mixed_float16" in Keras, torch.float16 or fp16=True in PyTorch; or remove it to use float32.',
            )


@rule("N065", "submissions-of-other-kernels", Severity.WARNING)
def submissions_of_other_kernels(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A submission is made of files from other kernels, in a notebook that runs without internet.

    In a code competition the notebook runs again on the hidden test. The files that are attached still have the rows
    of the visible one: ids are missing, or the score is that of made-up rows.
    Attach the models of those kernels, and predict here.

    Source (2026-11-27): the code requirements of competitions; "Submission Scoring Error" in their discussions.
    """
    if not kernel.has_no_internet or kernel.purpose is Purpose.TRAINING:
        return
    for call in kernel.code.calls:
        if not call.name.startswith(("pandas.read_", "polars.read_", "polars.scan_")):
            continue
        path = next(filter(_is_submission_of_another, _paths_read(kernel.code, call)), None)
        if path is not None:
            message = f"{_name(path)} has the rows of the public test, but a code competition runs on the hidden test."
            yield RuleProblem(
                kernel.code.place(call.node),
                message,
                "Attach that kernel's weights with kernel_sources, and predict the rows of the hidden test here.",
            )


def _is_submission_of_another(path: str) -> bool:
    name = PurePosixPath(path).name.lower()
    is_submission = _SUB.search(name) is not None and "sample" not in name and name.endswith(_TABLES)
    return is_submission and path.startswith(("/kaggle/input/", "../input/")) and "/competitions/" not in path


def _paths_read(code: NotebookCode, call: CodeCall) -> Iterator[str]:
    """The path that a call reads, or the texts that the loop around it goes through for that."""
    argument = call.argument(0)
    if (path := code.text(argument)) is not None:
        yield path
    names = {node.id for node in walk_nodes(argument) if isinstance(node, ast.Name)} if argument is not None else set()
    loops: list[ast.For | ast.comprehension] = []
    for around in code.ancestors(call.node):
        loops += [around] if isinstance(around, ast.For) else getattr(around, "generators", [])
    for loop in loops:
        if not names.isdisjoint(node.id for node in walk_nodes(loop.target) if isinstance(node, ast.Name)):
            parts = [code.resolve(node) or node for node in walk_nodes(loop.iter) if isinstance(node, ast.expr)]
            yield from (text for part in parts for node in walk_nodes(part) if (text := code.text(node)) is not None)


@rule("N067", "submission-of-a-fixed-length", Severity.WARNING)
def submission_of_a_fixed_length(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The number of rows of a code competition's submission is a constant in the code.

    The notebook runs again on the hidden test, which mostly has more rows than the visible one: the submission has the
    wrong number of rows, or pandas stops ("Length of values does not match length of index").
    Take the length from the data that are read: `len(test)`.

    Source (2026-11-27): kaggle.com/code-competition-debugging ("the hidden dataset can be larger/smaller/different than
    the public dataset"; "wrong number of rows").
    """
    code = kernel.code
    accepted_names = _names_taken(kernel)
    file_writes = [
        write for write in writes(code) if write.path is not None and _from_working(write.path) in accepted_names
    ]
    tables = [write.node.func.value for write in file_writes if isinstance(write.node.func, ast.Attribute)]
    columns = [column for table in tables for column in _columns(code, table)]
    for column in dict.fromkeys(columns):
        fixed_length = None if is_guarded(code, column, any_if=True) else _fixed_length(code, column)
        if fixed_length is not None:
            message = f"The submission has {fixed_length[1]:g} rows, but the hidden test may have another number."
            yield RuleProblem(
                code.place(fixed_length[0]),
                message,
                f"Replace {fixed_length[1]:g} with the length of the table, such as len(test).",
            )


@rule("N068", "index-in-the-submission", Severity.WARNING)
def index_in_the_submission(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A submission is written with the index of pandas, a column that the sample does not have.

    `to_csv` writes the row numbers as a first column without a name, unless it is told not to: the submission has a
    column too many, and is refused or misread.
    Write `to_csv("submission.csv", index=False)`.

    Source (2026-11-28): pandas, DataFrame.to_csv (index=True is the default).
    """
    code = kernel.code
    calls = [call for call in code.calls if call.last == "to_csv" and call.receiver is not None]
    paths = [code.text(call.argument(0, "path_or_buf")) or "" for call in calls]
    by_position = 6  # index is the seventh argument
    again = {path for call, path in zip(calls, paths, strict=True) if call.keyword("index", "index_label") is not None}
    again |= {code.text(call.argument(0)) or "" for call in code.calls if call.keyword("index_col") is not None}
    for call, path in zip(calls, paths, strict=True):
        name = PurePosixPath(path).name.lower()
        is_submission = name.endswith((".csv", ".csv.gz")) and _SUB.match(name) is not None and "sample" not in name
        is_told = call.keyword("index", "index_label") is not None or call.is_open or len(call.node.args) > by_position
        if is_submission and not is_told and path not in again and _has_row_numbers(code, call.receiver):
            message = f"{_name(path)} gets the row numbers as a first column, which the sample does not have."
            yield RuleProblem(code.place(call.node), message, f'Write to_csv("{_name(path)}", index=False).')


@rule("N064", "shared-cell-differs")
def shared_cell_differs(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A cell that must be the same in both notebooks of a pair differs.

    What begins with "# The same in both notebooks." reads the data or builds the model: inference would not compute
    what was trained, or stop at the weights, after the training. `run` and `push` refuse such a pair.
    `tandem update PAIR --share CELL` copies the edit into the other notebook.

    Source (2026-11-27): our own rule: `tandem run` and `tandem push` compare these cells.
    """
    training = kernel.trained_by
    if training is None or not training.notebook or not kernel.notebook:
        return
    notebook_texts = {training.code.path: training.text, kernel.code.path: kernel.text}
    cells = {cell.name: cell for cell in kernel.code.cells}
    pair_name = kernel.code.path.absolute().parent.parent.name
    for name in differing(notebook_texts):
        place = kernel.code.place(cells[name]) if name in cells else kernel.in_notebook()
        message = (
            f'The cell "{name}" differs between {training.code.path} and {kernel.code.path}, so inference would '
            "not match the training."
        )
        remedy = f"Copy the edit into the other notebook: `tandem update {pair_name} --share {name}`."
        yield RuleProblem(place, message, remedy)


_HANDOVER = ("parameters", "weights out", "weights in")


@rule("N069", "half-without-hand-over", severity=Severity.WARNING)
def half_without_handover(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A notebook of a pair has no parameters cell, or does not hand the weights over, or does not take them.

    Training writes the weights and `handoff.json`, which inference loads and verifies, and `run` and `push` set
    parameters of both. A notebook of somebody else, or a fork that removed a cell, may lack this.

    Source (2026-11-28): our own rule: `tandem run` and `tandem push` stop at a training without `handoff.json`.
    """
    training = kernel.trained_by
    if training is None or not training.notebook or not kernel.notebook:
        return
    halves = {Role.TRAIN: training, Role.INFER: kernel}
    cells = {role: [*code_sources(half.text.encode("utf-8", "replace"))] for role, half in halves.items()}
    if not any("PAIR_ID = " in source for sources in cells.values() for source in sources):
        return
    for role, half in halves.items():
        missing = [part for part in lacks(cells[role], role) if part.name in _HANDOVER]
        if missing:
            texts = " and ".join(part.text for part in missing)
            names = ", ".join(cell for part in missing for cell in part.cells)
            remedy = f"Render the pair under another name with `tandem generate --name`, and copy its cells: {names}."
            yield RuleProblem(half.in_notebook(), f"This {role} notebook lacks {texts}.", remedy)


@lru_cache(maxsize=10_000)  # a name may be given many tables, of which each is made of the one before
def _has_row_numbers(
    code: NotebookCode, table: ast.expr | None, depth: int = 0, *, has_id_column: bool = False
) -> bool:
    """True for a table whose index is certainly that of its rows, while its ids are a column."""
    if isinstance(table, ast.Name):
        values = code.find_meanings(table)
        expressions = [meaning for meaning in values if isinstance(meaning, ast.expr)]
        is_changed = table.id in _tables_with_names(code)
        is_known = not is_changed and bool(values) and len(expressions) == len(values) and depth < _DEEPEST
        return is_known and all(
            _has_row_numbers(code, meaning, depth + 1, has_id_column=has_id_column) for meaning in expressions
        )
    if isinstance(table, ast.Subscript):  # table[["id", "target"]]
        columns = code.resolve(table.slice)
        is_table = isinstance(columns, ast.List) and len(columns.elts) > 1
        has_id_column |= isinstance(columns, ast.List) and any(
            _is_id(code.text(meaning)) for meaning in columns.elts[:1]
        )
        return is_table and _has_row_numbers(code, table.value, depth + 1, has_id_column=has_id_column)
    call = code.call(table)
    if call is None or depth > _DEEPEST or call.is_open:
        return False
    if call.name == "pandas.read_csv":
        is_sample = "sample" in (code.text(call.argument(0)) or "").lower()
        return call.keyword("index_col") is None and (is_sample or has_id_column)
    if call.name == "pandas.DataFrame":
        data = code.resolve(call.argument(0, "data"))
        is_plain = call.keyword("index") is None and len(call.node.args) <= 1  # the second one is the index
        keys = (
            [code.text(meaning) if meaning is not None else None for meaning in data.keys]
            if isinstance(data, ast.Dict)
            else []
        )
        return is_plain and len(keys) > 1 and any(_is_id(meaning) for meaning in keys[:1])
    is_kept = call.last in _KEEPS_INDEX or (call.last == "reset_index" and not call.node.args)
    return is_kept and _has_row_numbers(code, call.receiver, depth + 1, has_id_column=has_id_column)


@lru_cache(maxsize=2)
def _tables_with_names(code: NotebookCode) -> frozenset[str]:
    """The names of tables whose index may have a name: `sub.set_index("id")`, `sub.index.name = "id"`."""
    attributes = (attribute for attribute in code.nodes(ast.Attribute) if attribute.attr in _CHANGES_INDEX)
    return frozenset(attribute.value.id for attribute in attributes if isinstance(attribute.value, ast.Name))


def _is_id(column: str | None) -> bool:
    words = re.split(r"[_\W]+|(?<=[a-z])(?=[A-Z])", column or "")
    return not {"id", "ids", "uid", "image", "filename", "key"}.isdisjoint(word.lower() for word in words)


def _names_taken(kernel: KernelSource) -> tuple[str, ...]:
    """The names of which a code competition takes a submission; none where a kernel is not its inference."""
    if not (kernel.submission_name or kernel.needs_internet_off) or kernel.purpose is Purpose.TRAINING:
        return ()
    return (kernel.submission_name,) if kernel.submission_name else _USUAL


def _from_working(path: str) -> str:
    """A path as it is from /kaggle/working, where a notebook begins; one that leads elsewhere stays as it is."""
    normal = posixpath.normpath(path)
    return normal.removeprefix("/kaggle/working/")


def _is_folder(code: NotebookCode, write: Write) -> bool:
    return code.name(write.node.func).rpartition(".")[2] in ("mkdir", "makedirs", "extractall", "copytree")


def _may_be_written_otherwise(kernel: KernelSource, accepted_names: tuple[str, ...], file_writes: list[Write]) -> bool:
    """True if the submission may get its name by what is not followed: a command, a script, a server, a variable."""
    code = kernel.code
    targets = {id(part) for write in file_writes for part in ast.walk(write.target)}
    is_named = any(_names(node.value, accepted_names) and id(node) not in targets for node in code.nodes(ast.Constant))
    by_command = any(_names(command, accepted_names) or _SCRIPT.search(command) for _, _, command in code.commands())
    moves = any(call.name in _MOVING for call in code.calls)
    is_server = any(module.startswith(("kaggle_evaluation", "aimo")) for module in code.modules)
    is_unknown = any(
        UNKNOWN in (write.path or UNKNOWN) and code.name(write.node.func).rpartition(".")[2] in _WRITING_TABLES
        for write in file_writes
    )
    return is_named or by_command or moves or is_server or is_unknown


def _names(text: object, accepted_names: tuple[str, ...]) -> bool:
    return isinstance(text, str) and any(
        re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", text) for name in accepted_names
    )


def _columns(code: NotebookCode, table: ast.expr) -> Iterator[ast.expr]:
    """What the columns of a table are made of, as far as they are written out."""
    for frame_call in map(code.call, code.find_meanings(table) if isinstance(table, ast.Name) else [table]):
        is_frame = frame_call is not None and frame_call.name == "pandas.DataFrame"
        data = code.resolve(frame_call.argument(0, "data")) if frame_call is not None and is_frame else None
        if isinstance(data, ast.Dict):
            yield from data.values
    if isinstance(table, ast.Name):
        yield from _assigned_columns(code).get((code.function(table), table.id), ())


@lru_cache(maxsize=1)
def _assigned_columns(code: NotebookCode) -> Mapping[tuple[ast.AST | None, str], list[ast.expr]]:
    """What is given to an entry of a table, or of something else, by its scope and name."""
    columns: dict[tuple[ast.AST | None, str], list[ast.expr]] = defaultdict(list)
    for assign in code.nodes(ast.Assign):
        for target in assign.targets:
            owner = target.value if isinstance(target, ast.Subscript) else None
            if isinstance(owner, ast.Name):
                columns[code.function(owner), owner.id].append(assign.value)
    return columns


def _fixed_length(code: NotebookCode, node: ast.expr) -> tuple[ast.expr, float] | None:
    """The number of elements that the code itself gives to an array, with the expression that does."""
    for _ in range(_DEEPEST):
        inner = _of_same_length(code, node)
        if inner is None:
            break
        node = inner
    call, length = code.call(node), None
    if isinstance(node, ast.BinOp) and isinstance(node.left, ast.List) and isinstance(node.op, ast.Mult):
        length = code.number(node.right) if len(node.left.elts) == 1 else None
    elif call is not None and call.name in _ARRAYS_OF_SHAPE:
        shape = code.resolve(call.argument(0, "shape"))
        length = code.number(shape.elts[0] if isinstance(shape, ast.Tuple | ast.List) and shape.elts else shape)
    elif call is not None and call.name in ("range", "numpy.arange") and not call.node.keywords:
        ends = [code.number(argument) for argument in call.node.args]
        if None not in ends and len(ends) in (1, 2):
            length = (ends[-1] or 0) - (ends[0] or 0 if ends[1:] else 0)
    return (node, length) if length is not None and length > 1 else None


def _of_same_length(code: NotebookCode, node: ast.expr) -> ast.expr | None:
    """The array that an expression takes its length from, if it is made of another one."""
    call = code.call(node)
    if isinstance(node, ast.Name):
        values = [value for value in code.find_values(node) if value is not None]  # `scores += …` keeps a length
        return values[0] if len(values) == 1 else None
    if isinstance(node, ast.Subscript):  # scores[:, 1]
        is_column = isinstance(node.slice, ast.Tuple) and ast.unparse(node.slice.elts[0]) == ":"
        return node.value if is_column else None
    if isinstance(node, ast.BinOp) and not isinstance(node.left, ast.List) and not isinstance(node.op, ast.MatMult):
        return node.right if isinstance(node.left, ast.Constant) else node.left
    if call is not None and call.name in _SAME_LENGTH:
        return call.argument(0)
    return call.receiver if call is not None and call.last in _SAME_LENGTH_METHODS else None


def _asks_for_bfloat16(kernel: KernelSource, call: CodeCall) -> bool:
    """True for arguments by which transformers, vLLM and their like compute in bfloat16."""
    code = kernel.code
    flag = call.keyword("bf16", "bf16_full_eval")
    if isinstance(flag, ast.expr) and is_true(code.resolve(flag)):
        return True
    dtype = call.keyword("torch_dtype", "dtype", "bnb_4bit_compute_dtype", "compute_dtype")
    if dtype is None:
        dtype = call.keyword("mixed_precision")
        return dtype is not None and code.text(dtype) == "bf16"
    return code.name(code.resolve(dtype) or dtype) == "torch.bfloat16" or code.text(dtype) == "bfloat16"


def _trains_on_tpu(kernel: KernelSource) -> bool:
    return kernel.is_on_tpu and kernel.purpose is not Purpose.INFERENCE


def _is_weights(kernel: KernelSource, write: Write) -> bool:
    """True for weights alone, and for a checkpoint that the notebook itself loads again."""
    name = kernel.code.name(write.node.func)
    only = any(keyword.arg == "save_weights_only" for keyword in write.node.keywords)
    is_own = name.endswith("ModelCheckpoint") and _name(str(write.path)) in _list_loaded_files(kernel.code)
    return str(write.path).endswith(".weights.h5") or name.endswith("save_weights") or only or is_own


@lru_cache(maxsize=1)
def _list_loaded_files(code: NotebookCode) -> frozenset[str]:
    """The files of models and weights that a notebook loads."""
    loads = [call for call in code.calls if call.name in _KERAS_LOADS or call.name.endswith(".load_weights")]
    return frozenset(_name(code.text(call.node.args[0]) or "") for call in loads if call.node.args)


def _name(path: str) -> str:
    return PurePosixPath(path.replace(UNKNOWN, "…")).name
