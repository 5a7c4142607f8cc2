"""The code cells of a rendered notebook, executed in this process."""

import json
import linecache
import os
import sys
import time
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

KERNELS = Path(__file__).resolve().parent.parent / "kernels"


def run_cells(
    pair: str,
    role: str,
    *,
    parameters: Mapping[str, object],
    last: str | None = None,
    seconds: dict[str, float] | None = None,
) -> ModuleType:
    """Executes a notebook's code cells in order, as a kernel would, and returns what they defined.

    Args:
        pair: A folder of `kernels/`.
        role: "train" or "infer".
        parameters: What stands in the place of the defaults, as papermill puts it behind the parameters cell.
        last: The name of the cell to end with; all of them by default.
        seconds: Filled with how long each cell takes, by its name.
    """
    os.environ["MPLBACKEND"] = "Agg"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    notebook = ModuleType(f"{role}_notebook")
    sys.modules[notebook.__name__] = notebook
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        for name, source, tags in _code_cells(KERNELS / pair / role / f"{role}.ipynb"):
            started = time.perf_counter()
            _execute(name, source, notebook)
            if seconds is not None:
                seconds[name] = time.perf_counter() - started
            if "parameters" in tags:
                vars(notebook).update(parameters)
            if name == last:
                break
    return notebook


def _code_cells(path: Path) -> list[tuple[str, str, list[str]]]:
    cells = json.loads(path.read_text())["cells"]
    return [
        (cell["id"], "".join(cell["source"]), cell["metadata"].get("tags", []))
        for cell in cells
        if cell["cell_type"] == "code"
    ]


def _execute(name: str, source: str, notebook: ModuleType) -> None:
    # Registered, so that inspect.getsource finds the text: the notebooks hash it, and TensorFlow compiles it.
    file = f"<cell {notebook.__name__} {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    vars(notebook).setdefault("display", print)
    vars(notebook).setdefault("In", []).append(source)  # as IPython keeps the cells that ran
    exec(compile(source, file, "exec"), vars(notebook))  # noqa: S102 - the project's own notebook
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")  # as a kernel does after every cell
