"""Rules of what leaves a notebook: the submission's name, formats that other images read, and cells that both share."""

import ast
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import PurePosixPath

from generator.check.code import NotebookCode
from generator.check.finding import Severity
from generator.check.guards import is_guarded
from generator.check.rule import Problem, rule
from generator.check.shell import shell_commands
from generator.check.source import KernelSource, Purpose
from generator.check.syntax import Call, is_true, walk
from generator.check.text_value import UNKNOWN
from generator.check.written_paths import Write, writes
from generator.pair.shared_cells import differing

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
_KERAS_LOADS = {"keras.models.load_model", "keras.saving.load_model", "tensorflow.keras.models.load_model"}
_PICKLE_DUMPS = {"pickle.dump", "joblib.dump", "dill.dump", "cloudpickle.dump", "?.to_pickle"}
_PICKLE_LOADS = {"pickle.load", "joblib.load", "dill.load", "cloudpickle.load", "pandas.read_pickle"}


@rule("N060", "submission-name")
def submission_name(kernel: KernelSource) -> Iterator[Problem]:
    """The submission is written under another name than the competition takes.

    A code competition looks for that one file in the output of the rerun; without it the submission ends as "Submission
    CSV Not Found", and is counted.
    Write it under the name that the competition's page gives, which is mostly submission.csv, into /kaggle/working.

    Source (2026-11-23): kaggle.com/code-competition-debugging; the code requirements of competitions.
    """
    wanted = _names_taken(kernel)
    if not wanted or not kernel.code.is_whole:
        return
    written = [write for write in writes(kernel.code) if not _is_folder(kernel.code, write)]
    paths = [_from_working(write.path or UNKNOWN) for write in written]
    if any(path in wanted for path in paths) or _may_be_written_otherwise(kernel, wanted, written):
        return
    for write, path in zip(written, paths, strict=True):
        name, takes = PurePosixPath(path).name, " or ".join(wanted[:2])
        is_meant = name.lower().endswith(_TABLES) and _SUB.search(name.lower())
        if UNKNOWN in path or not (is_meant or name.lower() in wanted):
            continue
        if name in wanted:
            message = f"The submission is written to {write.path}, and Kaggle looks for {takes} in /kaggle/working."
        else:
            message = f"The submission is called {name}, and the competition takes {takes}."
        remedy = f'Write it to "/kaggle/working/{wanted[0]}".'
        yield Problem(kernel.code.place(write.node), message, remedy)


@rule("N066", "no-submission", Severity.WARNING)
def no_submission(kernel: KernelSource) -> Iterator[Problem]:
    """The inference of a code competition writes no file at all.

    The rerun ends as "Submission CSV Not Found", and is counted.
    Write the predictions for every row of the sample: `submission.to_csv("submission.csv", index=False)`.

    Source (2026-11-27): kaggle.com/code-competition-debugging; the code requirements of competitions.
    """
    code = kernel.code
    is_read = bool(code.calls) and code.is_whole and not any(cell.syntax_error for cell in code.cells)
    wanted = _names_taken(kernel)
    if not wanted or not is_read:
        return
    may_write = code.stars or code.scripts or code.script or shell_commands(code) or writes(code)
    by_helper = any(call.last in _WRITERS or "subm" in call.name.lower() for call in code.calls)
    if may_write or by_helper or _may_be_written_otherwise(kernel, wanted, []):
        return
    message = f"Nothing here writes a file, and the competition takes {' or '.join(wanted[:2])}."
    yield Problem(code.place(code.cells[-1]), message, f'Write it: submission.to_csv("{wanted[0]}", index=False).')


@rule("N061", "keras-file-handed-over", Severity.WARNING)
def keras_file_handed_over(kernel: KernelSource) -> Iterator[Problem]:
    """A whole Keras model (.keras, .h5) goes from the TPU image to the GPU image.

    The TPU image has the newer Keras: every .keras file of Keras 3.15 that was tried fails to load in 3.13, with
    "unexpected keyword argument" for each initializer. Weights load.
    Save weights (`model.save_weights("fold0.weights.h5")`), and build the model by the same code in both notebooks.

    Source (2026-11-20): measured with Keras 3.10 to 3.15.
    """
    for write in writes(kernel.code) if _trains_on_tpu(kernel) else ():
        if write.path and write.path.endswith((".keras", ".h5", ".hdf5")) and not _is_weights(kernel, write):
            message = f"{_name(write.path)} is a whole model, which the GPU image's older Keras does not load."
            remedy = (
                'Write model.save_weights("model.weights.h5"), and build the model by the same code in both notebooks.'
            )
            yield Problem(kernel.code.place(write.node), message, remedy)
    own = {_name(write.path) for write in writes(kernel.code) if write.path}
    for call in kernel.code.calls:
        node, name = call.node, call.name
        path = kernel.code.text(node.args[0]) if node.args else None
        is_whole = name in _KERAS_LOADS and path is not None and path.endswith(".keras")
        if is_whole and path and _name(path) not in own and kernel.has_no_internet:
            message = f"{_name(path)} is a whole model, which loads only in the Keras that saved it, or a newer one."
            remedy = 'Build the model here, and write model.load_weights("….weights.h5") with what training saved.'
            yield Problem(kernel.code.place(node), message, remedy)


@rule("N062", "pickle-handed-over", Severity.WARNING)
def pickle_handed_over(kernel: KernelSource) -> Iterator[Problem]:
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
            message = "A pickle is bound to the versions of the image that wrote it."
            remedy = "Write numpy.savez for arrays, save_weights or safetensors for weights, json.dump for the rest."
            yield Problem(kernel.code.place(node), message, remedy)


@rule("N063", "bfloat16-on-t4", Severity.WARNING)
def bfloat16_on_t4(kernel: KernelSource) -> Iterator[Problem]:
    """A kernel on a T4 computes in bfloat16, which a T4 does not have.

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
        named = [*node.args, *(keyword.value for keyword in node.keywords)]
        is_torch = name.endswith(("autocast", ".to")) and any(
            kernel.code.name(each) == "torch.bfloat16" for each in named
        )
        is_policy = is_policy and any("bfloat16" in (kernel.code.text(each) or "") for each in named)
        is_torch = is_torch or (call.last == "bfloat16" and not named and "torch" in kernel.code.modules)
        if is_torch or is_policy or _asks_for_bfloat16(kernel, call):
            message = "A T4 has no bfloat16, and emulates it slowly."
            yield Problem(
                kernel.code.place(node),
                message,
                'Write "mixed_float16" in Keras, torch.float16 or fp16=True in PyTorch; or leave it out for float32.',
            )


@rule("N065", "submissions-of-other-kernels", Severity.WARNING)
def submissions_of_other_kernels(kernel: KernelSource) -> Iterator[Problem]:
    """A submission is made of files that other kernels wrote, in a notebook that runs without the internet.

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
            message = f"{_name(path)} has the rows of the visible test, and a code competition runs on the hidden one."
            yield Problem(
                kernel.code.place(call.node),
                message,
                "Attach that kernel's weights by kernel_sources, and predict the rows of the hidden test here.",
            )


def _is_submission_of_another(path: str) -> bool:
    name = PurePosixPath(path).name.lower()
    is_submission = _SUB.search(name) is not None and "sample" not in name and name.endswith(_TABLES)
    return is_submission and path.startswith(("/kaggle/input/", "../input/")) and "/competitions/" not in path


def _paths_read(code: NotebookCode, call: Call) -> Iterator[str]:
    """The path that a call reads, or the texts that the loop around it goes through for that."""
    given = call.argument(0)
    if (path := code.text(given)) is not None:
        yield path
    names = {each.id for each in walk(given) if isinstance(each, ast.Name)} if given is not None else set()
    loops: list[ast.For | ast.comprehension] = []
    for around in code.ancestors(call.node):
        loops += [around] if isinstance(around, ast.For) else getattr(around, "generators", [])
    for loop in loops:
        if not names.isdisjoint(each.id for each in walk(loop.target) if isinstance(each, ast.Name)):
            parts = [code.resolved(each) or each for each in walk(loop.iter) if isinstance(each, ast.expr)]
            yield from (text for part in parts for each in walk(part) if (text := code.text(each)) is not None)


@rule("N067", "submission-of-a-fixed-length", Severity.WARNING)
def submission_of_a_fixed_length(kernel: KernelSource) -> Iterator[Problem]:
    """The number of rows of a code competition's submission stands in the code.

    The notebook runs again on the hidden test, which mostly has more rows than the visible one: the submission has the
    wrong number of rows, or pandas stops ("Length of values does not match length of index").
    Take the length from the data that are read: `len(test)`.

    Source (2026-11-27): kaggle.com/code-competition-debugging ("the hidden dataset can be larger/smaller/different than
    the public dataset"; "wrong number of rows").
    """
    code = kernel.code
    wanted = _names_taken(kernel)
    written = [each for each in writes(code) if each.path is not None and _from_working(each.path) in wanted]
    tables = [each.node.func.value for each in written if isinstance(each.node.func, ast.Attribute)]
    columns = [column for table in tables for column in _columns(code, table)]
    for column in dict.fromkeys(columns):
        fixed = None if is_guarded(code, column, any_if=True) else _fixed_length(code, column)
        if fixed is not None:
            message = f"The submission has {fixed[1]:g} rows here, and the hidden test may have another number."
            yield Problem(
                code.place(fixed[0]), message, f"Write len(test), of the table that is read, for {fixed[1]:g}."
            )


@rule("N064", "shared-cell-differs")
def shared_cell_differs(kernel: KernelSource) -> Iterator[Problem]:
    """A cell that both notebooks of a pair must have alike is another one in inference.

    What begins with "# The same in both notebooks." reads the data or builds the model: inference would not compute
    what was trained, or stop at the weights, after the training. `run` and `push` refuse such a pair.
    Copy the text that is meant into the other notebook.

    Source (2026-11-27): our own rule: `tandem run` and `tandem push` compare these cells.
    """
    training = kernel.trained_by
    if training is None or not training.notebook or not kernel.notebook:
        return
    both = {training.code.path: training.text, kernel.code.path: kernel.text}
    cells = {cell.name: cell for cell in kernel.code.cells}
    for name in differing(both):
        place = kernel.code.place(cells[name]) if name in cells else kernel.in_notebook()
        message = (
            f'The cell "{name}" differs between {training.code.path} and {kernel.code.path}, so that inference would '
            "not compute what was trained."
        )
        yield Problem(place, message, "Copy the text that you mean into the other notebook.")


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


def _may_be_written_otherwise(kernel: KernelSource, wanted: tuple[str, ...], written: list[Write]) -> bool:
    """True if the submission may get its name by what is not followed: a command, a script, a server, a variable."""
    code = kernel.code
    targets = {id(each) for write in written for each in ast.walk(write.target)}
    is_named = any(_names(node.value, wanted) and id(node) not in targets for node in code.nodes(ast.Constant))
    by_command = any(_names(command, wanted) or _SCRIPT.search(command) for _, _, command in code.commands())
    moves = any(call.name in _MOVING for call in code.calls)
    is_server = any(module.startswith(("kaggle_evaluation", "aimo")) for module in code.modules)
    is_unknown = any(
        UNKNOWN in (write.path or UNKNOWN) and code.name(write.node.func).rpartition(".")[2] in _WRITING_TABLES
        for write in written
    )
    return is_named or by_command or moves or is_server or is_unknown


def _names(text: object, wanted: tuple[str, ...]) -> bool:
    return isinstance(text, str) and any(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", text) for name in wanted)


def _columns(code: NotebookCode, table: ast.expr) -> Iterator[ast.expr]:
    """What the columns of a table are made of, as far as they are written out."""
    for made in map(code.call, code.meant(table) if isinstance(table, ast.Name) else [table]):
        is_frame = made is not None and made.name == "pandas.DataFrame"
        data = code.resolved(made.argument(0, "data")) if made is not None and is_frame else None
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
        shape = code.resolved(call.argument(0, "shape"))
        length = code.number(shape.elts[0] if isinstance(shape, ast.Tuple | ast.List) and shape.elts else shape)
    elif call is not None and call.name in ("range", "numpy.arange") and not call.node.keywords:
        ends = [code.number(each) for each in call.node.args]
        if None not in ends and len(ends) in (1, 2):
            length = (ends[-1] or 0) - (ends[0] or 0 if ends[1:] else 0)
    return (node, length) if length is not None and length > 1 else None


def _of_same_length(code: NotebookCode, node: ast.expr) -> ast.expr | None:
    """The array that an expression takes its length from, if it is made of another one."""
    call = code.call(node)
    if isinstance(node, ast.Name):
        values = [value for value in code.given(node) if value is not None]  # `scores += …` keeps a length
        return values[0] if len(values) == 1 else None
    if isinstance(node, ast.Subscript):  # scores[:, 1]
        is_column = isinstance(node.slice, ast.Tuple) and ast.unparse(node.slice.elts[0]) == ":"
        return node.value if is_column else None
    if isinstance(node, ast.BinOp) and not isinstance(node.left, ast.List) and not isinstance(node.op, ast.MatMult):
        return node.right if isinstance(node.left, ast.Constant) else node.left
    if call is not None and call.name in _SAME_LENGTH:
        return call.argument(0)
    return call.receiver if call is not None and call.last in _SAME_LENGTH_METHODS else None


def _asks_for_bfloat16(kernel: KernelSource, call: Call) -> bool:
    """True for arguments by which transformers, vLLM and their like compute in bfloat16."""
    code = kernel.code
    asked = call.keyword("bf16", "bf16_full_eval")
    if isinstance(asked, ast.expr) and is_true(code.resolved(asked)):
        return True
    given = call.keyword("torch_dtype", "dtype", "bnb_4bit_compute_dtype", "compute_dtype")
    if given is None:
        given = call.keyword("mixed_precision")
        return given is not None and code.text(given) == "bf16"
    return code.name(code.resolved(given) or given) == "torch.bfloat16" or code.text(given) == "bfloat16"


def _trains_on_tpu(kernel: KernelSource) -> bool:
    return kernel.is_on_tpu and kernel.purpose is not Purpose.INFERENCE


def _is_weights(kernel: KernelSource, write: Write) -> bool:
    """True for weights alone, and for a checkpoint that the notebook itself loads again."""
    name = kernel.code.name(write.node.func)
    only = any(keyword.arg == "save_weights_only" for keyword in write.node.keywords)
    is_own = name.endswith("ModelCheckpoint") and _name(str(write.path)) in _loaded(kernel.code)
    return str(write.path).endswith(".weights.h5") or name.endswith("save_weights") or only or is_own


@lru_cache(maxsize=1)
def _loaded(code: NotebookCode) -> frozenset[str]:
    """The files of models and weights that a notebook loads."""
    loads = [call for call in code.calls if call.name in _KERAS_LOADS or call.name.endswith(".load_weights")]
    return frozenset(_name(code.text(call.node.args[0]) or "") for call in loads if call.node.args)


def _name(path: str) -> str:
    return PurePosixPath(path.replace(UNKNOWN, "…")).name
