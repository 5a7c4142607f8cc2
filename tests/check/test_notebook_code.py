"""The model of a notebook's code: what names stand for, and which texts and numbers can be read without a run."""

import ast
import time
from pathlib import Path

import pytest

from generator.check.cell_text import read_cell
from generator.check.checking import check_kernels
from generator.check.code import UNKNOWN, NotebookCode
from generator.check.source import KernelSource
from generator.text import JsonObject


def code_of(*sources: str) -> NotebookCode:
    """A notebook of cells named a, b, c…"""
    cells = (read_cell(name, source) for name, source in zip("abcdefgh", sources, strict=False))
    return NotebookCode(Path("notebook.ipynb"), tuple(cells))


def shown(code: NotebookCode) -> ast.expr:
    """What the notebook hands to its last `show`."""
    return [call for call in code.calls if call.name == "show"][-1].node.args[0]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("class CFG:\n    model = 'bert-base'\nshow(CFG.model)", "bert-base"),
        ("class Base:\n    model = 'bert-base'\nclass CFG(Base):\n    seed = 1\nshow(CFG.model)", "bert-base"),
        ("class CFG:\n    model: str = 'bert-base'\ncfg = CFG()\nshow(cfg.model)", "bert-base"),
        ("class CFG:\n    pass\nCFG.model = 'bert-base'\nshow(CFG.model)", "bert-base"),
        ("from types import SimpleNamespace\ncfg = SimpleNamespace(model='bert-base')\nshow(cfg.model)", "bert-base"),
        ("cfg = {'model': 'bert-base'}\nshow(cfg['model'])", "bert-base"),
        ("cfg = dict(model='bert-base')\nshow(cfg['model'])", "bert-base"),
        ("cfg = {'model': 'bert-base'}\ncfg['model'] = input()\nshow(cfg['model'])", None),
        ("def f(name):\n    show(name)\nname = 'bert-base'", None),
        ("def f():\n    name = 'mine'\n    show(name)\nname = 'bert-base'", "mine"),
        (
            "from pathlib import Path\nroot = Path('/kaggle') / 'input'\nshow(f'{root}/{fold}.csv')",
            f"/kaggle/input/{UNKNOWN}.csv",
        ),
    ],
)
def test_a_text_is_read_through_the_names_of_its_scope(source: str, text: str | None) -> None:
    code = code_of(source)

    assert code.text(shown(code)) == text


def test_a_number_is_read_through_names_of_other_cells() -> None:
    code = code_of("class CFG:\n    batch = 16", "BATCH = CFG.batch * 8 - 1", "show(BATCH)")

    assert code.number(shown(code)) == 127


def test_a_module_is_known_by_its_second_names() -> None:
    code = code_of(
        "import tensorflow as tf", "keras = tf.keras\nfrom jax import numpy as jnp", "keras.Model()\njnp.ones(3)"
    )

    assert [call.name for call in code.calls] == ["tensorflow.keras.Model", "jax.numpy.ones"]
    assert code.modules == {"tensorflow", "jax"}


def test_a_node_knows_its_cell_its_function_and_what_is_around_it() -> None:
    code = code_of("x = 1", "def f():\n    if x:\n        show(x)")
    node = shown(code)

    assert (code.place(node).cell, code.place(node).line) == ("b", 3)
    function = code.function(node)
    assert isinstance(function, ast.FunctionDef)
    assert function.name == "f"
    assert [type(each).__name__ for each in code.ancestors(node)] == ["Call", "Expr", "If", "FunctionDef", "Module"]


@pytest.mark.parametrize(
    ("source", "commands"),
    [
        ("get_ipython().run_line_magic('pip', 'install x')", ["pip install x"]),
        ("get_ipython().run_cell_magic('bash', '', 'ls\\npwd')", ["ls", "pwd"]),
        ("get_ipython().run_cell_magic('time', '', 'f()')", ["time"]),
        ("get_ipython().run_cell_magic()\nget_ipython().run_cell_magic('bash')", ["bash"]),
    ],
)
def test_what_is_handed_to_ipython_is_a_command(source: str, commands: list[str]) -> None:
    assert [command for _, _, command in code_of(source).commands()] == commands


# Each of these took hours where it asked the same again for every use of every use.
@pytest.mark.slow
@pytest.mark.parametrize(
    "lines",
    [
        ["if a:\n    step = jax.jit(step, static_argnums=0)\nstep(1)"] * 300,
        [f"if a:\n    f{n + 1} = f{n}\nelse:\n    f{n + 1} = f{max(0, n - 1)}\nf{n}(1)" for n in range(300)],
        [
            "import jax\nstep = jax.jit(jax.grad(lambda w, a: w), static_argnums=1)\nfor i in range(99):",
            *(f"    a{n} = a{n} * a{n}\n    step(w, a{n} + b{n})\n    b{n + 1} = b{n} + b{n}" for n in range(300)),
        ],
        [f"n{n + 1} = n{n} * n{n}\nkeras.layers.Dense(n{n})" for n in range(100)],
        [f"if g{n + 1} and g{n + 1} and g{n + 1} == 'x':\n    open('/content/x')" for n in range(300)],
        [f"def h{n}():\n    h{(n + 1) % 9}()\n    h{(n + 2) % 9}()\n    open('/content/x', 'w')" for n in range(99)],
    ],
    ids=["redefined", "aliases", "static-numbers", "products", "conditions", "mutual-recursion"],
)
def test_code_that_refers_to_itself_in_many_ways_is_read_in_bounded_time(lines: list[str]) -> None:
    assert "N003" not in rules_found_in(lines)


# Each took more than ten seconds where it asked the whole notebook anew for every line, and takes about one.
@pytest.mark.slow
@pytest.mark.parametrize(
    "lines",
    [
        [f"def f(x):\n    return f(x) + {n}" for n in range(2_000)],
        ["if a:", *(f"    keras.utils.get_file('/kaggle/input/set/{n}.csv')" for n in range(2_000))],
        [f"undefined_{n} and undefined_{n + 1}" for n in range(1_500)],
        [*(f"def m{n}(): pass" for n in range(4_000)), *["x.iteritems()"] * 13_000],
        [
            "import jax\n@jax.jit\ndef step(w):\n    return jax.grad(jax.numpy.sum)(w)\nfor i in range(9):",
            *["    w = step(w)\n    print(w)"] * 4_000,
        ],
    ],
    ids=["functions-of-one-name", "paths-below-a-condition", "undefined-names", "methods", "steps-of-one-loop"],
)
def test_many_lines_of_a_kind_take_as_long_as_others(lines: list[str]) -> None:
    began = time.process_time()
    rules_found_in(lines)

    assert time.process_time() - began < 8


def rules_found_in(lines: list[str]) -> set[str]:
    """The rules that find something in lines on a TPU, behind a few definitions."""
    begin = "import jax\nimport keras\na = step = f0 = print\nn0 = 1\n" + "\n".join(f"g{n} = a" for n in range(301))
    cells = (read_cell("begin", begin), read_cell("lines", "\n".join(lines)))
    kernel = KernelSource(NotebookCode(Path("notebook.ipynb"), cells), metadata=JsonObject(machine_shape="TpuV5E8"))

    return {finding.rule for finding in check_kernels([kernel])}
