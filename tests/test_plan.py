"""What a training takes on an accelerator, and which one to take: from figures, without running anything."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from miniature import Outcome

from generator.accelerators import (
    Accelerator,
    AcceleratorKind,
    Bound,
    CompiledStep,
    Prediction,
    Processor,
    Service,
    Status,
    Workload,
    catalog,
    predict,
)
from generator.cli.plan import plan_as_text
from generator.kaggle.api_types import AcceleratorQuota, Quota
from generator.pair.workspace import Workspace
from generator.plan import (
    CpuStep,
    MachineRates,
    Measurement,
    PlannedPair,
    StepCosts,
    plan_training,
    roofline_picture,
    this_machine,
    workload_of,
)
from generator.tpu_compiler.compilation import StepCost

Tandem = Callable[..., Outcome]

# The flagship's small CNN at 224 pixels, as Google's compiler told it for a v5e at two batches.
PHOTOGRAPHS = Workload(
    examples=10_192,
    held_out=2_551,
    epochs=20,
    folds=1,
    parameters=1_200_000,
    input_seconds=0.00135,
    ready_seconds=16,
    loop_seconds=0.0015,
    processor=Processor(75e9, 12e9),
    cpu_step=CompiledStep(16, 325e9, 30e9, 3e9, 12),
    steps=(
        CompiledStep(16, 325e9, 8.8e9, 1.0e9, 39, seconds=0.017, chip="TPU v5e"),
        CompiledStep(128, 2600e9, 21.8e9, 1.9e9, 45, seconds=0.0556, chip="TPU v5e"),
    ),
)
TABLE = replace(
    PHOTOGRAPHS,
    examples=712,
    held_out=179,
    folds=5,
    parameters=80_000,
    input_seconds=1e-5,
    cpu_step=CompiledStep(8, 48e6, 60e6, 3e6, 2),
    steps=(CompiledStep(8, 48e6, 11e6, 2e6, 1), CompiledStep(128, 768e6, 100e6, 9e6, 1)),
)


MEASURED = Measurement(
    input_seconds=PHOTOGRAPHS.input_seconds,
    examples=PHOTOGRAPHS.examples,
    held_out=PHOTOGRAPHS.held_out,
    epochs=2_000,
    folds=1,
    batch=16,
    example_bytes=150_528,
    parameters=PHOTOGRAPHS.parameters,
    learning_rate=0.0005,
    follows_root=False,
    ready_seconds=16,
    loop_seconds=0.0015,
    machine=MachineRates(150e9, 24e9, 2),
    step=CpuStep(325e9, 30e9, 3e9, 12),
    step_seconds=None,
    is_specimen=False,
)


def accelerator(title: str) -> Accelerator:
    return next(each for each in catalog().all_accelerators if each.title == title)


def predicted(work: Workload, title: str, batch: int) -> Prediction:
    found = predict(work, accelerator(title), batch)
    assert found is not None
    return found


def test_two_cores_starve_a_t4_as_it_was_published() -> None:
    # YOLOv8 on Colab, 2023: 14 min 41 s with 2 cores at 1.96 units an hour, 6 min 42 s with 8 at 2.05. The host's work
    # and the device's time are calibrated once, and are the same for both.
    slow, fast, steps, batch = 881, 402, 1_000, 16
    step = CompiledStep(batch, 1e9, 1e6, 1e9, 0, seconds=fast / steps, chip="T4")
    examples = steps * batch
    work = replace(TABLE, examples=examples, held_out=0, epochs=1, folds=1, ready_seconds=0, steps=(step,))
    work = replace(work, input_seconds=2 * slow / examples)

    starved, fed = predicted(work, "Colab T4", batch), predicted(work, "Colab T4 high-RAM", batch)

    assert (starved.total, fed.total) == (pytest.approx(slow, rel=0.2), pytest.approx(fast, rel=0.2))
    assert starved.bound is Bound.INPUT
    assert fed.bound is not Bound.INPUT
    units = [made.total / 3600 * made.accelerator.units[0].per_hour for made in (starved, fed)]
    assert units == [pytest.approx(0.48, rel=0.2), pytest.approx(0.23, rel=0.2)]


def test_a_tpu_wants_large_batches() -> None:
    small, large = (predicted(PHOTOGRAPHS, "Kaggle TPU v5e-8", batch) for batch in (16, 128))

    # As its compiler estimates: 7,500 and 18,400 images a second.
    assert small.examples_per_second == pytest.approx(7_500, rel=0.01)
    assert large.examples_per_second == pytest.approx(18_400, rel=0.01)
    plan = plan_training(PHOTOGRAPHS, batch=16)
    assert (plan.recommendation.accelerator.title, plan.recommendation.batch) == ("Kaggle TPU v5e-8", 128)
    assert any("needs large batches" in lesson for lesson in plan.lessons)


def test_a_small_model_on_small_data_is_for_a_cpu() -> None:
    plan = plan_training(TABLE, batch=8)

    assert plan.recommendation.accelerator.title == "Kaggle CPU"
    assert "uses no quota" in plan.reason
    assert plan.recommendation.weekly_share is None


def test_what_starves_is_said_with_its_cores() -> None:
    plan = plan_training(replace(PHOTOGRAPHS, input_seconds=0.02), batch=16)

    assert any("4 cores are too slow for Kaggle GPU T4 x2" in lesson for lesson in plan.lessons)


def test_a_training_that_waits_for_its_input_is_planned_for_both_sizes_of_the_tpu_host() -> None:
    waiting = plan_training(replace(PHOTOGRAPHS, input_seconds=0.05), batch=16)
    computing = plan_training(PHOTOGRAPHS, batch=16)

    assert any("Kaggle TPU v5e-8 has hosts of 96 and of 224 cores" in lesson for lesson in waiting.lessons)
    assert not any("hosts of" in lesson for lesson in computing.lessons)


def test_a_batch_that_does_not_fit_is_not_taken() -> None:
    steps = tuple(replace(step, memory=step.batch * 0.2e9) for step in PHOTOGRAPHS.steps)

    made = plan_training(replace(PHOTOGRAPHS, steps=steps), batch=16).recommendation

    assert made.fits
    assert made.batch == 64
    assert not predicted(replace(PHOTOGRAPHS, steps=steps), "Kaggle TPU v5e-8", 128).fits


def test_tensorflow_is_not_sent_to_a_tpu_that_it_cannot_see() -> None:
    plan = plan_training(PHOTOGRAPHS, batch=16, sees_tpu=False)

    assert plan.recommendation.accelerator.kind is AcceleratorKind.GPU


def test_a_host_of_which_nothing_is_known_is_not_guessed() -> None:
    plan = plan_training(PHOTOGRAPHS, batch=16)

    assert predict(PHOTOGRAPHS, accelerator("Colab A100 80 GB"), 16) is None
    assert [each.title for each in plan.unknown] == ["Colab A100 80 GB", "Colab G4", "Colab H100"]


def test_without_a_compiler_of_its_own_no_larger_batch_is_proposed() -> None:
    plan = plan_training(replace(PHOTOGRAPHS, steps=()), batch=16)

    assert {made.batch for made in plan.predictions} == {16}


def test_the_picture_names_what_is_compared_and_survives_a_hostile_title() -> None:
    drawn = ET.fromstring(roofline_picture(plan_training(TABLE, batch=8), title="<script>\x1b[31m"))  # noqa: S314 - our own

    texts = [element.text or "" for element in drawn.iter() if element.tag.endswith("text")]
    assert {"Kaggle CPU", "Kaggle GPU T4 x2", "Kaggle TPU v5e-8"} <= set(texts)
    assert any(text.startswith("<script>") and "\x1b" not in text for text in texts)


@pytest.mark.parametrize("figure", [0.0, -1.0, 5e-324, 1e300])
def test_what_a_notebooks_process_makes_up_of_its_step_is_drawn_in_finite_numbers(figure: float) -> None:
    made_up = StepCost(
        "train", "jax", "v5e:2x4", 8, 16, figure, 1 / (figure or 1), 7, 9, figure, figure, {}, 1, 1, figure
    )
    plan = plan_training(workload_of(MEASURED, [made_up]), batch=16)

    drawn = roofline_picture(plan, title="tiny")
    assert ET.fromstring(drawn).tag.endswith("svg")  # noqa: S314 - our own
    assert "nan" not in drawn
    assert all(math.isfinite(each.total) for each in plan.predictions)


def test_the_comparison_is_dated_and_has_a_source_for_everything(tandem: Tandem) -> None:
    shown, told = tandem("plan", "--accelerators"), tandem("plan", "--accelerators", "--json")

    assert str(catalog().as_of) in shown.out
    for each in catalog().all_accelerators:
        assert each.title in shown.out
        assert each.good_for
        assert each.source
        assert each.chip is None or each.chip.source
        assert all(price.source and price.as_of for price in each.units)
        assert each.service is Service.KAGGLE or not each.machine_shape
        assert (each.status is Status.RETIRED) >= bool(each.replaced_by)
    assert {each["title"] for each in json.loads(told.out)["accelerators"]} == {
        each.title for each in catalog().all_accelerators
    }


def test_a_pair_or_the_comparison_is_asked_for(tandem: Tandem) -> None:
    assert tandem("plan").code == 2
    assert tandem("plan", "digits", "--accelerators").code == 2


@pytest.mark.slow
def test_an_accelerator_that_is_chosen_is_asked_of_kaggle(
    tandem: Tandem, workspace_with_data: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace_with_data.root)

    rows = "".join(f"{number},0\n" for number in range(1_000))
    (workspace_with_data.competition_data("digits") / "train.csv").write_text(f"id,label\n{rows}")
    offered = tandem("generate", "--competition", "digits")
    chosen = tandem("generate", "--competition", "digits", "-P", "ACCELERATOR=cpu")

    assert "The data are small: a CPU trains this model in about" in offered.out
    assert "The data are small" not in chosen.out
    kernel = Path("kernels/digits/train")
    metadata = json.loads((kernel / "kernel-metadata.json").read_text())
    assert (metadata["machine_shape"], metadata["enable_tpu"]) == ("", False)
    notebook = (kernel / "train.ipynb").read_text()
    assert "choose the accelerator *None*" in notebook
    assert "SESSION_HOURS = 12.0" in notebook
    wrong = tandem("generate", "--competition", "digits", "-P", "ACCELERATOR=tpx")
    assert wrong.code == 1
    assert 'Did you mean "tpu"?' in wrong.err


def test_the_report_says_what_to_do_there_and_what_is_left_of_the_week() -> None:
    measured = MEASURED
    plan = plan_training(replace(PHOTOGRAPHS, epochs=measured.epochs), batch=measured.batch)
    planned = PlannedPair(
        "flowers", "keras", measured, StepCosts(()), plan, predict(plan.workload, this_machine(measured), 16)
    )
    none, week = timedelta(), timedelta(hours=20)
    used = Quota(
        AcceleratorQuota(none, none, timedelta(hours=30)), AcceleratorQuota(timedelta(hours=19), week * 0.025, week)
    )

    said = plan_as_text(planned, quota=used, picture=Path("plan.svg"))

    assert max(len(line) for line in said.splitlines() if line.startswith(("Kaggle ", "Colab ")) and "  " in line) <= 80
    # Linear up to 128 examples a step, then with the root: 0.0005 at 16 is 0.004 at 128.
    assert "128 examples a device, 1,024 a step, a peak learning rate of 0.011" in said
    assert "0.5 hours of TPU are left of this account's week: too little for this training." in said
    assert "Kaggle runs 1 session on a TPU side by side for an account" in said
    assert "this machine" in said
