"""The input pipelines of a notebook: datasets of tf.data, and loaders of PyTorch."""

import ast
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

from generator.check.analysis.tpu import TpuCode
from generator.check.syntax import Call, is_false, is_true

_SIGNS = {
    "from_tensor_slices", "from_generator", "TFRecordDataset", "prefetch", "interleave", "with_options", "Dataset",
    "list_files", "from_tensors", "TextLineDataset",
}  # fmt: skip
_BATCHES = {"batch", "padded_batch"}
_LONGEST_CHAIN = 100
_HELD_OUT = ("val", "test", "eval", "dev", "holdout", "predict")


@dataclass(frozen=True)
class Batched:
    """Where a dataset is put into batches, with the methods of the same dataset before and after it."""

    call: Call
    before: frozenset[str]
    after: frozenset[str]

    @property
    def is_for_training(self) -> bool:
        """True for what is shuffled, and looked at in batches by nobody but a model."""
        return "shuffle" in self.before | self.after and "unbatch" not in self.before


@lru_cache(maxsize=1)  # several rules ask for those of the same notebook
def batched_datasets(tpu: TpuCode) -> list[Batched]:
    """Return every `batch` of a dataset of tf.data."""
    if "tensorflow" not in tpu.code.modules and "tensorflow_datasets" not in tpu.code.modules:
        return []
    groups: dict[tuple[object, str], list[Call]] = defaultdict(list)
    scopes = {tpu.code.function(call.node) for call in tpu.code.calls if call.last in _BATCHES}
    for call in tpu.code.calls if scopes else ():
        if isinstance(call.node.func, ast.Attribute) and tpu.code.function(call.node) in scopes:
            groups[tpu.code.function(call.node), _dataset_name(tpu, call)].append(call)
    found = []
    for (_, name), calls in groups.items():
        methods = [call.last for call in calls]
        if name and (_SIGNS & set(methods) or any(call.name.startswith("tensorflow.data.") for call in calls)):
            by_end = sorted(calls, key=_end)
            first = {call.last: _end(call) for call in reversed(by_end)}
            last = {call.last: _end(call) for call in by_end}
            for call in calls:
                if call.last in _BATCHES and call.node.args + call.node.keywords:
                    before = frozenset(each for each, end in first.items() if end < _end(call))
                    after = frozenset(each for each, end in last.items() if end > _end(call))
                    found.append(Batched(call, before, after))
    return found


def _dataset_name(tpu: TpuCode, call: Call) -> str:
    """The name that the chain of a method begins with, or is assigned to; chains are told apart by it."""
    node: ast.AST = call.node
    parent = tpu.code.parent(node)
    for _ in range(_LONGEST_CHAIN):
        if not isinstance(parent, ast.Attribute | ast.Call):
            break
        if isinstance(parent, ast.Call) and parent.func is not node:
            break
        node, parent = parent, tpu.code.parent(parent)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        return parent.targets[0].id
    for _ in range(2 * _LONGEST_CHAIN):
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Attribute):
            node = node.value
        else:
            break
    if isinstance(parent, ast.Return) and isinstance(node, ast.Name) and tpu.code.name(node) != node.id:
        return f"returned at {parent.lineno}"  # tf.data.TFRecordDataset(…).map(…)
    return node.id if isinstance(node, ast.Name) else ""


def _end(call: Call) -> tuple[int, int]:
    return call.node.end_lineno or 0, call.node.end_col_offset or 0


def training_loaders(tpu: TpuCode) -> list[Call]:
    """Return every `DataLoader` of PyTorch that gives training batches: it shuffles, or samples what is shuffled."""
    return [call for call in tpu.code.calls if call.last == "DataLoader" and _is_training(tpu, call)]


def _is_training(tpu: TpuCode, call: Call) -> bool:
    parent = tpu.code.parent(call.node)
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    names = [each.id for each in (target, call.argument(0, "dataset")) if isinstance(each, ast.Name)]
    is_held_out = any(word in name.lower() for name in names for word in _HELD_OUT)
    if call.is_open or call.keyword("batch_sampler") is not None or is_held_out:
        return False
    sampler = call.argument(3, "sampler")
    made = tpu.code.call(tpu.code.resolved(sampler))
    if made is None:
        return is_true(call.argument(2, "shuffle"))
    return "Random" in made.last or (made.last == "DistributedSampler" and not is_false(made.keyword("shuffle")))
