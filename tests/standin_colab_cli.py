"""A stand-in for Google's command line for Colab, which answers as google-colab-cli 0.7.5 does.

`install` makes it executable, with a machine that is a folder: /content in what it executes means a folder there. What
it does otherwise than well stands in `behaviour.json`, its command lines in `calls.txt`, what is rented in
`machines.json`. Like the real one, `exec` goes on after a cell that failed, keeps no time-out and ends with 0, and
`stop` ends with 0 for any name.
"""

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

T4 = {"platform": "gpu", "device_kind": "Tesla T4"}
_JAX = """
import json
from pathlib import Path
from types import SimpleNamespace
def devices():
    return [SimpleNamespace(**json.loads(Path({device!r}).read_text()))]
"""
_RUNTIME = """
import json
from pathlib import Path
def unassign():
    new = Path({machines!r} + ".new")
    new.write_text("[]")
    new.replace({machines!r})
"""
_CELLS = """
import json, sys, traceback
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
notebook, sources, before = json.load(sys.stdin)
cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
for number, (cell, source) in enumerate(zip(cells, sources), start=1):
    print(f"[colab] Executing cell {number}/{len(cells)} - {cell['id']}...", flush=True)
    result = shell.run_cell(before + source)
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        said = {"ename": type(error).__name__, "evalue": str(error), "traceback": [str(error)]}
        cell["outputs"] = [{"output_type": "error", **said}]
    sys.stdout.flush()
    with open(sys.argv[1], "w") as file:
        json.dump(notebook, file)
"""


def install(folder: Path, device: dict[str, str] = T4, **behaviour: Any) -> Path:
    """The program, in an empty folder."""
    folder.mkdir()
    (folder / "content").mkdir()
    (folder / "google" / "colab").mkdir(parents=True)
    (folder / "machines.json").write_text("[]")
    (folder / "device.json").write_text(json.dumps(device))
    (folder / "jax.py").write_text(_JAX.format(device=str(folder / "device.json")))
    (folder / "google" / "colab" / "runtime.py").write_text(_RUNTIME.format(machines=str(folder / "machines.json")))
    (folder / "behaviour.json").write_text(json.dumps(behaviour))
    program = folder / "colab"
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n")
    with program.open("a") as file:
        file.write(f"from standin_colab_cli import Colab\nsys.exit(Colab({str(folder)!r}).answer(sys.argv[1:]))\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def rented(folder: Path) -> list[dict[str, str]]:
    """The machines that are rented."""
    machines: list[dict[str, str]] = json.loads((folder / "machines.json").read_text())
    return machines


class Colab:
    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.behaviour = json.loads((self.folder / "behaviour.json").read_text())

    def answer(self, arguments: list[str]) -> int:
        with (self.folder / "calls.txt").open("a") as file:
            file.write(" ".join(arguments) + "\n")
        verb, *rest = arguments
        steps = (self.folder / "calls.txt").read_text().count("-s ")
        if self.behaviour.get("dies_at", steps + 1) <= steps and verb not in ("new", "stop", "sessions"):
            print("\x1b[2J\x1b]0;title\x07 502 \ufffd {")
            return 1
        if rest and rest[0] == "-s":
            self.session, rest = rest[1], rest[2:]
        hangs = self.behaviour.get("hangs") == verb
        if hangs and verb != "new":  # which hangs when there is a machine already
            time.sleep(600)
        command = getattr(self, verb.replace("-", "_"))
        code = int(command(*rest) or 0)
        if hangs:
            time.sleep(600)
        return code

    def new(self, *options: str) -> int:
        print(f"[colab] Creating session '{self.session}'...")
        name = "?" if self.behaviour.get("new_is_cut_off") else self.session
        hardware = self.behaviour.get("gives") or (options[1].upper() if options else "NONE")
        self._write([*rented(self.folder), {"name": name, "hardware": hardware}])
        if name == "?":
            print("requests.exceptions.ReadTimeout: timed out")
            return 1
        print("[colab] Session READY.")
        return 0

    def sessions(self) -> None:
        for each in rented(self.folder):
            hardware = each["hardware"].replace("NONE", "CPU")
            print(f"[{each['name']}] m-s-{each['name']} | Hardware: {hardware} | Shape: Standard | Variant: GPU")
        if not rented(self.folder):
            print("[colab] No active sessions found on server.")

    def stop(self) -> int:
        if self.behaviour.get("stop_fails"):
            print("ColabRequestError: Failed to issue request GET unassign: Bad Gateway")
            return 1
        self._write([each for each in rented(self.folder) if each["name"] != self.session])
        print("[colab] Session terminated.")
        return 0

    def usage(self) -> None:
        spent = (self.folder / "calls.txt").read_text().count("exec ")
        print(f"Current balance: {100 - spent / 4:.2f} compute units\nUsage rate: 1.19/hr\nActive assignments: 1")

    def restart_kernel(self) -> None:
        pass

    def upload(self, local: str, remote: str) -> None:
        self._there(remote).parent.mkdir(parents=True, exist_ok=True)
        self._there(remote).write_bytes(Path(local).read_bytes())
        print(f"[colab] Uploaded '{local}' to '{remote}'")

    def download(self, remote: str, local: str) -> int:
        if not self._there(remote).is_file():
            print(f"[colab] Download failed: File or directory not found: {remote}")
            return 1
        Path(local).write_bytes(self._there(remote).read_bytes())
        print(f"[colab] Downloaded '{remote}' to '{local}'")
        return 0

    def exec(self, _: str, file: str, __: str, ___: str, *variables: str) -> None:
        source = Path(file)
        given = {name: str(self._there(value)) for _, pair in _pairs(variables) for name, value in [pair.split("=", 1)]}
        before = "import os\n" + "".join(f"os.environ[{name!r}] = {value!r}\n" for name, value in given.items())
        if source.suffix == ".py":
            command, text = [sys.executable, "-c", before + self._moved(source.read_text())], ""
        else:
            notebook = json.loads(source.read_text())
            print(f"[colab] Parsing notebook '{file}'...", flush=True)
            output = source.with_name(f"{source.stem}_output.ipynb")
            cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
            sources = [self._moved("".join(cell["source"])) for cell in cells]
            command, text = [sys.executable, "-c", _CELLS, str(output)], json.dumps([notebook, sources, before])
        environment = os.environ | {"PYTHONPATH": str(self.folder), "IPYTHONDIR": str(self.folder / "ipython")}
        subprocess.run(command, input=text, text=True, env=environment, check=False)
        if source.suffix != ".py" and self.behaviour.get("saves_half"):
            output.write_bytes(output.read_bytes()[:-9])

    def _moved(self, code: str) -> str:
        return code.replace("/content", str(self.folder / "content"))

    def _there(self, path: str) -> Path:
        return Path(path if path.startswith(str(self.folder)) else self._moved(path))

    def _write(self, machines: list[dict[str, str]]) -> None:
        new = self.folder / f"machines-{os.getpid()}"
        new.write_text(json.dumps(machines))
        new.replace(self.folder / "machines.json")


def _pairs(arguments: tuple[str, ...]) -> list[tuple[str, str]]:
    return list(zip(arguments[::2], arguments[1::2], strict=True))


def until(is_so: Any, *, seconds: float = 20) -> None:
    """Waits until something is so."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it never came to be so"
        time.sleep(0.05)
