"""A small untrained model in the place of a pretrained one that is not here: with it, every cell of a pair can run.

Run as a process of its own, `python -m` this, as the libraries that write models are large.
"""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from generator.errors import RunError
from generator.files import WorkspaceFiles
from generator.text import printable

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
        command = [sys.executable, "-P", "-m", "generator.run.stand_in_model", handle.split("/")[2].lower(), str(empty)]
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
