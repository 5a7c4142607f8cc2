"""Every cell of the matrix of faults."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from fault_cells import Cell

from generator.kaggle.chain.journal import ChainStep, Outcome

CREDENTIALS, REFUSED, WAITED = "are not accepted", "RefusedError", "WaitedInVainError"


@dataclass(frozen=True)
class CallSite:
    """A call of a chain to the server, and what the command ends with if that goes wrong.

    Attributes:
        name: What it is called in the matrix.
        method: The end of the method's name.
        skip: How many such calls come before.
        unauthorized: The error by a single 401; "" where it is asked again, or where it can be done without.
        unauthorized_always: The error by 401 without end.
        outage: The errors by 500 and by lost connections without end.
        page: The error by a page of HTML in the place of the answer.
    """

    name: str
    method: str
    skip: int = 0
    unauthorized: str = CREDENTIALS
    unauthorized_always: str = CREDENTIALS
    outage: tuple[str, str] = (WAITED, WAITED)
    page: str = ""

    def rule(self, fault: str) -> str:
        """The rule by which this fault strikes here."""
        return f"{fault}@{self.method}" + (f"+{self.skip}" if self.skip else "")

    def stops(self, fault: str, *, is_lasting: bool) -> str:
        """The error that a command ends with if this fault strikes here, or "" if the chain goes on."""
        if fault == "401":
            return self.unauthorized_always if is_lasting else self.unauthorized
        if is_lasting:
            return self.outage[fault == "drop"]
        return self.page if fault == "200-html" else ""


def _looked_at(name: str, method: str, skip: int = 0) -> CallSite:
    """Something that is asked until it answers, whatever it answered before."""
    return CallSite(name, method, skip, unauthorized="", unauthorized_always=WAITED)


def _dispensable(name: str, method: str, skip: int = 0, *, outage: str = WAITED) -> CallSite:
    """Something that a chain can do without if it is forbidden."""
    return CallSite(name, method, skip, unauthorized="", unauthorized_always="", outage=(outage, outage))


def _change(name: str, method: str, skip: int = 0) -> CallSite:
    """Something that is done once, and tried a few times if it is known not to have been taken."""
    return CallSite(name, method, skip, outage=("NotAcceptedError", "NotAcceptedError"))


def _bytes(name: str, method: str, skip: int = 0, *, page: str = "") -> CallSite:
    """The content of a file, whose address is asked for before; the store knows no accounts."""
    return CallSite(name, method, skip, unauthorized=REFUSED, unauthorized_always=REFUSED, page=page)


CODE_CALLS = (
    CallSite("account", "IntrospectToken", outage=("ServerFailedError", "UnreachableError")),
    CallSite("competition", "GetCompetition"),
    CallSite("newest training", "GetKernel"),
    CallSite("quota for training", "GetAcceleratorQuotaStatistics"),
    _change("push training", "SaveKernel"),
    _looked_at("training status", "GetKernelSessionStatus"),
    _looked_at("training output", "ListKernelSessionOutput"),
    _looked_at("training sizes", "ListKernelFiles"),
    _bytes("fetch marker", "accelerator.json/download"),
    _bytes("fetch hand-over", "handoff.json/download"),
    CallSite("newest inference", "GetKernel", 1),
    CallSite("quota for inference", "GetAcceleratorQuotaStatistics", 1),
    _change("push inference", "SaveKernel", 1),
    _looked_at("inference status", "GetKernelSessionStatus", 1),
    _looked_at("inference output", "ListKernelSessionOutput", 3),
    _dispensable("list files", "ListDataFiles"),
    _dispensable("sample address", "DownloadDataFile"),
    _dispensable("fetch sample", "sample_submission.csv/download"),
    _bytes("fetch submission", "submission.csv/download", 1),
    CallSite("submissions left", "GetSubmissionLimits"),
    _change("submit kernel", "CreateCodeSubmission"),
    _looked_at("score", "GetSubmission"),
    _dispensable("quota in the end", "GetAcceleratorQuotaStatistics", 2, outage=""),
)
FILE_CALLS = (
    CallSite("begin upload", "StartSubmissionUpload"),
    _bytes("upload submission", "submission.csv/upload", page=REFUSED),
    CallSite("submit file", "/CreateSubmission"),
)
DATASET_CALLS = (
    CallSite("newest dataset", "/GetDataset"),
    CallSite("begin upload", "StartBlobUpload"),
    _bytes("upload weights", ".weights.h5/upload", page=REFUSED),
    CallSite("make dataset", "/CreateDataset"),
    CallSite("dataset ready", "GetDatasetStatus"),
)
MODEL_CALLS = (
    CallSite("newest model", "GetModelInstance"),
    CallSite("make model", "/CreateModel"),
    CallSite("make variation", "/CreateModelInstance"),
)
# How many lines the journal of a whole chain has, by the way through it.
LINES = {"code": 15, "file": 15, "dataset": 17, "model": 17}
# One of each kind that a chain can tell apart: known not to be handled, not handled, handled but not known to be, not
# allowed. The gateway alone tells a page of 503 from 500, and half an answer from one that is lost.
FAULTS = ("429", "500", "200-html", "drop", "500-after", "drop-after", "stall", "401")
# The faults that last until a command gives up; the others are told from these by the gateway alone.
_LASTING = ("500", "drop", "401")
# Calls of a chain that are so far from each other are of different methods, and no repair of one is another.
_APART = 9


def cells() -> Iterator[Cell]:
    """All of them, in the order of the matrix."""
    yield from _transport_cells()
    yield from _lost_twice()
    yield from PLATFORM
    yield from _kills()


def _transport_cells() -> Iterator[Cell]:
    calls = {"code": CODE_CALLS, "file": FILE_CALLS, "dataset": DATASET_CALLS, "model": MODEL_CALLS}
    for (mode, made), fault in product(calls.items(), FAULTS):
        for start in range(min(_APART, len(made))):
            # A chain that goes on whatever happens is struck several times, at calls that have nothing to do with
            # each other; one that stops has a cell of its own.
            goes_on = [call for call in made[start::_APART] if not call.stops(fault, is_lasting=False)]
            if goes_on:
                names = ", ".join(call.name for call in goes_on)
                yield Cell(f"{fault} at {names}, once", tuple(f"{call.rule(fault)}x1" for call in goes_on), mode=mode)
        for call in made:
            if once := call.stops(fault, is_lasting=False):
                yield Cell(f"{fault} at {call.name}, once", (f"{call.rule(fault)}x1",), once, mode=mode)
            if fault in _LASTING and mode == "code":
                always = call.stops(fault, is_lasting=True)
                rules = (call.rule(fault),)
                yield Cell(f"{fault} at {call.name}, until the command gives up", rules, always, mode=mode)


def _lost_twice() -> Iterator[Cell]:
    """The answer to a push or a submission is lost, and so is the first answer to the question whether it was taken."""
    pushes = [("SaveKernel", "GetKernel", 0, 1), ("SaveKernel", "GetKernel", 1, 2)]
    changes = [*pushes, ("CreateCodeSubmission", "ListSubmissions", 0, 0)]
    answers, seconds = ("drop-after", "truncate"), ("500", "429")
    for (change, look, change_skip, look_skip), lost, second in product(changes, answers, seconds):
        rules = (f"{lost}@{change}+{change_skip}x1", f"{second}@{look}+{look_skip}x3")
        yield Cell(f"{lost} at {change} {change_skip + 1}, then {second} while looking for it", rules)


def _kills() -> Iterator[Cell]:
    for mode, lines in LINES.items():
        # An upload adds two lines behind the sixth, a file is submitted in the last ones; the others are those of code.
        first, last = {"code": (1, lines), "file": (10, lines)}.get(mode, (6, 10))
        for line in range(first, last + 1):
            for when in ("before", "after"):
                yield Cell(f"kill -9 {when} line {line}, by {mode}", mode=mode, kill=(line, when))
    # The server goes wrong in the command that is killed, too.
    for line in range(3, 14, 2):
        for fault in ("500-after@SaveKernelx1", "drop-after@CreateCodeSubmissionx1"):
            yield Cell(f"{fault}, kill -9 after line {line}", (fault,), kill=(line, "after"))


_TRAIN, _INFER = "KERNEL-train", "KERNEL-infer"
_TRAINING_FAILS, _INFERENCE_FAILS = (f"session-fails@{_TRAIN}x1",), (f"session-fails@{_INFER}x1",)
_STALE = "stale-status@GetKernelSessionStatus"
PLATFORM = (
    Cell("wrong image", (f"wrong-image@{_TRAIN}x1",), "WrongAcceleratorError", ChainStep.TRAIN, (3, 1)),
    Cell("status 404 once", ("transient-404@GetKernelSessionStatusx1",)),
    Cell("status 404 five times", ("transient-404@GetKernelSessionStatusx5",)),
    Cell("status 404 for inference", ("transient-404@GetKernelSessionStatus+1x5",)),
    Cell("status 404 without end", ("transient-404@GetKernelSessionStatus",), "WaitedInVainError"),
    Cell("output 404", ("transient-404@ListKernelSessionOutputx3",)),
    Cell("unknown status of training", ("unknown-status@GetKernelSessionStatusx4",)),
    Cell("unknown status of inference", ("unknown-status@GetKernelSessionStatus+1x4",)),
    Cell("unknown status without end", ("unknown-status@GetKernelSessionStatus",), "WaitedInVainError"),
    Cell("stale error once", (f"{_STALE}x1",), "", ChainStep.TRAIN, (3, 1), first=_TRAINING_FAILS),
    Cell("stale error twice", (f"{_STALE}x2",), "", ChainStep.TRAIN, (3, 1), first=_TRAINING_FAILS),
    Cell("stale error of inference", (f"{_STALE}x2",), "", ChainStep.INFER, (3, 1), first=_INFERENCE_FAILS),
    Cell("empty mount", (f"empty-mount@{_INFER}x1",), "SessionFailedError", ChainStep.INFER, (3, 1)),
    Cell("log cut off", (f"session-fails@{_TRAIN}x1", "truncated-log"), "SessionFailedError", ChainStep.TRAIN, (3, 1)),
    Cell("log lost", (f"session-fails@{_TRAIN}x1", "empty-log"), "SessionFailedError", ChainStep.TRAIN, (3, 1)),
    Cell("log lost, all well", ("empty-log",)),
    Cell("log cut off, all well", ("truncated-log",)),
    Cell("training wedged", (f"wedged@{_TRAIN}x1",), "WaitedInVainError", None, (1, 0), outcome=Outcome.UNFINISHED),
    Cell("inference wedged", (f"wedged@{_INFER}x1",), "WaitedInVainError", None, (2, 0), outcome=Outcome.UNFINISHED),
    Cell("sources refused", ("invalid-sources@SaveKernelx1",), "SourcesRefusedError", ChainStep.INFER, (3, 1)),
    Cell("sources refused, answer lost", ("500-after@SaveKernel+1x1", "invalid-sources@SaveKernelx1")),
    Cell("too many sessions once", ("push-error@SaveKernelx1",)),
    Cell("too many sessions five times", ("push-error@SaveKernelx5",)),
    Cell("too many sessions for inference", ("push-error@SaveKernel+1x5",)),
    Cell("too many sessions without end", ("push-error@SaveKernel",), "WaitedInVainError"),
    Cell("no quota for training", ("no-quota@SaveKernelx1",), "the hours begin anew"),
    Cell("no quota for inference", ("no-quota@SaveKernel+1x1",), "the hours begin anew"),
    Cell("training saved under another slug", (f"slug-moved@{_TRAIN}x1",)),
    Cell("inference saved under another slug", (f"slug-moved@{_INFER}x1",)),
    Cell("training fails", (f"session-fails@{_TRAIN}x1",), "SessionFailedError", ChainStep.TRAIN, (3, 1)),
    Cell("inference fails", (f"session-fails@{_INFER}x1",), "SessionFailedError", ChainStep.INFER, (3, 1)),
    Cell("training killed", (f"session-killed@{_TRAIN}x1",), "SessionFailedError", ChainStep.TRAIN, (3, 1)),
    Cell("inference killed", (f"session-killed@{_INFER}x1",), "SessionFailedError", ChainStep.INFER, (3, 1)),
    Cell("rerun fails", (f"session-fails@{_INFER}+1x1",), "ScoringFailedError", ChainStep.SUBMIT, (2, 2)),
    Cell("training output late", (f"output-missing@{_TRAIN}x2",)),
    Cell("inference output late", (f"output-missing@{_INFER}x2",)),
    Cell("training output never", (f"output-missing@{_TRAIN}",), "OutputMissingError", ChainStep.TRAIN, (3, 1)),
    Cell("inference output never", (f"output-missing@{_INFER}",), "OutputMissingError", ChainStep.INFER, (3, 1)),
    Cell("training output in half once", (f"output-truncated@{_TRAIN}x1",)),
    Cell("inference output in half once", (f"output-truncated@{_INFER}x1",)),
    Cell("training output in half", (f"output-truncated@{_TRAIN}",), "OutputDamagedError", ChainStep.TRAIN, (3, 1)),
    Cell("inference output in half", (f"output-truncated@{_INFER}",), "SubmissionUnfitError", ChainStep.INFER, (3, 1)),
    Cell("hostile name in training", (f"output-hostile@{_TRAIN}x1",), "UnsafeAnswerError"),
    Cell("hostile name in inference", (f"output-hostile@{_INFER}x1",), "UnsafeAnswerError"),
    Cell("hostile names without end", ("output-hostile",), "UnsafeAnswerError"),
    Cell("submission by hand", ("submit-403x1",), "SubmitByHandError"),
    Cell("submission of a file by hand", ("submit-403x1",), "SubmitByHandError", mode="file"),
    Cell("no submission left", ("submit-limitx1",), "the day's count begins anew"),
    Cell("no submission of a file left", ("submit-limitx1",), "the day's count begins anew", mode="file"),
    Cell("scoring fails", ("score-failsx1",), "ScoringFailedError", ChainStep.SUBMIT, (2, 2)),
    Cell("scoring of a file fails", ("score-failsx1",), "ScoringFailedError", ChainStep.SUBMIT, (2, 2), mode="file"),
    Cell("dataset slow", ("dataset-slowx1",), mode="dataset"),
    Cell("dataset fails", ("dataset-failsx1",), "UploadFailedError", ChainStep.INFER, mode="dataset"),
    Cell("rules not accepted", ("rules-not-accepted@CreateCodeSubmissionx1",), "RulesNotAcceptedError"),
    Cell("rules not accepted for data", ("rules-not-accepted@DownloadDataFilex1",)),
)
