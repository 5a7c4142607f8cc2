"""A look inside a training: a cell in front of all others that counts what is compiled, and on how many devices.

The notebook's own cells stay as they are. What the cell finds it prints; the notebook runs beside it, so that all of it
is the notebook's word.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from generator.files import read_text
from generator.pair.notebook_changes import with_first_cell
from generator.untrusted import JsonObject, printable

_MARK = "tandem-rehearsal"
_MOST_NAMES = 1_000
ENVIRONMENT = {"JAX_LOG_COMPILES": "1"}

# JAX tells of each compilation, TensorFlow of none: there each graph that is made of a Python function counts as one.
_WATCHER = '''
def watch_for_rehearsal(devices):
    """Look on for `tandem rehearse`; this cell is in no notebook of yours."""
    import contextlib
    import json
    import logging
    import operator
    import re
    import sys

    compiled = []

    class Compilations(logging.Handler):
        def emit(self, record):
            said = r"Compiling (?:jit\\()?([\\w<>.-]+)\\)? (.*?)(?:\\. Argument|$)"
            found = re.match(said, record.getMessage(), re.S)
            if found:
                compiled.append([found[1], str(hash(found[2]))])

    logger = logging.getLogger("jax")
    logger.addHandler(Compilations())
    logger.propagate = False

    if {uses_tensorflow}:
        import tensorflow as tf
        from tensorflow.python.framework import func_graph

        cpu = tf.config.list_physical_devices("CPU")[0]
        parts = [tf.config.LogicalDeviceConfiguration()] * devices
        tf.config.set_logical_device_configuration(cpu, parts)
        trace = func_graph.func_graph_from_py_func

        def counted(name, *arguments, **options):
            compiled.append([str(name), "traced"])
            return trace(name, *arguments, **options)

        func_graph.func_graph_from_py_func = counted

    def tell(*_):
        found = {"{mark}": True, "devices": 0}
        for start in range(0, len(compiled), 50):  # a line of a log is not endless
            print(json.dumps({"{mark}": True, "compiled": compiled[start : start + 50]}), flush=True)
        compiled.clear()
        if "jax" in sys.modules and not {uses_tensorflow}:
            arrays = sys.modules["jax"].live_arrays()
            found["devices"] = max((len(array.sharding.device_set) for array in arrays), default=0)
        names = get_ipython().user_ns
        if "torch_xla" in sys.modules and hasattr(names.get("model"), "parameters"):
            from torch_xla.distributed.spmd import wrap_if_sharded

            weight = wrap_if_sharded(next(names["model"].parameters()))
            found["devices"] = len(getattr(weight, "local_shards", [weight]))
        if {uses_tensorflow}:
            found["devices"] = getattr(names.get("strategy"), "num_replicas_in_sync", 0)
        for name in ("steps_per_epoch", "epochs"):
            with contextlib.suppress(KeyError, TypeError):
                found[name] = operator.index(names[name])
        if found["devices"]:
            print(json.dumps(found), flush=True)

    get_ipython().events.register("post_run_cell", tell)


watch_for_rehearsal({devices})
del watch_for_rehearsal
'''


@dataclass(frozen=True)
class Seen:
    """What was seen inside of a training.

    Attributes:
        devices: On how many devices values were at once.
        compiled: How often each function was compiled, by its name.
        shapes: For how many different shapes of its inputs.
        steps: How many steps were taken, 0 if that is not known.
    """

    devices: int
    compiled: Mapping[str, int]
    shapes: Mapping[str, int]
    steps: int


def write_watched(notebook: Path, *, framework: str, devices: int) -> str:
    """A copy of a notebook with the cell in front that looks on."""
    source = _WATCHER
    values = {"uses_tensorflow": str(framework == "tensorflow"), "mark": _MARK, "devices": str(devices)}
    for name, value in values.items():
        source = source.replace(f"{{{name}}}", value)
    return with_first_cell(read_text(notebook), name=_MARK, source=source.strip())


def seen_in(lines: Iterable[str]) -> Seen:
    """Puts together what the cell printed in the course of a notebook."""
    devices, sizes = 0, {"steps_per_epoch": 0, "epochs": 0}
    compiled: Counter[str] = Counter()
    shapes: dict[str, set[str]] = {}
    for line in lines:
        told = JsonObject.parsed(line) if _MARK in line else JsonObject()
        if not told.flag(_MARK):
            continue
        devices = max(devices, told.count("devices"))
        sizes = {name: told.count(name) or known for name, known in sizes.items()}
        pairs = told.get("compiled")
        for pair in pairs if isinstance(pairs, list) else ():
            if isinstance(pair, list) and len(pair) == 2 and len(compiled) < _MOST_NAMES:  # noqa: PLR2004 - a pair
                name = printable(str(pair[0]))[:100]
                compiled[name] += 1
                shapes.setdefault(name, set()).add(str(pair[1]))
    steps = sizes["steps_per_epoch"] * sizes["epochs"]
    return Seen(devices, compiled, {name: len(found) for name, found in shapes.items()}, steps)
