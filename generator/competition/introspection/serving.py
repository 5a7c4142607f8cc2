"""How a competition hands out its test data: files, or an inference server that asks for answers batch by batch."""

import re
from collections.abc import Mapping

from generator.competition.facts import ServedAnswer
from generator.competition.introspection.errors import UnusableValueError
from generator.competition.introspection.facts import Confidence, Finding, Hints
from generator.competition.introspection.weighing import settled
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


def find_serving(
    server: InferenceServer | None, details: Mapping[str, object], hints: Hints, *, columns: int
) -> tuple[Finding, ...]:
    """What the inference notebook has to know to serve; nothing where the test is files, or no notebook can serve.

    Args:
        server: The competition's inference server.
        details: What the family needs to know, by its keys.
        hints: With the user's decisions.
        columns: How many columns a row of the submission has to be filled in.

    Raises:
        UnusableValueError: The user wants a single value for several columns.
    """
    if server is None or not can_serve(details):
        return ()
    path = f"kaggle_evaluation/{server.module}.py"
    return (
        settled("inference_server", server.module, f"{path} hands out the test data", hints),
        _files(server, hints),
        _answer(server, details, hints, columns),
    )


def can_serve(details: Mapping[str, object]) -> bool:
    """Whether there is an inference notebook that serves: not where a table of the public test says what is asked for.

    Args:
        details: What the family needs to know, by its keys.
    """
    return not details.get("lookup_table")


def served_file_name(server: InferenceServer) -> tuple[str, str]:
    """What a gateway calls the submission that it writes, and the evidence for it."""
    said = _WRITTEN.search(server.gateway)
    return (said[0], _named_in(server)) if said else (_USUAL_FILE, "what gateways of inference servers write")


def served_target(server: InferenceServer | None) -> str:
    """What a gateway calls the column of the answers that it brings; "" if it says nothing of it."""
    said = _TARGET.search(server.gateway) if server is not None else None
    return said[2] if said else ""


def _files(server: InferenceServer, hints: Hints) -> Finding:
    """What `run_local_gateway` is given: the paths that the gateway would take by itself, in their order."""
    found = [(path or joined).strip("/") or "." for path, joined in _MOUNTED.findall(server.gateway)]
    files = [path for path in dict.fromkeys(found) if ".." not in path.split("/")][:_MOST_FILES]
    evidence = f"the paths in its {server.gateway_name}" if files else "its gateway finds the files by itself"
    return settled("gateway_files", files, evidence, hints)


def _answer(server: InferenceServer, details: Mapping[str, object], hints: Hints, columns: int) -> Finding:
    """What an answer is: a gateway that brings the ids wants none, and one that names the target wants a bare value."""
    key = "served_answer"
    if columns > 1 and hints.overrides.get(key) == ServedAnswer.VALUE:
        raise UnusableValueError(
            key=key, value="value", wanted=f"targets or table, for an answer has {columns} columns"
        )
    if details.get("mask_rows") == "piece":
        return settled(key, ServedAnswer.TABLE, "an image has as many rows as its mask has pieces", hints)
    if columns <= 1 and _NAMES_TARGET.search(server.gateway):
        evidence = f"{server.gateway_name} itself names the column of the answers"
        return settled(key, ServedAnswer.VALUE, evidence, hints, confidence=Confidence.LIKELY)
    if _NAMES_ID.search(server.gateway):
        evidence = f"{server.gateway_name} itself names the column of the ids"
        return settled(key, ServedAnswer.TARGETS, evidence, hints, confidence=Confidence.LIKELY)
    if server.gateway:
        evidence = f"{server.gateway_name} names neither the ids nor the answers itself"
        return settled(key, ServedAnswer.TABLE, evidence, hints, confidence=Confidence.LIKELY)
    return settled(
        key, ServedAnswer.TABLE, "the usual answer; its gateway was not seen", hints, confidence=Confidence.THIN
    )


def _named_in(server: InferenceServer) -> str:
    return f"{server.gateway_name} writes it"
