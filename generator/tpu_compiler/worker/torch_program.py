"""A step of PyTorch/XLA as a function of JAX's, for any batch."""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import jax
import jax.export
import numpy as np
from jax._src.interpreters.mlir import make_ir_context, module_to_bytecode
from jax._src.lib import xla_client
from jax.extend.mlir import ir
from jax.extend.mlir.dialects import stablehlo
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

from generator.tpu_compiler.worker.compiler import StepCall, program_of_length
from generator.tpu_compiler.worker.torch_steps import CaughtStep, Shape, TorchWatch

_mlir = xla_client._xla.mlir  # noqa: SLF001 - jaxlib has no other name for it
_MAIN = re.compile(r"func\.func (?:public )?@main\((.*?)\) -> (.*?) \{\n", re.DOTALL)
_TENSOR = re.compile(r"tensor<((?:\d+x)*)(\w+)>")
_KINDS = {"ui": "uint", "i": "int", "f": "float", "bf": "bfloat"}  # of MLIR, with NumPy's names


CatchAgain = Callable[[Mapping[Shape, int]], tuple[list[CaughtStep], str]]
"""Runs a notebook again with batches of other lengths; returns its steps, and the error that ended it, if one did."""


class TorchSteps:
    """The steps that a watch caught, as those of a notebook that trains with JAX.

    For another batch they are caught a second time, at half of it: a program of any batch is on the line through both.
    """

    def __init__(self, watch: TorchWatch, devices: list[Any], catch_again: CatchAgain) -> None:
        self.notebook, self.is_complete = watch.notebook, watch.is_complete
        self._caught_steps, self._devices, self._catch_again = watch.caught_steps, devices, catch_again
        self.steps = [
            _as_step(caught_step, _mlir.hlo_to_stablehlo(caught_step.program), devices)
            for caught_step in watch.caught_steps
        ]
        for step in self.steps:
            step.lowering = step.lower(step.arguments)

    def lower(self, step: StepCall, arguments: list[Any]) -> Any:
        """The step with these arguments, of which those of the batch may have another length, as the compiler takes it.

        Raises:
            ValueError: The step takes no other batch.
        """
        caught_step = next(
            candidate
            for candidate in self._caught_steps
            if (candidate.kind, candidate.place) == (step.kind, step.place)
        )
        again, error = self._caught_again
        other_step = next(
            (candidate for candidate in again if (candidate.kind, candidate.place) == (step.kind, step.place)), None
        )
        if other_step is None or (error and other_step.calls == 1 < caught_step.calls):
            raise ValueError(error or "with another it is not called")
        if not {*other_step.batch} <= {*caught_step.batch}:
            raise ValueError("with a smaller one, something else has the size of a batch")
        programs = dict(_length_and_text(candidate, other_step.batch[0]) for candidate in (caught_step, other_step))
        code = program_of_length(programs, arguments[step.batch[0]].shape[0])
        new_step = _as_step(other_step, code, self._devices)
        return new_step.lower(new_step.arguments)

    @cached_property
    def _caught_again(self) -> tuple[list[CaughtStep], str]:
        return self._catch_again(
            {
                # Even, as random numbers are drawn in pairs; and one example would be no axis to PyTorch.
                step.arguments[place].shape: step.parts * (step.batch_per_core // 4 * 2 or step.batch_per_core * 2)
                for step in self.steps
                for place in step.batch
            }
        )


def _length_and_text(caught_step: CaughtStep, batch: int) -> tuple[int, str]:
    """The length of a step's argument in the place `batch`, and the step's program."""
    with make_ir_context():
        text = str(ir.Module.parse(_mlir.hlo_to_stablehlo(caught_step.program)))
    ((inputs, _),) = _MAIN.findall(text)
    return _shapes(inputs)[batch].shape[0], text


def _as_step(caught_step: CaughtStep, code: bytes | str, devices: list[Any]) -> StepCall:
    """The step, with its arguments on these devices: the batch is split, and the rest may be overwritten."""
    cores, parts = caught_step.cores, caught_step.parts
    portable, inputs, outputs = _portable(code)
    function = jax.jit(
        _export(portable, inputs, outputs, cores, devices[0].platform).call,
        # As PyTorch/XLA does with what is changed in its place.
        donate_argnums=tuple(place for place in range(len(inputs)) if place not in caught_step.batch),
    )
    split: Any
    whole: Any
    if cores > 1:
        mesh = Mesh(np.array(devices[:cores]).reshape(parts, cores // parts), ("batch", "other"))
        split, whole = NamedSharding(mesh, PartitionSpec("batch")), NamedSharding(mesh, PartitionSpec())
    else:
        split = whole = SingleDeviceSharding(devices[0])
    step = StepCall(
        name=caught_step.kind,
        kind=caught_step.kind,
        framework="torch",
        place=caught_step.place,
        lower=lambda arguments: function.lower(*arguments),
        export=lambda _arguments: None,
        trace=lambda arguments: function.trace(*arguments),
        arguments=[
            jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=split if place in caught_step.batch else whole)
            for place, array in enumerate(inputs)
        ],
        batch=caught_step.batch,
        parameters=caught_step.parameters,
    )
    step.shapes = caught_step.shapes
    return step


def _portable(code: bytes | str) -> tuple[bytes, list[Any], list[Any]]:
    """A program in StableHLO as it is exported, with the shapes of its arguments and of its results."""
    with make_ir_context():
        module = ir.Module.parse(code)
        module.operation.attributes["sym_name"] = ir.StringAttr.get("step")
        ((inputs, outputs),) = _MAIN.findall(str(module))
        # Mixed, as erf has no operation in StableHLO.
        portable = _mlir.serialize_portable_artifact(
            module_to_bytecode(module), stablehlo.get_current_version(), use_mixed_serialization=True
        )
    return portable, _shapes(inputs), _shapes(outputs)


def _shapes(text: str) -> list[Any]:
    return [
        jax.core.ShapedArray(tuple(int(length) for length in lengths.split("x") if length), _dtype(kind))
        for lengths, kind in _TENSOR.findall(text)
    ]


def _dtype(kind: str) -> Any:
    """NumPy's type with MLIR's name, such as ui8 or bf16."""
    letters = kind.rstrip("0123456789")
    return jax.numpy.dtype("bool" if kind == "i1" else _KINDS[letters] + kind.removeprefix(letters))


def _export(code: bytes, inputs: list[Any], outputs: list[Any], cores: int, platform: str) -> Any:
    of_inputs, of_outputs = (None,) * len(inputs), (None,) * len(outputs)
    return jax.export.Exported(
        fun_name="step",
        in_tree=jax.tree.structure(((0,) * len(inputs), {})),
        in_avals=tuple(inputs),
        out_tree=jax.tree.structure((0,) * len(outputs)),
        out_avals=tuple(outputs),
        _has_named_shardings=False,
        _in_named_shardings=of_inputs,
        _out_named_shardings=of_outputs,
        in_shardings_hlo=of_inputs,
        out_shardings_hlo=of_outputs,
        nr_devices=cores,
        platforms=(platform,),
        ordered_effects=(),
        unordered_effects=(),
        disabled_safety_checks=(),
        mlir_module_serialized=code,
        calling_convention_version=jax.export.maximum_supported_calling_convention_version,
        module_kept_var_idx=tuple(range(len(inputs))),
        uses_global_constants=False,
        _get_vjp=None,
    )
