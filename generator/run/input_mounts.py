"""Kaggle's file tree on this machine: inputs as they would be mounted, and the weights that a training starts from."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from generator.competition import builtin
from generator.competition.schema import frameworks
from generator.errors import RunError
from generator.files import WorkspaceFiles, read_bytes
from generator.kit_files import install_command
from generator.pair.notebook import restore_remedy
from generator.pair.workspace import (
    PairFolder,
    Role,
    Workspace,
    ensure_data,
    is_reached_as_the_user_chose,
    unpack_if_packed,
)
from generator.text import JsonObject, Value, printable

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_LETTERS, *map("##{}".format, _LETTERS)]
_LONGEST_TEXT = 512
_LONGEST_PROBLEM = 300


def write_stand_in(handle: str, folder: Path, files: WorkspaceFiles) -> None:
    """Write a model that reads texts letter by letter, as the library of a Kaggle Model of texts keeps it.

    Args:
        handle: The model that it stands in for, owner/model/framework/variation/version.
        folder: Where its files belong; the folder appears when all of them are there.
        files: The way to write there.

    Raises:
        RunError: The library is not installed, or cannot write it.
        FileWriteError: The folder cannot be written.
        UnsafePlaceError: There is a link on the way to it.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAGGLE_")}
    environment |= {"CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment |= {"HF_HUB_OFFLINE": "1", "KERAS_BACKEND": "jax"}
    with files.fill_folder(folder) as empty:
        # Without -P the folder that the kit was started in could bring modules along.
        command = [sys.executable, "-P", "-m", "generator.run.input_mounts", handle.split("/")[2].lower(), str(empty)]
        process = subprocess.run(  # noqa: S603 - the kit's own module
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if process.returncode:
            lines = process.stderr.decode(errors="replace").split("\n")
            problem = next((line for line in reversed(lines) if line.strip()), "its process was killed")
            raise RunError(
                f"A small replacement for {printable(handle)} cannot be written: "
                f"{printable(problem[:_LONGEST_PROBLEM]).rstrip('.')}. Install the library for such models, or "
                "generate the pair again with --set pretrained='' to train from scratch."
            )


def _write_for_keras_hub(folder: str) -> None:
    models: Any = import_module("keras_hub").models
    tokenizer = models.BertTokenizer(vocabulary=_VOCABULARY, lowercase=True)
    preprocessor = models.BertTextClassifierPreprocessor(tokenizer, sequence_length=_LONGEST_TEXT)
    backbone = models.BertBackbone(
        vocabulary_size=len(_VOCABULARY),
        num_layers=1,
        num_heads=2,
        hidden_dim=32,
        intermediate_dim=64,
        max_sequence_length=_LONGEST_TEXT,
    )
    models.BertTextClassifier(backbone=backbone, num_classes=2, preprocessor=preprocessor).save_to_preset(folder)


def _write_for_transformers(folder: str) -> None:
    transformers: Any = import_module("transformers")
    vocabulary = {word: token for token, word in enumerate(_VOCABULARY)}
    transformers.BertTokenizer(vocab=vocabulary).save_pretrained(folder)
    shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    config = transformers.BertConfig(vocab_size=len(_VOCABULARY), max_position_embeddings=_LONGEST_TEXT, **shape)
    transformers.BertModel(config).save_pretrained(folder)


if __name__ == "__main__":
    (_write_for_keras_hub if sys.argv[1] == "keras" else _write_for_transformers)(sys.argv[2])


_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class KernelMetadataError(RunError):
    """The metadata of a kernel cannot be used."""

    def __init__(self, *, path: Path, problem: str) -> None:
        remedy = restore_remedy(path) or "Write it again with `tandem generate`."
        super().__init__(f"{printable(str(path))}: {problem}.", remedy=remedy)


class InputMissingError(RunError):
    """A kernel names a source that is not there."""

    def __init__(self, *, metadata: Path, kind: str, source: str, folder: Path) -> None:
        remedy = ", or download it with `tandem data COMPETITION`" if kind in ("dataset", "model") else ""
        if kind == "model":
            remedy += ". A pair for texts does not need it with --smoke. To train from scratch, use `tandem generate "
            remedy += "--set pretrained=''`"
        data = f"download them with `tandem data {printable(source)}`, or write synthetic data with `tandem specimen`"
        shortcut = f", {data}" if kind == "competition" else remedy
        super().__init__(
            f'{printable(str(metadata))} uses the {kind} "{printable(source)}", but '
            f"{printable(str(folder))} does not exist.",
            remedy=f"Put its files there with Kaggle's layout{shortcut}.",
        )


class SpecimenMissingError(RunError):
    """There is no specimen to run on."""

    def __init__(self, *, folder: Path, competition: str) -> None:
        super().__init__(
            f"There is no specimen in {printable(str(folder))}.",
            remedy=f"Write one with `tandem specimen {competition}`.",
        )


class LinkedInputError(RunError):
    """A source lies behind a link, which whoever sent the workspace may have set to anything of the user's."""

    def __init__(self, *, path: Path, is_competition: bool) -> None:
        way = ", or name their folder with --data" if is_competition else ""
        super().__init__(
            f"{printable(str(path))} is a link, or is inside a linked folder, that `tandem generate --data` did not "
            "create. It may have come with the workspace, and can point to any of your files.",
            remedy=f"Put the files there{way}.",
        )


@dataclass(frozen=True)
class SourceKind:
    """A key of kernel-metadata.json and the mounts it stands for; `parts` are the numbers of segments it may have.

    Only the first `mount_depth` segments are part of the mount: the rest is a version.
    """

    key: str
    word: str
    folder: str
    parts: tuple[int, ...]
    mount_depth: int


# The layout of 2026: reference in docs/adr/0003-isolated-kernels.md.
SOURCE_KINDS = (
    SourceKind("competition_sources", "competition", "competitions", (1,), 1),
    SourceKind("dataset_sources", "dataset", "datasets", (2, 3), 2),
    SourceKind("kernel_sources", "notebook", "notebooks", (2, 3), 2),
    SourceKind("model_sources", "model", "models", (4, 5), 5),
)


@dataclass(frozen=True)
class Mount:
    """A folder of this machine and where it appears below INPUT_ROOT."""

    at: PurePosixPath
    source: Path


@dataclass(frozen=True)
class KernelSources:
    """The id and the inputs of a kernel from its metadata, checked, and whether it asks for the internet."""

    path: Path
    ref: str
    sources: Mapping[SourceKind, tuple[str, ...]]
    internet: bool


def read_sources(pair: PairFolder, role: Role) -> KernelSources:
    """Reads which inputs a kernel wants.

    Raises:
        KernelMetadataError: The file is missing, is no JSON, or names something that cannot be a source.
    """
    path = pair.metadata(role)
    try:
        fields = json.loads(read_bytes(path))
    except FileNotFoundError:
        raise KernelMetadataError(path=path, problem="the file does not exist") from None
    except (OSError, ValueError, RecursionError) as error:
        raise KernelMetadataError(path=path, problem="the file is not JSON") from error
    if not isinstance(fields, dict):
        raise KernelMetadataError(path=path, problem="the file is not a JSON object")
    ref = _check_reference(path, "id", fields.get("id"), parts=(2,))
    sources = {kind: _source_list(path, kind, fields.get(kind.key, [])) for kind in SOURCE_KINDS}
    return KernelSources(path, ref, sources, JsonObject(fields).flag("enable_internet"))


def _source_list(path: Path, kind: SourceKind, values: object) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise KernelMetadataError(path=path, problem=f"{kind.key} is not a list")
    return tuple(_check_reference(path, kind.key, value, parts=kind.parts) for value in values)


def _check_reference(path: Path, key: str, value: object, *, parts: tuple[int, ...]) -> str:
    """The value, once it is sure that it cannot lead out of the folders it is joined to."""
    segments = value.split("/") if isinstance(value, str) else []
    if len(segments) not in parts or not all(_PART.fullmatch(segment) for segment in segments):
        raise KernelMetadataError(path=path, problem=f"{printable(repr(value))} cannot be one of {key}")
    return str(value)


def mounts(  # noqa: PLR0913 - what each kind of source may be taken from
    sources: KernelSources,
    workspace: Workspace,
    *,
    outputs: Mapping[str, Path],
    specimen: bool = False,
    stand_ins: Collection[str] = (),
    through_links: bool = True,
) -> list[Mount]:
    """Finds the folder of this machine behind every source; the data of a built-in competition are written first.

    Args:
        sources: What the kernel's metadata names.
        workspace: Where the files of competitions, datasets and models are.
        outputs: The outputs of kernels that run here, by the id of the kernel, or of the dataset that carries them; and
            the folder that the user named for the data of a competition, by its slug.
        specimen: Whether specimens are mounted in place of competitions' data.
        stand_ins: The pretrained models of texts in whose place a small untrained one will do where they are not here.
        through_links: Whether sources below the workspace may be reached through links. Where they may not, those that
            `tandem generate --data` made for the user still may.

    Raises:
        LinkedInputError: A source is reached through a link, and may not be.
        InputMissingError: One is not there.
        SpecimenMissingError: A specimen is not there.
    """
    mount_points: list[Mount] = []
    for kind in SOURCE_KINDS:
        for source in sources.sources[kind]:
            place = PurePosixPath(kind.folder, *source.split("/")[: kind.mount_depth])
            named_folder = outputs.get("/".join(place.parts[1:])) if kind.key != "model_sources" else None
            folder = named_folder or workspace.input / place
            if named_folder is None and kind.key == "competition_sources":
                folder = _data(source, workspace, specimen=specimen)
            if kind.key == "model_sources" and source in stand_ins and not folder.is_dir():
                folder = _stand_in(source, workspace)
            if place.parts[1:] == tuple(sources.ref.split("/")) and not folder.is_dir():
                continue  # its own output, which it has only where it ran before
            if not (named_folder or through_links or is_reached_as_the_user_chose(folder, workspace)):
                raise LinkedInputError(path=folder, is_competition=kind.key == "competition_sources" and not specimen)
            if not folder.is_dir():
                raise InputMissingError(metadata=sources.path, kind=kind.word, source=source, folder=folder)
            mount_points.append(Mount(at=place, source=folder.resolve()))
    return mount_points


def _data(competition: str, workspace: Workspace, *, specimen: bool) -> Path:
    if specimen:
        folder = workspace.specimen(competition)
        if not folder.is_dir():
            raise SpecimenMissingError(folder=folder, competition=competition)
        return folder
    built_in = builtin.find(competition)
    if built_in is not None:
        ensure_data(built_in, workspace)
    unpack_if_packed(competition, None, workspace)
    return workspace.competition_data(competition)


def _stand_in(model: str, workspace: Workspace) -> Path:
    folder = workspace.specimen("models") / model
    if not folder.is_dir():
        write_stand_in(model, folder, workspace.files)
    return folder


def lay_out(mount_points: list[Mount], input_root: Path) -> None:
    """Makes an INPUT_ROOT that holds these mounts and nothing else."""
    input_root.mkdir(parents=True)
    for mount in mount_points:
        link = input_root / mount.at
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(mount.source, target_is_directory=True)


# The pretrained weights that a training starts from, fetched beforehand into the cache that its library reads.


_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)?")
_TAG = re.compile(r"[A-Za-z0-9_]+")
_FROM_SCRATCH = "cnn"
_LONGEST_ANSWER = 1 << 16


@dataclass(frozen=True)
class PretrainedWeights:
    """Weights of a backbone that a library downloads on first use.

    Attributes:
        library: Which one.
        backbone: What the library calls the network.
        pretrained: What the library calls the weights; "" where it has one set of them only.
        image_size: The height and width of the images; 0 where the weights are the same for all.
    """

    library: str
    backbone: str
    pretrained: str
    image_size: int = 0

    @property
    def title(self) -> str:
        """What they are called in messages."""
        return f"{self.backbone}.{self.pretrained}" if self.pretrained else self.backbone


def wanted_weights(framework: str, parameters: Mapping[str, Value | None]) -> PretrainedWeights | None:
    """Return the weights that a training of a framework fetches with these parameters.

    None where it starts from scratch, from a file, or from a model that is attached.
    """
    framework_info = frameworks().get(framework)
    backbone, pretrained = parameters.get("BACKBONE"), parameters.get("WEIGHTS")
    if (
        framework_info is None
        or not framework_info.weights
        or not isinstance(backbone, str)
        or backbone == _FROM_SCRATCH
    ):
        return None
    # What else the names could be, such as an address, is nothing that is fetched unasked.
    if not _NAME.fullmatch(backbone) or (framework_info.backbones and backbone not in framework_info.backbones):
        return None
    if pretrained is True:
        return PretrainedWeights(framework_info.weights, backbone, "")
    if not isinstance(pretrained, str) or not _TAG.fullmatch(pretrained):
        return None
    size = parameters.get("IMAGE_SIZE")
    return PretrainedWeights(framework_info.weights, backbone, pretrained, size if isinstance(size, int) else 0)


def fetch_weights(weights: PretrainedWeights, *, shows_progress: bool) -> Path:
    """Fetch weights, unless they are there, by the library itself in a process of its own.

    Args:
        weights: Which ones.
        shows_progress: Whether the library may write its progress to stderr.

    Returns:
        The folder of the library's cache.

    Raises:
        RunError: The library is not installed, or the weights cannot be had.
    """
    # Without -P the folder that the kit was started in could bring modules along.
    command = [sys.executable, "-P", "-m", "generator.run.weights_process", json.dumps(asdict(weights))]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAGGLE_")}
    environment |= {"CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment.setdefault("KERAS_BACKEND", "jax")
    process = subprocess.run(  # noqa: S603 - the kit's own module
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if shows_progress else subprocess.DEVNULL,
        check=False,
    )
    lines = process.stdout[-_LONGEST_ANSWER:].decode(errors="replace").splitlines()
    answer = JsonObject.parse(lines[-1] if lines else "")
    if missing := answer.text("missing"):
        raise RunError(
            f"The weights of {weights.title} are downloaded with {printable(missing)}, which is not installed for "
            f"{sys.executable}. Install it: "
            f"{install_command('torch' if weights.library == 'timm' else 'run')}"
        )
    if not (folder := answer.text("folder")):
        problem = answer.text("problem") or f"its process ended with status {process.returncode}"
        raise RunError(
            f"The weights of {weights.title} cannot be downloaded: {printable(problem).rstrip('.')}.",
            remedy="Run the command "
            "again with an internet connection, name a file of weights with -P WEIGHTS=FILE, or train from scratch: "
            '-P WEIGHTS="".',
            code="weights-not-downloaded",
        )
    return Path(folder)
