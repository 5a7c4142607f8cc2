"""The chain: push training, wait, verify, push inference, wait, submit, read the score. A journal lets it continue.

    chain       all steps in order, `push_pair` and `submit_pair`
    plan        decides what a push does with the existing chains, and checks the pair
    inputs      the kernels that a push sends, prepared from their folders
    versions    a kernel's version, pushed exactly once
    session     waits for the session of a version, and reads its output
    training    verifies the output of a training
    uploads     uploads the inputs of inference: the hand-over, `wheels`
    submission  checks the predictions, submits them, and waits for the score
    ledger      keeps the run in the ledger of its pair, with its scores
    execution   pauses, tolerance of errors, and the protocol that never sends a request twice
    journal     lines with checksums, the state that results from them, and the notebooks that were sent
    errors      the errors that stop a chain

The names below are the face of the package, for `generator.cli`; the module of each is imported when it is first used,
since `tandem push --help` needs few of them.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from generator.kaggle.chain.chain import push_pair, submit_pair
    from generator.kaggle.chain.errors import StepError, to_target
    from generator.kaggle.chain.execution import (
        LOCAL_POLLING,
        ChainResult,
        Handoff,
        PollingPolicy,
        PushOptions,
        RunContext,
    )
    from generator.kaggle.chain.inputs import PreparedKernel, allowed_rules
    from generator.kaggle.chain.journal import (
        ChainState,
        ChainStep,
        Event,
        EventKind,
        Listener,
        chain_of,
        chains_of,
        newest_chain,
        state_in,
    )
    from generator.kaggle.chain.plan import check_exists, first_sessions, has_pushes, plan_push, prepare_kernels

_MODULES = {
    "chain": ("push_pair", "submit_pair"),
    "errors": ("StepError", "to_target"),
    "execution": (
        "LOCAL_POLLING",
        "ChainResult",
        "Handoff",
        "PollingPolicy",
        "PushOptions",
        "RunContext",
    ),
    "inputs": ("PreparedKernel", "allowed_rules"),
    "journal": (
        "ChainState",
        "ChainStep",
        "Event",
        "EventKind",
        "Listener",
        "chain_of",
        "chains_of",
        "newest_chain",
        "state_in",
    ),
    "plan": ("check_exists", "first_sessions", "has_pushes", "plan_push", "prepare_kernels"),
}

__all__ = [
    "LOCAL_POLLING",
    "ChainResult",
    "ChainState",
    "ChainStep",
    "Event",
    "EventKind",
    "Handoff",
    "Listener",
    "PollingPolicy",
    "PreparedKernel",
    "PushOptions",
    "RunContext",
    "StepError",
    "allowed_rules",
    "chain_of",
    "chains_of",
    "check_exists",
    "first_sessions",
    "has_pushes",
    "newest_chain",
    "plan_push",
    "prepare_kernels",
    "push_pair",
    "state_in",
    "submit_pair",
    "to_target",
]


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
