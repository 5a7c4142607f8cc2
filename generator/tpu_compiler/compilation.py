"""The compiler's word on a notebook: a process of its own runs and compiles it, within a time limit.

What the compiler said is kept in the user's cache by the lowered program, and the whole report by the notebook and
its inputs.
"""

import signal
import time

from generator.installation import installed_version
from generator.pair.interrupts import handled_signals
from generator.run.kernel import require_packages
from generator.run.private_folder import private_folder
from generator.tpu_compiler.child import Job, Progress
from generator.tpu_compiler.fingerprint import fingerprint
from generator.tpu_compiler.options import CompileOptions
from generator.tpu_compiler.report import CompileReport
from generator.tpu_compiler.result_cache import ResultCache
from generator.tpu_compiler.targets import NotebookTarget
from generator.tpu_compiler.topologies import CPU, find_topology
from generator.tpu_compiler.worker_events import Told
from generator.untrusted import JsonObject

__all__ = ["CompileOptions", "compile_steps"]

_NOT_KNOWN_WITHOUT = (
    "libtpu is not installed, so the TPU's compiler has not seen the step: whether it takes every operation, and how "
    "much memory, traffic, padding and time the step takes on a TPU, is not known. FLOPs are known, and whether JAX "
    "lowers the step for a TPU."
)


def compile_steps(
    target: NotebookTarget,
    options: CompileOptions | None = None,
    *,
    progress: Progress = lambda _line: None,
    cache: ResultCache | None = None,
) -> CompileReport:
    """Runs a notebook until its steps are caught, on 8 virtual devices, and has them compiled.

    Args:
        target: The notebook and its inputs.
        options: What to compile for.
        progress: Hears what is being done, a line each.
        cache: What the compiler said before; the user's own by default.

    Returns:
        The report; a notebook that fails and a step that is refused are problems of it.

    Raises:
        TandemError: The notebook cannot be read, there is no such topology, or the extra `run` is not installed.
        KeyboardInterrupt: A signal asked for the end.
    """
    options, cache, started = options or CompileOptions(), cache or ResultCache(), time.monotonic()
    wanted = find_topology(options.topology)
    compiler = installed_version("libtpu") if options.use_libtpu else ""
    topology = wanted if compiler else CPU
    jaxlib = installed_version("jaxlib") or "that is missing"
    named = f"libtpu {compiler}" if compiler else f"XLA for the CPU, jaxlib {jaxlib}"
    report = CompileReport(topology.name, named)
    told = Told(topology, report)
    if topology is CPU:
        report.unknown.append(_NOT_KNOWN_WITHOUT)
    if target.is_specimen:
        report.unknown.append("The notebook ran on a specimen: shapes that come from the data may be others.")
    key = fingerprint(target, options)
    kept = cache.get(key) if key else None
    if kept is not None:
        for event in kept.sections("events"):
            told.add(_as_kept(event))
    else:
        require_packages()
        # All of them end the process that compiles.
        with (
            handled_signals(signal.default_int_handler),
            private_folder() as private,
        ):
            job = Job(target, options, topology, private, named, cache)
            job.run(told, progress, until=started + options.time_limit)
        if key and told.is_done:
            cache.put(key, {"events": told.events})
    told.finish()
    if not report.steps and not report.problems and not told.is_unseen:
        report.unknown.append(
            "No step was called under jax.jit, jax.pmap, Keras's fit, tf.function or torch_xla.sync: none was compiled."
        )
    report.seconds = time.monotonic() - started
    return report


def _as_kept(event: JsonObject) -> JsonObject:
    if "figures" not in event:
        return event
    return JsonObject(event | {"figures": event.section("figures") | {"in_cache": True}})
