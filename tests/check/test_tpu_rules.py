"""TPU rules on notebooks as people write them: `tpu/sound` has sound ones, `tpu/faults.toml` makes one fault in each.

The line that has to be found ends in a comment with the rule's id. Notebooks for GPUs, in `tpu/gpu`, are nobody's
business here, whatever they do.
"""

import datetime
import json
import tomllib
from pathlib import Path

import pytest

from generator.check.cell_text import read_cell
from generator.check.code import NotebookCode
from generator.check.findings import CheckFinding
from generator.check.rules import RULES as ALL_RULES
from generator.check.source import KernelSource
from generator.pair.notebook import CellKind, parse_percent_cells
from generator.text import JsonObject

DATA = Path(__file__).with_name("tpu")
KERNELS = Path(__file__).parents[2] / "kernels"
RULES = [rule for rule in ALL_RULES if rule.id.startswith("T")]
SOUND = sorted(path.stem for path in (DATA / "sound").glob("*.percent"))
FAULTS = tomllib.loads((DATA / "faults.toml").read_text(encoding="utf-8"))["fault"]
TPU = JsonObject(machine_shape="TpuV5E8")
# Several steps a call: measured by nobody, since Kaggle's TPU image has no TensorFlow that sees a TPU.
KNOWN = {f"{name}-tensorflow": {"T061"} for name in ("digits", "nlp-getting-started", "tpu-getting-started")}
GPU = JsonObject(machine_shape="NvidiaTeslaT4")


def notebook(text: str, metadata: JsonObject | None = None) -> KernelSource:
    """The notebook that a py:percent text is."""
    cells = [read_cell(cell.name, cell.source) for cell in parse_percent_cells(text) if cell.kind is CellKind.CODE]
    return KernelSource(NotebookCode(Path("notebook.ipynb"), tuple(cells)), metadata=metadata)


def sound(name: str) -> str:
    """The text of a sound notebook."""
    return (DATA / "sound" / f"{name}.percent").read_text(encoding="utf-8")


def faulty(fault: dict) -> str:
    """The text of a sound notebook with edits, each of which has to find its place."""
    text = sound(fault["base"])
    for old, new in fault["edits"]:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def marked(text: str) -> list[tuple[str, str, int]]:
    """The rule, cell and line of each marked line."""
    return [
        (line.rpartition("# ")[2], cell.name, number)
        for cell in parse_percent_cells(text)
        for number, line in enumerate(cell.source.split("\n"), start=1)
        if line.rpartition("# ")[2] in {rule.id for rule in RULES}
    ]


def findings(kernel: KernelSource) -> list[CheckFinding]:
    """What all rules for TPUs find."""
    return [finding for rule in RULES for finding in rule(kernel)]


def found(kernel: KernelSource) -> list[tuple[str, str, int]]:
    """The rule, cell and line of each finding."""
    return [(finding.rule, finding.place.cell, finding.place.line) for finding in findings(kernel)]


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{marked(faulty(each))[0][0]}-{each['base']}" for each in FAULTS])
def test_fault_is_found_by_its_rule_where_it_is(fault):
    text = faulty(fault)

    assert found(notebook(text)) == marked(text)


@pytest.mark.parametrize("name", SOUND)
def test_sound_notebook_raises_nothing(name):
    assert findings(notebook(sound(name))) == []
    assert findings(notebook(sound(name), TPU)) == []


def test_every_rule_has_a_notebook_that_triggers_it():
    assert {marked(faulty(fault))[0][0] for fault in FAULTS} == {rule.id for rule in RULES}


@pytest.mark.parametrize("fault", FAULTS[::6], ids=lambda fault: fault["base"])
def test_notebook_whose_metadata_ask_for_a_gpu_raises_nothing(fault):
    assert findings(notebook(faulty(fault), GPU)) == []


@pytest.mark.parametrize("path", sorted((DATA / "gpu").glob("*.percent")), ids=lambda path: path.stem)
def test_notebook_for_a_gpu_raises_nothing_without_metadata(path):
    assert findings(notebook(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", sorted(KERNELS.glob("*/*/*.ipynb")), ids=lambda path: path.stem)
def test_reference_pairs_have_no_pitfalls(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [read_cell(cell["id"], "".join(cell["source"])) for cell in cells if cell["cell_type"] == "code"]
    metadata = JsonObject(json.loads(path.with_name("kernel-metadata.json").read_text(encoding="utf-8")))

    rules_found = {each.rule for each in findings(KernelSource(NotebookCode(path, tuple(code)), metadata=metadata))}
    assert rules_found <= KNOWN.get(path.parents[1].name, set())


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.id)
def test_rule_explains_what_why_and_what_instead(rule):
    first, _, rest = rule.explanation.partition("\n\n")
    date, evidence = rule.evidence

    assert first.endswith(".")
    assert rest.count("\n\nSource (") == 1
    assert "2026-11-20" <= date <= datetime.date.today().isoformat()
    assert evidence.endswith(".")


def test_hostile_notebooks_are_read_in_bounded_time():
    deep = "x = " + "(" * 60 + "1" + ")" * 60
    many_terms = "y = " + " + ".join(["x"] * 1_000)
    chain = "z = x" + ".map(x)" * 200
    cells = [
        read_cell("a", "import jax, keras, torch_xla\nimport tensorflow as tf\n" + deep),
        read_cell("b", many_terms),
    ]
    cells += [read_cell("s", "g = jax.jit(g)\nx = x\ng(x)\nclass A(B): pass\nclass B(A): pass")]
    cells += [read_cell("c", chain), read_cell("d", "table = [" + "[1, 2, 'a'], " * 2_000 + "]")]
    cells += [
        read_cell(f"n{n}", f"@jax.jit\ndef f{n}(x):\n    return f{n + 1}(x)\nf{n}(jax.devices())") for n in range(300)
    ]

    assert [
        each.rule for each in findings(KernelSource(NotebookCode(Path("n.ipynb"), tuple(cells)), metadata=TPU))
    ] == []
