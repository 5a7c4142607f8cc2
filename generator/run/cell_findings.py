"""The findings of `tandem check` beside the cells that they are in, for pages that show a notebook.

Whoever wrote the notebook may have made it slow to check: it is checked by a process of its own, which has so many
seconds and so much memory, and the page says so where that was not enough.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as NotYetError
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.pair.workspace import PairFolder, Role
from generator.untrusted import JsonObject, printable

SECONDS = 10.0  # of a check; a notebook that was not made for this takes one
_MEMORY = 2 * 2**30
_MOST_FINDINGS = 200
_MOST_KEPT, _MOST_WAITING = 256, 8
_METADATA = "kernel-metadata.json"
_PENDING = "This notebook is being checked: load the page again for what `tandem check` finds in it."
_BUSY = "Too many notebooks are being checked: load the page again later for what `tandem check` finds in this one."
_TOO_LONG = f"`tandem check` did not get to its end within {SECONDS:.0f} seconds and 2 GB of memory."


@dataclass(frozen=True)
class CellFinding:
    """A finding, and the name that a page gives its cell; "" for the notebook as a whole."""

    rule: str
    severity: str
    message: str
    remedy: str
    cell: str = ""
    line: int = 0


@dataclass(frozen=True)
class CellFindings:
    """The findings in a notebook; `problem` says why they are not known."""

    findings: tuple[CellFinding, ...] = ()
    problem: str = ""

    def of(self, cell: str) -> list[CellFinding]:
        """The findings in a cell."""
        return [each for each in self.findings if each.cell == cell]

    def beside(self, cells: Collection[str]) -> list[CellFinding]:
        """The findings that are in none of some cells: those of the notebook as a whole, and of cells not shown."""
        return [each for each in self.findings if each.cell not in cells]

    @property
    def summary(self) -> str:
        """How many findings there are, in words; "" for none."""
        counts = {name: sum(each.severity == name for each in self.findings) for name in ("error", "warning", "note")}
        return ", ".join(f"{count} {name}{'s' * (count > 1)}" for name, count in counts.items() if count)


def findings_in_pair(folder: PairFolder) -> dict[Role, CellFindings]:
    """Check both kernels of a pair, and say what is found in each notebook and its metadata."""
    reported = _reported(folder.path.absolute())
    if isinstance(reported, str):
        return dict.fromkeys(Role, CellFindings(problem=reported))
    return {role: _of_notebook(reported, folder.notebook(role), folder.metadata(role)) for role in Role}


def findings_in_text(text: str, metadata: Mapping[str, Any]) -> CellFindings:
    """Check the text of a notebook or a script.

    Args:
        text: What its file would hold.
        metadata: The fields of its kernel-metadata.json; findings in those are left out.
    """
    is_script = metadata.get("kernel_type") == "script"
    with tempfile.TemporaryDirectory(prefix="tandem-check-") as name:
        folder = Path(name).resolve()
        code = folder / ("script.py" if is_script else "notebook.ipynb")
        code.write_bytes(text.encode("utf-8", "replace"))
        (folder / _METADATA).write_text(json.dumps({**metadata, "code_file": code.name}), encoding="utf-8")
        reported = _reported(folder)
        return CellFindings(problem=reported) if isinstance(reported, str) else _of_notebook(reported, code, None)


class BackgroundChecks:
    """Checks that go on while pages are shown without them; what was found is kept for the next page."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()
        self._known: OrderedDict[tuple[str, str], Future[CellFindings]] = OrderedDict()

    def findings(self, text: str, metadata: Mapping[str, Any], *, wait: float) -> CellFindings:
        """The findings in a notebook, or that they are not known yet.

        Args:
            text: What its file would hold.
            metadata: The fields of its kernel-metadata.json.
            wait: The seconds until a page goes without them.
        """
        key = text, json.dumps(metadata, sort_keys=True)
        with self._lock:
            future = self._known.get(key)
            if future is None:
                if sum(not each.done() for each in self._known.values()) >= _MOST_WAITING:
                    return CellFindings(problem=_BUSY)
                future = self._known[key] = Future()
                threading.Thread(target=self._check, args=(future, text, metadata), daemon=True).start()
            self._known.move_to_end(key)
            while len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)
        try:
            return future.result(timeout=wait)
        except NotYetError:
            return CellFindings(problem=_PENDING)

    def _check(self, future: "Future[CellFindings]", text: str, metadata: Mapping[str, Any]) -> None:
        found = CellFindings(problem="`tandem check` could not be started.")
        try:
            with self._one_at_a_time:
                found = findings_in_text(text, metadata)
        finally:
            with suppress(InvalidStateError):
                future.set_result(found)


def _reported(folder: Path) -> list[JsonObject] | str:
    """What `tandem check` reports, or why it does not."""
    # Without -P the folder that the kit was started in could bring modules along.
    command = [sys.executable, "-P", "-m", "generator", "check", str(folder), "--no-compile", "--json"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAGGLE_")}
    try:
        with subprocess.Popen(  # noqa: S603 - the kit's own module
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            _limit(process.pid)
            try:
                answer, _ = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                return _TOO_LONG
            finally:
                process.kill()
    except OSError as error:
        return f"`tandem check` could not be started ({error.strerror})."
    report = JsonObject.parsed(answer.decode("utf-8", "replace"))
    return report.sections("findings") if "findings" in report else _TOO_LONG


def _limit(process: int) -> None:
    """Let a process end by itself where nobody is left to end it, and not take this machine's memory."""
    with suppress(ImportError, AttributeError, OSError, ValueError):  # Linux has it
        import resource

        seconds = int(SECONDS) + 1
        resource.prlimit(process, resource.RLIMIT_CPU, (seconds, seconds))
        resource.prlimit(process, resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _of_notebook(reported: list[JsonObject], path: Path, metadata: Path | None) -> CellFindings:
    """The findings in one notebook, and in its metadata where those have a place."""
    names = _names_of_cells(path)
    places = [each.absolute() for each in (path, metadata) if each is not None]
    found = []
    for each in reported:
        at = Path(os.path.abspath(each.text("path")))  # noqa: PTH100 - which follows no link
        if at in places:
            cell = each.text("cell")
            found.append(
                CellFinding(
                    rule=each.text("rule"),
                    severity=each.text("severity"),
                    message=printable(each.text("message")),
                    remedy=printable(each.text("remedy")),
                    cell=names.get(cell, cell),
                    line=each.count("line"),
                )
            )
    return CellFindings(tuple(found[:_MOST_FINDINGS]))


def _names_of_cells(path: Path) -> dict[str, str]:
    """What a page calls the cells that a finding calls by their number."""
    if path.suffix != ".ipynb":
        return {}
    with suppress(OSError):
        cells = JsonObject.parsed(path.read_bytes().decode("utf-8", "replace")).sections("cells")
        return {f"cell {number}": cell.text("id") or f"cell-{number}" for number, cell in enumerate(cells, start=1)}
    return {}
