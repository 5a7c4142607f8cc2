"""The training notebook as it is sent to Colab, and what became of it there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.competition.facts import Value
from generator.files import read_bytes, read_text
from generator.pair.notebook import NotebookReadError, with_first_cell, with_parameters
from generator.run.execution import parse_notebook

GUARD = '''
# Google's command line goes on after a cell that failed.
import ast

from IPython import get_ipython
from IPython.core.error import InputRejected


class Refused(ast.NodeTransformer):
    """Refuse every cell."""

    def visit(self, node):
        raise InputRejected("a cell before this one failed")


def refuse_the_rest(result):
    """Refuse every further cell once one has failed."""
    if not result.success:
        get_ipython().ast_transformers.append(Refused())


get_ipython().events.register("post_run_cell", refuse_the_rest)
'''.strip()


@dataclass(frozen=True)
class CellFailure:
    """The first cell that failed, and how."""

    cell: str
    problem: str


def notebook_to_send(notebook: Path, values: Mapping[str, Value]) -> str:
    """The text of a notebook with these parameters, which ends with the first cell that fails."""
    return with_first_cell(with_parameters(read_text(notebook), values), name="stop-at-failure", source=GUARD)


def first_failure(notebook: Path) -> CellFailure | None:
    """The first cell that failed in a notebook that came back; None if all of them were executed and none did."""
    try:
        cells = parse_notebook(read_bytes(notebook), path=notebook).cells
    except (OSError, NotebookReadError) as error:
        return CellFailure("", f"the result cannot be read ({error})")
    for number, cell in enumerate(cells, start=1):
        outputs = cell.get("outputs", []) if cell.cell_type == "code" else []
        failure = next((output for output in outputs if output["output_type"] == "error"), None)
        if failure is not None:
            problem = f"{failure.get('ename', 'Error')}: {failure.get('evalue', '')}"
            return CellFailure(str(cell.get("id") or f"cell {number}"), problem)
    return None


def without_secrets(content: bytes, secrets: Sequence[str]) -> bytes:
    """The bytes of a notebook with secrets taken out of what its cells printed."""
    for secret in secrets:
        content = content.replace(secret.encode(), b"[hidden]")
    return content
