"""A notebook's steps compiled: by XLA for the CPU where libtpu is not installed, and by libtpu where it is."""

import json
import os
import signal
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from generator.errors import TandemError
from generator.kit_files import installed_version
from generator.sessions.sandbox import FirstProcess
from generator.tpu_compiler.compilation import CompileOptions, CompileReport, NotebookTarget, ResultCache, compile_steps

pytestmark = pytest.mark.slow
ON_THE_CPU = CompileOptions(use_libtpu=False, time_limit=300)

RAGGED = (
    """import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices("tpu")), ("data",))
split, whole = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
weights = jax.device_put(np.zeros((64, 128), "float32"), whole)
""",
    """
@jax.jit
def train_step(weights, x):
    loss = lambda w: jnp.mean(jax.lax.with_sharding_constraint(x @ w, split) ** 2)
    return weights - jax.grad(loss)(weights)
""",
    """data = np.ones((200, 64), "float32")
for start in range(0, 200, 128):
    weights = train_step(weights, jax.device_put(data[start : start + 128], split))
assert weights.sharding == whole
""",
)

NNX = (
    """import jax, numpy as np, optax
from flax import nnx
from jax.sharding import NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((jax.device_count(),), ("data",))
split, whole = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())

class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(64, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)
        self.last = nnx.Linear(64, 128, rngs=rngs)

    def __call__(self, x):
        return self.last(self.drop(self.norm(x)))

model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)
nnx.update((model, optimizer), jax.device_put(nnx.state((model, optimizer)), whole))
""",
    """def loss_of(model, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

@nnx.jit
def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(loss_of)(model, x, y)
    optimizer.update(model, grads)
    return loss

graph, state = nnx.split((model, optimizer))

@jax.jit
def pure_train_step(state, x, y):
    model, optimizer = nnx.merge(graph, state)
    optimizer.update(model, nnx.grad(loss_of)(model, x, y))
    return nnx.state((model, optimizer))

@nnx.jit
def predict(model, x):
    return model(x).argmax(axis=-1)
""",
    """x, y = jax.device_put((np.ones((128, 64), "float32"), np.zeros(128, "int32")), split)
nnx.update((model, optimizer), pure_train_step(state, x, y))
print(float(train_step(model, optimizer, x, y)))
assert predict(model, x).shape == (128,)
""",
)


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[..., CompileReport]:
    """Compiles a notebook of these cells."""

    def compile_cells(
        *cells: str,
        options: CompileOptions = ON_THE_CPU,
        metadata: dict[str, object] | None = None,
        progress: Callable[[str], None] = lambda _line: None,
    ) -> CompileReport:
        written = [
            {
                "cell_type": "code",
                "id": f"{number:08x}",
                "metadata": metadata or {},
                "outputs": [],
                "execution_count": None,
            }
            | {"source": cell}
            for number, cell in enumerate(cells)
        ]
        path = tmp_path / "notebook.ipynb"
        path.write_text(json.dumps({"cells": written, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
        return compile_steps(NotebookTarget(path), options, progress=progress, cache=ResultCache(tmp_path / "cache"))

    return compile_cells


def test_a_step_is_costed_and_its_ragged_last_batch_is_found(compiled: Callable[..., CompileReport]) -> None:
    report = compiled(*RAGGED)

    (step,) = report.steps
    assert (step.what, step.framework, step.topology, step.cores, step.batch_per_core) == ("train", "jax", "cpu", 8, 16)
    assert 1.0 < step.flops / (4 * 16 * 64 * 128) < 1.3  # forward, and the gradient of the weights
    assert step.batch_bytes == 16 * 64 * 4
    assert step.peak_memory is None
    (problem,) = report.problems
    assert (problem.kind, problem.cell, problem.line) == ("recompilation", "cell 3", 3)
    assert "(128, 64); (72, 64)" in problem.sentence
    assert "how much memory" in report.unknown[0]

    again = compiled(*RAGGED)

    assert again.steps[0].in_cache
    assert again.problems == report.problems
    assert again.seconds < 5


def test_steps_of_flax_modules_are_caught_at_jax_jit_and_at_nnx_jit(compiled: Callable[..., CompileReport]) -> None:
    pytest.importorskip("flax")
    pytest.importorskip("optax")

    report = compiled(*NNX)

    assert report.problems == []
    assert [(step.what, step.cores, step.batch_per_core) for step in report.steps] == [
        ("train", 8, 16),
        ("train", 8, 16),
        ("predict", 8, 16),
    ]
    assert all(step.flops > 16 * 64 * 128 for step in report.steps)


def test_an_operation_without_a_tpu_implementation_is_named_with_its_line(
    compiled: Callable[..., CompileReport],
) -> None:
    report = compiled(
        "import jax, jax.numpy as jnp, numpy as np",
        "@jax.jit\ndef train_step(w, x):\n    a = x @ w\n    return w + jnp.linalg.eig(a)[0].real.sum()\n",
        "train_step(jnp.zeros((8, 8)), np.ones((8, 8), 'float32'))",
    )

    (problem,) = report.problems
    assert (problem.kind, problem.cell, problem.line) == ("refused", "cell 2", 4)
    assert "eig" in problem.sentence


def test_a_step_of_tensorflows_own_that_xla_refuses_is_named_with_its_line(
    compiled: Callable[..., CompileReport],
) -> None:
    report = compiled(
        "import tensorflow as tf",
        "@tf.function\ndef train_step(x):\n    text = tf.strings.as_string(x)\n    return tf.strings.length(text)\n",
        "train_step(tf.zeros((16, 32)))",
    )

    (problem,) = report.problems
    assert (problem.kind, problem.cell, problem.line) == ("refused", "cell 2", 3)
    assert "AsString" in problem.sentence
    assert report.steps == []


def test_a_notebook_that_fails_says_where_and_sees_no_token(
    compiled: Callable[..., CompileReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAGGLE_KEY", "secret")

    report = compiled("import os", "\nraise KeyError(os.environ.get('KAGGLE_KEY'), os.environ['HOME'])")

    (problem,) = report.problems
    assert (problem.kind, problem.cell, problem.line) == ("error", "cell 2", 2)
    assert "KeyError: (None, " in problem.sentence
    assert os.environ["HOME"] not in problem.sentence


def test_a_process_that_does_not_end_is_ended(compiled: Callable[..., CompileReport]) -> None:
    flood = """
import gc
kit = next(each for each in gc.get_objects() if type(each).__name__ == "Parent")
while True:
    kit.tell({"ask": "0" * 64})
"""
    report = compiled(flood, options=CompileOptions(use_libtpu=False, time_limit=4))

    assert [problem.kind for problem in report.problems] == ["time-limit"]
    assert report.seconds < 30


def test_threads_that_a_notebook_leaves_are_not_waited_for(compiled: Callable[..., CompileReport]) -> None:
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()"

    report = compiled(thread, *RAGGED, options=CompileOptions(use_libtpu=False, time_limit=60))

    assert [problem.kind for problem in report.problems] == ["recompilation"]


@pytest.mark.parametrize("environment", ["", ", env={'HOME': '/'}"])
def test_a_process_that_a_notebook_detached_is_ended_too(
    compiled: Callable[..., CompileReport], tmp_path: Path, environment: str
) -> None:
    number = tmp_path / "number.txt"
    detach = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True{environment})
open({str(number)!r}, "w").write(str(child.pid))
print("x" * 100_000)
"""
    compiled(detach, options=ON_THE_CPU)

    assert FirstProcess.of(int(number.read_text())) is None


def test_a_forked_process_that_holds_the_pipe_is_not_waited_for(compiled: Callable[..., CompileReport]) -> None:
    report = compiled("import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(300)", *RAGGED)

    assert [problem.kind for problem in report.problems] == ["recompilation"]
    assert report.seconds < 60


def test_what_a_notebook_forges_is_bounded_and_is_no_other_notebooks(
    compiled: Callable[..., CompileReport], tmp_path: Path
) -> None:
    forge = """
import gc
kit = next(each for each in gc.get_objects() if type(each).__name__ == "Parent")
for number in range(300):
    kit.tell({"keep": f"{number:064x}", "figures": {"flops": 1.0}})
kit.tell({"figures": {"flops": 1e300, "padding": -1, "peak_memory": 10**4000}, "cores": -8, "batch_per_core": 10**4000})
kit.tell({"memory": 10**4000, "batch_per_core": 10**4000})
deep = "import os\\nfor _ in range(3_000): os.mkdir('d'); os.chdir('d')"
subprocess.run([sys.executable, "-c", deep], check=True)
"""
    report = compiled("import os, subprocess, sys", forge)

    cache = tmp_path / "cache"
    assert len(list(cache.iterdir())) <= 101
    assert not (cache / f"{0:064x}.json").exists()
    (step,) = report.steps
    assert (step.flops, step.padding, step.peak_memory, step.cores, step.batch_per_core) == (0.0, None, None, 1, 0)
    assert "needs more memory than there is" in report.problems[0].sentence


def test_of_a_flood_of_progress_a_thousand_lines_are_shown(compiled: Callable[..., CompileReport]) -> None:
    flood = """
import gc
kit = next(each for each in gc.get_objects() if type(each).__name__ == "Parent")
for number in range(3_000):
    kit.tell({"progress": f"{number}"})
"""
    shown: list[str] = []
    compiled(flood, progress=shown.append)

    assert "500" in shown
    assert len(shown) <= 1_001  # with one that says again what goes on


@pytest.mark.parametrize("tags", [5, {"parameters": 1}, "parameters", None])
def test_tags_that_are_no_list_are_none(compiled: Callable[..., CompileReport], tags: object) -> None:
    report = compiled("raise ValueError('it ran')", metadata={"tags": tags})

    assert [problem.sentence[-6:] for problem in report.problems] == ["it ran"]


def test_a_second_ctrl_c_does_not_stop_the_clean_up(
    compiled: Callable[..., CompileReport], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = tmp_path / "number.txt"
    detach = f"""
import subprocess, sys, time
command = [sys.executable, "-c", "import time; time.sleep(300)"]
child = subprocess.Popen(command, start_new_session=True, env={{"HOME": "/"}})
open({str(number)!r}, "w").write(str(child.pid))
"""

    def interrupted(_: Path) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("generator.tpu_compiler.compilation.end_processes_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiled(detach)

    assert FirstProcess.of(int(number.read_text())) is None


@pytest.mark.skipif(not Path("/proc/self/oom_score_adj").exists(), reason="only Linux is told whom to end first")
def test_a_notebook_that_takes_all_memory_is_ended_before_other_programs(
    compiled: Callable[..., CompileReport],
) -> None:
    cell = "import subprocess\nraise ValueError(subprocess.getoutput('cat /proc/self/oom_score_adj'))"

    assert [problem.sentence[-4:] for problem in compiled(cell).problems] == ["1000"]


def test_names_with_line_ends_and_escapes_are_told_in_one_line(compiled: Callable[..., CompileReport]) -> None:
    shown: list[str] = []
    cell = """import jax, jax.numpy as jnp
def step(w):
    return w @ w
step.__name__ = "train\\nstep\\x1b[2J"
jax.jit(step)(jnp.zeros((8, 8)))
"""
    report = compiled(cell, metadata={"name": "a\nb\x1b[2J"}, progress=shown.append)

    assert len(report.steps) == 1
    assert [text for text in (report.steps[0].cell, *shown) if not text.isprintable()] == []
    assert any("train\\nstep" in line for line in shown)


def test_half_of_a_surrogate_pair_does_not_end_the_compiling(compiled: Callable[..., CompileReport]) -> None:
    report = compiled("text = '\ud800'", "raise ValueError(len(text))", options=ON_THE_CPU)

    assert [(problem.kind, problem.sentence[-13:]) for problem in report.problems] == [("error", "ValueError: 1")]


def test_a_process_that_dies_is_told_with_its_last_words(compiled: Callable[..., CompileReport]) -> None:
    report = compiled("import os, sys\nprint('goodbye', file=sys.stderr, flush=True)\nos._exit(3)")

    (problem,) = report.problems
    assert problem.kind == "died"
    assert "goodbye" in problem.sentence


@pytest.mark.skipif(find_spec("torch_xla") is not None, reason="torch_xla is installed")
def test_steps_of_pytorch_on_a_tpu_are_not_known_where_torch_xla_is_missing(
    compiled: Callable[..., CompileReport],
) -> None:
    report = compiled("!pip install nothing\nimport torch_xla.core.xla_model as xm", "raise SystemExit")

    assert (report.steps, report.problems) == ([], [])
    assert report.unknown[-1].startswith("torch_xla is not installed, so the steps of this notebook were not seen")
    assert "torch_xla==2.9.0" in report.unknown[-1]


def test_what_is_no_notebook_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.ipynb").write_text("{}")

    with pytest.raises(TandemError, match=r"x\.ipynb"):
        compile_steps(NotebookTarget(tmp_path / "x.ipynb"), ON_THE_CPU, cache=ResultCache(tmp_path))


@pytest.mark.skipif(
    not installed_version("libtpu"), reason="the TPU's compiler is an extra of 684 MB: pip install '.[tpu]'"
)
def test_the_tpus_compiler_says_what_fits(compiled: Callable[..., CompileReport]) -> None:
    report = compiled(*RAGGED, options=CompileOptions(time_limit=300, batch_per_core=64 << 20))

    assert report.topology != "cpu"
    (memory,) = [problem for problem in report.problems if problem.kind == "memory"]
    assert "does not fit" in memory.sentence
    assert report.largest_batch is not None
    assert 0.85 < (report.largest_batch.peak_memory or 0) / (15.75 * 2**30) < 1.0
