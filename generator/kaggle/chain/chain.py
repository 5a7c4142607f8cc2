"""The story of a chain: train, verify, hand over, infer, validate, submit, score."""

from dataclasses import replace

from generator.kaggle.chain.budget import for_rerun, with_limit
from generator.kaggle.chain.execution import ChainExecution, ChainResult, PushOptions, RunContext
from generator.kaggle.chain.ledger import record_chain
from generator.kaggle.chain.plan import ChainPair
from generator.kaggle.chain.submission import await_submission_file, submit_and_score
from generator.kaggle.chain.training import await_training, write_trained
from generator.kaggle.chain.uploads import with_inputs, with_member_files
from generator.kaggle.chain.versions import KernelVersions
from generator.kaggle.gateway import Kaggle
from generator.pair.workspace import Role


def push_pair(kaggle: Kaggle, options: PushOptions, context: RunContext | None = None) -> ChainResult:
    """Carries a pair as far as asked for, from wherever the last command left it.

    Args:
        kaggle: Where to.
        options: What is asked for.
        context: Who is told, how long it waits, and by which clocks.

    Returns:
        The chain, with all that was asked for done.

    Raises:
        ChainError: It cannot go on by itself.
        KaggleError: Kaggle refuses.
        PairError: The pair cannot be read.
    """
    pair = ChainPair.of(kaggle, options)
    with pair.resume(context or RunContext()) as chain:
        for role in Role:
            chain.folder(role)  # what cannot be written is said before anything is sent
        before = len(chain.journal.entries())
        _carry(pair, chain)
        has_advanced = len(chain.journal.entries()) > before
    return ChainResult(chain.journal, chain.state, has_advanced)


def submit_pair(kaggle: Kaggle, options: PushOptions, context: RunContext | None = None) -> ChainResult:
    """As `push_pair` with `submit`, for a chain that has begun; nothing is trained anew.

    Raises:
        NoChainError: There is none.
        ChainError: The training notebook changed since.
    """
    return push_pair(kaggle, replace(options, submit=True, may_train=False), context)


def _carry(pair: ChainPair, chain: ChainExecution) -> None:
    options = pair.options
    if pair.elsewhere is None:
        _push(pair, chain, Role.TRAIN)
        if chain.state.training is None:
            await_training(chain, options, accelerator=pair.kernels[Role.TRAIN].wants)
    elif not pair.elsewhere.is_in(chain.state):
        write_trained(chain, pair.elsewhere.marker, pair.elsewhere.handover)
    _push(pair, chain, Role.INFER)
    if chain.state.prediction is None:
        await_submission_file(chain, options)
    if not chain.state.is_finished:
        record_chain(pair, chain)
    if options.submit and chain.state.score is None:
        submit_and_score(chain, options)
    if chain.state.score is not None and not chain.state.is_finished:
        record_chain(pair, chain)
        chain.note_final_quota(pair.accelerator_kinds)
        chain.finish()


def _push(pair: ChainPair, chain: ChainExecution, role: Role) -> None:
    current = chain.state.pushes.get(role)
    if current is not None and not current.is_open:
        return
    versions = KernelVersions(chain, pair.journals, pair.options)
    if role is Role.TRAIN and current is None and not pair.options.over_edits:
        # Said before hours of training, not behind them.
        versions.check_unedited(Role.INFER, pair.kernels[Role.INFER])
    kernel = pair.kernels[role]
    inputs = with_member_files(chain, kernel.push, pair.options, role)
    if role is Role.INFER:
        inputs = with_inputs(
            chain,
            inputs,
            training_kernel=pair.kernels[Role.TRAIN].push.ref,
            elsewhere=pair.elsewhere,
            offline_wheels=pair.options.offline_wheels,
        )
        if chain.setup.is_code_competition:
            kernel = replace(kernel, forecast=for_rerun(kernel.forecast))
    versions.push(role, with_limit(replace(kernel, push=inputs)))
