"""A chain's run in the ledger of its pair: recorded once its inference is done, and given its scores."""

from pathlib import Path

from generator.errors import TandemError
from generator.kaggle.chain.errors import ChainError
from generator.kaggle.chain.execution import ChainExecution
from generator.kaggle.chain.journal import ChainState, ChainStep, Push
from generator.kaggle.chain.plan import ChainPair
from generator.kaggle.chain.session import KernelSession, file_digest
from generator.kaggle.chain.training import whole_handover
from generator.pair.handover import FILE_NAME, DamagedError, HandOver, promised_files, read_handover
from generator.pair.workspace import Role, Workspace
from generator.run.ledger import RunOrigin, RunOutputs, RunRecord, change_run, read_runs, record_run

_FILES = {Role.TRAIN: ("oof.csv", "oof.npz"), Role.INFER: ("predictions.npz",)}
_LARGEST = 2**30  # bytes of a file that is fetched for the ledger alone
_DIGITS = 16  # of a hash in a key
_FETCHED_AGAIN = "The same command fetches it again."


def record_chain(pair: ChainPair, chain: ChainExecution) -> None:
    """Keep the run of a chain, and its scores once it has them. What cannot be kept is told, and stops nothing."""
    workspace, name = pair.options.workspace, pair.options.pair
    try:
        if chain_run(workspace, name, chain.state) is None:
            recording = record_run(_outputs(pair, chain))
            chain.tell(ChainStep.INFER, f"kept as run {recording.record.name}")
            for sentence in (*recording.notes, *recording.warnings):
                chain.tell(ChainStep.INFER, sentence)
        keep_scores(workspace, name, chain.state)
    except (TandemError, OSError) as error:
        chain.tell(ChainStep.INFER, f"This run is not kept in the ledger of runs. {error}")


def chain_run(workspace: Workspace, pair: str, state: ChainState) -> RunRecord | None:
    """The record of a chain's run, if there is one."""
    keys = {str(role): key for role, key in _keys(state).items()}
    return next((record for record in read_runs(workspace, pair) if record.keys == keys), None)


def keep_scores(workspace: Workspace, pair: str, state: ChainState) -> None:
    """Write the scores of a chain into the record of its run, unless they are there.

    Raises:
        TandemError: The record is damaged, or cannot be written.
    """
    record, score = chain_run(workspace, pair, state), state.score
    if record is None or score is None:
        return
    if (record.public_score, record.private_score) != (score.public, score.private):
        change_run(workspace, record, public_score=score.public, private_score=score.private)


def _keys(state: ChainState) -> dict[Role, str]:
    """The versions by which a run is recognised; of a training that did not run on Kaggle, the hash of its hand-over.

    Nothing of a chain without an inference.
    """
    if state.training is None or state.prediction is None or Role.INFER not in state.pushes:
        return {}
    handover, training = state.training.section("handover").text("sha256"), state.pushes.get(Role.TRAIN)
    prediction = state.prediction.text("sha256")
    return {
        Role.TRAIN: handover if training is None else _version_key(training, handover),
        Role.INFER: _version_key(state.pushes[Role.INFER], prediction),
    }


def _version_key(push: Push, digest: str) -> str:
    # A local Kaggle may be another one each time, with the same versions in it.
    return f"{push.ref}@{push.version} {digest[:_DIGITS]}"


def _outputs(pair: ChainPair, chain: ChainExecution) -> RunOutputs:
    """What the sessions of a chain left; what only the ledger wants of it is fetched now."""
    state, folders, notebooks, seconds = chain.state, dict[Role, Path](), dict[Role, Path](), dict[Role, float]()
    for role in Role:
        push = state.pushes.get(role)
        if push is None and pair.elsewhere is not None:
            folders[role] = pair.elsewhere.folder
            notebooks[role] = pair.elsewhere.folder / f"{role}.ipynb"
            continue
        session = KernelSession(chain, role)
        folders[role] = chain.folder(role)
        notebooks[role] = pair.journals.folder / "sent" / f"{session.push.sent}.ipynb"
        seconds[role] = session.push.ran.total_seconds() if session.push.ran else 0.0
        _fetch_files(chain, session, role)
    prediction = state.prediction
    assert prediction is not None  # noqa: S101 - asked for by the caller, for mypy
    return RunOutputs(
        workspace=pair.options.workspace,
        folder=pair.options.folder,
        spec=pair.options.spec,
        origin=RunOrigin.KAGGLE if pair.elsewhere is None else RunOrigin.COLAB,
        handover=read_handover(folders[Role.TRAIN]),
        keys=_keys(state),
        folders=folders,
        notebooks=notebooks,
        seconds=seconds,
        submission=folders[Role.INFER] / Path(chain.setup.submission_file).name,
        rows=prediction.count("rows"),
        has_weights=pair.elsewhere is not None,
        commit=chain.setup.commit,
    )


def _fetch_files(chain: ChainExecution, session: KernelSession, role: Role) -> None:
    """Fetch the predictions that a session wrote, as far as they are not here.

    A file that is not as training described it is removed, so that the next command fetches it again.

    Raises:
        ChainError: There is such a file.
        HandOverError: There is no hand-over.
        KaggleError: Kaggle refuses, or is out of reach.
    """
    handover_name = (FILE_NAME,) if role is Role.TRAIN else ()
    names = [name for name in (*handover_name, *_FILES[role]) if not session.file(name).is_file()]
    files = chain.kaggle.kernels.output(session.push.ref, session.push.version).files if names else ()
    for file in files:
        if file.name in names and file.size <= _LARGEST:
            chain.kaggle.files.fetch_output(file, session.file(file.name), most=_LARGEST)
    if role is not Role.TRAIN:
        return
    digests = {entry.file: entry.sha256 for entry in promised_files(_journalled_handover(chain, session).fields)}
    for name in _FILES[role]:
        path = session.file(name)
        if path.is_file() and digests.get(name, "") not in ("", file_digest(path)):
            chain.journal.files.remove(path)
            problem = f"{name} arrived damaged: its SHA-256 is not the one in {FILE_NAME}."
            raise ChainError(problem, remedy=_FETCHED_AGAIN)


def _journalled_handover(chain: ChainExecution, session: KernelSession) -> HandOver:
    """The hand-over of a chain's training, which is the one that its journal names."""
    path, training = session.file(FILE_NAME), chain.state.training
    try:
        handover = whole_handover(path)
        problem = "it is of another training than the journal of the chain"
        if training is not None and handover.fields.text("sha256") == training.section("handover").text("sha256"):
            return handover
    except FileNotFoundError:
        return read_handover(path.parent)
    except DamagedError as error:
        problem = str(error)
    chain.journal.files.remove(path)
    raise ChainError(f"{FILE_NAME} of the training cannot be used: {problem}.", remedy=_FETCHED_AGAIN)
