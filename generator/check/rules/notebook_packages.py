"""Rules of what a notebook installs and downloads: versions that move, and a network that is not there."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import PurePosixPath

from generator.check.code import NotebookCode
from generator.check.finding import Place, Severity
from generator.check.guards import is_called, is_elsewhere, is_optional, may_be_passed_by
from generator.check.images import distributions_of
from generator.check.rule import Problem, rule
from generator.check.shell import shell_commands
from generator.check.source import KernelSource
from generator.check.syntax import Call
from generator.check.text_value import UNKNOWN
from generator.check.written_paths import writes

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
_HERE = ("localhost", "127.0.0.1", "://gateway")
_ELSEWHERE = {"mode", "source", "data_dir", "data_files"}  # arguments that say that nothing is fetched, mostly
_UPGRADES = {"-U", "--upgrade", "--force-reinstall", "--ignore-installed", "-I", "--pre", "-t", "--target"}
_PLAIN = re.compile(r"(?P<name>[A-Za-z][\w.-]*)(?:\[[\w,.-]*\])?")
_AT_LEAST = re.compile(r">=?[\d.]+")  # which the image's version is taken to fulfil
_OF_PIP = {"pip", "setuptools", "wheel"}
_ATTACHED = {"model_": "model_sources", "dataset_": "dataset_sources"}
_ATTACHED |= {"notebook_": "kernel_sources"}
_OFFLINE_HUB = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
_ON = ("1", "true", "yes", "on")
_INPUT = "/kaggle/input"
_NO_NETWORK = "Attach it as a dataset or a model, and read it from /kaggle/input."


@rule("N020", "install-is-not-pinned", Severity.WARNING)
def install_is_not_pinned(kernel: KernelSource) -> Iterator[Problem]:
    """A package is installed in whatever version is the newest on the day of the run.

    The notebook that trained last week is another one today, and a new version may take along a new NumPy, JAX or
    libtpu, after which the TPU is not found.
    Pin it: `pip install keras==3.13.2`, or a commit: `git+https://…@COMMIT`.

    Source (2026-11-20): a public repository: `pip install -U "jax[tpu]"` brought libtpu 0.0.44, with which the image's
    torch_xla fails.
    """
    for place, arguments, _ in _installs(kernel.code):
        loose = [name for name in _wanted(kernel, arguments) if _is_loose(name)]
        if loose and "--no-index" not in arguments:
            message = f"{', '.join(loose[:3])} is installed in whatever version is the newest."
            name = _PLAIN.match(loose[0])
            pinned = f"{loose[0]}@COMMIT" if name is None or "git+" in loose[0] else f"{name[0]}==VERSION"
            yield Problem(place, message, f"Pin it: {pinned}.")


@rule("N021", "install-needs-internet")
def install_needs_internet(kernel: KernelSource) -> Iterator[Problem]:
    """A package is installed from an index, and the notebook runs without the internet.

    pip retries for minutes, and the session ends there. In a code competition the rerun with the hidden data has no
    network either, whatever the editor had. A warning where the image has the package, in an older version.
    Attach a dataset with the wheels, and install with `--no-index --find-links /kaggle/input/…`; `tandem push
    --offline-wheels` does both.

    Source (2026-11-23): the code requirements of competitions.
    """
    for place, arguments, may_be_left_out in _installs(kernel.code):
        asks_nobody = _asks_nobody(kernel, arguments)
        if kernel.has_no_internet and not asks_nobody and not may_be_left_out:
            message = "pip asks an index on the internet here, which this notebook runs without."
            wanted = _packages(arguments)
            names = " ".join(wanted[:3]) or "NAME"
            remedy = f"Attach a dataset with the wheels: pip install --no-index --find-links /kaggle/input/… {names}"
            # What the image has stays as it is: only what is imported and is not there ends the session.
            has = distributions_of("tpu" if kernel.is_on_tpu else "gpu")
            plain = [_PLAIN.match(each) for each in wanted]
            is_there = bool(plain) and all(found is not None and _plain(found["name"]) in has for found in plain)
            yield Problem(place, message, remedy, severity=Severity.WARNING if is_there else None)


@rule("N022", "needs-internet")
def needs_internet(kernel: KernelSource) -> Iterator[Problem]:
    """The notebook downloads something, and runs without the internet.

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
                message = f"{program} needs the internet, which this notebook runs without."
                yield Problem(command.place, message, _NO_NETWORK)
    for call in kernel.code.calls:
        node, name = call.node, call.name
        what = _fetched(kernel.code, node, name)
        if not what or _is_offline(kernel.code, name) or not is_called(kernel.code, node):
            continue
        if not is_optional(kernel.code, node) and not is_elsewhere(kernel.code, node):
            message = f"{what} needs the internet, which this notebook runs without."
            severity = Severity.WARNING if may_be_passed_by(kernel.code, node) else None
            yield Problem(kernel.code.place(node), message, _remedy(what, name), severity=severity)


@rule("N023", "kagglehub-without-internet", Severity.WARNING)
def kagglehub_without_internet(kernel: KernelSource) -> Iterator[Problem]:
    """An input is fetched by kagglehub, in a notebook that runs without the internet.

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
            message = f"{name} can attach nothing in a session that nobody sits at."
            source = next((source for word, source in _ATTACHED.items() if word in call.last), "competition_sources")
            remedy = f'Add it to "{source}" of kernel-metadata.json, and read its path below /kaggle/input.'
            yield Problem(kernel.code.place(node), message, remedy)


def _remedy(what: str, name: str) -> str:
    """What to write in the place of a download."""
    if name.startswith("wandb."):
        return 'Write os.environ["WANDB_MODE"] = "offline" above.'
    if what.startswith(("weights=", "encoder_weights=", "pretrained=")):
        argument = what.partition("=")[0]
        off = "False" if argument == "pretrained" else "None"
        return f"Write {argument}={off}, and load weights that are attached, below /kaggle/input."
    if name.endswith(_BY_HANDLE) or name == _PIPELINE:
        return 'Attach the model, and write its folder: "/kaggle/input/models/OWNER/MODEL/FRAMEWORK/VARIATION/VERSION".'
    return _NO_NETWORK


def _wanted(kernel: KernelSource, arguments: list[str]) -> list[str]:
    """What an install asks for beyond what the image has, which pip leaves as it is unless it is told to upgrade."""
    packages = [each for each in _packages(arguments) if each not in _OF_PIP]
    if not _UPGRADES.isdisjoint(arguments):
        return packages
    has = distributions_of("tpu" if kernel.is_on_tpu else "gpu")
    plain = ((each, _PLAIN.fullmatch(_AT_LEAST.sub("", each))) for each in packages)
    return [each for each, found in plain if not found or _plain(found["name"]) not in has]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_attached(kernel: KernelSource, call: Call) -> bool:
    """True for an input that the metadata attach: kagglehub finds it where it is mounted."""
    source = next((source for word, source in _ATTACHED.items() if word in call.last), "")
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
    return not reads_list and all(_is_local(name) for name in _wanted(kernel, arguments))


def _fetching(words: tuple[str, ...]) -> str:
    """The program of a command that asks the network, or nothing."""
    if words[:2] in (("python", "-m"), ("python3", "-m")):
        words = words[2:]
    program, rest = words[0].rpartition("/")[2] if words else "", words[1:]
    if program not in _FETCHING and " ".join([program, *rest[:1]]) not in _FETCHING:
        return ""
    named = [word for word in rest if not word.startswith("-")]
    is_here = any(here in word for word in words for here in (*_HERE, "file://"))
    is_of_files = program in _OF_INDEX and any(word.endswith(_OF_FILES) for word in named)
    is_cloned_here = program == "git" and len(named) > 1 and named[1].startswith(_LOCAL)
    is_off = "--offline" in rest or {"--version", "--help"} & {*rest}
    return "" if is_here or is_of_files or is_cloned_here or is_off else program


def _installs(code: NotebookCode) -> Iterator[tuple[Place, list[str], bool]]:
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


def _fetched(  # noqa: C901, PLR0911 - a kind of call a line
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
        is_here = any(word in first for word in _HERE) or not _ELSEWHERE.isdisjoint(arguments)
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
    value = code.resolved(node)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, bool) else None


def _is_offline_wandb(code: NotebookCode, arguments: Mapping[str | None, ast.expr]) -> bool:
    """True for a mode or settings of Weights & Biases that send nothing."""
    settings = code.call(code.resolved(arguments.get("settings")))
    modes = [arguments.get("mode"), settings.keyword("mode") if settings is not None else None]
    return any(code.text(mode) in ("offline", "disabled") for mode in modes if mode is not None)


def _is_written(code: NotebookCode, handle: str) -> bool:
    """True for a file or folder that the notebook itself writes, copies or unpacks."""
    written, above = _written(code)
    path = PurePosixPath(handle)
    return path in above or not written.isdisjoint({path, *path.parents})


@lru_cache(maxsize=2)  # asked for each model
def _written(code: NotebookCode) -> tuple[frozenset[PurePosixPath], frozenset[PurePosixPath]]:
    """The files and folders that a notebook writes, copies or unpacks, and all that are above them."""
    saved = [each.path for each in writes(code)]
    for call in code.calls:
        saved += [code.text(keyword.value) for keyword in call.node.keywords if keyword.arg in _SAVED_TO]
    for command in shell_commands(code):
        saved += [word for words in command.words if words[0] in _COPYING for word in words[1:]]
    written = frozenset(PurePosixPath(path) for path in saved if path and path != "." and UNKNOWN not in path)
    return written, written | frozenset(above for path in written for above in path.parents)


def _of_handle(code: NotebookCode, node: ast.Call, name: str, arguments: Mapping[str | None, ast.expr]) -> str:
    """The model that a call names on a hub; nothing for a folder, such as one that the notebook writes."""
    at = 1 if name == _PIPELINE else 0
    model = node.args[at] if len(node.args) > at else arguments.get("model")
    is_open = None in arguments or any(isinstance(argument, ast.Starred) for argument in node.args)
    if name == _PIPELINE and model is None and not is_open:
        return "the usual model of a task"
    choice = code.resolved(model)
    if isinstance(choice, ast.IfExp):  # of two names, on a condition that nobody knows here
        found = [
            _of_handle(code, _with_model(node, at, each), name, arguments) for each in (choice.body, choice.orelse)
        ]
        return found[0] if all(found) else ""
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
    named = code.text(weights) or code.name(weights) if weights is not None else ""
    return f"weights={named.rpartition('.')[2]}" if named.rpartition(".")[2] in _TORCHVISION_WEIGHTS else ""
