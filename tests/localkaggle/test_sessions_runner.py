"""Real sessions: notebooks in a sandbox of this machine, by every means of isolation that it has."""

import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Any

import psutil
import pytest

from generator.accelerators import AcceleratorKind
from generator.sessions.notebook_runner import (
    MACHINE_IS_FULL,
    OUT_OF_MEMORY,
    STOP_REASON,
    TOO_DEEP,
    TOO_LARGE,
    TOO_MANY_FILES,
    TOO_MANY_PROCESSES,
    Isolation,
    NotebookRunner,
    best_isolation,
    read_all,
    script_notebook,
)
from generator.sessions.sandbox import (
    Bubblewrap,
    PlainProcess,
    SessionEnd,
    SessionFolder,
    SessionOrder,
    remove_session_tree,
)

pytestmark = pytest.mark.slow

FOUND: dict[str, Callable[[], Isolation | None]] = {
    "bubblewrap": Bubblewrap.detect,
    "plain": PlainProcess,
}
PARAMETERS = 'INPUT_ROOT = "/kaggle/input"\nWORKING_ROOT = "/kaggle/working"\nALLOW_CPU = False'

# One notebook that tries everything, since a kernel takes a second to start.
EXPLORER = """
import json, os, socket, subprocess, sys
from pathlib import Path

def attempt(action):
    try:
        action()
    except Exception as error:
        return str(error)
    return "done"

found = {
    "parameters": [INPUT_ROOT, WORKING_ROOT, ALLOW_CPU],
    "here": os.getcwd(),
    "data": Path(INPUT_ROOT, "competitions/digits/train.csv").read_text(),
    "write input": attempt(lambda: Path(INPUT_ROOT, "competitions/digits/new.txt").write_text("x")),
    "remove input": attempt(lambda: Path(INPUT_ROOT, "competitions/digits/train.csv").unlink()),
    "write between": attempt(lambda: Path(INPUT_ROOT, "new.txt").write_text("x")),
    "connect": attempt(lambda: socket.create_connection(("192.0.2.1", 80), timeout=0.5)),
    "look up": attempt(lambda: socket.getaddrinfo("example.com", 80)),
    "environment": dict(os.environ),
    "secret": attempt(lambda: Path(SECRET).read_text()),
    "programs": subprocess.run("echo shell", shell=True, capture_output=True, text=True).stdout,
    "python": subprocess.run(["python", "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True).stdout,
    "visible": [str(path) for path in Path("/").iterdir()],
}
Path(WORKING_ROOT, "found.json").write_text(json.dumps(found))
Path(WORKING_ROOT, "link").symlink_to("/etc/passwd")
Path(os.environ["HOME"], "mine.txt").write_text("x")
print("\\x1b[31mred\\x1b[0m")
print("to the other stream", file=sys.stderr)
"""


def code(source: str, **metadata: Any) -> dict[str, Any]:
    return {"cell_type": "code", "id": f"c{len(source)}", "metadata": metadata, "outputs": [], "source": source}


def notebook(*sources: str, parameters: str = PARAMETERS) -> str:
    cells = [code(parameters, tags=["parameters"]), *map(code, sources)]
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for cell in cells:
        cell["execution_count"] = None
    return json.dumps({"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5})


@dataclass
class Session:
    """A session that is over."""

    order: SessionOrder
    end: SessionEnd
    seconds: float

    @property
    def log(self) -> str:
        return "".join(event["data"] for event in read_all(self.order.files.log))

    @property
    def outputs(self) -> str:
        """The text of the executed notebook."""
        return self.order.files.executed_notebook.read_text()


def run(root: Path, text: str, isolation: Isolation | None = None, **changes: Any) -> Session:
    """Runs a notebook with the data of a competition."""
    data, files = root / "data", SessionFolder(root, 1)
    data.mkdir(parents=True)
    files.make()
    (data / "train.csv").write_text("id,label\n")
    files.notebook.write_text(text)
    stop = changes.pop("stop", threading.Event())
    order = SessionOrder(
        title="tester/tiny version 1",
        notebook=files.notebook,
        files=files,
        mounts={PurePosixPath("competitions/digits"): data},
        time_limit=timedelta(seconds=60),
    )
    order = replace(order, **changes)
    started = time.monotonic()
    end = NotebookRunner(isolation).run(order, stop=stop)
    return Session(order, end, time.monotonic() - started)


@dataclass
class Explored:
    """What the explorer found, by which means it was kept apart."""

    name: str
    session: Session
    found: dict[str, Any]

    @property
    def is_apart(self) -> bool:
        """Whether there are real paths, and nothing else of the machine."""
        return self.name != "plain"


@pytest.fixture(scope="module", params=list(FOUND))
def explored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Explored:
    """A TPU session without the internet, in every kind of sandbox."""
    isolation = FOUND[request.param]()
    if isolation is None:
        pytest.skip(f"this machine has no {request.param}")
    root = tmp_path_factory.mktemp("explored")
    secret = root / "token.txt"
    secret.write_text("a secret of the user")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAGGLE_API_TOKEN", "a-token-of-the-user")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret")
        session = run(
            root / "session",
            notebook(EXPLORER.replace("SECRET", repr(str(secret)))),
            isolation,
            accelerator=AcceleratorKind.TPU,
            devices=8,
            parameters={"ALLOW_CPU": True, "UNKNOWN": 1},
            environment={"KAGGLE_IS_COMPETITION_RERUN": "1"},
        )
    assert session.end == SessionEnd(), session.log
    found = json.loads((session.order.files.working / "found.json").read_text())
    return Explored(request.param, session, found)


def test_a_session_reads_its_inputs_and_writes_its_outputs(explored: Explored) -> None:
    assert explored.found["data"] == "id,label\n"
    assert sorted(path.name for path in explored.session.order.files.working.iterdir()) == ["found.json", "link"]


def test_paths_are_kaggles_or_reach_the_notebook_as_parameters(explored: Explored) -> None:
    order = explored.session.order
    real = ["/kaggle/input", "/kaggle/working", True]
    mapped = [str(order.files.private / "input"), str(order.files.working), True]

    assert explored.found["parameters"] == (real if explored.is_apart else mapped)
    assert explored.found["here"] == explored.found["parameters"][1]


def test_inputs_cannot_be_changed(explored: Explored) -> None:
    answers = [explored.found[name] for name in ("write input", "remove input", "write between")]

    assert all("read-only" in answer.lower() for answer in answers), answers
    assert (explored.session.order.mounts[PurePosixPath("competitions/digits")] / "train.csv").exists()


def test_with_the_internet_off_nothing_is_reached(explored: Explored) -> None:
    assert explored.found["connect"] != "done"
    assert explored.found["look up"] != "done"


def test_variables_are_kaggles_and_none_of_the_users(explored: Explored) -> None:
    variables = explored.found["environment"]

    assert variables["KAGGLE_KERNEL_RUN_TYPE"] == "Batch"
    assert variables["KAGGLE_IS_COMPETITION_RERUN"] == "1"
    assert variables["XLA_FLAGS"] == "--xla_force_host_platform_device_count=8"
    assert "a-token-of-the-user" not in str(variables)
    assert "another-secret" not in str(variables)


def test_a_sandbox_shows_nothing_of_the_machine_but_programs(explored: Explored) -> None:
    if explored.is_apart:
        assert "No such file" in explored.found["secret"]
        assert "/home" not in explored.found["visible"]
        assert explored.found["environment"]["HOME"] == "/root"
    else:
        assert "plain process" in explored.session.log


def test_programs_run_and_python_is_that_of_the_notebook(explored: Explored) -> None:
    assert explored.found["programs"] == "shell\n"
    assert explored.found["python"].strip() == sys.prefix


def test_the_log_has_both_streams_and_says_what_the_session_is(explored: Explored) -> None:
    events = list(read_all(explored.session.order.files.log))

    assert "TPU (emulated: 8 devices" in events[0]["data"]
    assert "internet off" in events[0]["data"]
    assert {"red\n", "to the other stream\n"} <= {event["data"] for event in events}
    assert {event["stream_name"] for event in events} == {"stdout", "stderr"}


def test_the_executed_notebook_is_kept_with_its_outputs(explored: Explored) -> None:
    assert "to the other stream" in explored.session.outputs


@pytest.fixture(params=list(FOUND))
def isolation(request: pytest.FixtureRequest) -> Isolation:
    """Each means of isolation that this machine has."""
    found = FOUND[request.param]()
    if found is None:
        pytest.skip(f"this machine has no {request.param}")
    return found


def test_the_best_isolation_is_a_sandbox_where_there_is_one() -> None:
    assert isinstance(best_isolation(), Bubblewrap if Bubblewrap.detect() else PlainProcess)


def test_a_time_limit_ends_a_session_and_keeps_what_there_was(tmp_path: Path, isolation: Isolation) -> None:
    text = notebook("print('before')", "import time\nwhile True: time.sleep(0.1)")
    session = run(tmp_path, text, isolation, time_limit=timedelta(seconds=4))

    assert session.end.failure == "Notebook Timeout"
    assert session.seconds < 12
    assert "before" in session.outputs


def test_stopping_kills_everything_that_a_notebook_started(tmp_path: Path, isolation: Isolation) -> None:
    stop = threading.Event()
    beat = tmp_path / "sessions" / "1" / "working" / "beat.txt"
    text = notebook(
        "import subprocess, time\n"
        "subprocess.Popen(['sh', '-c', 'while true; do date +%N > beat.txt; sleep 0.1; done'])\n"
        "time.sleep(60)"
    )

    def stop_when_it_beats() -> None:
        deadline = time.monotonic() + 30
        while not beat.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        stop.set()

    threading.Thread(target=stop_when_it_beats).start()
    session = run(tmp_path, text, isolation, stop=stop)
    before = beat.read_text()
    time.sleep(0.5)

    assert session.end.failure == STOP_REASON
    assert beat.read_text() == before


def test_a_server_that_is_killed_takes_its_sessions_with_it(tmp_path: Path, isolation: Isolation) -> None:
    beat = tmp_path / "session" / "sessions" / "1" / "working" / "beat.txt"
    program = (
        f"import sys; sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}\n"
        "from pathlib import Path\n"
        "from test_sessions_runner import FOUND, notebook, run\n"
        'text = \'import time\\nwhile True: open("beat.txt", "w").write(str(time.time())); time.sleep(0.1)\'\n'
        "found = next(i for i in (find() for find in FOUND.values()) if type(i).__name__ == sys.argv[2])\n"
        "run(Path(sys.argv[1]), notebook(text), found)\n"
    )
    server = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "session"), type(isolation).__name__])
    deadline = time.monotonic() + 30
    while not beat.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    server.kill()
    server.wait()

    def is_beating() -> bool:
        before = beat.read_text()
        time.sleep(0.5)
        return beat.read_text() != before

    deadline = time.monotonic() + 15
    while is_beating() and time.monotonic() < deadline:
        pass
    assert not is_beating()


def test_a_cell_that_raises_ends_the_session_with_its_exception(tmp_path: Path) -> None:
    session = run(tmp_path, notebook("raise ValueError('no such label')"))

    assert session.end.failure == "Notebook Threw Exception: ValueError: no such label"
    assert "Traceback" in session.log
    assert "no such label" in session.outputs


def test_too_much_output_ends_the_session(tmp_path: Path) -> None:
    text = notebook(
        "import time\nfor n in range(9): open(f'f{n}', 'wb').write(b'x' * 2**20)\nwhile True: time.sleep(0.1)"
    )
    session = run(tmp_path, text, output_limit=5 * 2**20)

    assert session.end.failure == TOO_LARGE


def test_too_much_memory_ends_the_session_whichever_process_has_it(tmp_path: Path, isolation: Isolation) -> None:
    text = notebook(
        "import subprocess, sys, time\n"
        "take = 'import time; taken = b\"x\" * 150 * 2**20; time.sleep(60)'\n"
        "children = [subprocess.Popen([sys.executable, '-c', take]) for _ in range(4)]\n"
        "time.sleep(60)"
    )
    session = run(tmp_path, text, isolation, memory_limit=500 * 2**20)

    assert session.end.failure == OUT_OF_MEMORY
    assert "Exceeded Allowed Compute" in session.log
    assert session.seconds < 40


def test_memory_that_processes_share_is_counted_once(tmp_path: Path) -> None:
    text = notebook(
        "import os, time\n"
        "shared, children = b'x' * 150 * 2**20, []\n"
        "for _ in range(5):\n"
        "    pid = os.fork()\n"
        "    if not pid: time.sleep(2); os._exit(0)\n"
        "    children.append(pid)\n"
        "for pid in children: os.waitpid(pid, 0)"
    )
    session = run(tmp_path, text, memory_limit=600 * 2**20)

    assert session.end == SessionEnd(), session.log


def test_too_many_processes_end_the_session(tmp_path: Path, isolation: Isolation) -> None:
    text = notebook(
        "import subprocess, time\nchildren = [subprocess.Popen(['sleep', '60']) for _ in range(100)]\ntime.sleep(60)"
    )
    session = run(tmp_path, text, isolation, process_limit=60)

    # An ordinary user in a sandbox is refused by the kernel before anybody looks.
    assert session.end.failure == TOO_MANY_PROCESSES or "Resource temporarily unavailable" in session.end.failure
    assert session.seconds < 40


@pytest.mark.parametrize("look_seconds", [0.25, 60.0])
@pytest.mark.parametrize(
    ("events", "failure"),
    [
        ({"memory.events": "low 0\nmax 31\noom 1\noom_kill 1\n", "pids.events": "max 0\n"}, OUT_OF_MEMORY),
        ({"memory.events": "low 0\nmax 31\noom 0\noom_kill 0\n", "pids.events": "max 12\n"}, TOO_MANY_PROCESSES),
        ({"memory.events": "low 0\nmax 31\noom 0\noom_kill 0\n", "pids.events": "max 0\n"}, ""),
        ({}, ""),
    ],
)
def test_what_the_kernel_refused_a_control_group_is_said_in_kaggles_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look_seconds: float, events: dict[str, str], failure: str
) -> None:
    group = tmp_path / "group"
    group.mkdir()
    for name, counts in events.items():
        (group / name).write_text(counts)
    monkeypatch.setattr("generator.sessions.notebook_runner._group_of", lambda _: group)
    # A notebook that goes on is looked at; one that fails for what it was refused ends before anybody looks.
    monkeypatch.setattr("generator.sessions.notebook_runner._LOOK_SECONDS", look_seconds)
    goes_on = failure and look_seconds < 1
    session = run(tmp_path / "session", notebook("import time; time.sleep(60)" if goes_on else "raise BlockingIOError"))

    assert session.end.failure == (failure or "Notebook Threw Exception: BlockingIOError: ")
    assert session.seconds < 40


@pytest.mark.parametrize(
    ("bound", "value", "failure"),
    [
        ("_MOST_FILES", 50, TOO_MANY_FILES),
        ("_SPARE_DISK", 2**60, MACHINE_IS_FULL.format("disk space")),
        ("_SPARE_MEMORY", 2**60, MACHINE_IS_FULL.format("memory")),
    ],
)
def test_a_session_ends_before_it_exhausts_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, value: int, failure: str
) -> None:
    monkeypatch.setattr(f"generator.sessions.notebook_runner.{bound}", value)
    text = notebook("import time\nfor n in range(100): open(f'{n}.txt', 'w').close()\ntime.sleep(60)")
    session = run(tmp_path, text)

    assert session.end.failure == failure


# A notebook may write to whatever its worker has open.
FLOOD = """
import os
worker = open(f"/proc/{os.getppid()}/fd/2", "wb", buffering=0)
for _ in range(200): worker.write(b"x" * 2**20)
os.kill(os.getppid(), 9)
"""


def test_what_a_worker_says_before_it_dies_is_not_kept_whole(tmp_path: Path) -> None:
    before = psutil.Process().memory_info().rss
    session = run(tmp_path, notebook(FLOOD), output_limit=50 * 2**20)

    assert "process died" in session.end.failure, session.log
    assert psutil.Process().memory_info().rss - before < 100 * 2**20
    written = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert written < 50 * 2**20


DIG = """
import os
from pathlib import Path
def dig(top, levels):
    os.chdir(top)
    for _ in range(levels):
        os.mkdir("a")
        os.chdir("a")
"""


@pytest.mark.parametrize("where", ["WORKING_ROOT", "'/tmp'"])
def test_folders_without_end_do_the_server_no_harm(tmp_path: Path, where: str) -> None:
    text = notebook(f"{DIG}\ndig({where}, 3_000)\nimport time; time.sleep(60 if {where} == '/tmp' else 0)")
    if isinstance(best_isolation(), PlainProcess) and where == "'/tmp'":
        pytest.skip("there is no sandbox, whose /tmp it would be")
    session = run(tmp_path / "session", text)

    assert session.end.failure == TOO_DEEP
    remove_session_tree(tmp_path / "session")
    assert not (tmp_path / "session").exists()


def test_a_kernel_that_dies_is_the_end_of_its_session(tmp_path: Path) -> None:
    session = run(tmp_path, notebook("import os\nos.kill(os.getpid(), 9)"))

    assert "died" in session.end.failure
    assert "SIGKILL" in session.end.failure


def test_a_notebook_that_kills_its_worker_ends_its_session(tmp_path: Path) -> None:
    session = run(tmp_path, notebook("import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(30)"))

    assert "process died" in session.end.failure
    assert session.seconds < 25


def test_what_a_notebook_says_in_its_workers_name_can_be_kept(tmp_path: Path) -> None:
    said = (
        "import json, os, time\nwith open(f'/proc/{os.getppid()}/fd/1', 'w') as pipe:\n"
        "    pipe.write(json.dumps({'end': 'half ' + chr(0xD800)}) + '\\n')\n"
        "time.sleep(0.5)\nos.kill(os.getppid(), 9)"
    )
    session = run(tmp_path, notebook(said))

    assert session.end.failure.encode() == b"half ?"  # a database takes whole characters only


def test_an_executed_notebook_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("a secret of the user")
    session = run(
        tmp_path / "session",
        notebook(
            f"import os\nos.rename('/kaggle/session/executed.ipynb', '/kaggle/session/x')\n"
            f"os.symlink({str(secret)!r}, '/kaggle/session/executed.ipynb')\nos.kill(os.getppid(), 9)"
        ),
    )

    if not isinstance(best_isolation(), PlainProcess):
        assert not os.path.lexists(session.order.files.executed_notebook)


def test_a_notebook_without_a_kernel_name_fails_as_papermill_says_it(tmp_path: Path) -> None:
    text = json.dumps({**json.loads(notebook("1")), "metadata": {}})
    session = run(tmp_path, text)

    assert "No kernel name found in notebook and no override provided" in session.end.failure


def test_a_script_is_run_and_one_in_r_is_refused(tmp_path: Path) -> None:
    python = run(tmp_path / "python", script_notebook("print(6 * 7)", language="python"))
    in_r = run(tmp_path / "r", script_notebook("print(6 * 7)", language="r"))

    assert python.end == SessionEnd()
    assert "42" in python.log
    assert "no kernel for r" in in_r.end.failure


def test_a_notebook_installs_wheels_of_a_dataset_without_the_internet(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / "tinylib-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tinylib.py", "ANSWER = 42\n")
        wheel.writestr("tinylib-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tinylib\nVersion: 1.0\n")
        wheel.writestr("tinylib-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("tinylib-1.0.dist-info/RECORD", "")
    text = notebook(
        "!pip install -q --no-index --find-links {INPUT_ROOT}/datasets/tester/wheels tinylib",
        "import tinylib\nprint('answer', tinylib.ANSWER)",
    )
    session = run(tmp_path / "session", text, mounts={PurePosixPath("datasets/tester/wheels"): wheels})

    assert session.end == SessionEnd(), session.log
    assert "answer 42" in session.log
