"""The catalog is consistent in itself."""

from generator.accelerators import AcceleratorKind, catalog


def test_training_is_on_the_tpu_and_inference_on_the_gpu() -> None:
    assert (catalog().training.machine_shape, catalog().training.devices) == ("TpuV5E8", 8)
    assert (catalog().inference.machine_shape, catalog().inference.devices) == ("NvidiaTeslaT4", 2)


def test_a_retired_shape_is_not_offered_and_its_replacement_is() -> None:
    for shape, replacement in catalog().replacements.items():
        assert shape not in catalog().accelerators
        assert replacement in catalog().accelerators.values()
    assert catalog().replacements["TpuV232"].kind is AcceleratorKind.CPU


def test_sessions_last_as_long_as_the_platform_allows() -> None:
    hours = {accelerator.kind: accelerator.session_hours for accelerator in catalog().accelerators.values()}

    assert hours == {AcceleratorKind.TPU: 9, AcceleratorKind.GPU: 12, AcceleratorKind.CPU: 12}
