"""A program that imports the frameworks once, then executes the cells of a notebook in a fork for every line of stdin.

Importing NumPy, pandas, TensorFlow, JAX and Keras takes about ten seconds; where Keras is to have no backend, PyTorch
is imported instead of the last three. Nothing of a framework is initialised before the fork: no device, no thread pool,
no seed. So a session is a fresh process with its own folder, environment and parameters, in which every cell of the
notebook is executed from the first one on; only the imports find their modules loaded. It needs what notebooks import
and nothing else, so that any environment with that can run it.
"""

import contextlib
import gc
import importlib
import io
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SESSION_SECONDS = 300
IMPORTED_ONCE = (
    *("matplotlib.pyplot", "matplotlib.backends.backend_agg", "pandas", "pandas.plotting._matplotlib"),
    *("scipy.special", "sklearn.impute", "sklearn.model_selection"),
)
# By the backend of Keras. PyTorch's first optimizer imports its compiler, which takes as long as PyTorch.
FRAMEWORKS = {
    "jax": ("jax", "keras", "tensorflow", "flax.nnx", "orbax.checkpoint"),
    "tensorflow": ("jax", "keras", "tensorflow"),
    "torch": ("jax", "keras", "tensorflow"),
    "none": ("torch", "torch._dynamo"),
    "trees": ("catboost", "lightgbm", "xgboost"),
}


def _serve() -> None:
    """Imports what the notebooks import, then forks a session for every line of stdin."""
    backend = os.environ["KERAS_BACKEND"]
    if backend in ("none", "trees"):  # no names to Keras, which PyTorch/XLA imports by way of others
        del os.environ["KERAS_BACKEND"]
    for name in IMPORTED_ONCE + FRAMEWORKS[backend]:
        importlib.import_module(name)
    gc.freeze()  # no session looks through what it did not make
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _be_session(request)
        _tell({"pid": pid})
        _, status = os.waitpid(pid, 0)
        _tell({"status": os.waitstatus_to_exitcode(status)})


def _tell(answer: Mapping[str, int]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _be_session(request: Mapping[str, Any]) -> None:
    """Executes the cells, writes `result.json`, and ends the process."""
    import faulthandler

    log = os.open(Path(request["folder"], "log.txt"), os.O_WRONLY | os.O_APPEND)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    faulthandler.dump_traceback_later(SESSION_SECONDS - 30, exit=True)
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    result = _executed(request)
    Path(request["folder"], "result.json").write_text(json.dumps(result))
    os._exit(0 if result["cell"] is None else 1)


def _executed(request: Mapping[str, Any]) -> dict[str, Any]:
    import linecache
    import traceback
    import types

    import matplotlib.pyplot as plt

    plt.show = _draw_all
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    exec(request["before"], {"__name__": "before"})  # noqa: S102 - what a test asks for
    printed: dict[str, str] = {}
    main.__dict__["In"] = [""]  # the cells that ran, as IPython keeps them
    for name, source in request["cells"]:
        file = f"<cell {name}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        output = _Copied(sys.__stdout__)
        main.__dict__["In"].append(source)
        main.__dict__["display"] = print
        try:
            with contextlib.redirect_stdout(output):
                exec(compile(source, file, "exec"), main.__dict__)  # noqa: S102 - the cells of the notebook
        except BaseException as error:  # noqa: BLE001
            traceback.print_exc()
            return {"cell": name, "error": f"{type(error).__name__}: {error}", "printed": printed}
        finally:
            printed[name] = output.getvalue()
        if name == request["until"]:
            break
    return {"cell": None, "printed": printed, "seen": eval(request["look"], main.__dict__)}  # noqa: S307


def _draw_all() -> None:
    """Lays every figure out as a notebook does: a text that cannot be drawn is an error, pixels are left to kernels."""
    import matplotlib.pyplot as plt

    for number in plt.get_fignums():
        plt.figure(number).draw_without_rendering()
    plt.close("all")


class _Copied(io.StringIO):
    """Keeps what is printed, and passes it on at once for whoever watches the log."""

    def __init__(self, log: Any) -> None:
        super().__init__()
        self._log = log

    def write(self, text: str) -> int:
        self._log.write(text)
        self._log.flush()
        return super().write(text)


if __name__ == "__main__":
    _serve()
    os._exit(0)  # nothing is left to be done, and taking TensorFlow down takes longer than a second
