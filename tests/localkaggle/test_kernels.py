"""Kernels of a local Kaggle: saving them, their versions, their states, and what a push is refused for."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from desk import NOTEBOOK, TRAIN, Desk
from scripted import ScriptedRunner, ScriptFailure, writing

from generator.localkaggle.services.kernels import SessionRules
from generator.text import slug_of


def test_a_push_makes_a_version_and_runs_it(desk: Desk) -> None:
    pushed = desk.push()

    assert (pushed["ref"], pushed["versionNumber"], pushed["error"]) == ("/tester/my-train", 1, "")
    assert pushed["url"] == "http://localhost/code/tester/my-train"
    assert desk.status() == "COMPLETE"


def test_a_second_push_makes_the_next_version_of_the_same_kernel(desk: Desk) -> None:
    first, second = desk.push(), desk.push()

    assert (second["kernelId"], second["versionNumber"]) == (first["kernelId"], 2)


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("My Train", "my-train"),
        ("  Digits keras -- train! ", "digits-keras-train"),
        ("Café & crème brûlée", "cafe-creme-brulee"),
        ("1,000 images", "1000-images"),
        ("What's this?", "what-s-this"),
    ],
)
def test_a_slug_is_made_of_the_title(title: str, slug: str) -> None:
    assert slug_of(title) == slug


def test_the_title_decides_where_a_kernel_is_and_not_the_slug_that_was_asked_for(desk: Desk) -> None:
    pushed = desk.push("Another Name", slug="tester/my-train")

    assert pushed["ref"] == "/tester/another-name"
    assert desk.refused("GetKernel", **TRAIN)[0] == 404


def test_a_push_without_a_title_updates_the_kernel_of_the_slug(desk: Desk) -> None:
    desk.push()
    pushed = desk.ask("SaveKernel", slug="tester/my-train", text=NOTEBOOK)

    assert (pushed["ref"], pushed["versionNumber"]) == ("/tester/my-train", 2)
    assert desk.ask("GetKernel", **TRAIN)["metadata"]["title"] == "My Train"


def test_a_new_kernel_needs_a_title(desk: Desk) -> None:
    assert "title" in desk.ask("SaveKernel", slug="tester/my-train", text=NOTEBOOK)["error"]


@pytest.mark.parametrize("title", ["Four", "x" * 51, "!!!!!!"])
def test_a_title_must_have_5_to_50_characters(desk: Desk, title: str) -> None:
    assert "between 5 and 50" in desk.push(title)["error"]
    assert desk.ask("ListKernels")["kernels"] == []


def test_the_number_of_a_kernel_goes_before_its_title(desk: Desk) -> None:
    number = desk.push()["kernelId"]
    pushed = desk.push("Another Name", id=number)

    assert (pushed["ref"], pushed["versionNumber"]) == ("/tester/my-train", 2)
    assert desk.ask("GetKernel", **TRAIN)["metadata"]["title"] == "Another Name"


def test_a_kernel_of_somebody_else_cannot_be_written_or_read(desk: Desk) -> None:
    assert desk.refused("SaveKernel", slug="other/my-train", newTitle="My Train", text=NOTEBOOK)[0] == 403
    assert desk.refused("GetKernel", userName="other", kernelSlug="my-train")[0] == 403


def test_what_is_pushed_can_be_read_again(desk: Desk) -> None:
    desk.push(machineShape="NvidiaTeslaT4", enableInternet=False, isPrivate=False)
    kernel = desk.ask("GetKernel", **TRAIN)

    assert kernel["blob"] == {"source": NOTEBOOK, "language": "python", "kernelType": "notebook", "slug": "my-train"}
    metadata = kernel["metadata"]
    assert (metadata["ref"], metadata["currentVersionNumber"]) == ("tester/my-train", 1)
    assert (metadata["machineShape"], metadata["enableGpu"], metadata["enableTpu"]) == ("NvidiaTeslaT4", True, False)
    assert (metadata["enableInternet"], metadata["isPrivate"]) == (False, False)


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ({}, ""),
        ({"enableGpu": True}, "NvidiaTeslaT4"),
        ({"enableTpu": True}, "TpuV5E8"),
        ({"machineShape": "gpu"}, "NvidiaTeslaT4"),
        ({"machineShape": "NvidiaTeslaP100"}, "NvidiaTeslaT4"),
        ({"machineShape": "TpuV38"}, "TpuV5E8"),
        ({"machineShape": "TpuV232", "enableTpu": True}, ""),
    ],
)
def test_a_retired_or_vague_machine_is_replaced_without_a_word(desk: Desk, asked: dict, given: str) -> None:
    assert desk.push(**asked)["error"] == ""
    assert desk.ask("GetKernel", **TRAIN)["metadata"]["machineShape"] == given


def test_a_machine_that_is_not_for_everybody_is_refused(desk: Desk) -> None:
    assert "NvidiaH100" in desk.push(machineShape="NvidiaH100")["error"]


def test_a_cell_whose_source_is_a_list_is_an_error_of_the_server(desk: Desk) -> None:
    notebook = json.loads(NOTEBOOK)
    notebook["cells"][0]["source"] = ["a\n", "b"]

    assert desk.refused("SaveKernel", newTitle="My Train", text=json.dumps(notebook))[0] == 500


@pytest.mark.parametrize("text", ["", "not JSON", "[]", '{"cells": 1}', "[" * 100_000])
def test_a_text_that_is_no_notebook_is_refused(desk: Desk, text: str) -> None:
    assert desk.refused("SaveKernel", newTitle="My Train", text=text)[0] == 400


def test_a_notebook_cannot_become_a_script(desk: Desk) -> None:
    desk.push()

    assert "kernel type" in desk.push(kernelType="script", text="print(1)")["error"]


def test_saving_only_starts_no_session(desk: Desk) -> None:
    desk.push(kernelExecutionType="QUICK_SAVE")

    assert desk.status() == "NEW_SCRIPT"
    assert desk.runner.orders == []
    assert desk.output() == []


def test_sources_that_are_not_there_are_named_and_the_kernel_is_saved_without_them(tmp_path: Path, toy: Path) -> None:
    desk = Desk(tmp_path / "root", competitions=[toy])
    desk.add_sources()
    desk.push("Other kernel")
    pushed = desk.push(
        competitionDataSources=["toy-heights", "nope", "c/toy-heights"],
        datasetDataSources=["tester/wheels", "tester/nope", "../../etc"],
        kernelDataSources=["tester/other-kernel", "tester/nope", "tester/other-kernel/9"],
        modelDataSources=["google/gemma/keras/base/1", "google/gemma/keras/base/7", "google/gemma"],
    )

    assert pushed["invalidCompetitionSources"] == ["nope", "c/toy-heights"]
    assert pushed["invalidDatasetSources"] == ["tester/nope", "../../etc"]
    assert pushed["invalidKernelSources"] == ["tester/nope", "tester/other-kernel/9"]
    assert pushed["invalidModelSources"] == ["google/gemma/keras/base/7", "google/gemma"]
    metadata = desk.ask("GetKernel", **TRAIN)["metadata"]
    assert metadata["competitionDataSources"] == ["toy-heights"]
    assert metadata["kernelDataSources"] == ["tester/other-kernel"]


def test_the_state_of_each_version_is_asked_for_by_its_label(tmp_path: Path) -> None:
    def first_fails(order) -> None:
        if order.title.endswith("version 1"):
            raise ScriptFailure("Notebook Threw Exception")

    desk = Desk(tmp_path, ScriptedRunner(first_fails))
    desk.push()
    desk.push()

    first = desk.ask("GetKernelSessionStatus", **TRAIN, versionLabel="v1")
    assert first == {"status": "ERROR", "failureMessage": "Notebook Threw Exception"}
    assert (desk.status(versionLabel="v2"), desk.status()) == ("COMPLETE", "COMPLETE")


@pytest.mark.parametrize("label", ["3", "v9", "v0", "latest"])
def test_a_version_that_is_not_there_or_a_bare_number_is_not_found(desk: Desk, label: str) -> None:
    desk.push()

    assert desk.refused("GetKernelSessionStatus", **TRAIN, versionLabel=label)[0] == 404


def test_a_version_in_the_slug_is_forbidden_as_on_kaggle(desk: Desk) -> None:
    desk.push()

    assert desk.refused("GetKernel", userName="tester", kernelSlug="my-train/1")[0] == 403


def test_kernels_are_listed_with_the_last_saved_first(desk: Desk) -> None:
    desk.push("First one")
    desk.push("Second one")
    desk.push("First one")

    assert [kernel["slug"] for kernel in desk.ask("ListKernels")["kernels"]] == ["first-one", "second-one"]
    assert [kernel["slug"] for kernel in desk.ask("ListKernels", search="SECOND")["kernels"]] == ["second-one"]
    assert desk.ask("ListKernels", user="somebody")["kernels"] == []
    assert desk.ask("ListKernels", parentKernel="tester/x")["kernels"] == []


def test_a_deleted_kernel_is_gone_and_its_slug_begins_anew(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ScriptedRunner(writing({"a.txt": "1"})))
    desk.push()
    desk.ask("DeleteKernel", **TRAIN)

    assert desk.refused("GetKernel", **TRAIN)[0] == 404
    assert list((tmp_path / "sessions").iterdir()) == []
    assert desk.refused("DeleteKernel", **TRAIN)[0] == 404
    assert desk.push()["versionNumber"] == 1


def test_a_push_over_the_session_limit_is_refused_and_makes_no_version(tmp_path: Path) -> None:
    runner = ScriptedRunner(held=True)
    desk = Desk(tmp_path, runner, rules=SessionRules(slots=1))
    desk.push(machineShape="TpuV5E8")
    refused = desk.push("Another one", machineShape="TpuV5E8")
    on_a_cpu = desk.push("Another one")
    runner.release()

    assert refused["error"] == "Maximum batch TPU session count of 1 reached."
    assert (on_a_cpu["error"], on_a_cpu["versionNumber"]) == ("", 1)
    assert desk.kaggle.kernels.sessions.queue.wait_until_idle(10)
    assert desk.push("Another one", machineShape="TpuV5E8")["error"] == ""


def test_sessions_cost_quota_by_the_clock_until_saturday(desk: Desk) -> None:
    desk.clock.moment = datetime(2026, 11, 20, 12, tzinfo=UTC)  # a Friday

    def works_for_an_hour(order) -> None:
        desk.clock.pass_by(3600)

    desk.runner.script = works_for_an_hour
    desk.push(machineShape="NvidiaTeslaT4")
    desk.push("On a CPU only")
    quota = desk.ask("GetAcceleratorQuotaStatistics")

    assert quota["quotaRefreshTime"] == "2026-11-21T00:00:00.000Z"
    assert (quota["gpuQuota"]["timeUsed"], quota["gpuQuota"]["totalTimeAllowed"]) == ("3600s", "108000s")
    assert (quota["gpuQuota"]["hasEverRun"], quota["tpuQuota"]["hasEverRun"]) == (True, False)
    assert (quota["tpuQuota"]["timeUsed"], quota["tpuQuota"]["totalTimeAllowed"]) == ("0s", "72000s")
    desk.clock.moment = datetime(2026, 11, 21, tzinfo=UTC)
    assert desk.ask("GetAcceleratorQuotaStatistics")["gpuQuota"]["timeUsed"] == "0s"


def test_a_session_over_midnight_of_friday_counts_for_the_new_week_from_then_on(desk: Desk) -> None:
    desk.clock.moment = datetime(2026, 11, 20, 23, tzinfo=UTC)

    def works_for_three_hours(order) -> None:
        desk.clock.pass_by(3 * 3600)

    desk.runner.script = works_for_three_hours
    desk.push(machineShape="TpuV5E8")

    assert desk.ask("GetAcceleratorQuotaStatistics")["tpuQuota"]["timeUsed"] == "7200s"


def test_what_a_session_may_still_run_is_reserved_until_it_ends(tmp_path: Path) -> None:
    runner = ScriptedRunner(held=True)
    desk = Desk(tmp_path, runner, rules=SessionRules(slots=1))
    desk.push(machineShape="TpuV5E8", sessionTimeoutSeconds=7200)
    runner.wait_for_a_session()
    desk.clock.pass_by(1800)
    quota = desk.ask("GetAcceleratorQuotaStatistics")["tpuQuota"]
    runner.release()
    assert desk.kaggle.kernels.sessions.queue.wait_until_idle(10)

    assert (quota["timeUsed"], quota["timeReserved"], quota["isPayToScaleEnabled"]) == ("1800s", "5400s", False)
    assert desk.ask("GetAcceleratorQuotaStatistics")["tpuQuota"]["timeReserved"] == "0s"


def test_a_push_without_quota_left_is_refused_until_the_week_is_over(desk: Desk) -> None:
    desk.clock.moment = datetime(2026, 11, 16, tzinfo=UTC)
    desk.runner.script = lambda order: desk.clock.pass_by(21 * 3600)
    desk.push(machineShape="TpuV5E8")
    refused = desk.push(machineShape="TpuV5E8")

    assert "TPU quota is used up until 2026-11-21 00:00 UTC" in refused["error"]
    assert desk.push(machineShape="NvidiaTeslaT4")["error"] == ""
    desk.clock.moment = datetime(2026, 11, 21, tzinfo=UTC)
    assert desk.push(machineShape="TpuV5E8")["error"] == ""


@pytest.mark.parametrize("jump", [-86_400, 86_400])
def test_a_clock_that_jumps_while_a_session_runs_costs_no_quota_and_gives_none(desk: Desk, jump: float) -> None:
    def works_for_an_hour(order) -> None:
        desk.clock.pass_by(1800)
        desk.clock.jump(jump)
        desk.clock.pass_by(1800)

    desk.clock.moment = datetime(2026, 11, 18, 12, tzinfo=UTC)
    desk.runner.script = works_for_an_hour
    desk.push(machineShape="TpuV5E8")

    assert desk.ask("GetAcceleratorQuotaStatistics")["tpuQuota"]["timeUsed"] == "3600s"
