"""The plan that a dry run shows is what the push does."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from chain_pair import edit_notebook
from chain_table import Table
from fake_kaggle import ERROR

from generator.errors import TandemError
from generator.kaggle.chain.execution import Handoff, PushOptions
from generator.kaggle.chain.inputs import cost, prepare
from generator.kaggle.chain.journal import ChainStep, Journals
from generator.kaggle.chain.plan import ChainPlan, LocalPair
from generator.pair.workspace import Role

TRAIN, INFER = Role


def plan(table: Table, **options: Any) -> ChainPlan:
    wanted = PushOptions(table.workspace, "digits", **{"submit": True, "verify": False, **options})
    kernels = {role: prepare(table.folder, role, verify=False) for role in Role}
    return LocalPair.of(wanted, "local", kernels).plan(Journals(table.folder))


def nothing(_: Table) -> None:
    pass


def done(table: Table) -> None:
    table.push()


def ready(table: Table) -> None:
    table.push(submit=False)


def edited_after(before: Callable[[Table], None], role: Role) -> Callable[[Table], None]:
    def prepared(table: Table) -> None:
        before(table)
        edit_notebook(table.folder, role)

    return prepared


def failed(role: Role) -> Callable[[Table], None]:
    def prepared(table: Table) -> None:
        table.kaggle.states[role] = [ERROR]
        table.stops(TandemError)
        del table.kaggle.states[role]

    return prepared


@pytest.mark.parametrize(
    ("before", "options", "pushes"),
    [
        pytest.param(nothing, {}, (TRAIN, INFER), id="nothing was pushed before"),
        pytest.param(done, {}, (), id="a finished chain, nothing changed"),
        pytest.param(done, {"restart": True}, (TRAIN, INFER), id="a finished chain is begun anew"),
        pytest.param(ready, {}, (), id="a chain that is ready to submit"),
        pytest.param(done, {"back_to": ChainStep.TRAIN}, (TRAIN, INFER), id="back to train"),
        pytest.param(done, {"back_to": ChainStep.INFER}, (INFER,), id="back to infer"),
        pytest.param(done, {"back_to": ChainStep.SUBMIT}, (), id="back to submit"),
        pytest.param(edited_after(done, TRAIN), {}, (TRAIN, INFER), id="training changed after a finished chain"),
        pytest.param(edited_after(ready, TRAIN), {}, (TRAIN, INFER), id="training changed before the submission"),
        pytest.param(edited_after(done, INFER), {}, None, id="inference changed after a finished chain"),
        pytest.param(failed(TRAIN), {}, None, id="training failed, nothing changed"),
        pytest.param(edited_after(failed(TRAIN), TRAIN), {}, (TRAIN, INFER), id="training failed and was changed"),
        pytest.param(edited_after(failed(INFER), INFER), {}, (INFER,), id="inference failed and was changed"),
        pytest.param(failed(INFER), {"back_to": ChainStep.INFER}, (INFER,), id="inference failed and is taken again"),
        pytest.param(failed(TRAIN), {"back_to": ChainStep.INFER}, None, id="back to infer without a training"),
        pytest.param(nothing, {"back_to": ChainStep.INFER}, None, id="back in no chain"),
        pytest.param(done, {"handoff": Handoff.DATASET}, None, id="another hand-over after a finished chain"),
        pytest.param(
            done, {"handoff": Handoff.DATASET, "back_to": ChainStep.INFER}, (INFER,), id="back to infer by a dataset"
        ),
    ],
)
def test_a_push_does_what_its_dry_run_says(
    table: Table, before: Callable[[Table], None], options: dict[str, Any], pushes: tuple[Role, ...] | None
) -> None:
    before(table)
    calls, had = len(table.kaggle.calls), {ref: len(versions) for ref, versions in table.kaggle.saved.items()}

    if pushes is None:
        with pytest.raises(TandemError) as refused:
            plan(table, **options)
        assert table.stops(TandemError, **options).message == refused.value.message
    else:
        assert plan(table, **options).pushes == pushes
        assert len(table.kaggle.calls) == calls
        table.push(**options)

    made = tuple(
        role
        for role in Role
        if len(table.kaggle.saved.get(f"local/digits-keras-{role}", ())) > had.get(f"local/digits-keras-{role}", 0)
    )
    assert made == (pushes or ())


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"machine_shape": "TpuV5E8"}, "TPU v5e-8, at most 9 h of quota"),
        ({"machine_shape": "NvidiaTeslaT4"}, "GPU T4 x2, at most 12 h of quota"),
        ({"machine_shape": "", "enable_gpu": True}, "GPU T4 x2, at most 12 h of quota"),
        ({"machine_shape": "Gpu"}, "GPU T4 x2, at most 12 h of quota"),
        ({"machine_shape": "", "enable_tpu": True}, "TPU v5e-8, at most 9 h of quota"),
        ({"machine_shape": ""}, "no accelerator, at most 12 h, without quota"),
        ({"machine_shape": "OfTomorrow"}, "OfTomorrow"),
    ],
)
def test_the_cost_of_a_push_is_that_of_its_session(table: Table, fields: dict[str, Any], said: str) -> None:
    kernel = prepare(table.folder, TRAIN, verify=False).push
    kernel = replace(kernel, **{"enable_gpu": False, "enable_tpu": False, **fields})

    assert cost(kernel, is_local=False) == said
