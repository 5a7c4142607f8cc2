"""Rules of TPUs: other processes, of which only one can have the TPU."""

import ast
from collections.abc import Iterator

from generator.check.analysis.tpu import TpuCode, tpu_rule
from generator.check.finding import Severity
from generator.check.rule import Problem
from generator.check.syntax import Call

_TAKES_TPU = {
    "jax.devices", "jax.device_count", "jax.local_devices", "jax.local_device_count", "jax.default_backend",
    "torch_xla.core.xla_model.xla_device", "torch_xla.device",
}  # fmt: skip
_STARTS = {"subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_call", "subprocess.check_output"}
_POOLS = {"multiprocessing.Pool", "concurrent.futures.ProcessPoolExecutor", "multiprocessing.Process"}
_PROGRAMS = {"python", "python3", "accelerate", "torchrun", "deepspeed"}


@tpu_rule("T007", "second-process", Severity.WARNING)
def second_process(tpu: TpuCode) -> Iterator[Problem]:
    """The notebook holds the TPU and starts another Python program, or copies of itself.

    One process owns the TPU: a script that imports JAX or torch_xla finds it in use and fails, or trains on the CPU
    without a word. A forked copy of a process with JAX in it can hang. Run the script before the notebook itself asks
    for devices, import it, or start workers by "spawn" with `JAX_PLATFORMS=cpu`.

    Source (2026-11-23): JAX, "TPU is already in use by process"; JAX's own warning at os.fork.
    """
    taken = _taken(tpu)
    if taken is None or tpu.mentions("JAX_PLATFORMS", "JAX_PLATFORM_NAME"):
        return
    cells = tpu.code.cells
    for number, cell in enumerate(cells):
        for line, command in cell.commands.items():
            if (number, line) > taken and _runs_python(command.split()):
                message = "The notebook holds the TPU already, so that this program cannot have it."
                place = tpu.code.place(cell, line)
                yield Problem(place, message, "Run it before the notebook asks for devices, or import it.")
    for call in tpu.code.calls:
        if tpu.code.function(call.node) is not None or tpu.code.order(call.node) < taken:
            continue
        if call.name in _STARTS and _runs_python(_words(tpu, call)):
            message = "The notebook holds the TPU already, so that this program cannot have it."
            yield Problem(tpu.code.place(call.node), message, "Run it before the notebook asks for devices.")
        elif call.name in _POOLS and tpu.platform.jax and not _is_spawned(tpu, call):
            message = "This forks a process in which JAX has the TPU: its copies can hang."
            remedy = 'Take threads, or multiprocessing.get_context("spawn").'
            yield Problem(tpu.code.place(call.node), message, remedy)


def _taken(tpu: TpuCode) -> tuple[int, int] | None:
    """Where the notebook's own process takes the TPU, in the order of its cells."""
    places = [
        tpu.code.order(call.node)
        for call in tpu.code.calls
        if tpu.code.function(call.node) is None
        and (call.name in _TAKES_TPU or call.last in {"TPUStrategy", "initialize_tpu_system"})
    ]
    return min(places, default=None)


def _runs_python(words: list[str]) -> bool:
    """True for a command that runs a program of Python, rather than one of its tools."""
    if not words or words[0].rpartition("/")[2] not in _PROGRAMS:
        return False
    if any(word in {"-m", "--version", "-V"} for word in words[1:2]):
        return any(word.startswith("torch.distributed") for word in words[2:3])
    return any(word.endswith(".py") for word in words) or words[0].rpartition("/")[2] == "accelerate"


def _words(tpu: TpuCode, call: Call) -> list[str]:
    given = tpu.code.resolved(call.argument(0, "args"))
    if isinstance(given, ast.List | ast.Tuple):
        return [_word(tpu, each) for each in given.elts]
    return (tpu.code.text(given) or "").split()


def _word(tpu: TpuCode, node: ast.expr) -> str:
    return "python" if tpu.code.name(node) == "sys.executable" else tpu.code.text(node) or ""


def _is_spawned(tpu: TpuCode, call: Call) -> bool:
    is_asked_for = not tpu.code.called.isdisjoint({"set_start_method", "get_context"})
    return is_asked_for or call.keyword("mp_context") is not None
