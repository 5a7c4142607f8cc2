"""Sound code in which a check could see a fault: nothing is found in it, and the rule still finds the fault."""

from pathlib import Path
from typing import Any

import pytest

from generator.check.cell_text import read_cell
from generator.check.checking import check_kernels
from generator.check.code import NotebookCode
from generator.check.findings import Severity
from generator.check.source import KernelSource
from generator.text import JsonObject

TPU = {"machine_shape": "TpuV5E8"}
OFFLINE = {"enable_internet": False}


def rules_found(*sources: str, **metadata: Any) -> set[str]:
    """The rules of notebooks and TPUs that find something in cells."""
    cells = tuple(read_cell(f"cell {number}", source) for number, source in enumerate(sources, start=1))
    kernel = KernelSource(NotebookCode(Path("notebook.ipynb"), cells), metadata=JsonObject(metadata))
    return {finding.rule for finding in check_kernels([kernel]) if finding.rule[0] in "NT"}


@pytest.mark.parametrize(
    "source",
    [
        "cd ..", "cp ../input/x .", "ls -l", "time sum(range(3))", "rm -rf out", "    x = 1\n    y = 2", "alias l ls",
        "x = [1]\n/len x", ",print a b", ";print a b", "    %%time\n    x = 1\n    y = x + 1",
        "\n  %%bash\n  ls -l | wc\n", "    %%time\nx = 1\ny = x", "  %%time\n      x = 1\n      y = x",
        "%%time\n    x = 1\n    y = x",
        "%%capture\n  %%time\n  x = 1",
        ">>> x = 1\n>>> if x:\n...     y = 2", "    >>> x = 1\n    ... \n", "x = [\n... 1]", "x = [\n    ...\n]",
    ],
)  # fmt: skip
def test_what_ipython_takes_is_no_fault_of_syntax(source: str) -> None:
    assert rules_found(source) == set()


@pytest.mark.parametrize(
    "guard",
    [
        "import sys\nif 'google.colab' in sys.modules:",
        "import os\nif 'KAGGLE_KERNEL_RUN_TYPE' not in os.environ:",
        "import os\nON_KAGGLE = os.path.exists('/kaggle')\nif not ON_KAGGLE:",
        "IN_COLAB = False\nif IN_COLAB:",
        "try:\n    import google.colab\n    IN_COLAB = True\nexcept ImportError:\n    IN_COLAB = False\nif IN_COLAB:",
        "import platform\nif platform.system() == 'Windows':",
    ],
)
def test_what_runs_elsewhere_only_is_no_fault(guard: str) -> None:
    assert rules_found(f"{guard}\n    input('token')\n    !wget https://example.org/x", **OFFLINE) == set()
    assert rules_found("input('token')") == {"N009"}


@pytest.mark.parametrize(
    ("guard", "severity"),
    [
        ("if debug:", Severity.WARNING),
        ("def ask():", Severity.WARNING),
        ("if True:", Severity.ERROR),
        ("if __name__ == '__main__':", Severity.ERROR),
        ("for _ in range(3):", Severity.ERROR),
    ],
)
def test_an_error_in_code_that_may_not_be_run_is_a_warning(guard: str, severity: Severity) -> None:
    cells = [read_cell("cell 1", "debug = len('x') > 3"), read_cell("cell 2", f"{guard}\n    input('name')")]
    found = check_kernels([KernelSource(NotebookCode(Path("notebook.ipynb"), tuple(cells)))])

    assert [(each.rule, each.severity) for each in found] == [("N009", severity)]


def test_an_error_in_a_function_is_one_where_the_function_is_called() -> None:
    asks = "def ask():\n    input('name')\n"

    assert severities(asks + "ask()") == {Severity.ERROR}
    assert severities("debug = len('x') > 3\n" + asks + "if debug:\n    ask()") == {Severity.WARNING}


def severities(source: str) -> set[Severity]:
    kernel = KernelSource(NotebookCode(Path("notebook.ipynb"), (read_cell("cell 1", source),)))
    return {finding.severity for finding in check_kernels([kernel])}


@pytest.mark.parametrize(
    ("setting", "use"),
    [
        ("import os\nos.environ.setdefault('WANDB_MODE', 'offline')", "import wandb\nwandb.init(project='x')"),
        ("%env WANDB_MODE=disabled", "import wandb\nwandb.init(project='x')"),
        ("import os\nos.environ.update(WANDB_DISABLED='true')", "import wandb\nwandb.init(project='x')"),
        ("%env HF_HUB_OFFLINE=1", "from transformers import AutoModel\nAutoModel.from_pretrained('bert-base-cased')"),
        ("x = 1", "!pip install -q torch transformers[torch] tqdm"),
    ],
)
def test_what_asks_nobody_needs_no_network(setting: str, use: str) -> None:
    assert rules_found(setting, use, **OFFLINE) == set()


def test_what_asks_somebody_still_does() -> None:
    assert rules_found("import wandb\nwandb.init(project='x')", **OFFLINE) == {"N022"}
    assert rules_found("!pip install -U torch==2.9", **OFFLINE) == {"N021"}
    assert rules_found("get_ipython().run_line_magic('pip', 'install trl==0.2')", **OFFLINE) == {"N021"}


KERAS = "import keras\nmodel = keras.Sequential()\n"
SCORE = "class Score(keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, {}):\n        {}"
NET = "class Net(keras.Model):\n    def {}(self, data):\n        return {{'kappa': 1.0}}\nmodel = Net()\n"
VALIDATED = "model.fit([1], [1], validation_data=([1], [1]))"
FIT = """model.compile("adam", "mse", metrics=["mae"])
stop = keras.callbacks.EarlyStopping(monitor="val_kappa", mode="max")
model.fit([1], [1], epochs=2, callbacks=[stop])
model.save_weights("model.weights.h5")"""


@pytest.mark.parametrize(
    ("cell", "is_found"),
    [
        (SCORE.format("logs=None", "logs['val_kappa'] = 1.0"), False),
        (SCORE.format("scores", "scores.update(val_kappa=1.0)"), False),
        (SCORE.format("logs=None", "self.best['val_kappa'] = logs['loss']"), True),
        (NET.format("test_step") + VALIDATED, False),
        (NET.format("predict_step") + VALIDATED, True),
        (SCORE.format("logs=None", "logs |= {'val_kappa': 1.0}"), False),
        ("def add(rows):\n    rows['val_kappa'] = 1.0\n" + SCORE.format("scores", "add(scores)"), False),
        ("def show(rows):\n    print(rows)\n" + SCORE.format("logs", "show(logs)"), True),
    ],
)
def test_a_metric_that_the_notebook_computes_itself_may_be_watched(cell: str, *, is_found: bool) -> None:
    assert ("N034" in rules_found(KERAS + cell, FIT)) == is_found


DOWNLOAD = "timm.create_model('resnet18', pretrained=True)"
BUILD = "def build(name, pretrained=True):\n    return timm.create_model(name, pretrained=pretrained)\n"
NET_OF_TIMM = (
    "class Net:\n    def __init__(self, pretrained=True):\n        self.m = timm.create_model('a', pretrained)\n"
)
HUB = "import transformers\nm = transformers.AutoModel.from_pretrained(name)"


@pytest.mark.parametrize(
    ("code", "severity"),
    [
        (f"DEBUG = False\nif not DEBUG:\n    m = {DOWNLOAD}", Severity.ERROR),
        (f"if os.path.exists('/kaggle/input'):\n    m = {DOWNLOAD}", Severity.ERROR),
        (f"if os.environ.get('KAGGLE_KERNEL_RUN_TYPE') == 'Batch':\n    m = {DOWNLOAD}", Severity.ERROR),
        ("if os.path.exists('/kaggle'):\n    !wget https://example.org/x", Severity.ERROR),
        (f"folds = len(os.sep)\nif folds > 1:\n    m = {DOWNLOAD}", None),
        (f"folds = len(os.sep)\nm = {DOWNLOAD} if folds > 1 else None", None),
        ("folds = len(os.sep)\nif folds > 1:\n    os.system('wget https://example.org/x')", None),
        ("folds = len(os.sep)\nif folds > 1:\n    !pip install einops-exts==0.0.4", None),
        (f"DEBUG = False\nif DEBUG:\n    m = {DOWNLOAD}", None),
        (f"DEBUG = False\nm = {DOWNLOAD} if DEBUG else None", None),
        (f"MODE = 'infer'\nif MODE == 'train':\n    m = {DOWNLOAD}", None),
        (f"MODE = 'infer'\nif MODE != 'train':\n    m = {DOWNLOAD}", Severity.ERROR),
        (f"if os.environ.get('KAGGLE_KERNEL_RUN_TYPE') == 'Interactive':\n    m = {DOWNLOAD}", None),
        ("!wget https://example.org/x || true", None),
        ("os.system('pip install einops-exts==0.0.4 || echo offline')", None),
        (f"cfg = {{'stage': 'infer'}}\nif cfg['stage'] == 'train':\n    m = {DOWNLOAD}", None),
        (f"import contextlib\nwith contextlib.suppress(OSError):\n    m = {DOWNLOAD}", None),
        (f"try:\n    m = {DOWNLOAD}\nexcept OSError:\n    m = None", None),
        (f"if not os.path.exists('/kaggle/input/datasets/a/b/m.pth'):\n    m = {DOWNLOAD}", None),
        (f"def build(with_weights):\n    return {DOWNLOAD} if with_weights else None\nbuild(False)", None),
        ("if not os.path.isdir('work'):\n    !git clone https://example.org/work", None),
        (f"FOLDS = []\nfor fold in FOLDS:\n    m = {DOWNLOAD}", None),
        (f"N = 0\nfor fold in range(N):\n    m = {DOWNLOAD}", None),
        (f"FOLDS = ()\nfor at, fold in enumerate(FOLDS):\n    m = {DOWNLOAD}", None),
        (f"class CFG:\n    folds = []\nfor fold in CFG.folds:\n    m = {DOWNLOAD}", None),
        (f"FOLDS = []\nFOLDS.append(1)\nfor fold in FOLDS:\n    m = {DOWNLOAD}", Severity.ERROR),
        (f"FOLDS = [0]\nfor fold in FOLDS:\n    m = {DOWNLOAD}", Severity.ERROR),
        (f"TRAIN = False\ndef train():\n    return {DOWNLOAD}\nrun = train if TRAIN else print\nrun()", None),
        (f"TRAIN = len(os.sep) > 1\ndef train():\n    return {DOWNLOAD}\nrun = train if TRAIN else print\nrun()", None),
        (f"def train():\n    return {DOWNLOAD}\nif __name__ == '__main__':\n    train()", Severity.ERROR),
        (BUILD + "m = build('a')", Severity.ERROR),
        (BUILD + "m = build('a', pretrained=False)", None),
        (BUILD + "m = build('a', False)", None),
        (BUILD + "m = build(**{'name': 'a'})", None),
        (NET_OF_TIMM + "m = Net()", Severity.ERROR),
        (NET_OF_TIMM + "m = Net(False)", None),
        ("BIG = len(os.sep)\nname = 'a/large' if BIG else 'a/base'\n" + HUB, Severity.ERROR),
        ("BIG = len(os.sep)\nname = '/kaggle/input/m' if BIG else 'a/base'\n" + HUB, None),
        ("BIG = False\nname = '/kaggle/input/m' if BIG else 'a/base'\n" + HUB, Severity.ERROR),
        ("BIG = True\nname = '/kaggle/input/m' if BIG else 'a/base'\n" + HUB, None),
    ],
)
def test_a_condition_that_holds_on_kaggle_is_no_guard_against_a_missing_network(
    code: str, severity: Severity | None
) -> None:
    cells = (read_cell("a", "import os, timm"), read_cell("b", code))
    kernel = KernelSource(NotebookCode(Path("n.ipynb"), cells), metadata=JsonObject(OFFLINE))

    found = [each.severity for each in check_kernels([kernel]) if each.rule in {"N021", "N022"}]
    assert found == ([severity] if severity else [])


STEP = "    g = {}jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w){}\n    return jax.tree.map(lambda a, b: a - b, w, g)\n"
AVERAGED = "def step(w, x):\n" + STEP.format("jax.lax.pmean(", ", 'd')")
ALONE = "def step(w, x):\n" + STEP.format("", "")
IMPORTS = "import jax\nimport jax.numpy as jnp\nfrom flax import nnx\nmesh = jax.make_mesh((8,), ('d',))"


@pytest.mark.parametrize(
    "cells",
    [
        [AVERAGED + "many = jax.pmap(step, axis_name='d')", ALONE + "one = jax.jit(step)"],
        ["def f(x, train):\n    return jax.lax.cond(train, jnp.sin, jnp.cos, x)",
         "def train(batches):\n    print(float(batches[0].item()))"],
        ["@nnx.jit\ndef f(model, x):\n    if model.dim > 64:\n        return x\n    return model(x)"],
        ["def f(x):\n    print(x)\n    return x", "jax.shard_map(f, mesh=mesh, in_specs=None, out_specs=None)(1)"],
        ["@jax.jit\ndef f(x):\n    print(jax.typeof(x))\n    return x"],
    ],
)  # fmt: skip
def test_a_name_means_the_function_in_force_there(cells: list[str]) -> None:
    assert rules_found(IMPORTS, *cells, **TPU) == set()


def test_a_function_that_is_compiled_is_still_checked() -> None:
    assert rules_found(IMPORTS, ALONE + "many = jax.pmap(step, axis_name='d')", **TPU) == {"T063"}
    assert "T031" in rules_found(
        "%%writefile t.py\nimport jax\n@jax.jit\ndef f(x):\n    if x > 0:\n        return x", **TPU
    )


@pytest.mark.parametrize(
    "source",
    [
        "import re\nre.search(r'A:\\s*(\\d+)', 'A: 3')",
        "import os\nnext(os.walk('/kaggle/input'))",
        "import os\nfor a, b, c in os.walk('/kaggle/input'):\n    print(b)\n    break",
        "for p in ['/kaggle/input/competitions/titanic', '/kaggle/input/titanic']:\n    print(p)",
        "hf_token = 'hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'\nMODEL_TOKEN = 'Qwen2.5-7B-Instruct-GPTQ-Int4'",
    ],
)
def test_what_only_looks_like_a_path_or_a_secret_is_none(source: str) -> None:
    assert rules_found(source, competition_sources=["titanic"]) == set()


LOAD = "import torch\nmodel = torch.load('model.pt', map_location='cpu')"


@pytest.mark.parametrize(
    ("cell", "severity"),
    [
        (f"{LOAD}\nmodel.eval()", Severity.ERROR),
        ("import torch\nmodel = torch.load('model.pt').to('cpu').eval()", Severity.ERROR),
        ("import torch\nfor path in ['a.pt']:\n    net = torch.load(path).float()\n    net.train()", Severity.ERROR),
        ("import torch\nif print():\n    torch.load('a.pt').eval()", Severity.WARNING),
        (f"{LOAD}\nprint(model['weights'])", None),
        (f"{LOAD}\nnet = print\nnet.load_state_dict(model)\nnet.eval()", None),
        (f"{LOAD}\nif isinstance(model, dict):\n    model = print(model)\nmodel.eval()", None),
        ("import torch\nmodel = torch.load('a.pt', weights_only=False)\nmodel.eval()", None),
        (f"import torch\ntorch.serialization.add_safe_globals([dict])\n{LOAD}\nmodel.eval()", None),
        (f"import torch\ntorch.load = print\n{LOAD}\nmodel.eval()", None),
        (f"!pip install torch==2.5.1\n{LOAD}\nmodel.eval()", None),
    ],
)  # fmt: skip
def test_a_whole_model_is_no_file_for_torch_load(cell: str, severity: Severity | None) -> None:
    kernel = KernelSource(NotebookCode(Path("n.ipynb"), (read_cell("a", cell),)), metadata=JsonObject())

    assert [each.severity for each in check_kernels([kernel]) if each.rule == "N029"] == (
        [severity] if severity else []
    )


def test_names_far_out_in_a_long_tuple_are_not_looked_at() -> None:
    assert rules_found(", ".join(f"name_{number}" for number in range(1_200))) == {"N030"}


def test_a_name_that_is_not_defined_is_not_suggested_for_itself() -> None:
    cell = read_cell("a", "def fit():\n    trained = [1]\n    return trained\ntrain = fit()\nprint(trained)")
    findings = check_kernels([KernelSource(NotebookCode(Path("n.ipynb"), (cell,)), metadata=JsonObject())])

    assert [each.remedy for each in findings if each.rule == "N030"] == ["Define it above, or use `train`."]


SPAWN = "import torch_xla.distributed.xla_multiprocessing as xmp\ndef run(rank):\n    print(rank)\n"


@pytest.mark.parametrize(
    "call",
    ["xmp.spawn(run, start_method='fork')", "xmp.spawn(run, nprocs=1)", "from train import main\nxmp.spawn(main)",
     "import torch_xla\ntorch_xla.launch(run, (), 'fork')",
     "import torch_xla\ntorch_xla.launch(run, debug_single_process=True)"],
)  # fmt: skip
def test_a_process_that_has_the_function_may_be_started(call: str) -> None:
    assert "T068" not in rules_found(f"{SPAWN}{call}", **TPU)
    assert "T068" in rules_found(f"{SPAWN}xmp.spawn(run)", **TPU)
    assert "T068" not in rules_found(f"%%writefile train.py\n{SPAWN}xmp.spawn(run)", **TPU)


XLA_STEPS = """import torch, torch_xla
device = torch_xla.device()
model = torch.nn.Linear(8, 2).to(device)
rows = torch.randn(1024, 8)
on_tpu = rows.to(device)
for step in range(100):
    start = step * 8
    batch = {batch}
    model(batch).sum().backward()
    torch_xla.sync()
"""


@pytest.mark.parametrize(
    ("batch", "is_found"),
    [("on_tpu[start : start + 8]", True), ("on_tpu[step * 8 : step * 8 + 8, :4]", True), ("on_tpu[:8]", False),
     ("rows[start : start + 8].to(device)", False), ("on_tpu.index_select(0, numbers[step])", False)],
)  # fmt: skip
def test_a_slice_on_the_tpu_that_moves_is_found_and_one_on_the_host_is_not(batch: str, is_found: bool) -> None:
    assert ("T069" in rules_found(XLA_STEPS.format(batch=batch), **TPU)) == is_found


NUMBERED = (
    "import jax\ndef step(w, n):\n    return jax.grad(lambda v: v * n)(w)\n"
    "def cut(w, n):\n    return w[n : n + 8]\nw = 0.0\n"
)


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("fast = jax.jit(step, static_argnums=1)\nfor i in range(99):\n    w = fast(w, i)", True),
        ("step = jax.jit(step, static_argnums=1)\nfor i, x in enumerate([w]):\n    w = step(w, n=i)", True),
        ("fast = jax.jit(step, static_argnums=1)\nfor i in range(99):\n    w = step(w, i)", False),
        ("fast = jax.jit(step, static_argnums=1)\nfor i in range(99):\n    w = fast(w, 8)", False),
        ("fast = jax.jit(step)\nfor i in range(99):\n    w = fast(w, i)", False),
        ("fast = jax.jit(step, static_argnums=1)\nfor i in range(99):\n    w = fast(w, i * 8)", True),
        (
            "fast = jax.jit(step, static_argnums=1)\nfor i in range(99):\n    at = i * 8 + 1\n    w = fast(w, n=at)",
            True,
        ),
        ("fast = jax.jit(step, static_argnums=1)\nfor i in range(99):\n    w = fast(w, i % 2)", False),
        ("fast = jax.jit(cut, static_argnums=1)\nfor i in range(99):\n    w = fast(w, i * 8)", True),
        ("fast = jax.jit(cut, static_argnums=1)\nfor i in range(4):\n    w = fast(w, i * 8)", False),
        ("fast = jax.jit(step, static_argnums=1)\nfor i in range(3):\n    w = fast(w, i)", False),
        ("slow = jax.jit(lambda w, rate: w, static_argnums=1)\nfor i in range(99):\n    w = slow(w, 0.1)", False),
        ("slow = jax.jit(lambda w, rate: w, static_argnums=1)\nfor i in range(99):\n    w = slow(w, i / 9)", True),
        ("fast = jax.jit(step, static_argnums=1)\nfor fold in range(5):\n    w = fast(w, fold)", False),
    ],
)
def test_a_number_that_a_loop_counts_is_no_static_argument_of_a_step(code: str, is_found: bool) -> None:
    assert ("T038" in rules_found(NUMBERED + code, **TPU)) == is_found


HELPERS = """def rows(a):
    n = a.shape[0]
    return n
def total(a):
    return a.sum()
def sized(a):
    return a.mean(), a.shape[0], {"value": a, "name": "a"}
def is_large(a):
    large = a.max() > 3
    return large
def has_rows(a):
    return a.shape[0] > 3
def depth(tree):
    return 1 + max(depth(each) for each in tree.values()) if isinstance(tree, dict) else 0
def named(tree, skipped="bias"):
    for name in tree:
        if name != skipped and isinstance(tree[name], dict):
            return named(tree[name], skipped)
    return [name for name, leaf in sorted(tree.items()) if name == skipped]
class Batch(NamedTuple):
    image: Any
    rows: int
"""


@pytest.mark.parametrize(
    ("test", "is_found"),
    [
        ("jnp.iscomplexobj(x)", False), ("jnp.isrealobj(x)", False), ("jnp.isscalar(x)", False),
        ("jnp.iterable(x)", False), ("jax.lax.dtype(x) == jnp.float32", False),
        ("jnp.can_cast(x, jnp.float32)", False), ("jnp.ndim(x) > 1 or jnp.shape(x) == (3,)", False),
        ("jax.tree.structure(x) == jax.tree.structure(x)", False), ("len(jax.tree.leaves(x)) > 1", False),
        ("jax.eval_shape(jnp.sum, x).ndim == 0", False), ("jax.tree.map(jnp.shape, x) == (3,)", False),
        ("set(x) == {'image'}", False), ("rows(x) % 8 == 0", False),
        ("sized(x)[1] % 8 == 0", False), ("sized(x)[-1]['name'] == x", True), ("depth(x) > 2", False),
        ("len(named(x)) > 1", False), ("named(x) == name_of", False),
        ("{'x': x, 'n': 8}['n'] > 4", False), ("{'x': x, 'n': 8}['x'] > 4", True), ("state['n'] > 4", False),
        ("state.get('n', 0) > 4", False), ("state['x'] > 4", True), ("state['loss'] > 4", True),
        ("size > 4", False), ("middle > 4", True), ("Batch(x, 8).rows > 4", False), ("Batch(x, 8).image > 4", True),
        ("jax.tree.flatten(x)[1] == treedef", False), ("sized(x)[0] > 4", True), ("is_large(x)", True),
        ("not is_large(x) or True", True), ("has_rows(x)", False), ("(x > 0).any()", True),
        ("any(k == size for k, v in x.items())", False), ("any(v == 1 for k, v in zip(names, x))", False),
        ("max(v for k, v in zip(names, x)) > 1", True),  ("max(k for k, v in zip(names, x)) > 1", False),
        ("total(x) > 0", True), ("x.at[0].set(1).sum() > 0", True), ("jax.tree.map(jnp.sum, x) == 1", True),
        ("jnp.any(x)", True),
    ],
)  # fmt: skip
def test_what_python_knows_of_an_array_may_decide_in_a_compiled_function(test: str, is_found: bool) -> None:
    known = "state = {'x': x, 'n': 8}\n    state['loss'] = total(x)\n    middle, size, _ = sized(x)"
    start = "from typing import Any, NamedTuple\nnames, name_of, treedef = 'ab', 'a', print()"
    body = f"    {known}\n    if {test}:\n        return x * 2\n    return x\nf(jnp.ones(3))"
    code = f"{start}\n{HELPERS}@jax.jit\ndef f(x):\n{body}"

    assert ("T031" in rules_found(IMPORTS, code, **TPU)) == is_found


CONNECT = """import tensorflow as tf
try:
    tpu = tf.distribute.cluster_resolver.TPUClusterResolver()
    strategy = tf.distribute.TPUStrategy(tpu)
except ValueError:
    {handler}
"""
REPLICAS = "strategy.num_replicas_in_sync"
CONNECT_IN_CLASS = """import tensorflow as tf
class Trainer:
    def connect(self):
        try:
            self.strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
        except ValueError:
            self.strategy = None
        if self.strategy is None:
            raise OSError
Trainer().connect()
"""
CONNECT_IN_FUNCTION = """import tensorflow as tf
def connect():
    try:
        return tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
    except ValueError:
        return None
strategy = connect()
"""


@pytest.mark.parametrize(
    ("connect", "check", "is_found"),
    [
        (CONNECT.format(handler="strategy = None"), "if strategy is None:\n    raise RuntimeError('no TPU')", False),
        (CONNECT.format(handler="strategy = None"), "assert strategy is not None", False),
        (CONNECT.format(handler="has_tpu = False"), "if not has_tpu:\n    raise SystemExit('no TPU')", False),
        (CONNECT_IN_FUNCTION, "assert strategy, 'no TPU'", False),
        (CONNECT.format(handler="strategy = None"), "if strategy is None:\n    print('no TPU')", True),
        (CONNECT.format(handler="strategy = None"), "path = 'x'\nassert path", True),
        (CONNECT_IN_FUNCTION, "print(strategy)", True),
        (CONNECT.format(handler="strategy = tf.distribute.get_strategy()"), "assert strategy", True),
        (
            CONNECT.format(handler="strategy = tf.distribute.get_strategy()"),
            f"if {REPLICAS} < 8:\n    raise OSError",
            False,
        ),
        (CONNECT.format(handler="strategy = tf.distribute.get_strategy()"), f"assert 64 % {REPLICAS} == 0", True),
        (CONNECT.format(handler="strategy = tf.distribute.get_strategy()"), f"if 64 % {REPLICAS}:\n    exit()", True),
        (CONNECT_IN_CLASS, "assert True", False),
        (CONNECT_IN_CLASS.replace("raise OSError", "print()"), "assert True", True),
    ],
)
def test_a_missing_tpu_is_hidden_only_where_the_notebook_goes_on(connect: str, check: str, is_found: bool) -> None:
    assert ("T001" in rules_found(connect, check, **TPU)) == is_found


@pytest.mark.parametrize(
    ("layer", "severity"),
    [("RandomRotation(0.1)", Severity.WARNING), ("RandAugment()", Severity.WARNING),
     ("RandomCrop(24, 24)", Severity.ERROR), ("RandomFlip()", None), ("RandomContrast(0.1)", None)],
)  # fmt: skip
@pytest.mark.parametrize("place", ["Sequential", "functional", "dataset"])
def test_augmentation_that_moves_pixels_is_slow_in_a_model_on_jax(
    layer: str, severity: Severity | None, place: str
) -> None:
    fit = "model.compile('adam', 'mse')\nmodel.fit(data)\nmodel.save_weights('m.weights.h5')"
    made = f"keras.layers.{layer}"
    model = {
        "Sequential": f"model = keras.Sequential([{made}, keras.layers.Dense(8)])",
        "functional": f"x = keras.Input((32, 32, 3))\ny = keras.Sequential([{made}])(x)\nmodel = keras.Model(x, y)",
        "dataset": f"move = {made}\ndata = data.map(lambda x, y: (move(x), y))\nmodel = keras.Sequential([])",
    }[place]
    start = "import os\nos.environ['KERAS_BACKEND'] = 'jax'\nimport keras\nimport tensorflow as tf\ndata = print()\n"
    code = NotebookCode(Path("n.ipynb"), (read_cell("a", f"{start}{model}\n{fit}"),))
    found = [
        each.severity for each in check_kernels([KernelSource(code, metadata=JsonObject(TPU))]) if each.rule == "T042"
    ]

    assert found == ([severity] if severity and place != "dataset" else [])


ROWS = """import numpy as np
import tensorflow as tf
strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
def dataset(rows, training=False):
    ds = tf.data.Dataset.from_tensor_slices(rows)
    if training:
        ds = ds.shuffle(99)
    return ds.batch(128).prefetch(2)
train = tf.data.Dataset.from_tensor_slices(np.zeros((1000, 8))).shuffle(99).batch(128)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(128)])
    model.compile('adam', 'mse', steps_per_execution=4)
"""


@pytest.mark.parametrize(
    ("use", "fixes"),
    [
        ("model.fit(train)\nmodel.fit(dataset(1, training=True))", 2),
        ("model.fit(train)\nmodel.predict(dataset(1))", 1),
        ("test = dataset(1)\nprint(model.predict(test.map(print)))", 1),
        ("model.fit(x=train, validation_data=dataset(1))\nmodel.evaluate(x=train)", 0),
        ("rows = train.take(8)\nmodel.predict(rows)", 1),
    ],
)
def test_no_fix_drops_rows_that_are_predicted(use: str, fixes: int) -> None:
    code = NotebookCode(
        Path("n.ipynb"), (read_cell("a", ROWS), read_cell("b", f"{use}\nmodel.save_weights('w.weights.h5')"))
    )
    found = [each for each in check_kernels([KernelSource(code, metadata=JsonObject(TPU))]) if each.rule == "T010"]

    assert [each.fix is not None for each in found].count(True) == fixes
    assert len(found) == 2
    assert sum("in training only" in each.remedy for each in found) == 2 - fixes


SPLIT = """import os
os.environ["KERAS_BACKEND"] = "jax"
import keras, numpy as np, tensorflow as tf
keras.distribution.set_distribution(keras.distribution.DataParallel())
model = keras.Sequential([keras.layers.Dense(128)])
model.compile("adam", "mse")
rows = tf.data.Dataset.from_tensor_slices(np.load("x.npy")).batch(64)
"""


def test_a_batch_that_devices_do_not_divide_has_a_remedy_for_where_it_goes() -> None:
    code = NotebookCode(
        Path("n.ipynb"), (read_cell("a", f"{SPLIT}model.fit(rows, validation_data=rows)\nmodel.predict(rows)"),)
    )
    found = [each for each in check_kernels([KernelSource(code, metadata=JsonObject(TPU))]) if each.rule == "T026"]

    assert [each.message.partition(" fails")[0] for each in found] == [
        "The last batch of `fit`", "The last batch of the validation of `fit`", "The last batch of `predict`",
    ]  # fmt: skip
    parts = ["drop_remainder=True", "sample_weight of 0", "predictions[: len(x)]"]
    assert all(part in each.remedy for part, each in zip(parts, found, strict=True))


KEYED = """import jax
import jax.numpy as jnp
key = jax.random.key(0)
@jax.jit
def step(w, x, key, i=0):
    {body}
    return w - jax.grad(lambda w: jnp.mean((x * drop) @ w))(w)
w, x, results = jnp.ones((8, 1)), jnp.ones((8, 8)), []
for i in range(100):
    {call}
"""
DROP = "drop = jax.random.bernoulli(key, 0.5, x.shape)"


@pytest.mark.parametrize(
    ("body", "call", "is_found"),
    [
        (DROP, "w = step(w, x, key)", True),
        (DROP, "w = step(w, x, key=key)", True),
        (DROP, "key, one = jax.random.split(key)\n    w = step(w, x, one)", False),
        (DROP, "w = step(w, x, jax.random.fold_in(key, i))", False),
        ("key = jax.random.fold_in(key, i)\n    " + DROP, "w = step(w, x, key, i)", False),
        ("drop = 1.0", "w = step(w, x, key)", False),
        (DROP, "step(w, x, key)", False),
        (DROP, "_ = step(w, x, key).block_until_ready()", False),
        (DROP, "jax.block_until_ready(step(w, x, key))", False),
        (DROP, "results.append(step(w, x, key))", True),
        ("key = jax.random.split(key, 100)[i]\n    " + DROP, "w = step(w, x, key, i)", False),
        ("keys = jax.random.split(key, 9)\n    key = keys[0]\n    " + DROP, "w = step(w, x, key, i)", True),
    ],
)
def test_steps_that_are_given_one_key_draw_the_same_numbers(body: str, call: str, is_found: bool) -> None:
    assert ("T034" in rules_found(KEYED.format(body=body, call=call), **TPU)) == is_found


READ = """import jax
import jax.numpy as jnp
@jax.jit
def step(w, x):
    loss, g = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return w - g, {{"loss": loss}}
@jax.jit
def epoch(w, xs):
    return jax.lax.scan(step, w, xs)
w = jnp.ones((8, 8))
for i in range(100):
    w, metrics = {call}
    {read}
"""


@pytest.mark.parametrize(
    ("call", "read", "is_found"),
    [
        ("step(w, w)", "print(f'{i} {metrics[\"loss\"]:.3f}')", True),
        ("step(w, w)", "print(i, metrics['loss'])", True),
        ("step(w, w)", "print(float(metrics['loss']))", True),
        ("step(w, w)", "print(i, metrics['loss'].shape)", False),
        ("step(w, w)", "if i % 10 == 0:\n        print(f'{metrics}')", False),
        ("step(w, w)", "if i % 10:\n        continue\n    print(f'{metrics}')", False),
        ("step(w, w)", "i % 10 or print(f'{metrics}')", False),
        ("step(w, w)", "print(f'{metrics}')\n    for x in [w, w]:\n        w, metrics = step(w, x)", False),
        ("step(w, w)", "print(f'{metrics}')\n    for x in range(3):\n        w, metrics = step(w, x)", True),
        ("epoch(w, w)", "print(f'{metrics[\"loss\"].mean()} {metrics}')", False),
    ],
)
def test_a_loop_that_prints_the_loss_of_each_step_waits_for_the_device(call: str, read: str, is_found: bool) -> None:
    assert ("T064" in rules_found(READ.format(call=call, read=read), **TPU)) == is_found


XLA = """import os
import torch, torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.xla_multiprocessing as xmp
os.environ.pop("TPU_PROCESS_ADDRESSES", None)
"""


@pytest.mark.parametrize(
    ("mark", "after", "is_found"),
    [("xm.mark_step()", "", True), ("", "", True), ("xm.mark_step()", "xm.mark_step()", False),
     ("def end():\n    torch_xla.sync()", "end()", False)],
)  # fmt: skip
def test_a_mark_before_the_loop_ends_no_step_of_it(mark: str, after: str, is_found: bool) -> None:
    loop = f"for i in range(9):\n    model(x).sum().backward()\n    {after}"
    model = "x = torch.ones(8, 8, device=xm.xla_device())\nmodel = torch.nn.Linear(8, 8).to(x.device)"

    assert ("T062" in rules_found(f"{XLA}{model}\n{mark}", loop, **TPU)) == is_found


@pytest.mark.parametrize(
    ("before", "is_found"),
    [("device = get_device()", True), ("x = ready()", True), ("print(get_device)", False), ("", False)],
)
def test_a_helper_that_takes_the_device_before_the_launch_takes_it_too(before: str, is_found: bool) -> None:
    helpers = "def get_device():\n    return xm.xla_device()\ndef ready():\n    return torch.ones(2).to(get_device())\n"
    launch = "def run(rank):\n    print(torch.ones(2).to(get_device()))\nxmp.spawn(run, start_method='fork')"

    assert ("T008" in rules_found(f"{XLA}{helpers}{before}", launch, **TPU)) == is_found


@pytest.mark.parametrize(
    "helper",
    [
        "def get(kind='xla'):\n    if kind == 'cpu':\n        return torch.device('cpu')\n    return xm.xla_device()\n",
        "def get(kind='xla'):\n    return xm.xla_device() if kind == 'xla' else torch.device('cpu')\n",
        "def get(kind):\n    def run(rank):\n        return xm.xla_device()\n    return run\n",
    ],
)
def test_a_helper_that_takes_the_device_only_if_it_is_asked_to_does_not_stop_a_launch(helper: str) -> None:
    launch = "def run(rank):\n    print(torch.ones(2).to(xm.xla_device()))\nxmp.spawn(run, start_method='fork')"

    assert "T008" not in rules_found(f"{XLA}{helper}a = get('cpu')", launch, **TPU)


@pytest.mark.parametrize(
    ("condition", "is_found"),
    [
        ("max(x.shape[0] for x in xs) > 64", False),
        ("sum(v.size for v in jax.tree.leaves(xs)) > 100", False),
        ("{k: v.ndim for k, v in xs.items()}['w'] == 2", False),
        ("sum(x for x in xs) > 1", True),
        ("max([x.sum() for x in xs]) > 1", True),
        ("max([1 for x in xs if x > 0]) > 1", True),
    ],
)
def test_a_comprehension_of_shapes_is_known_while_jax_traces(condition: str, *, is_found: bool) -> None:
    step = f"import jax\n@jax.jit\ndef step(xs):\n    if {condition}:\n        return xs\n    return xs"

    assert ("T031" in rules_found(step, **TPU)) == is_found


@pytest.mark.parametrize(
    "before",
    [
        "import sys\nsys.path.insert(0, '/kaggle/input/datasets/a/lib')",
        "!cp /kaggle/input/datasets/a/lib/imghdr.py .",
    ],
)
def test_a_module_of_ones_own_may_be_called_as_one_that_python_removed(before: str) -> None:
    assert "N025" in rules_found("import imghdr", machine_shape="NvidiaTeslaT4")
    assert "N025" not in rules_found(before, "import imghdr", machine_shape="NvidiaTeslaT4")
