"""Rules of TPUs: operations and layers that their compiler refuses, or runs slowly."""

import ast
from collections.abc import Iterator

from generator.check.analysis.function_kinds import Kind
from generator.check.analysis.tpu import TpuCode, tpu_rule
from generator.check.finding import Severity
from generator.check.rule import Problem
from generator.check.syntax import Call, walk

_STRINGS = (
    "tensorflow.strings.", "tensorflow.io.decode_", "tensorflow.image.decode_", "tensorflow.io.read_file",
    "tensorflow.io.parse_", "tensorflow.audio.decode_", "tensorflow.as_string",
)  # fmt: skip
_LOOKUPS = {"TextVectorization", "StringLookup", "IntegerLookup", "Hashing", "HashedCrossing"}
_TRANSFORMS = {
    "RandomRotation", "RandomZoom", "RandomTranslation", "RandomShear", "RandomPerspective", "RandAugment",
    "RandomElasticTransform", "AugMix", "MixUp", "CutMix", "RandomCrop",
}  # fmt: skip
_GATHERING = _TRANSFORMS - {"MixUp", "CutMix", "RandomCrop"}
_REFUSED = {
    "tensorflow.image.crop_and_resize", "tensorflow.image.random_jpeg_quality", "tensorflow.random.gamma",
    "tensorflow.math.segment_sum", "tensorflow.linalg.lu", "tensorflow.linalg.eig", "tensorflow.edit_distance",
    "tensorflow.nn.max_pool_with_argmax", "tensorflow.histogram_fixed_width",
}  # fmt: skip
_METHODS = {"bicubic", "area"}
_RESIZES = {"Resizing": "interpolation", "UpSampling2D": "interpolation"}
_FALLBACKS = {"grid_sample", "median", "histc", "nanmedian"}
_STATEFUL = {"uniform", "normal", "truncated_normal", "shuffle", "poisson", "categorical"}
_IMAGE = {"random_flip_left_right", "random_brightness", "random_contrast", "random_crop"}
_POOLS = {"MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "MaxPool1D", "MaxPool2D", "MaxPool3D"}
_CONCATENATES = {"concat", "concatenate", "cat", "hstack", "vstack", "append"}


@tpu_rule("T040", "string-op-in-step", Severity.ERROR)
def string_op_in_step(tpu: TpuCode) -> Iterator[Problem]:
    """The TPU's step reads files, decodes, or works on strings.

    A TPU has numbers only; the compiler refuses everything else. Decode and tokenize in the input pipeline
    (`dataset.map`), which runs on the host.

    Source (2026-11-23): 145 steps given to Google's TPU compiler, see docs/adr/0017.
    """
    for call in tpu.device_calls(Kind.TENSORFLOW):
        if call.name.startswith(_STRINGS):
            message = f"The TPU's compiler refuses `{call.last}`, which works on strings or files."
            yield Problem(
                tpu.code.place(call.node), message, "Move it into the function of dataset.map, which runs on the host."
            )


@tpu_rule("T041", "lookup-layer-in-model", Severity.ERROR)
def lookup_layer_in_model(tpu: TpuCode) -> Iterator[Problem]:
    """The model has a layer that looks up or hashes what goes in.

    `TextVectorization`, `StringLookup`, `IntegerLookup` and `Hashing` use tables and strings, which the TPU's compiler
    refuses, and which Keras on JAX cannot trace. Apply the layer in `dataset.map`; for inference put it before the
    model.

    Source (2026-11-23): 145 steps given to Google's TPU compiler, see docs/adr/0017; Keras, preprocessing layers on a
    TPU.
    """
    if tpu.platform.tensorflow or tpu.platform.keras_jax:
        for call in tpu.layers.made(_LOOKUPS):
            message = f"The TPU's compiler refuses a {call.last} in the model."
            yield Problem(
                tpu.code.place(call.node), message, "Apply it before: dataset.map(lambda x, y: (layer(x), y))."
            )


@tpu_rule("T042", "augmentation-in-model", Severity.ERROR)
def augmentation_in_model(tpu: TpuCode) -> Iterator[Problem]:
    """The model has an augmentation layer that a TPU refuses, or takes long for.

    Rotation, zoom, translation, shear, perspective and what draws one of them (`RandAugment`, `AugMix`) fetch each
    pixel from another place. TensorFlow has no TPU kernel for that (ImageProjectiveTransformV3). Keras on JAX makes
    gathers and scatters of it, which are slow on a TPU: somebody's training of 10 minutes took 2.5 hours (a warning).
    `RandomCrop` is refused by both. Apply them in `dataset.map`, on the host. Flips, brightness, contrast, hue,
    saturation, erasing, blur and sharpness are fine in the model.

    Source (2026-11-27): 145 steps given to Google's TPU compiler, see docs/adr/0017; keras-team/keras#23229; the layers
    of Keras 3.15 compiled by JAX 0.10.2, and a model with `RandomCrop` trained.
    """
    is_jax = tpu.platform.keras_jax
    for call in tpu.layers.made(_TRANSFORMS) if tpu.platform.tensorflow or is_jax else ():
        if not is_jax:
            message, severity = f"TensorFlow has no {call.last} for a TPU.", None
        elif call.last in _GATHERING:
            message = f"{call.last} fetches each pixel by itself, in every step of the TPU."
            severity = Severity.WARNING
        elif call.last == "RandomCrop":
            message, severity = "JAX cannot compile RandomCrop, whose place is known at run time only.", None
        else:
            continue
        remedy = "Apply it before: dataset.map(lambda x, y: (layer(x), y), num_parallel_calls=tf.data.AUTOTUNE)."
        yield Problem(tpu.code.place(call.node), message, remedy, severity=severity)


@tpu_rule("T043", "refused-op", Severity.ERROR)
def refused_op(tpu: TpuCode) -> Iterator[Problem]:
    """The TPU's step has an operation that its compiler lacks.

    All of these run on a GPU: `crop_and_resize`, `random_jpeg_quality`, `random.gamma`, `segment_sum` (the unsorted one
    is fine), `lu`, `eig`, `max_pool_with_argmax`, `histogram_fixed_width`, `edit_distance`. Compute it in the input
    pipeline, or from operations that the compiler has.

    Source (2026-11-23): 145 steps given to Google's TPU compiler, see docs/adr/0017.
    """
    for call in tpu.device_calls(Kind.TENSORFLOW):
        if call.name in _REFUSED:
            remedy = (
                "Write tf.math.unsorted_segment_sum(data, ids, number)."
                if call.last == "segment_sum"
                else "Move it into the function of dataset.map, which runs on the host."
            )
            yield Problem(tpu.code.place(call.node), f"The TPU's compiler has no `{call.last}`.", remedy)


@tpu_rule("T044", "resize-method", Severity.ERROR)
def resize_method(tpu: TpuCode) -> Iterator[Problem]:
    """The TPU's step resizes images by the bicubic or area method.

    The compiler has the bilinear and the nearest one. Take bilinear, or resize in the input pipeline.

    Source (2026-11-23): 145 steps given to Google's TPU compiler, see docs/adr/0017.
    """
    for call in tpu.device_calls(Kind.TENSORFLOW):
        if call.name == "tensorflow.image.resize":
            yield from _resized(tpu, call, call.argument(2, "method"))
    if tpu.platform.tensorflow:
        for call in tpu.layers.made(set(_RESIZES)):
            yield from _resized(tpu, call, call.keyword(_RESIZES[call.last]))


@tpu_rule("T045", "falls-back-to-host", Severity.WARNING)
def falls_back_to_host(tpu: TpuCode) -> Iterator[Problem]:
    """The model calls an operation that PyTorch/XLA has only on the host.

    `grid_sample`, `median` and `histc` are not lowered: the step is cut in two, the tensor fetched, computed on a CPU
    core and sent back, in every step. The counters `aten::…` of `torch_xla.debug.metrics` show it.

    Source (2026-11-23): counters of torch_xla 2.9, see docs/adr/0017.
    """
    for call in tpu.device_calls(Kind.TORCH) if tpu.platform.torch else ():
        if call.last in _FALLBACKS and not call.name.startswith(("numpy.", "np.")):
            message = f"PyTorch/XLA computes `{call.last}` on the host, in the middle of every step."
            yield Problem(
                tpu.code.place(call.node),
                message,
                "Move it into the dataset's __getitem__, or write it with other operations.",
            )


@tpu_rule("T046", "max-pooling", Severity.NOTE)
def max_pooling(tpu: TpuCode) -> Iterator[Problem]:
    """The model pools by the maximum.

    Its gradient has to find where the maximum was, which a TPU does slowly and with more traffic than the mean needs.
    Where accuracy allows it take average pooling, or a convolution with a stride.

    Source (2026-11-23): Cloud TPU performance guide.
    """
    found = list(tpu.layers.made(_POOLS)) if tpu.platform.tensorflow or tpu.platform.keras_jax else []
    found += [call for call in tpu.device_calls(Kind.TENSORFLOW) if call.name == "tensorflow.nn.max_pool2d"]
    found += [call for call in tpu.device_calls(Kind.JAX) if call.name == "flax.linen.max_pool"]
    for call in found[:1]:
        message = "The model pools by the maximum, whose gradient is slow on a TPU."
        yield Problem(
            tpu.code.place(call.node),
            message,
            "Try AveragePooling2D (nnx.avg_pool, F.avg_pool2d), or a convolution with strides=2.",
        )


@tpu_rule("T047", "concatenation-in-loop", Severity.WARNING)
def concatenation_in_loop(tpu: TpuCode) -> Iterator[Problem]:
    """The TPU's step grows a tensor by concatenation in a loop.

    Each pass copies all that came before, in memory that the step is bound by, and unaligned pieces are laid out anew.
    Collect the pieces in a list and concatenate or stack them once, or use `jax.lax.scan`.

    Source (2026-11-23): Cloud TPU performance guide ("few concatenations").
    """
    for call in tpu.code.calls:
        parent = tpu.code.parent(call.node)
        if call.last not in _CONCATENATES or not isinstance(parent, ast.Assign) or not call.node.args:
            continue
        is_array = call.name.startswith(("tensorflow.", "jax.numpy.", "torch.", "keras.ops.", "keras.layers."))
        grown = {each.id for each in walk(call.node.args[0]) if isinstance(each, ast.Name)}
        grows = isinstance(parent.targets[0], ast.Name) and parent.targets[0].id in grown
        kind = tpu.compiled.kind(call.node)
        is_step = Kind.DEVICE in kind and Kind.TORCH not in kind
        if is_array and grows and is_step and any(tpu.loops(call.node)):
            message = "A tensor grows by concatenation in a loop, and is copied in every pass."
            yield Problem(
                tpu.code.place(call.node),
                message,
                f"Append the pieces to a list in the loop, and write {call.last}(pieces) once after it.",
            )


@tpu_rule("T048", "stateful-chance", Severity.NOTE)
def stateful_chance(tpu: TpuCode) -> Iterator[Problem]:
    """The TPU's step draws stateful random numbers.

    The compiler replaces them by a generator of its own, which neither `tf.random.set_seed` nor a `seed` argument
    reaches: no run can be repeated. Draw with `tf.random.stateless_uniform` and the like, from a seed handed in.

    Source (2026-11-23): TensorFlow, tf.random on XLA; 145 steps given to Google's TPU compiler, see docs/adr/0017.
    """
    for call in tpu.device_calls(Kind.TENSORFLOW):
        head, _, last = call.name.rpartition(".")
        if (head == "tensorflow.random" and last in _STATEFUL) or (head == "tensorflow.image" and last in _IMAGE):
            message = f"No seed reaches the numbers that `{last}` draws on a TPU."
            yield Problem(
                tpu.code.place(call.node), message, f"Write tf.{head[11:]}.stateless_{last}(…, seed=(1, step))."
            )


def _resized(tpu: TpuCode, call: Call, method: ast.expr | None) -> Iterator[Problem]:
    name = tpu.code.text(method) or (tpu.code.name(method).rpartition(".")[2] if method is not None else "")
    if name.lower() in _METHODS:
        message = f"The TPU's compiler has no {name.lower()} resize."
        yield Problem(
            tpu.code.place(call.node), message, 'Write "bilinear", or move it into the function of dataset.map.'
        )
