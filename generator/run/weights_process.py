"""The process that fetches pretrained weights into the caches of their library: `python -m` this, with JSON.

It calls the function that a notebook calls later, so that the file is where the notebook looks for it. What it prints
at last is a line of JSON: the folder of the cache, or what went wrong. All that the library prints goes to stderr.
"""

import json
import os
import socket
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

_SECONDS_OF_SILENCE = 30.0
_LONGEST_PROBLEM = 300


def main() -> None:
    """Fetches what is asked for, and prints the answer."""
    request = json.loads(sys.argv[1])
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    socket.setdefaulttimeout(_SECONDS_OF_SILENCE)
    try:
        result = {"folder": _FETCHERS[request["library"]](request)}
    except ImportError as error:
        result = {"missing": error.name or str(error)}
    except Exception as error:  # noqa: BLE001 - of any library, and told to the user
        result = {"problem": f"{type(error).__name__}: {error}"[:_LONGEST_PROBLEM]}
    print(json.dumps(result), file=answer, flush=True)


def _from_keras(request: dict[str, Any]) -> str:
    keras: Any = import_module("keras")
    # Of some backbones there is a file for each size of images.
    size = request["image_size"]
    shape = {"input_shape": (size, size, 3)} if size else {}
    getattr(keras.applications, request["backbone"])(include_top=False, weights="imagenet", **shape)
    return str(Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras") / "models")


def _from_timm(request: dict[str, Any]) -> str:
    timm, constants = import_module("timm"), import_module("huggingface_hub.constants")
    timm.create_model(request["backbone"], pretrained=True)
    return str(constants.HF_HUB_CACHE)


def _from_hub(request: dict[str, Any]) -> str:
    hub: Any = import_module("huggingface_hub")
    hub.hf_hub_download(f"timm/{request['backbone']}.{request['pretrained']}", "model.safetensors")
    return str(hub.constants.HF_HUB_CACHE)


_FETCHERS = {"keras": _from_keras, "timm": _from_timm, "huggingface_hub": _from_hub}

if __name__ == "__main__":
    main()
