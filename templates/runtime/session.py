"""Finds inputs, writes files atomically, compares code, resumes, and ends in time."""

import ast
import contextlib
import hashlib
import json
import os
import re
import time
from pathlib import Path


def sha256(content):
    """Return the SHA-256 of a text or of bytes."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def has_no_effect(node):
    """Return whether a statement is a docstring, a `print` or a `raise`."""
    value = node.value if isinstance(node, ast.Expr) else None
    is_print = getattr(getattr(value, "func", None), "id", "") == "print"
    return is_print or isinstance(node, ast.Raise) or isinstance(value, ast.Constant)


def as_lists(node):
    """Return the syntax tree as nested lists, without layout and comments."""
    if isinstance(node, list):
        return [as_lists(part) for part in node if not has_no_effect(part)]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [(name, value) for name, value in ast.iter_fields(node) if value not in (None, [])]
    return [type(node).__name__, *([name, as_lists(value)] for name, value in fields)]


class Session:
    """The paths, the time limit and the inputs of a session."""

    def __init__(self, namespace):
        self.executed = namespace.get("In", [])  # the cells that ran, as IPython keeps them
        names = re.findall(r"^([A-Z][A-Z_\d]*) = ", "\n".join(self.cells()[:1]), re.MULTILINE)
        self.settings = {name: namespace[name] for name in names or filter(str.isupper, namespace)}
        self.input = Path(self.settings["INPUT_ROOT"])
        self.output = Path(self.settings["WORKING_ROOT"]).absolute()
        workspace = Path("../../..").resolve()  # a local run: this is kernels/PAIR/NOTEBOOK
        is_kaggle = self.settings["INPUT_ROOT"] == "/kaggle/input"
        if is_kaggle and not self.input.is_dir() and (workspace / "input").is_dir():
            self.input = workspace / "input"
            self.output = workspace / "output" / Path.cwd().parent.name / Path.cwd().name
        self.output.mkdir(parents=True, exist_ok=True)
        self.competition, self.start = self.input, namespace.get("session_start", time.monotonic())

    def seconds_left(self):
        """Return the seconds left in the session, without the reserve."""
        hours, minutes = self.settings["SESSION_HOURS"], self.settings["RESERVE_MINUTES"]
        return self.start + hours * 3600 - minutes * 60 - time.monotonic()

    def cells(self):
        """Return the cells that ran, from the last run of the parameters cell on."""
        names = re.compile(r"^COMPETITION\b.*^PAIR_ID\b", re.MULTILINE | re.DOTALL)
        starts = [number for number, cell in enumerate(self.executed) if names.search(cell)]
        cells = []
        for cell in self.executed[starts[-1] if starts else 0 :]:
            with contextlib.suppress(SyntaxError):  # a cell with a syntax error did not run
                cells += [cell] if ast.parse(cell) else []
        return cells

    def find(self, marker):
        """Return the folder of the competition, which has the file or folder `marker`."""
        name = self.settings["COMPETITION"]
        self.competition = self.find_folder([f"competitions/{name}", name], marker)
        return self.competition

    def find_folder(self, mounts, marker, wait_seconds=60):
        """Return the folder that has `marker`: a mount, or one up to four levels below."""
        found = [*(self.input / mount for mount in mounts), self.input]
        for _ in range(wait_seconds):  # a mount may be empty in a session's first seconds
            if all(any(folder.iterdir()) for folder in found if folder.is_dir()):
                break
            time.sleep(1)
        for folder in found:  # breadth-first: the list grows in the loop
            if (folder / marker).exists():
                return folder
            depth = len(folder.parts) - len(self.input.parts)
            if folder.is_dir() and depth < 4 and len(found) < 2_000:
                found += sorted(Path(entry.path) for entry in os.scandir(folder) if entry.is_dir())
        problem = f"There is no {marker} in {', '.join(map(str, found[:20]))}."
        raise FileNotFoundError(f"{problem} Attach it with Add Input and run again.")

    def shared_code(self):
        """Return the SHA-256 of each definition in the cells that both notebooks share."""
        code = {}
        for cell in self.cells():
            _, *shared = re.split(r"^# The same in both notebooks\.$", cell, flags=re.MULTILINE)
            for node in ast.parse("".join(shared)).body:
                name = getattr(node, "name", "") or ast.unparse(node).partition(" =")[0]
                code[name] = sha256(json.dumps(as_lists(node)))
        return code
