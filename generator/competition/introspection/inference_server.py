"""Inference servers, which hand out the test data and ask for answers batch by batch."""

import re

from generator.competition.facts import ServedAnswer
from generator.competition.introspection.errors import UnusableValueError
from generator.competition.introspection.findings import Confidence, Findings
from generator.competition.survey.facts import InferenceServer

# A gateway's own paths are those of Kaggle's first way of mounting, /kaggle/input/SLUG; the data are elsewhere now.
_MOUNTED = re.compile(
    r"""["']/kaggle/input/(?:competitions/)?[\w-]+/?([\w./ -]*)["']"""
    # What is joined to the folder, by os.path.join or by Path's slash.
    r"""(?:\)?[ ]?[,/][ ]?["']([\w.-][\w./ -]*)["'])?"""
)
_NAMES_TARGET = re.compile(r"target_column_name\s*=(?!=)\s*(?!None\b)")
_TARGET = re.compile(r"target_column_name\s*=\s*(['\"])(.+?)\1")
_NAMES_ID = re.compile(r"row_id_column_name\s*=(?!=)\s*(?!None\b)")
_WRITTEN = re.compile(r"\bsubmission\.(?:csv|parquet)\b")
_USUAL_FILE = "submission.parquet"
_MOST_FILES = 8
_ANSWER = "served_answer"


def settle_serving(server: InferenceServer | None, found: Findings, *, columns: int) -> bool:
    """Settles what the inference notebook has to know to serve, after what the family needs to know.

    Args:
        server: The competition's inference server.
        found: Takes the findings.
        columns: How many columns a row of the submission has to be filled in.

    Returns:
        Whether it serves: not where the test is files, or no notebook can serve.

    Raises:
        UnusableValueError: The user wants a single value for several columns.
    """
    # No notebook serves where a table of the public test says what is asked for.
    if server is None or ("lookup_table" in found and found["lookup_table"].value):
        return False
    found.settle("inference_server", server.module, f"kaggle_evaluation/{server.module}.py hands out the test data")
    paths = [(path or joined).strip("/") or "." for path, joined in _MOUNTED.findall(server.gateway)]
    # What `run_local_gateway` is given: the paths that the gateway would take by itself, in their order.
    files = [path for path in dict.fromkeys(paths) if ".." not in path.split("/")][:_MOST_FILES]
    evidence = f"the paths in its {server.gateway_name}" if files else "its gateway finds the files by itself"
    found.settle("gateway_files", files, evidence)
    if columns > 1 and found.decided(_ANSWER) == ServedAnswer.VALUE:
        wanted = f"targets or table, for an answer has {columns} columns"
        raise UnusableValueError(key=_ANSWER, value="value", wanted=wanted)
    found.settle(_ANSWER, *_answer(server, found, columns))
    return True


def served_file_name(server: InferenceServer) -> tuple[str, str]:
    """The name of the submission that a gateway writes, and the evidence for it."""
    said = _WRITTEN.search(server.gateway)
    if said is None:
        return _USUAL_FILE, "what gateways of inference servers write"
    return said[0], f"{server.gateway_name} writes it"


def served_target(server: InferenceServer | None) -> str:
    """The column of the answers by the name that a gateway gives it; "" if it says nothing of it."""
    said = _TARGET.search(server.gateway) if server is not None else None
    return said[2] if said else ""


def _answer(server: InferenceServer, found: Findings, columns: int) -> tuple[str, str, Confidence]:
    """The form of an answer: a gateway that brings the ids wants none, and one that names the target a bare value."""
    if "mask_rows" in found and found["mask_rows"].value == "piece":
        return ServedAnswer.TABLE, "an image has as many rows as its mask has pieces", Confidence.SURE
    if not server.gateway:
        return ServedAnswer.TABLE, "the usual answer; its gateway was not seen", Confidence.THIN
    if columns <= 1 and _NAMES_TARGET.search(server.gateway):
        answer, names = ServedAnswer.VALUE, "itself names the column of the answers"
    elif _NAMES_ID.search(server.gateway):
        answer, names = ServedAnswer.TARGETS, "itself names the column of the ids"
    else:
        answer, names = ServedAnswer.TABLE, "names neither the ids nor the answers itself"
    return answer, f"{server.gateway_name} {names}", Confidence.LIKELY
