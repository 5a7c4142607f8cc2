"""Rules of today's images: packages, versions, names, and what a notebook installs and downloads."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import PurePosixPath

from generator.check.cell_text import CodeCall
from generator.check.code import UNKNOWN, NotebookCode
from generator.check.environment import (
    Removal,
    distributions_of,
    installed_modules,
    instead_of,
    is_called,
    is_elsewhere,
    is_guarded,
    is_optional,
    may_be_passed_by,
    missing_modules,
    module_named,
    removed_names,
    removed_of_estimators,
    removed_values,
    shell_commands,
    stays_the_same,
    strings_and_commands,
    version_in_image,
    writes,
)
from generator.check.findings import CodeLocation, Fix, Severity, rename_node, renamed_argument
from generator.check.rule import RuleProblem, rule
from generator.check.source import KernelSource

_HEADS = {name.partition(".")[0] for table in ("names", "prefixes", "calls") for name in removed_names(table)}
_BRINGS_FILES = re.compile(
    r"\b(?:git\s+clone|unzip|tar\s|wget|curl|gdown|aria2c|cp\s|mv\s|rsync|ln\s|kaggle\s+(?:d|k|c|m)|svn)|writefile"
)
_PATHS = {"sys.path.append", "sys.path.insert", "sys.path.extend", "site.addsitedir", "?.path.append", "?.path.insert"}
_COPIES = {"shutil.copy", "shutil.copytree", "shutil.copy2", "shutil.copyfile", "shutil.unpack_archive", "os.symlink"}
_COPIES |= {"?.extractall", "?.write_text", "os.chdir"}
_SCRIPT = re.compile(
    r"(?:^|&&|;|\|\|?)\s*(?:time\s+)?(?:python3?|torchrun|accelerate\s+launch|deepspeed|bash|sh|run)\s+(.*)"
)
_COMMAND_LINES = {"parse_args", "parse_args_into_dataclasses"}
_EVENT_LOOPS = {"run", "run_until_complete"}
_LOGINS = {
    "wandb.login": ("key", "WANDB_API_KEY", 'os.environ["WANDB_MODE"] = "offline"'),
    "huggingface_hub.login": ("token", "HF_TOKEN", 'login(token=UserSecretsClient().get_secret("HF_TOKEN"))'),
    "huggingface_hub.interpreter_login": ("token", "HF_TOKEN", "login(token=…)"),
    "kagglehub.login": ("api_token", "", ""),
    "kagglehub.auth.login": ("api_token", "", ""),
    "comet_ml.login": ("api_key", "COMET_API_KEY", "comet_ml.login(api_key=…)"),
    "comet_ml.init": ("api_key", "COMET_API_KEY", "comet_ml.init(api_key=…)"),
    "neptune.login": ("api_token", "NEPTUNE_API_TOKEN", "a token from the secrets"),
    "ee.Authenticate": ("", "", "a service account's credentials"),
}
_LOGIN_COMMANDS = re.compile(
    r"^(?:wandb\s+login\s*(?:--relogin)?$|(?:huggingface-cli|hf\s+auth|hf)\s+login(?!.*(?:--token|-t\b))|kaggle\s+auth\s+login|gcloud\s+auth\s+login)"
)
_MAKES_FRAMES = ("pandas.DataFrame", "pandas.read_", "pandas.Series", "pandas.concat", "pandas.merge")
_APPEND = Removal("pandas.DataFrame.append", "2.0", "pandas.concat([a, b])")
_SIZES = {"RandomResizedCrop": 0, "RandomSizedCrop": 1}  # where height and width stood
_LABELS_AND_AXIS = 2  # arguments of DataFrame.drop
_LONGEST_NAME = 200  # of a file
_NOT_PUSHED = "A push does not include {}, a file beside the notebook."
_DATASET = "/kaggle/input/datasets/OWNER/DATASET"
_COLAB_TEXTS = ("COLAB_TPU_ADDR", "COLAB_GPU", "COLAB_BACKEND_VERSION")
_OF_MODELS = {"eval", "train", "parameters", "named_parameters", "state_dict", "load_state_dict", "modules", "children"}
_MOVES_MODELS = {"to", "cuda", "cpu", "float", "half", "double"}  # and returns them
_TPU_PACKAGES = {"jax", "jaxlib", "libtpu", "libtpu_nightly", "torch", "torch_xla", "tensorflow", "tensorflow_cpu"}


@rule("N024", "module-not-in-image", Severity.WARNING)
def module_not_in_image(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A module is imported that Kaggle's image does not have, and the notebook does not install it.

    The cell ends with ModuleNotFoundError unless an attached dataset or utility script brings the module. The image of
    a TPU is much smaller than that of a GPU: no LightGBM, XGBoost, wandb or datasets.
    Install it in the first cell (`!pip install NAME==VERSION`), or from attached wheels. Some packages work in no
    version beside what the image has, as tensorflow-addons beside Keras 3: those have another remedy.

    Source (2026-11-27): Kaggle/docker-python, kaggle_requirements.txt and tpu/requirements.in; data/images.toml has the
    date.
    """
    code = kernel.code
    missing = missing_modules(kernel)
    if kernel.refs("kernel_sources") or _brings_modules(kernel):  # a utility script may be among them
        return
    pip = installed_modules(code)
    for node, names in code.import_statements:
        for name in sorted({module.partition(".")[0] for module in names} & set(missing)):
            is_installed = bool({module_named(name), module_named(missing[name])} & pip) or "?" in pip
            if not is_installed and not is_guarded(code, node):
                image = "TPU" if kernel.is_on_tpu else "GPU"
                message = f"Kaggle's {image} image does not have {name}."
                remedy = instead_of(name) or f"Install it in the first cell: !pip install {missing[name]}==VERSION."
                yield RuleProblem(code.place(node), message, remedy)


@rule("N025", "removed-name")
def removed_name(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A name, an argument or a method that the library has removed, in the version that Kaggle's image has.

    The cell ends with AttributeError, ImportError or TypeError. Keras 3, NumPy 2, pandas 2 and JAX have removed much
    that notebooks of 2019 to 2023 use.
    Write what the remedy says, or install the old version before anything imports the library.

    Source (2026-11-27): data/removed_names.toml, whose names were looked up in the images' versions.
    """
    yield from (problem for problem, is_certain in _removed_uses(kernel) if is_certain)


@rule("N026", "renamed-name", Severity.WARNING)
def renamed_name(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A name, an argument or a method that newer versions of the library no longer have.

    Which version the image has today is not known for certain, or the two images differ, or the line may be passed by.
    Write what the remedy says, which works in both.

    Source (2026-11-27): data/removed_names.toml, whose names were looked up in installed versions.
    """
    yield from (problem for problem, is_certain in _removed_uses(kernel) if not is_certain)


@rule("N027", "file-is-not-pushed")
def file_is_not_pushed(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The notebook imports, runs or reads a file beside it, which is not pushed.

    A push sends the notebook and nothing else: on Kaggle it is ModuleNotFoundError, or "No such file".
    Write the module by `%%writefile NAME.py` in a cell, attach it as a dataset or utility script, or put its code into
    the notebook.

    Source (2026-11-27): kaggle-cli kernels_push, which uploads code_file only; Kaggle/kaggle-cli#225, #372.
    """
    code = kernel.code
    if kernel.metadata is None or _brings_modules(kernel):
        return
    for node, names in code.import_statements:
        for name in sorted({module.partition(".")[0] for module in names}):
            file = _module_beside(kernel, name)
            if file and not is_guarded(code, node):
                in_cell = f"Write it in a cell that starts with %%writefile {file}, or attach it as a utility script."
                in_dataset = f'Attach {file} as a dataset, and write sys.path.append("{_DATASET}") above.'
                remedy = in_dataset if file.endswith("/") else in_cell
                yield RuleProblem(code.place(node), _NOT_PUSHED.format(file), remedy)
    for command in shell_commands(code):
        for script in _scripts(command.text):
            if _lies_beside(kernel, script):
                remedy = f"Write it in a cell that starts with %%writefile {script}, or attach it as a dataset."
                yield RuleProblem(command.place, _NOT_PUSHED.format(script), remedy)
    for call, name in _read_files(code):
        if _lies_beside(kernel, name) and not is_guarded(code, call.node):
            remedy = f'Attach it as a dataset, and read "{_DATASET}/{PurePosixPath(name).name}".'
            yield RuleProblem(code.place(call.node), _NOT_PUSHED.format(name), remedy)


@rule("N028", "two-frameworks-on-a-tpu", Severity.WARNING)
def two_frameworks_on_a_tpu(kernel: KernelSource) -> Iterator[RuleProblem]:
    """JAX and PyTorch/XLA use the TPU in the same process, or one of them is installed in another version.

    One runtime owns the chips: the second finds none ("TPU is already in use", "Mismatched PJRT plugin"). A pinned jax,
    jaxlib or libtpu no longer fits the libtpu that the image forces for PyTorch/XLA.
    Use one framework in a notebook, in the version that the image has.

    Source (2026-11-27): jax-ml/jax#20148; Kaggle/docker-python tpu/Dockerfile (libtpu 0.0.17 is installed last).
    """
    code = kernel.code
    if not kernel.is_on_tpu:
        return
    remedy = "Keep one of the two; for both, first run one of them in a separate program."
    jax_uses = [call for call in code.calls if call.name.startswith("jax.") and call.name != "jax.config.update"]
    xla_uses = [call for call in code.calls if call.name.startswith("torch_xla.")]
    if jax_uses and xla_uses and not any(code.text(call.argument(1)) == "cpu" for call in jax_uses):
        second = max((jax_uses[0], xla_uses[0]), key=lambda call: code.order(call.node))
        message = "JAX and PyTorch/XLA use the same TPU, but only the first can open it."
        yield RuleProblem(code.place(second.node), message, remedy)
    for command in shell_commands(code):
        for name, version in _find_pins(command.text):
            image = version_in_image(kernel, name.partition("_cpu")[0].replace("jaxlib", "jax"))
            if name in _TPU_PACKAGES and not (image and version.startswith(image)):
                message = f"{name}=={version} replaces the image's version, which matches its libtpu."
                yield RuleProblem(
                    command.place, message, f"Keep the image's {name}, or check jax.devices() afterwards."
                )


@rule("N029", "whole-model-refused")
def whole_model_refused(kernel: KernelSource) -> Iterator[RuleProblem]:
    """`torch.load` reads a whole model, which it refuses since PyTorch 2.6.

    `weights_only` is true unless it is given, and a pickled model is no weights: "Weights only load failed".
    Save `model.state_dict()`, and load it into the model that the same code builds. For a file of your own write
    `torch.load(path, weights_only=False)`: it executes what is in the file, and needs the model's class by its name.

    Source (2026-11-27): meta-pytorch/captum#1443 (PyTorch's own notice of 2.6); PyTorch 2.13 with a model and with a
    TorchScript archive, tried.
    """
    code = kernel.code
    is_allowed = not code.callee_names.isdisjoint(("add_safe_globals", "safe_globals"))
    is_allowed |= any("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD" in text for text in strings_and_commands(code))
    loads = [call for call in code.calls if call.name == "torch.load"]
    if not loads or is_allowed or "torch" in installed_modules(code) or "torch.load" in _attributes_set(code):
        return
    for call in loads:
        is_default = call.keyword("weights_only") is None and not call.is_open
        if is_default and not is_guarded(code, call.node) and _is_used_as_model(code, call.node):
            message = "This file has a whole model. torch.load refuses it since PyTorch 2.6."
            remedy = "Write torch.load(path, weights_only=False); better save and load model.state_dict()."
            yield RuleProblem(code.place(call.node), message, remedy)


@rule("N012", "command-line-in-a-notebook")
def command_line_in_a_notebook(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The notebook reads a command line, or starts an event loop, as only a script can.

    `parse_args()` reads the arguments of the notebook's kernel (`-f kernel.json`) and ends it: SystemExit 2.
    `asyncio.run` is refused, since the kernel runs an event loop already.
    Give the arguments (`parse_args([])`), and write `await main()`.

    Source (2026-11-27): ipykernel; Python, asyncio.run.
    """
    code = kernel.code
    if not code.is_notebook:
        return
    has_nest_asyncio = any("nest_asyncio" in call.name for call in code.calls) or "nest_asyncio" in code.modules
    argv = any(
        code.name(attribute) == "sys.argv" and isinstance(attribute.ctx, ast.Store)
        for attribute in code.nodes(ast.Attribute)
    )
    for call in code.calls:
        if call.last not in _COMMAND_LINES and call.last not in _EVENT_LOOPS:
            continue
        in_method = any(code.class_of(attribute) is not None for attribute in code.functions_around(call.node))
        if is_guarded(code, call.node) or in_method or not is_called(code, call.node):
            continue
        is_bare = not call.node.args and not call.node.keywords
        parser = code.call(code.resolve(call.receiver)) if call.receiver is not None else None
        is_parser = parser is not None and parser.last in {"ArgumentParser", "HfArgumentParser"}
        if call.last in _COMMAND_LINES and is_bare and is_parser and not argv:
            message = "A notebook has no command line: parse_args() reads that of the kernel, and ends the kernel."
            yield RuleProblem(code.place(call.node), message, "Write parse_args([]), or put the values into constants.")
        is_loop = call.name == "asyncio.run" or call.last == "run_until_complete"
        if is_loop and not has_nest_asyncio:
            message = f"`{call.last}` fails in a notebook, because its kernel already runs an event loop."
            inner = ast.unparse(call.node.args[0]) if call.node.args else "main()"
            yield RuleProblem(code.place(call.node), message, f"Write `await {inner[:60]}`.")


@rule("N013", "login-prompt", Severity.WARNING)
def login_prompt(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A login asks for a key, but a pushed session has no user.

    It fails with "not a tty" or EOFError, or waits until the session's time is over, unless the key is in the
    environment. Secrets of Kaggle are not attached by a push.
    Go on without: `WANDB_MODE=offline`, public models without a token; kagglehub is logged in on Kaggle as it is
    (a note).

    Source (2026-11-27): Kaggle/kaggle-cli#582; kagglehub 1.0.3; wandb and huggingface_hub, login().
    """
    code = kernel.code
    texts = strings_and_commands(code)
    for call in code.calls:
        login = _LOGINS.get(call.name)
        if login is None or is_guarded(code, call.node):
            continue
        keyword, variable, remedy = login
        has_key = bool(call.node.args) or call.is_open or (keyword and call.keyword(keyword) is not None)
        has_key = has_key or code.text(call.keyword("anonymous")) in {"must", "allow"}
        is_offline = call.name.startswith("wandb") and any(text in texts for text in ("offline", "disabled"))
        if not has_key and not is_offline and not (variable and _sets(texts, variable)):
            message = f"{call.name}() asks for a key, but a session on Kaggle has no user."
            if remedy:
                yield RuleProblem(code.place(call.node), message, f"Write {remedy}.")
            else:  # it shows a button and goes on, by the key that the session has
                remedy = "Remove it: a session on Kaggle is logged in."
                yield RuleProblem(code.place(call.node), message, remedy, severity=Severity.NOTE)
    for command in shell_commands(code):
        if _LOGIN_COMMANDS.match(command.text.strip()):
            message = "This asks for a key, but a session on Kaggle has no user."
            yield RuleProblem(
                command.place,
                message,
                "Remove it, or set the key before: os.environ[NAME] = UserSecretsClient().get_secret(NAME).",
            )


@rule("N014", "only-in-colab", Severity.WARNING)
def only_in_colab(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The notebook uses features of Colab: its drive, its user data, its TPU address.

    On Kaggle the import or the call fails, and the environment variable is not there.
    Read attached data below /kaggle/input, secrets by `kaggle_secrets`; or ask first where the notebook runs
    (`if "KAGGLE_KERNEL_RUN_TYPE" not in os.environ:`).

    Source (2026-11-27): googlecolab/colabtools; Kaggle/docker-python.
    """
    code = kernel.code
    remedy = 'Check first: if "KAGGLE_KERNEL_RUN_TYPE" not in os.environ: …'
    for node, names in code.import_statements:
        if any(name.startswith("google.colab") for name in names) and not is_guarded(code, node, any_if=True):
            message = "google.colab works only in Colab."
            yield RuleProblem(code.place(node), message, remedy)
    for node in code.nodes(ast.Subscript):
        name = code.text(node.slice) if isinstance(node.slice, ast.expr) else None
        is_read = code.name(node.value) == "os.environ" and isinstance(node.ctx, ast.Load)
        if name in _COLAB_TEXTS and is_read and not is_guarded(code, node, any_if=True):
            yield RuleProblem(code.place(node), f"{name} exists only in Colab. This raises a KeyError.", remedy)


@rule("N047", "bucket-of-old", Severity.WARNING)
def bucket_of_old(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The data are looked for by `KaggleDatasets().get_gcs_path()`, which is of the TPUs before 2023.

    A TPU is in the notebook's own machine today. On a TPU VM the function gives the flat path /kaggle/input/NAME, where
    sessions of the new layout have nothing; elsewhere it asks a service that no longer copies.
    Read the data below /kaggle/input: competitions/SLUG or datasets/OWNER/SLUG.

    Source (2026-11-27): Kaggle/docker-python, patches/kaggle_datasets.py; 10 of 21 public TensorFlow notebooks for
    TPUs, 2026-11.
    """
    code = kernel.code
    for call in code.calls:
        if call.last == "get_gcs_path" and not is_guarded(code, call.node):
            message = "get_gcs_path() returns a path that sessions with the new layout do not have."
            remedy = 'Write Path("/kaggle/input/competitions/SLUG"), or datasets/OWNER/SLUG.'
            yield RuleProblem(code.place(call.node), message, remedy)


@lru_cache(maxsize=2)
def _removed_uses(kernel: KernelSource) -> tuple[tuple[RuleProblem, bool], ...]:
    """Every use of a removed name, and whether it certainly fails."""
    return _Removals(kernel).uses()


class _Removals:
    """The uses of removed names in a kernel: each once in a line."""

    def __init__(self, kernel: KernelSource) -> None:
        self._kernel, self._code = kernel, kernel.code
        self._pip = installed_modules(self._code)
        self._is_legacy = any("TF_USE_LEGACY_KERAS" in text for text in strings_and_commands(self._code))
        self._heads = _HEADS & (self._code.modules | {"imp", "asynchat", "asyncore"})
        self._uses: dict[tuple[str, int, str], tuple[RuleProblem, bool]] = {}

    def uses(self) -> tuple[tuple[RuleProblem, bool], ...]:
        """The problem of each, and whether it certainly fails."""
        if self._heads:
            self._look_at_names()
        for call in self._code.calls:
            self._look_at_call(call)
            self._look_at_method(call)
            self._look_at_estimator(call)
            if "pandas" in self._code.modules:
                self._look_at_pandas(call)
        return tuple(self._uses.values())

    def _add(
        self, node: ast.AST, entry: Removal, *, certain: bool = True, fix: Fix | None = None, verb: str = "removed"
    ) -> None:
        libraries = {module_named(entry.library), "scikit_learn" if entry.library == "sklearn" else entry.library}
        libraries |= entry.backports
        is_keras = entry.name.startswith("tensorflow.keras.") or entry.name in removed_names("methods")
        is_there = bool(libraries & self._pip) or (self._is_legacy and is_keras) or not entry.may_be_gone(self._kernel)
        is_own = entry.library == "python" and bool(
            self._kernel.refs("kernel_sources") or _brings_modules(self._kernel)
        )
        if is_there or is_own or is_guarded(self._code, node):
            return
        place = self._code.place(node)
        message = f"{entry.name} is {verb} since {entry.library} {entry.version}."
        prefix, is_nothing, reason = entry.instead.partition("nothing")
        remedy = f"Write {entry.instead}{'…' if entry.instead.endswith('=') else ''}."
        if is_nothing and not prefix:
            remedy = f"Remove it{reason}."
        use = RuleProblem(place, message, remedy, fix), certain and entry.is_gone(self._kernel)
        self._uses.setdefault((place.cell, place.line, entry.name), use)

    def _look_at_names(self) -> None:
        failed_imports: set[str] = set()  # what is imported fails there, and not again where it is used
        for node, names in self._code.import_statements:
            for name in names:
                if name.partition(".")[0] in self._heads and (entry := _entry(name)) is not None:
                    failed_imports.add(name)
                    self._add(node, entry)
        own_names = set(_attributes_set(self._code))
        for attribute in self._code.nodes(ast.Attribute):
            root = _root(attribute)
            if (
                root is None
                or isinstance(attribute.ctx, ast.Store)
                or self._code.imports.get(root, "") in failed_imports
            ):
                continue
            full = self._code.name(attribute)
            if isinstance(self._code.parent(attribute), ast.Attribute) or not self._is_imported(root, full):
                continue
            # Put there by the notebook: np.float = float.
            is_own = any(f"{full}.".startswith(f"{own_name}.") for own_name in own_names)
            if not is_own and (entry := _entry(full)) is not None:
                is_same = full == entry.name and stays_the_same(entry) and not _is_defined(self._code, entry.instead)
                self._add(attribute, entry, fix=rename_node(attribute, full, entry.instead) if is_same else None)

    def _is_imported(self, root: str, full: str) -> bool:
        head = full.partition(".")[0]
        return head in self._heads and (root in self._code.imports or head != root)

    def _look_at_call(self, call: CodeCall) -> None:
        calls, arguments, values = removed_names("calls"), removed_names("arguments"), removed_values()
        parent = call.name.rpartition(".")[0]
        if parent in calls:
            self._add(call.node, calls[parent])
        for keyword in (argument.arg for argument in call.node.keywords if argument.arg):
            for name in (f"{call.name}({keyword})", f"{parent}.*({keyword})"):
                if (entry := arguments.get(name)) is not None:
                    new = entry.instead.removesuffix("=")
                    fix = renamed_argument(call.node, keyword, new) if new != entry.instead else None
                    self._add(call.node, entry, fix=fix)
        if call.name in values:
            entry, start, fine = values[call.name]
            text = self._code.text(call.argument(0)) or ""
            if text.startswith(start) and not text.startswith(fine):
                self._add(call.node, entry)
        if parent == "albumentations":
            self._look_at_sizes(call)
            self._look_at_ignored(call)

    def _look_at_method(self, call: CodeCall) -> None:
        modules = self._code.modules
        entries = _removed_methods().get(call.last, ()) if call.receiver is not None else ()
        if not entries or call.name.partition(".")[0] in modules or _is_own_method(self._code, call.last):
            return
        keywords = {keyword.arg for keyword in call.node.keywords}
        for library, argument, entry in entries:
            is_there = library in modules or (library == "keras" and "tensorflow" in modules)
            if is_there and (not argument or argument in keywords):
                self._add(call.node, entry)

    def _look_at_estimator(self, call: CodeCall) -> None:
        """What is gone for the class of the object alone: `fit` of LightGBM is not that of CatBoost."""
        table = removed_of_estimators()
        modules = {module for module, method in table if method == call.last} & self._code.modules
        if not modules or call.receiver is None:
            return
        keywords = {"": True, **dict(_keywords(self._code, call))}
        names = {entry.name for module in modules for _, entry in table[module, call.last]}
        if names.isdisjoint(keywords):
            return
        makers = self._code.makers(call.receiver)
        for maker in makers:
            module, _, last = ("" if maker is None else maker.name).partition(".")
            for beginning, entry in table.get((module, call.last), ()):
                name = last.rpartition(".")[2]
                if name.startswith(beginning) and entry.name in keywords:
                    is_certain = keywords[entry.name] and len(makers) == 1
                    argument = f"({entry.name})" if entry.name else ""
                    removal = Removal(f"{module}.{name}.{call.last}{argument}", entry.version, entry.instead)
                    self._add(call.node, removal, certain=is_certain)

    def _look_at_sizes(self, call: CodeCall) -> None:
        """The height and the width of a crop of albumentations, which takes `size=(height, width)` since 2.0."""
        name = call.name.rpartition(".")[2]
        at = _SIZES.get(name)
        if at is None or not call.name.startswith("albumentations.") or call.is_open:
            return
        if call.keyword("size") is not None or any(isinstance(argument, ast.Starred) for argument in call.node.args):
            return
        sizes = call.node.args[at : at + 2]
        is_number = bool(sizes) and self._code.number(sizes[0]) is not None
        is_twice = len(sizes) > 1 and ast.dump(sizes[0]) == ast.dump(sizes[1])
        old_name = next((keyword for keyword in ("height", "width") if call.keyword(keyword) is not None), "")
        if old_name or is_number or is_twice:
            removal = Removal(f"albumentations.{name}({old_name or 'height, width'})", "2.0", "size=(height, width)")
            self._add(call.node, removal)

    def _look_at_ignored(self, call: CodeCall) -> None:
        """Arguments that the library passes by with a warning, so that something else is computed."""
        for keyword in call.node.keywords:
            entry = removed_names("ignored").get(f"{call.name}({keyword.arg})")
            if entry is not None and not _is_zero(self._code, keyword.value):
                self._add(call.node, entry, certain=False, verb="ignored, with a warning,")
                return

    def _look_at_pandas(self, call: CodeCall) -> None:
        """Removed ways to call what is still there, which no table can tell."""
        code = self._code
        parent = code.parent(call.node)
        target = parent.targets[0] if isinstance(parent, ast.Assign) and len(parent.targets) == 1 else None
        if call.last == "append" and isinstance(call.receiver, ast.Name) and isinstance(target, ast.Name):
            origins = [origin for origin in map(code.call, code.find_values(call.receiver)) if origin is not None]
            makers = {origin.name for origin in origins if origin.node is not call.node}
            is_frame = any(name.startswith(_MAKES_FRAMES) for name in makers)
            is_unknown = target.id == call.receiver.id and not makers and not _is_own_method(code, "append")
            if is_frame or is_unknown:
                self._add(call.node, _APPEND, certain=is_frame)
        axis = call.node.args[1] if len(call.node.args) > 1 else None
        is_axis = isinstance(axis, ast.Constant) and axis.value in (0, 1, "columns", "index")
        if call.last == "drop" and call.receiver is not None and is_axis and len(call.node.args) == _LABELS_AND_AXIS:
            self._add(call.node, Removal("pandas.DataFrame.drop(x, 1)", "2.0", "drop(columns=…)"))
        if call.name == "pandas.concat" and axis is not None:
            self._add(call.node, Removal("pandas.concat(x, 1)", "2.0", "pandas.concat(x, axis=1)"))


def _keywords(code: NotebookCode, call: CodeCall) -> Iterator[tuple[str, bool]]:
    """The keywords of a call, and whether it certainly gives them: those of `**settings` may have been changed."""
    for keyword in call.node.keywords:
        settings = code.resolve(keyword.value) if keyword.arg is None else None
        if keyword.arg is not None:
            yield keyword.arg, True
        elif isinstance(settings, ast.Dict):
            yield from ((text, False) for key in settings.keys if key is not None and (text := code.text(key)))
        elif isinstance(settings, ast.Call) and code.name(settings.func) == "dict":
            yield from ((argument.arg, False) for argument in settings.keywords if argument.arg)


def _is_zero(code: NotebookCode, node: ast.expr) -> bool:
    """True for 0, and for a tuple or a list of zeros: what an argument is anyhow."""
    value = code.resolve(node)
    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [node]
    return all(code.number(element) == 0 for element in parts)


@cache
def _removed_methods() -> Mapping[str, list[tuple[str, str, Removal]]]:
    """The removed methods by their names: the library, the argument that went (or nothing), and the entry."""
    methods: dict[str, list[tuple[str, str, Removal]]] = defaultdict(list)
    for name, entry in removed_names("methods").items():
        library, _, rest = name.partition(".")
        method, _, argument = rest.partition("(")
        methods[method].append((library, argument.rstrip(")"), entry))
    return methods


@cache
def _entry(full: str) -> Removal | None:
    """The removed name that a full name is, or is below of."""
    names = removed_names("names")
    parts = full.split(".")
    for length in range(len(parts), 0, -1):
        if (entry := names.get(".".join(parts[:length]))) is not None:
            return entry
    for prefix, entry in removed_names("prefixes").items():
        rest = full.removeprefix(prefix)
        if rest != full and rest[:1].isupper():
            return Removal(full, entry.version, entry.instead)
    return None


def _is_used_as_model(code: NotebookCode, load_call: ast.Call) -> bool:
    """True if a method that only models have is called of what was loaded, at once or by its one name."""
    while (method := _method_called(code, load_call)) is not None:
        if method[0] not in _MOVES_MODELS:
            return method[0] in _OF_MODELS
        load_call = method[1]
    assign = code.parent(load_call)
    target = assign.targets[0] if isinstance(assign, ast.Assign) and len(assign.targets) == 1 else None
    uses = code.uses_by_name.get(target.id, []) if isinstance(target, ast.Name) else []
    method_calls = ((use, _method_called(code, use)) for use in uses)
    return any(
        method and method[0] in _OF_MODELS and code.find_meanings(use) == [load_call] for use, method in method_calls
    )


def _method_called(code: NotebookCode, node: ast.expr) -> tuple[str, ast.Call] | None:
    """The method that is called of an expression, with the call."""
    attribute = code.parent(node)
    if not isinstance(attribute, ast.Attribute):
        return None
    call = code.parent(attribute)
    return (attribute.attr, call) if isinstance(call, ast.Call) and call.func is attribute else None


def _is_own_method(code: NotebookCode, name: str) -> bool:
    return name in code.functions_named


def _is_defined(code: NotebookCode, name: str) -> bool:
    """True if the notebook gives a name to something of its own in any scope, such as a parameter `float`."""
    stores = any(node.id == name and not isinstance(node.ctx, ast.Load) for node in code.nodes(ast.Name))
    return stores or any(node == name for node, _ in code.definitions())


def _attributes_set(code: NotebookCode) -> Iterator[str]:
    """The names that the notebook gives to a module: `np.float = float`, `setattr(np, "float", float)`."""
    for node in code.nodes(ast.Attribute):
        if isinstance(node.ctx, ast.Store):
            yield code.name(node)
    for call in code.calls:
        if call.name == "setattr" and len(call.node.args) > 1 and (name := code.text(call.node.args[1])):
            yield f"{code.name(call.node.args[0])}.{name}"


def _root(node: ast.AST) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _find_pins(command: str) -> Iterator[tuple[str, str]]:
    if "install" in command:
        for name, version in re.findall(r"(?<![\w-])([A-Za-z][\w-]*)(?:\[[\w,]+\])?==([\w.+]+)", command):
            yield module_named(name), version


def _brings_modules(kernel: KernelSource) -> bool:
    """True if the notebook itself puts modules or files somewhere, or looks for them elsewhere."""
    code = kernel.code
    if code.writer is not None and _brings_modules(replace(kernel, code=code.writer)):
        return True
    if any(_BRINGS_FILES.search(command.text) for command in shell_commands(code)):
        return True
    commands = [command for _, _, command in code.commands()]
    if any(command.startswith(("writefile", "cd ", "file ")) for command in commands):
        return True
    # What `%run` executes may do so, unless it is not there.
    run_commands = [command for command in commands if command.startswith("run ")]
    if any(
        kernel.metadata is None or not any(_lies_beside(kernel, script) for script in _scripts(run_command))
        for run_command in run_commands
    ):
        return True
    return any(
        call.name in _PATHS | _COPIES or call.name.endswith(("sys.path.append", "sys.path.insert"))
        for call in code.calls
    )


def _scripts(command: str) -> Iterator[str]:
    """The scripts that a command of a shell runs."""
    for rest in _SCRIPT.findall(command):
        words = rest.split()
        script = next((word for word in words if word.endswith((".py", ".sh", ".ipynb"))), None)
        if script is not None and "-c" not in words:
            yield script.removeprefix("./")
    if command.startswith("./") and command.split(maxsplit=1)[0].endswith((".sh", ".py")):
        yield command.split(maxsplit=1)[0].removeprefix("./")


def _module_beside(kernel: KernelSource, name: str) -> str:
    """The file or the folder of a module of this name in the kernel's folder, or nothing."""
    if _lies_beside(kernel, f"{name}/__init__.py"):
        return f"{name}/"
    return f"{name}.py" if _lies_beside(kernel, f"{name}.py") else ""


def _lies_beside(kernel: KernelSource, name: str) -> bool:
    """True for a file of the kernel's folder that a push does not send."""
    path = PurePosixPath(name)
    if not name or UNKNOWN in name or path.is_absolute() or ".." in path.parts or str(path) == ".":
        return False
    is_sent = path.name in (kernel.code.path.name, "kernel-metadata.json")
    return not is_sent and (kernel.code.path.parent / path).exists()


def _read_files(code: NotebookCode) -> Iterator[tuple[CodeCall, str]]:
    """The calls that read a file whose name is known, and that the notebook does not write."""
    output_paths = {PurePosixPath(code.text(value) or UNKNOWN) for value in _paths_written(code)}
    for call in code.calls:
        is_read = call.name in {"open", "pathlib.Path", "PIL.Image.open", "cv2.imread"}
        is_read |= call.last.startswith(("read_", "load"))
        name = code.text(call.argument(0)) if is_read and call.node.args else None
        is_name = name is not None and "\n" not in name and "." in name and len(name) < _LONGEST_NAME
        if name is not None and is_name and PurePosixPath(name) not in output_paths:
            yield call, name


def _paths_written(code: NotebookCode) -> Iterator[ast.expr]:
    """The paths that the notebook writes to, as far as its calls tell."""
    writes = ("to_", "save", "write", "dump", "imwrite")
    for call in code.calls:
        is_open = call.last == "open" and any("w" in (code.text(mode) or "") for mode in call.node.args[1:2])
        if call.last.startswith(writes) or is_open:
            yield from call.node.args


def _sets(texts: frozenset[str], variable: str) -> bool:
    return any(variable in text for text in texts)


# Rules of what a notebook installs and downloads: versions that move, and a network that is not there.


_WITH_VALUE = {"-r", "-c", "-f", "-i", "-t", "--requirement", "--constraint", "--find-links", "--index-url", "--target"}
_WITH_VALUE |= {
    "--extra-index-url",
    "--python-version",
    "--platform",
    "--only-binary",
    "--no-binary",
    "--progress-bar",
    "--upgrade-strategy",
}
_FETCHING = {"wget", "curl", "apt", "apt-get", "gdown", "aria2c", "conda", "mamba", "micromamba", "npm"}
_FETCHING |= {"git clone", "kaggle datasets", "kaggle competitions", "kaggle models"}
_FETCHING |= {"huggingface-cli download", "hf download", "spacy download"}
_OF_INDEX = ("apt", "apt-get", "conda", "mamba", "micromamba")  # which take files as well
_OF_FILES = (".deb", ".conda", ".tar.bz2")
_COPYING = ("cp", "mv", "ln", "unzip", "tar", "rsync", "git")
_FROM_ADDRESS = ("http://", "https://", "ftp://", "gs://", "s3://")
_NO_FETCH = {"local_files_only": True, "download": False, "force_offline": True}
_LIBRARY_SETS = ("keras.datasets.", "tensorflow.keras.datasets.")
_FETCHES = {"requests.get", "urllib.request.urlopen", "urllib.request.urlretrieve", "wget.download", "gdown.download"}
_FETCHES |= {"torch.hub.load", "huggingface_hub.hf_hub_download", "huggingface_hub.snapshot_download", "nltk.download"}
_FETCHES |= {"datasets.load_dataset", "wandb.init", "wandb.login", "tensorflow_datasets.load"}
_BY_PATH = {"datasets.load_dataset", "torch.hub.load"}  # which take folders as well
_BY_NAME = {"whisper.load_model": 0, "ultralytics.YOLO": 0}  # of a model that comes with the library's name for it
_BY_HANDLE = (".from_pretrained", ".from_preset", "sentence_transformers.SentenceTransformer")
_PIPELINE = "transformers.pipeline"
_SAVED_TO = ("output_dir", "local_dir", "save_directory")
_TABLES = ("pandas.read_", "polars.read_", "polars.scan_")
_FROM_FILES = {"pretrained_cfg", "pretrained_cfg_overlay", "checkpoint_path"}  # of timm: the weights lie there
_LOCAL = ("/", ".", "~", "$", "{", UNKNOWN)
_HUBS = {"timm", "torchvision", "open_clip", "efficientnet_pytorch", "pretrainedmodels", "segmentation_models_pytorch"}
_TORCHVISION_WEIGHTS = {"DEFAULT", "IMAGENET1K_V1", "IMAGENET1K_V2", "COCO_V1"}
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "://gateway")
_ELSEWHERE = {"mode", "source", "data_dir", "data_files"}  # arguments that say that nothing is fetched, mostly
_UPGRADES = {"-U", "--upgrade", "--force-reinstall", "--ignore-installed", "-I", "--pre", "-t", "--target"}
_PLAIN = re.compile(r"(?P<name>[A-Za-z][\w.-]*)(?:\[[\w,.-]*\])?")
_AT_LEAST = re.compile(r">=?[\d.]+")  # which the image's version is taken to fulfil
_OF_PIP = {"pip", "setuptools", "wheel"}
_SOURCE_KEYS = {"model_": "model_sources", "dataset_": "dataset_sources"}
_SOURCE_KEYS |= {"notebook_": "kernel_sources"}
_OFFLINE_HUB = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
_ON = ("1", "true", "yes", "on")
_INPUT = "/kaggle/input"
_NO_NETWORK = "Attach it as a dataset or a model, and read it from /kaggle/input."


@rule("N020", "install-is-not-pinned", Severity.WARNING)
def install_is_not_pinned(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A package is installed without a version: the newest one on the day of the run.

    The notebook that trained last week is another one today, and a new version may take along a new NumPy, JAX or
    libtpu, after which the TPU is not found.
    Pin it: `pip install keras==3.13.2`, or a commit: `git+https://…@COMMIT`.

    Source (2026-11-20): a public repository: `pip install -U "jax[tpu]"` brought libtpu 0.0.44, with which the image's
    torch_xla fails.
    """
    for place, arguments, _ in _installs(kernel.code):
        loose = [name for name in _filter_packages(kernel, arguments) if _is_loose(name)]
        if loose and "--no-index" not in arguments:
            message = f"{', '.join(loose[:3])} is installed without a version: the newest one at each run."
            name = _PLAIN.match(loose[0])
            requirement = f"{loose[0]}@COMMIT" if name is None or "git+" in loose[0] else f"{name[0]}==VERSION"
            yield RuleProblem(place, message, f"Pin it: {requirement}.")


@rule("N021", "install-needs-internet")
def install_needs_internet(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A package is installed from an index, but the notebook runs without internet.

    pip retries for minutes, and the session ends there. In a code competition the rerun with the hidden data has no
    network either, whatever the editor had. A warning where the image has the package, in an older version.
    Attach a dataset with the wheels, and install with `--no-index --find-links /kaggle/input/…`; `tandem push
    --offline-wheels` does both.

    Source (2026-11-23): the code requirements of competitions.
    """
    for place, arguments, may_be_left_out in _installs(kernel.code):
        asks_nobody = _asks_nobody(kernel, arguments)
        if kernel.has_no_internet and not asks_nobody and not may_be_left_out:
            message = "pip needs an index on the internet, but this notebook runs without internet."
            packages = _packages(arguments)
            names = " ".join(packages[:3]) or "NAME"
            remedy = f"Attach a dataset with the wheels: pip install --no-index --find-links /kaggle/input/… {names}"
            # What the image has stays as it is: only what is imported and is not there ends the session.
            has = distributions_of("tpu" if kernel.is_on_tpu else "gpu")
            plain = [_PLAIN.match(package) for package in packages]
            is_there = bool(plain) and all(match is not None and _plain(match["name"]) in has for match in plain)
            yield RuleProblem(place, message, remedy, severity=Severity.WARNING if is_there else None)


@rule("N022", "needs-internet")
def needs_internet(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The notebook downloads files, but runs without internet.

    Commands (wget, git clone, apt-get), requests, hubs of models and data sets by name, and the pretrained weights that
    `weights="imagenet"` or `pretrained=True` stand for: all of them end the session. What is tried, or done only below
    a condition whose value on Kaggle is not known here, is left alone.
    Attach what is needed as a dataset or a Kaggle Model; where weights come from training, build the model without.

    Source (2026-11-23): the code requirements of competitions.
    """
    if not kernel.has_no_internet:
        return
    for command in shell_commands(kernel.code):
        for words in () if command.is_optional else command.words:
            if program := _fetching(words):
                message = f"{program} needs the internet, but this notebook runs without it."
                yield RuleProblem(command.place, message, _NO_NETWORK)
    for call in kernel.code.calls:
        node, name = call.node, call.name
        download = _find_download(kernel.code, node, name)
        if not download or _is_offline(kernel.code, name) or not is_called(kernel.code, node):
            continue
        if not is_optional(kernel.code, node) and not is_elsewhere(kernel.code, node):
            message = f"{download} needs the internet, but this notebook runs without it."
            severity = Severity.WARNING if may_be_passed_by(kernel.code, node) else None
            yield RuleProblem(kernel.code.place(node), message, _remedy(download, name), severity=severity)


@rule("N023", "kagglehub-without-internet", Severity.WARNING)
def kagglehub_without_internet(kernel: KernelSource) -> Iterator[RuleProblem]:
    """An input is downloaded with kagglehub in a notebook that runs without internet.

    In a session that nobody sits at it cannot attach anything new ("New Models cannot be attached in non-interactive
    sessions"), waits without end for a mount that never comes, and its competition_download has failed in the rerun
    with the hidden data.
    List the input in kernel-metadata.json, and use its path below /kaggle/input.

    Source (2026-11-23): Kaggle/kagglehub#258; kagglehub 1.0.3.
    """
    for call in kernel.code.calls if kernel.has_no_internet else ():
        node, name = call.node, call.name
        is_fetched = name.startswith("kagglehub.") and name.endswith(("_download", "load_dataset"))
        if is_fetched and not _is_attached(kernel, call):
            message = f"{name} cannot attach an input in a session without a user."
            source = next((source for word, source in _SOURCE_KEYS.items() if word in call.last), "competition_sources")
            remedy = f'Add it to "{source}" of kernel-metadata.json, and read its path below /kaggle/input.'
            yield RuleProblem(kernel.code.place(node), message, remedy)


def _remedy(download: str, name: str) -> str:
    """What to write in the place of a download."""
    if name.startswith("wandb."):
        return 'Write os.environ["WANDB_MODE"] = "offline" above.'
    if download.startswith(("weights=", "encoder_weights=", "pretrained=")):
        argument = download.partition("=")[0]
        off = "False" if argument == "pretrained" else "None"
        return f"Write {argument}={off}, and load weights that are attached, below /kaggle/input."
    if name.endswith(_BY_HANDLE) or name == _PIPELINE:
        return 'Attach the model, and write its folder: "/kaggle/input/models/OWNER/MODEL/FRAMEWORK/VARIATION/VERSION".'
    return _NO_NETWORK


def _filter_packages(kernel: KernelSource, arguments: list[str]) -> list[str]:
    """What an install asks for beyond what the image has, which pip leaves as it is unless it is told to upgrade."""
    packages = [package for package in _packages(arguments) if package not in _OF_PIP]
    if not _UPGRADES.isdisjoint(arguments):
        return packages
    has = distributions_of("tpu" if kernel.is_on_tpu else "gpu")
    plain = ((package, _PLAIN.fullmatch(_AT_LEAST.sub("", package))) for package in packages)
    return [package for package, match in plain if not match or _plain(match["name"]) not in has]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_attached(kernel: KernelSource, call: CodeCall) -> bool:
    """True for an input that the metadata attach: kagglehub finds it where it is mounted."""
    source = next((source for word, source in _SOURCE_KEYS.items() if word in call.last), "")
    refs = [ref.lower() for ref in kernel.refs(source)]
    handle = kernel.code.text(call.argument(0, "handle"))
    if handle is None or UNKNOWN in handle:
        return bool(refs)
    name = handle.lower().strip("/")
    return any(ref == name or ref.startswith(f"{name}/") or name.startswith(f"{ref}/") for ref in refs)


@lru_cache(maxsize=100)
def _is_offline(code: NotebookCode, name: str) -> bool:
    """True if the notebook has told a library to do without the network, or where its files lie."""
    settings = code.environment
    if name.startswith("wandb."):
        mode = settings.get("WANDB_MODE", "").lower()
        is_off = settings.get("WANDB_DISABLED", "").lower() in _ON or mode in ("offline", "disabled", "dryrun", UNKNOWN)
        return is_off or any(re.match(r"wandb\s+(offline|disabled|off)\b", text) for _, _, text in code.commands())
    if any(settings.get(key, "").lower() in _ON for key in _OFFLINE_HUB):
        return name.startswith(("huggingface_hub.", "datasets.", "transformers.")) or name.endswith(_BY_HANDLE)
    if name.partition(".")[0] in (_HUBS | {"torch", "tensorflow", "keras"}):
        texts = [text for _, _, text in code.commands()]
        texts += [node.value for node in code.nodes(ast.Constant) if isinstance(node.value, str)]
        is_cached = any(part in text for text in texts for part in (".cache/torch", ".keras/models"))
        return is_cached or not {"TORCH_HOME", "KERAS_HOME", "TFHUB_CACHE_DIR"}.isdisjoint(settings)
    return False


def _asks_nobody(kernel: KernelSource, arguments: list[str]) -> bool:
    """True for an install that needs no index: of files, of what is there, or with an index switched off."""
    settings = kernel.code.environment
    if "--no-index" in arguments or settings.get("PIP_NO_INDEX", "").lower() in (*_ON, UNKNOWN):
        return True
    reads_list = any(word in ("-r", "--requirement") or word.startswith("--requirement=") for word in arguments)
    return not reads_list and all(_is_local(name) for name in _filter_packages(kernel, arguments))


def _fetching(words: tuple[str, ...]) -> str:
    """The program of a command that asks the network, or nothing."""
    if words[:2] in (("python", "-m"), ("python3", "-m")):
        words = words[2:]
    program, rest = words[0].rpartition("/")[2] if words else "", words[1:]
    if program not in _FETCHING and " ".join([program, *rest[:1]]) not in _FETCHING:
        return ""
    operands = [word for word in rest if not word.startswith("-")]
    is_here = any(host in word for word in words for host in (*_LOCAL_HOSTS, "file://"))
    is_of_files = program in _OF_INDEX and any(word.endswith(_OF_FILES) for word in operands)
    is_cloned_here = program == "git" and len(operands) > 1 and operands[1].startswith(_LOCAL)
    is_off = "--offline" in rest or {"--version", "--help"} & {*rest}
    return "" if is_here or is_of_files or is_cloned_here or is_off else program


def _installs(code: NotebookCode) -> Iterator[tuple[CodeLocation, list[str], bool]]:
    """Every `pip install` with its arguments, of commands and of processes, and whether it may be left out."""
    for command in shell_commands(code):
        for words in command.words:
            if (arguments := _install_arguments(words)) is not None:
                yield command.place, arguments, command.is_optional


def _install_arguments(words: tuple[str, ...]) -> list[str] | None:
    """What stands behind `pip install`, however pip is called; None for another command."""
    for at, word in enumerate(words[:4]):
        if word.rpartition("/")[2] in ("pip", "pip3") and words[at + 1 : at + 2] == ("install",):
            return [*words[at + 2 :]]
    return None


def _packages(arguments: list[str]) -> list[str]:
    """What is installed: arguments that are no options, nor the value of one."""
    return [
        word
        for before, word in zip(["", *arguments], arguments, strict=False)
        if not word.startswith("-") and before not in _WITH_VALUE and not word.startswith((">", "2>", "&"))
    ]


def _is_loose(package: str) -> bool:
    if package.startswith("git+") or " @ git+" in package:
        return "@" not in package.partition("://")[2]
    return not _is_local(package) and "==" not in package and "://" not in package


def _is_local(package: str) -> bool:
    return package.startswith(_LOCAL) or package.endswith((".whl", ".tar.gz"))


def _find_download(  # noqa: C901, PLR0911 - a kind of call a line
    code: NotebookCode, node: ast.Call, name: str
) -> str:
    """What a call downloads, or nothing."""
    arguments = {keyword.arg: keyword.value for keyword in node.keywords}
    # A switch whose value only a run would tell may be off.
    if any(key in arguments and _flag(code, arguments[key]) is not (not off) for key, off in _NO_FETCH.items()):
        return ""
    if name.startswith("wandb.") and _is_offline_wandb(code, arguments):
        return ""
    first = (code.text(node.args[0]) if node.args else None) or ""
    if name in _FETCHES:
        is_here = any(word in first for word in _LOCAL_HOSTS) or not _ELSEWHERE.isdisjoint(arguments)
        is_here = is_here or (name in _BY_PATH and first.startswith(_LOCAL))
        return "" if is_here or first.startswith("file:") else name
    if name.startswith("sklearn.datasets.fetch_") or (name.startswith(_LIBRARY_SETS) and name.endswith(".load_data")):
        return name
    if name.endswith("utils.get_file") and name.startswith(("keras.", "tensorflow.keras.")):
        origin = code.text(arguments.get("origin") or (node.args[1] if len(node.args) > 1 else None)) or ""
        return name if origin.startswith(_FROM_ADDRESS) else ""
    if name.startswith("torchvision.datasets.") and _flag(code, arguments.get("download")) is True:
        return "download=True"
    if name in _BY_NAME:
        is_file = "/" in first or UNKNOWN in first or not first or _is_written(code, first)
        return "" if is_file else f'"{first}"'
    if name.startswith((*_TABLES, "tensorflow.data.", "tensorflow.io.")):
        return name if first.startswith(_FROM_ADDRESS) else ""
    if name == _PIPELINE or name.endswith(_BY_HANDLE):
        return _of_handle(code, node, name, arguments)
    if ".applications." in name and name.rpartition(".")[2][:1].isupper():
        weights = arguments.get("weights")
        is_open = None in arguments or len(node.args) > 1
        if (weights is None and not is_open) or code.text(weights) == "imagenet":
            return 'weights="imagenet"'
    return _of_hub(code, node, name, arguments)


def _flag(code: NotebookCode, node: ast.expr | None) -> bool | None:
    """The truth of an argument, where it is written down; a name is followed."""
    value = code.resolve(node)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, bool) else None


def _is_offline_wandb(code: NotebookCode, arguments: Mapping[str | None, ast.expr]) -> bool:
    """True for a mode or settings of Weights & Biases that send nothing."""
    settings = code.call(code.resolve(arguments.get("settings")))
    modes = [arguments.get("mode"), settings.keyword("mode") if settings is not None else None]
    return any(code.text(mode) in ("offline", "disabled") for mode in modes if mode is not None)


def _is_written(code: NotebookCode, handle: str) -> bool:
    """True for a file or folder that the notebook itself writes, copies or unpacks."""
    files, above = _files_written(code)
    path = PurePosixPath(handle)
    return path in above or not files.isdisjoint({path, *path.parents})


@lru_cache(maxsize=2)  # asked for each model
def _files_written(code: NotebookCode) -> tuple[frozenset[PurePosixPath], frozenset[PurePosixPath]]:
    """The files and folders that a notebook writes, copies or unpacks, and all that are above them."""
    paths = [write.path for write in writes(code)]
    for call in code.calls:
        paths += [code.text(keyword.value) for keyword in call.node.keywords if keyword.arg in _SAVED_TO]
    for command in shell_commands(code):
        paths += [word for words in command.words if words[0] in _COPYING for word in words[1:]]
    files = frozenset(PurePosixPath(path) for path in paths if path and path != "." and UNKNOWN not in path)
    return files, files | frozenset(above for path in files for above in path.parents)


def _of_handle(code: NotebookCode, node: ast.Call, name: str, arguments: Mapping[str | None, ast.expr]) -> str:
    """The model that a call names on a hub; nothing for a folder, such as one that the notebook writes."""
    at = 1 if name == _PIPELINE else 0
    model = node.args[at] if len(node.args) > at else arguments.get("model")
    is_open = None in arguments or any(isinstance(argument, ast.Starred) for argument in node.args)
    if name == _PIPELINE and model is None and not is_open:
        return "the usual model of a task"
    choice = code.resolve(model)
    if isinstance(choice, ast.IfExp):  # of two names, on a condition that nobody knows here
        handles = [
            _of_handle(code, _with_model(node, at, branch), name, arguments) for branch in (choice.body, choice.orelse)
        ]
        return handles[0] if all(handles) else ""
    handle = code.text(model)
    cache = (code.text(arguments.get("cache_dir")) or "") if "cache_dir" in arguments else ""
    if (
        handle is None
        or UNKNOWN in handle
        or handle.startswith((*_LOCAL, "file:"))
        or cache.startswith("/kaggle/input")
    ):
        return ""
    return "" if _is_written(code, handle) else f'"{handle}"'


def _with_model(node: ast.Call, at: int, model: ast.expr) -> ast.Call:
    """A call with another model."""
    before = [*node.args[:at], *[ast.Constant(None)] * (at - len(node.args))]
    return ast.Call(node.func, [*before, model], node.keywords)


def _of_hub(code: NotebookCode, node: ast.Call, name: str, arguments: Mapping[str | None, ast.expr]) -> str:
    """The argument by which a library of models downloads weights, or nothing."""
    if name.partition(".")[0] not in _HUBS or not _FROM_FILES.isdisjoint(arguments):
        return ""
    is_timm = name == "timm.create_model" and len(node.args) > 1
    pretrained = node.args[1] if is_timm else arguments.get("pretrained")
    if _flag(code, pretrained) is True:
        return "pretrained=True"
    if name.startswith("segmentation_models_pytorch.") and name.rpartition(".")[2][:1].isupper():
        of_encoder = arguments.get("encoder_weights")
        is_usual = of_encoder is None and len(node.args) == 1 and None not in arguments
        return 'encoder_weights="imagenet"' if is_usual or code.text(of_encoder) == "imagenet" else ""
    weights = arguments.get("weights") if name.startswith("torchvision.models.") else None
    weights_name = code.text(weights) or code.name(weights) if weights is not None else ""
    return (
        f"weights={weights_name.rpartition('.')[2]}" if weights_name.rpartition(".")[2] in _TORCHVISION_WEIGHTS else ""
    )
