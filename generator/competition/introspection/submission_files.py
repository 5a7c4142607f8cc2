"""What the file of the submission is called, and so what it is written in."""

import re

from generator.competition.introspection.facts import Finding, Hints
from generator.competition.introspection.serving import served_file_name
from generator.competition.introspection.weighing import settled
from generator.competition.survey.facts import InferenceServer, Table
from generator.competition.tables.formats import TableFormat, format_of

_USUAL_NAME = "submission.csv"
_NAMED = re.compile(
    r"(?:named|called|name of|file name:?|filename:?)\s+[`'\"*]*"
    r"([\w.-]+\.(?:csv|tsv|parquet|jsonl?|ndjson|zip)(?:\.(?:gz|bz2|xz|zip))?)\b",
    re.IGNORECASE,
)
_SUFFIXES = {TableFormat.PARQUET: ".parquet", TableFormat.JSON: ".json", TableFormat.JSON_LINES: ".jsonl"}
_SUFFIX_OF = {"\t": ".tsv", "|": ".psv"}
_SPACES = r"\s+"


def find_submission_file(sample: Table | None, server: InferenceServer | None, hints: Hints) -> tuple[Finding, ...]:
    """The name of the file, and where it is a text with another separator than the comma, that.

    Args:
        sample: The sample submission, if there is one.
        server: What hands out the test data and writes the submission, if something does.
        hints: With the user's decisions.
    """
    name = _file_name(sample, server, hints)
    key = "submission_separator"
    promised, separator = format_of(str(name.value)), _separator(sample)
    is_text = promised.format in (TableFormat.CSV, None) and not promised.separator
    if key in hints.overrides or (is_text and separator != ","):
        evidence = f"as {sample.name} is written" if sample is not None else "usual"
        return name, settled(key, separator, evidence, hints)
    return (name,)


def _file_name(sample: Table | None, server: InferenceServer | None, hints: Hints) -> Finding:
    """What the pages demand, else what a server's gateway writes, else the usual one with the sample's suffix."""
    key = "submission_file"
    if hints.file_name:
        return settled(key, hints.file_name, hints.file_name_evidence, hints)
    said = _NAMED.search(hints.evaluation_text)
    if said is not None:
        return settled(key, said[1], "the evaluation page demands it", hints)
    if server is not None:
        return settled(key, *served_file_name(server), hints)
    suffix = _suffix(sample) if sample is not None else ""
    if sample is not None and suffix:
        return settled(key, f"submission{suffix}", f"{sample.name} is written so, and nothing names another", hints)
    return settled(key, _USUAL_NAME, "the usual name", hints)


def _suffix(sample: Table) -> str:
    """The suffix of a file like the sample; "" for csv, compressed or not, which is the usual one."""
    if sample.format in _SUFFIXES:
        return _SUFFIXES[sample.format]
    return _SUFFIX_OF.get(format_of(sample.name).separator, "")


def _separator(sample: Table | None) -> str:
    """What stands between the cells of the sample, unless its suffix says that this is what such files have."""
    if sample is None or sample.format is not TableFormat.CSV or format_of(sample.name).separator:
        return ","
    return " " if sample.separator == _SPACES else sample.separator or ","
