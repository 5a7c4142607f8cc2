"""The pairs that a blend joins: what each left is verified before anything of the blend is written.

read_member     a pair, or a run of the ledger, whose files are whole and whose notebooks are those of its run
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from generator.errors import TandemError
from generator.files import read_bytes, reason_not_read
from generator.pair.blend import BlendError, Member
from generator.pair.folder import complete_settings, existing_pair
from generator.pair.handover import FILE_NAME, HandOver, HandOverError, Score, read_handover
from generator.pair.notebook import notebook_fields
from generator.pair.spec import PairSpec, spec_of
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.run.ledger import (
    OUT_OF_FOLD,
    PREDICTIONS,
    RunRecord,
    WeightsState,
    member_output,
    read_executed_code,
    read_runs,
    resolve_run,
    training_key,
)
from generator.text import printable


@dataclass(frozen=True)
class MemberOutput:
    """A member before it is blended.

    Attributes:
        member: As `pair.toml` will have it.
        spec: Its pair.
        notebook: Its inference notebook.
        folder: Where its training left that.
        handover: What its training left.
        seconds: The time of its inference; None where it was not measured.
        can_infer: Whether its weights are on this machine.
        table_sha256: The hash of the training table that it was trained on; None where it is unknown.
    """

    member: Member
    spec: PairSpec
    notebook: Path
    folder: Path
    handover: HandOver
    seconds: float | None
    can_infer: bool
    table_sha256: str | None

    @property
    def score(self) -> Score | None:
        """Its out-of-fold score, of all rows together."""
        return self.handover.out_of_fold

    @property
    def fold_mean(self) -> float | None:
        """The mean of its scores over folds."""
        scores = [fold.score for fold in self.handover.folds]
        return fmean(scores) if scores else None


def read_member(workspace: Workspace, reference: str) -> MemberOutput:
    """Read a member: `X` is what is in `output/X`, `X@7` a run of the ledger.

    Raises:
        BlendError: It cannot be blended, and what to do.
        TandemError: There is no such pair or run.
    """
    pair, has_number, _ = reference.partition("@")
    folder = existing_pair(workspace, pair)
    spec = spec_of(complete_settings(folder))
    if spec.handover_dataset:
        raise BlendError(f"{reference} trains on Colab, and a blend attaches outputs of Kaggle kernels. Leave it out.")
    if spec.members:
        raise BlendError(f"{reference} is a blend itself. Name its members instead.")
    records = read_runs(workspace, pair)
    record = resolve_run(workspace, reference) if has_number else None
    for role in Role:
        _check_notebook(folder.notebook(role), pair)
    source = member_output(workspace, pair, record.number if record else None)
    handover = _handover(source, reference)
    of_inference = source if record else workspace.output(pair) / Role.INFER
    _check_predictions(source / OUT_OF_FOLD, handover, reference)
    _check_test_predictions(of_inference / PREDICTIONS, reference)
    trainings = (
        [record] if record else [entry for entry in records if entry.keys.get(Role.TRAIN) == training_key(handover)]
    )
    notebook = folder.notebook(Role.INFER)
    if record is not None and (source / notebook.name).is_file():
        notebook = source / notebook.name
        _check_notebook(notebook, pair)
    else:
        _check_edits(folder, trainings)
    member = Member(
        pair=pair,
        number=record.number if record else None,
        kernel=spec.train.ref,
        family=spec.family,
        framework=spec.inference_backend,
        run_id=handover.run if record else "",
        model=spec.handle if spec.handle and not spec.has_backbone else "",
    )
    inferences = [entry for entry in records if entry.seconds.get(Role.INFER) and record in (None, entry)]
    return MemberOutput(
        member=member,
        spec=spec,
        notebook=notebook,
        folder=source,
        handover=handover,
        seconds=inferences[-1].seconds[Role.INFER] if inferences else None,
        can_infer=record is None or record.weights is WeightsState.KEPT,
        table_sha256=trainings[-1].table_sha256 if trainings else None,
    )


def _remedy(reference: str) -> str:
    pair, number, _ = reference.partition("@")
    use = ", use its new run" if number else ""
    return f"Run `tandem run {pair}`{use}, or leave {reference} out."


def _check_notebook(path: Path, pair: str) -> None:
    """Refuse a file that is missing or no notebook."""
    try:
        notebook_fields(read_bytes(path), path=path)
    except FileNotFoundError:
        problem = f"{printable(str(path))} does not exist"
    except OSError as error:
        problem = f"{printable(str(path))} cannot be read ({reason_not_read(error)})"
    except TandemError as error:
        problem = error.message.removesuffix(".")
    else:
        return
    raise BlendError(f"{problem}. Write it again with `tandem update {pair}`, or leave {pair} out.")


def _handover(source: Path, reference: str) -> HandOver:
    location, remedy = printable(str(source / FILE_NAME)), _remedy(reference)
    if not (source / FILE_NAME).exists():
        if "@" in reference:
            raise BlendError(f"{location} does not exist. {remedy}")
        raise BlendError(f"{reference} has no run yet. Make one with `tandem run {reference}`.")
    try:
        handover = read_handover(source)
    except HandOverError as error:
        raise BlendError(f"{location} is damaged. {remedy}") from error
    if not handover.is_whole:
        raise BlendError(f"{location} is damaged: its own SHA-256 is another one. {remedy}")
    if not handover.is_complete:
        raise BlendError(f"The training of {reference} was interrupted. {remedy}")
    if handover.fields.section("settings").flag("DEBUG") or handover.fields.flag("specimen"):
        raise BlendError(f"The training of {reference} was a smoke test or on a specimen. {remedy}")
    return handover


def _check_predictions(path: Path, handover: HandOver, reference: str) -> None:
    """Refuse out-of-fold predictions that are not those of the hand-over, or not finite."""
    location, remedy = printable(str(path)), _remedy(reference)
    try:
        content = read_bytes(path)
    except FileNotFoundError:
        raise BlendError(f"{reference} has no out-of-fold predictions ({location}). {remedy}") from None
    except OSError as error:
        raise BlendError(f"{location} cannot be read ({reason_not_read(error)}). {remedy}") from error
    expected = handover.fields.section("out_of_fold").section("predictions").text("sha256")
    if hashlib.sha256(content).hexdigest() != expected:
        raise BlendError(f"{location} differs from its {FILE_NAME}. {remedy}")
    _require_finite(path, remedy)


def _check_test_predictions(path: Path, reference: str) -> None:
    """Refuse predictions of the member's inference that are damaged or not finite, where there are any."""
    if not path.is_file():
        return
    remedy = _remedy(reference)
    if "@" not in reference:
        remedy = f"Run its inference again with `tandem run {reference} --only infer`, or leave {reference} out."
    _require_finite(path, remedy, may_lack=True)


def _require_finite(path: Path, remedy: str, *, may_lack: bool = False) -> None:
    """Refuse a file of predictions that is damaged, or not finite; `may_lack` says that it may have none."""
    import numpy as np

    location = printable(str(path))
    try:
        with np.load(path, allow_pickle=False) as arrays:
            has_none = may_lack and "predictions" not in arrays
            is_finite = has_none or bool(np.isfinite(arrays["predictions"]).all())
    except Exception as error:  # zipfile and NumPy raise many kinds
        raise BlendError(f"{location} is damaged. {remedy}") from error
    if not is_finite:
        raise BlendError(f"{location} has predictions that are NaN or infinite. {remedy}")


def _check_edits(folder: PairFolder, trainings: Sequence[RunRecord]) -> None:
    """Refuse notebooks whose code is not that of a run with these weights: the weights may not fit them.

    A notebook of a run on Kaggle may lack the ids of its cells, so that texts are compared in their order.
    """
    if not trainings:
        return
    code = {role: read_executed_code(folder.notebook(role)).hashes for role in Role}
    if not any(_is_same_code(code, entry) for entry in trainings):
        raise BlendError(
            f"The notebooks of {folder.name} were edited after its run {trainings[-1].number}. Run `tandem run "
            f"{folder.name}`, then blend again."
        )


def _is_same_code(code: Mapping[Role, Mapping[str, str]], record: RunRecord) -> bool:
    """Whether inference would do what it did in a run or, where that has none, share what its training had."""
    if Role.INFER in record.code:
        return [*code[Role.INFER].values()] == [*record.code[Role.INFER].values()]
    digests, now = record.code.get(Role.TRAIN, {}), code[Role.TRAIN]
    names = [name for name, digest in code[Role.INFER].items() if now.get(name) == digest]
    return all(digests.get(name, now[name]) == now[name] for name in names)
