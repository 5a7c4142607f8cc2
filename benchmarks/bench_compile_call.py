"""What `tandem check --compile` takes to have a step compiled, over `lowered.compile()` of the same program.

Both are taken in turn in the process that compiles: a cell that is put before a notebook's own measures there. It
takes the extra `tpu`.
"""

import dataclasses
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench_compile import CASES, workspace_of
from measuring import Bar, Row, in_pairs, is_quick, print_table, ratio_row, say

from generator.tpu_compiler.compilation import CompileOptions, NotebookTarget, ResultCache, compile_steps, pair_notebook

_MEASURED = (("tabular", "keras", 7), ("sequence", "jax", 3), ("image_classification", "jax", 1))  # pairs of each
_BAR = Bar("<=", 1.1)

_CELL = """
import sys
sys.path.append({folder!r})
from pathlib import Path
from bench_compile_call import measure
measure(Path({results!r}), {pairs})
"""


class NoCache(ResultCache):
    """Knows of nothing."""

    def get(self, _key: str) -> None:
        """Returns None."""


def measure(results: Path, pairs: int) -> None:
    """Has the worker, in whose process this is called, measure its compiler; the seconds go to a file."""
    import jax

    from generator.tpu_compiler.worker import compiler as of_worker

    call = of_worker.Compiler.figures

    def figures(compiler: Any, step: Any, lowered: Any) -> Any:
        found: dict[str, Any] = {}

        def timed(compiled: Callable[[], Any]) -> float:
            jax.clear_caches()  # JAX keeps what it compiled, twice
            lowered._lowering._executable = None  # noqa: SLF001 - and says so nowhere
            started = time.perf_counter()
            compiled()
            return time.perf_counter() - started

        def bare() -> float:
            return timed(lowered.compile)

        def checked() -> float:
            return timed(lambda: found.update(call(compiler, step, lowered)))

        bare()  # the first one also loads the compiler
        results.write_text(json.dumps(in_pairs("a step", checked, bare, pairs=pairs)))
        return found

    of_worker.Compiler.figures = figures


def measured(name: str, framework: str, pairs: int) -> list[list[float]]:
    """The seconds that the check takes for the step of a case, and those of the compiler."""
    case = next(each for each in CASES if each.name == name)
    with workspace_of(case, framework) as (workspace, pair), tempfile.TemporaryDirectory() as temporary:
        target, results = pair_notebook(workspace, pair, case.of(framework)), Path(temporary, "seconds.json")
        source = _CELL.format(folder=str(Path(__file__).parent), results=str(results), pairs=pairs)
        options = CompileOptions(batch_per_core=case.batch, predict=False)
        compile_steps(_with(target, source, Path(temporary)), options, progress=say, cache=NoCache(Path(temporary)))
        return json.loads(results.read_text())


def _with(target: NotebookTarget, source: str, folder: Path) -> NotebookTarget:
    """The notebook with a cell before its own."""
    notebook = json.loads(target.path.read_text())
    cell = {"cell_type": "code", "id": "measure", "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"].insert(0, cell | {"source": source})
    path = Path(shutil.copy(target.path, folder))
    path.write_text(json.dumps(notebook))
    return dataclasses.replace(target, path=path)


def main() -> None:
    """Measures and prints the table."""
    quick = is_quick(__doc__)
    rows = []
    for name, framework, pairs in _MEASURED[: 1 if quick else None]:
        checked, bare = measured(name, framework, 1 if quick else pairs)
        rows += [Row(f"{name} in {framework}: check", checked), Row(f"{name} in {framework}: compiler", bare)]
        rows.append(ratio_row(f"{name} in {framework}: check / compiler", checked, bare, _BAR))
    print_table(rows)


if __name__ == "__main__":
    sys.exit(main())
