"""Checking kernels: every rule on each of them, safe fixes applied, findings as SARIF and as baselines."""

import ast
import bisect
import difflib
import hashlib
import json
import os
import re
import stat
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from json.decoder import scanstring  # type: ignore[attr-defined]  # what `json` itself reads texts with
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from generator.check.cell_text import cell_name, collector_paused
from generator.check.environment import is_elsewhere_at, may_be_passed_by_at
from generator.check.findings import DELETE, CheckFinding, CodeChange, FieldChange, Severity, describe_place, is_node
from generator.check.rule import CheckRule, without_ignored
from generator.check.rules import RULES
from generator.check.source import KernelSource
from generator.errors import CheckError, did_you_mean
from generator.files import WorkspaceFiles, read_bytes, read_text, reason_not_read
from generator.pair.notebook import join_lines
from generator.text import JsonObject, printable

_EVERYWHERE = {"N003", "N008", "N010"}
_OF_THE_COMPILER = "C"  # which ran the code
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def check_kernels(kernels: Iterable[KernelSource], rules: Iterable[CheckRule] = RULES) -> list[CheckFinding]:
    """Find what is wrong with kernels, in their order; in each the metadata come first, and then cell by cell."""
    rules = tuple(rules)
    findings: list[CheckFinding] = []
    for kernel in kernels:
        position = {cell.name: number for number, cell in enumerate(kernel.code.cells)}
        with collector_paused():
            of_kernel = dict.fromkeys(
                _grade(finding, part)
                for part in (kernel, *kernel.scripts)
                for rule in rules
                for finding in rule(part)
                if not _is_elsewhere(finding, part)
            )
        findings += sorted(
            without_ignored(of_kernel, kernel.code),
            key=lambda entry: (
                entry.place.path == kernel.code.path,
                position.get(entry.place.cell, -1),
                entry.place.line,
                _ORDER[entry.severity],
                entry.rule,
            ),
        )
    return findings


@dataclass(frozen=True)
class KernelCheck:
    """A kernel, and what some of the rules find in it."""

    kernel: KernelSource
    findings: Sequence[CheckFinding]

    @property
    def errors(self) -> list[CheckFinding]:
        """The findings that make a check fail."""
        return errors(self.findings)

    @property
    def warnings(self) -> list[tuple[Path, str, str]]:
        """The findings that are only doubtful: the file of each, its place within that, and the sentences."""
        return [
            (finding.place.path, describe_place(finding.place), f"{finding.message} {finding.remedy} ({finding.rule})")
            for finding in self.findings
            if finding.severity is Severity.WARNING
        ]


def check_kernel(
    kernel: KernelSource, *, only: Collection[str] | None = None, allow: Collection[str] = ()
) -> KernelCheck:
    """Check a kernel by all rules or by some, but for those whose ids are allowed."""
    rules = [rule for rule in RULES if (only is None or rule.id in only) and rule.id not in allow]
    return KernelCheck(kernel, check_kernels([kernel], rules))


def _is_in_code(finding: CheckFinding, kernel: KernelSource) -> bool:
    """True for what depends on whether a line is run."""
    place = finding.place
    return place.path == kernel.code.path and place.line > 0 and finding.rule not in _EVERYWHERE


def _is_elsewhere(finding: CheckFinding, kernel: KernelSource) -> bool:
    """True for what no session on Kaggle comes to; a secret there is published all the same."""
    return _is_in_code(finding, kernel) and is_elsewhere_at(kernel.code, finding.place.cell, finding.place.line)


def _grade(finding: CheckFinding, kernel: KernelSource) -> CheckFinding:
    """An error in code that a session may pass by is a warning: it fails only where that code is run."""
    place = finding.place
    is_error = finding.severity is Severity.ERROR and not finding.rule.startswith(_OF_THE_COMPILER)
    if is_error and _is_in_code(finding, kernel) and may_be_passed_by_at(kernel.code, place.cell, place.line):
        return replace(finding, severity=Severity.WARNING)
    return finding


def all_rules() -> tuple[CheckRule, ...]:
    """Return every rule, in the order of their ids."""
    return tuple(RULES)


def rule_named(name: str) -> CheckRule:
    """Return the rule with an id or a name, such as `N042` or `unbounded-search`.

    Raises:
        CheckError: There is none.
    """
    matching_rule = next((rule for rule in RULES if name.casefold() in (rule.id.casefold(), rule.name)), None)
    if matching_rule is None:
        nearest = did_you_mean(name, [rule.id for rule in RULES])
        raise CheckError(f'There is no rule "{printable(name)}".{nearest} `tandem check --explain all` lists them.')
    return matching_rule


def allowed_ids(names: Iterable[str], *, never: Collection[str] = ()) -> tuple[str, ...]:
    """Return the ids of rules that are to be ignored.

    Args:
        names: The ids or the names of rules.
        never: The ids of those that cannot be ignored.

    Raises:
        CheckError: There is no such rule, or no way over it.
    """
    rules = tuple(rule_named(name) for name in names)
    for rule in rules:
        if rule.id in never:
            raise CheckError(
                f"--allow {rule.id}: this rule ({rule.name}) cannot be ignored, because Kaggle needs valid files.",
                code="rule-not-ignorable",
            )
    return tuple(rule.id for rule in rules)


def errors(findings: Iterable[CheckFinding]) -> list[CheckFinding]:
    """Return the findings that make a check fail."""
    return [finding for finding in findings if finding.severity is Severity.ERROR]


# Applying fixes: exact changes of the text of notebooks, scripts and metadata, and nothing else in those files.
#
# A notebook is JSON, and is not written anew: what changes is a piece of the string that holds the line, found by
# reading the file as far as that. So the indent, the order of keys, escapes, outputs and the end of the file stay
# as they were.


_MARK = "\ufeff"
_CONTEXT = 2  # lines around a change that a diff shows
_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)
_BLANK = re.compile(r"[ \t\n\r]*")


class Replacement(NamedTuple):
    """A piece of a file's text, in characters, and what takes its place."""

    start: int
    end: int
    new: str


class _NotApplicableError(Exception):
    """A change does not fit the text."""


@dataclass(frozen=True)
class FixedFile:
    """A file with the fixes of some findings in it.

    Attributes:
        path: The file.
        old: Its text.
        new: Its text with the fixes.
        findings: The findings that those are of.
    """

    path: Path
    old: str
    new: str
    findings: tuple[CheckFinding, ...]

    def diff(self, *, name: str) -> Iterator[str]:
        """The lines of a unified diff, one for each cell that changes; none of them has a line end.

        Args:
            name: What the file is called in it.
        """
        if self.path.suffix != ".ipynb":
            yield from _diff(self.old, self.new, name=name)
            return
        before, after = (json.loads(text) for text in (self.old, self.new))
        for number, (old, new) in enumerate(zip(before["cells"], after["cells"], strict=True), start=1):
            if old != new:
                label = f"{name}:{cell_name(JsonObject.of(old), number)}"
                yield from _diff(join_lines(old.get("source")), join_lines(new.get("source")), name=label)
        metadata = [json.dumps(notebook.get("metadata"), indent=1, ensure_ascii=False) for notebook in (before, after)]
        yield from _diff(*metadata, name=f"{name}:metadata")

    def write(self) -> None:
        """Write the file as a whole, unless it was changed since it was read.

        Raises:
            CheckError: It was.
            FileWriteError: It cannot be written; it is untouched then.
        """
        if _text(self.path) != self.old:
            raise CheckError(f"{printable(str(self.path))} was changed while it was checked: check it again.")
        mode = stat.S_IMODE(self.path.stat().st_mode)
        WorkspaceFiles(self.path.parent).write(self.path, self.new.encode("utf-8", "surrogatepass"), mode=mode)


def fixed_files(kernels: Iterable[KernelSource], findings: Iterable[CheckFinding]) -> list[FixedFile]:
    """Apply the fixes of findings to the text of their files; nothing is written.

    A fix is left out where its change cannot be made exactly, or where it meets that of a finding before it.

    Args:
        kernels: What was checked.
        findings: What was found there.
    """
    texts = _Texts(kernels)
    pieces_by_path: dict[Path, list[Replacement]] = defaultdict(list)
    findings_by_path: dict[Path, list[CheckFinding]] = defaultdict(list)
    for finding in findings:
        pieces = texts.replacements(finding)
        if pieces and not any(
            _meet(new_piece, accepted_piece) for path, new_piece in pieces for accepted_piece in pieces_by_path[path]
        ):
            for path, piece in pieces:
                pieces_by_path[path] += [piece] if piece not in pieces_by_path[path] else []
            findings_by_path[pieces[0][0]].append(finding)
    files = []
    for path, changes in pieces_by_path.items():
        old = texts.text(path)
        new = _apply(old, changes)
        if changes and new != old and _is_sound(path, new):
            files.append(FixedFile(path, old, new, tuple(findings_by_path[path])))
    return files


def replacements(
    kernels: Iterable[KernelSource], findings: Iterable[CheckFinding]
) -> list[list[tuple[Path, Replacement]]]:
    """The pieces of their files that the fix of each finding replaces; none where there is no fix that fits."""
    texts = _Texts(kernels)
    return [texts.replacements(finding) for finding in findings]


def file_lines(kernels: Iterable[KernelSource], findings: Iterable[CheckFinding]) -> list[int]:
    """The line of its file where each finding is, as an editor counts it: in a notebook, a line of its JSON."""
    texts = _Texts(kernels)
    return [texts.line(finding) for finding in findings]


class _Texts:
    """The texts of the files of kernels, and where in them something is."""

    def __init__(self, kernels: Iterable[KernelSource]) -> None:
        self._kernels: dict[Path, KernelSource] = {}
        for kernel in kernels:
            for path in (kernel.metadata_path, kernel.code.path):
                if path is not None:
                    self._kernels[path] = kernel
        self._texts: dict[Path, str] = {}
        self._json: dict[Path, _JsonText] = {}

    def text(self, path: Path) -> str:
        if path not in self._texts:
            self._texts[path] = _text(path)
        return self._texts[path]

    def json(self, path: Path) -> "_JsonText":
        if path not in self._json:
            self._json[path] = _JsonText(self.text(path))
        return self._json[path]

    def line(self, finding: CheckFinding) -> int:
        place = finding.place
        kernel = self._kernels.get(place.path)
        if kernel is None or place.path != kernel.code.path or not kernel.notebook or not place.cell:
            return max(1, place.line)
        numbers = [
            number
            for number, cell in enumerate(kernel.notebook.sections("cells"))
            if cell_name(cell, number + 1) == place.cell
        ]
        try:
            return self.json(place.path).line(numbers[0], place.line)
        except (_NotApplicableError, CheckError, ValueError, LookupError, RecursionError):
            return 1

    def replacements(self, finding: CheckFinding) -> list[tuple[Path, Replacement]]:
        kernel = self._kernels.get(finding.place.path)
        if finding.fix is None or kernel is None:
            return []
        try:
            return [piece for change in finding.fix.changes for piece in self._pieces(kernel, finding, change)]
        except (_NotApplicableError, CheckError, ValueError, LookupError, RecursionError):
            return []

    def _pieces(
        self, kernel: KernelSource, finding: CheckFinding, change: CodeChange | FieldChange
    ) -> Iterator[tuple[Path, Replacement]]:
        if isinstance(change, FieldChange):
            path = kernel.code.path if change.in_notebook else kernel.metadata_path
            if path is None:
                raise _NotApplicableError
            yield path, self.json(path).field(change)
            return
        path = kernel.code.path
        if kernel.notebook:
            cells = [
                number
                for number, cell in enumerate(kernel.notebook.sections("cells"))
                if cell.get("cell_type") == "code" and cell_name(cell, number + 1) == finding.place.cell
            ]
            if len(cells) != 1:  # ids that stand there twice
                raise _NotApplicableError
            source = self.json(path).source(cells[0])
            yield path, source.replacement(_in_source(source.text, change))
        else:
            text = self.text(path)
            shift = len(_MARK) if text.startswith(_MARK) else 0
            start, end, new = _in_source(text[shift:], change)
            yield path, Replacement(start + shift, end + shift, new)


def _in_source(source: str, change: CodeChange) -> Replacement:
    """Where a change is in the text of a cell."""
    node = change.node
    lines = source.split("\n")
    if not node.end_lineno or node.end_lineno > len(lines):
        raise _NotApplicableError
    # IPython takes off the indent of a cell before it is read as Python.
    first = next((line for line in lines if line.strip()), "")
    indent = len(first) - len(first.lstrip())
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    for shift in dict.fromkeys((0, indent)):
        start = starts[node.lineno - 1] + _column(lines[node.lineno - 1], node.col_offset, shift)
        end = starts[node.end_lineno - 1] + _column(lines[node.end_lineno - 1], node.end_col_offset or 0, shift)
        text = source[start:end]
        if not is_node(text, node):
            continue
        piece = change.piece(text)
        if piece is None or not is_node(text[: piece[0]] + piece[2] + text[piece[1] :], change.result()):
            break
        replacement = Replacement(start + piece[0], start + piece[1], piece[2])
        if "\n" in source[replacement.start : replacement.end] + replacement.new:
            break
        return replacement
    raise _NotApplicableError


def _column(line: str, offset: int, shift: int) -> int:
    """Where in a line the byte is that Python counts in UTF-8."""
    return len(line[shift:].encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace")) + shift


class _Member(NamedTuple):
    key: str
    start: int
    value: int
    end: int


class _JsonText:
    """A JSON text, and where its values stand in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._decoder = json.JSONDecoder()

    @cached_property
    def _top(self) -> list[_Member]:
        return self.members(self._skip(0))

    @cached_property
    def _cells(self) -> list[tuple[int, int]]:
        return self.items(self._member(self._top, "cells").value)

    def source(self, number: int) -> "_Source":
        """The source of a cell."""
        source = self._member(self.members(self._cells[number][0]), "source")
        if self.text[source.value] == '"':
            return _Source(self.text, [source.value])
        starts = [start for start, _ in self.items(source.value)]
        if any(self.text[start] != '"' for start in starts):
            raise _NotApplicableError
        return _Source(self.text, starts)

    def line(self, cell: int, line: int) -> int:
        """The line of the file, from 1 on, that a line of a cell stands in; 0 is the cell as a whole."""
        at = self._cells[cell][0]
        if line:
            source = self.source(cell)
            before = sum(len(source_line) + 1 for source_line in source.text.split("\n")[: line - 1])
            at = source.offset(before)
        return self.text.count("\n", 0, at) + 1

    def field(self, change: FieldChange) -> Replacement:
        """What becomes of a field."""
        at = self._skip(0)
        for key in change.path[:-1]:
            at = self._value(at, key)
        last = change.path[-1]
        if isinstance(last, int):
            return self._item(at, last, change.value)
        members = self.members(at)
        numbers = [number for number, member in enumerate(members) if member.key == last]
        if change.value is not DELETE:
            new = json.dumps(change.value, ensure_ascii=self.text.isascii())
            if numbers:  # of two with one name the last one counts
                return Replacement(members[numbers[-1]].value, members[numbers[-1]].end, new)
            return self._add_member(at, members, last, new)
        if len(numbers) != 1:
            raise _NotApplicableError
        return self._without([(member.start, member.end) for member in members], numbers[0])

    def members(self, at: int) -> list[_Member]:
        """The members of an object that begins somewhere."""
        members = []
        for start in self._parts(at, "{}"):
            if self.text[start] != '"':
                raise _NotApplicableError
            key, end = scanstring(self.text, start + 1, True)
            value = self._skip(self._skip(end) + 1)  # behind the colon
            members.append(_Member(key, start, value, self._decoder.raw_decode(self.text, value)[1]))
            self._end = members[-1].end
        return members

    def items(self, at: int) -> list[tuple[int, int]]:
        """The beginnings and ends of the items of a list that begins somewhere."""
        spans = []
        for start in self._parts(at, "[]"):
            self._end = self._decoder.raw_decode(self.text, start)[1]
            spans.append((start, self._end))
        return spans

    def _parts(self, at: int, brackets: str) -> Iterator[int]:
        """The beginnings of what an object or a list holds; whoever asks says in `_end` where each ends."""
        if self.text[at] != brackets[0]:
            raise _NotApplicableError
        at = self._skip(at + 1)
        while self.text[at] != brackets[1]:
            yield at
            at = self._skip(self._end)
            if self.text[at] == ",":
                at = self._skip(at + 1)

    def _value(self, at: int, key: str | int) -> int:
        return self.items(at)[key][0] if isinstance(key, int) else self._member(self.members(at), key).value

    def _item(self, at: int, number: int, value: Any) -> Replacement:
        items = self.items(at)
        if value is DELETE:
            return self._without(items, number)
        return Replacement(*items[number], json.dumps(value, ensure_ascii=self.text.isascii()))

    def _without(self, parts: Sequence[tuple[int, int]], number: int) -> Replacement:
        """One of several parts less, with the comma before it, or behind it where it is the first."""
        start, end = parts[number]
        if number:
            return Replacement(parts[number - 1][1], end, "")
        return Replacement(start, parts[1][0] if len(parts) > 1 else end, "")

    def _add_member(self, at: int, members: Sequence[_Member], key: str, value: str) -> Replacement:
        """One member more, behind the others and laid out as they are."""
        if not members:
            return Replacement(at + 1, at + 1, f"{json.dumps(key)}: {value}")
        last = members[-1]
        before = self.text[members[-2].end : last.start] if len(members) > 1 else f",{self.text[at + 1 : last.start]}"
        separator = self.text[scanstring(self.text, last.start + 1, True)[1] : last.value]
        return Replacement(last.end, last.end, f"{before}{json.dumps(key)}{separator}{value}")

    def _member(self, members: Sequence[_Member], key: str) -> _Member:
        return next(member for member in reversed(members) if member.key == key)

    def _skip(self, at: int) -> int:
        match = _BLANK.match(self.text, at)
        return match.end() if match else at


class _Source:
    """The source of a cell: a text in JSON, or a list of them."""

    def __init__(self, text: str, starts: Sequence[int]) -> None:
        self._offsets: list[int] = []  # of each character of the source in the file
        self._ends: list[int] = []  # of each piece in the file
        self._as_ascii = text.isascii()
        pieces, self._lengths = [], [0]
        for start in starts:
            piece, end = scanstring(text, start + 1, True)
            pieces.append(piece)
            self._offsets += [match.start() for match in _ESCAPES.finditer(text, start + 1, end - 1)]
            self._ends.append(end - 1)
            self._lengths.append(self._lengths[-1] + len(piece))
        self.text = "".join(pieces)
        if len(self.text) != len(self._offsets):
            raise _NotApplicableError

    def offset(self, at: int) -> int:
        """Where in the file a character of the source is; for the end of the source its last one."""
        return self._offsets[min(at, len(self._offsets) - 1)]

    def replacement(self, change: Replacement) -> Replacement:
        """A change of the source as one of the file."""
        start, end, new = change
        # What is put in stands behind the character before it.
        number = bisect.bisect_left(self._lengths, start if start == end and start else start + 1) - 1
        if not 0 <= number < len(self._ends) or end > self._lengths[number + 1]:
            raise _NotApplicableError
        offsets = [*self._offsets[self._lengths[number] : self._lengths[number + 1]], self._ends[number]]
        first = self._lengths[number]
        literal = json.dumps(new, ensure_ascii=self._as_ascii)[1:-1]
        return Replacement(offsets[start - first], offsets[end - first], literal)


def _text(path: Path) -> str:
    try:
        return read_bytes(path).decode()
    except OSError as error:
        raise CheckError(f"{printable(str(path))} cannot be read again ({reason_not_read(error)}).") from error


def _meet(first: Replacement, second: Replacement) -> bool:
    """True if two replacements are of the same text, and are not the same."""
    return first != second and first.start < second.end and second.start < first.end


def _apply(text: str, pieces: Iterable[Replacement]) -> str:
    for start, end, new in sorted(pieces, key=lambda piece: (piece.start, piece.end), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _is_sound(path: Path, text: str) -> bool:
    """True if a file can still be read once it is changed."""
    try:
        if path.suffix == ".py":
            ast.parse(text.removeprefix(_MARK))
        else:
            return isinstance(json.loads(text), dict)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _diff(old: str, new: str, *, name: str) -> Iterator[str]:
    before, after = ([line.removesuffix("\r") for line in text.split("\n")] for text in (old, new))
    yield from difflib.unified_diff(before, after, fromfile=name, tofile=name, lineterm="", n=_CONTEXT)


# Findings as SARIF 2.1.0, which code hosts and editors show beside the code.
#
# Where a finding is in a notebook stands in its logical location and in its text, by cell and line. The region is
# the line of the file, of its JSON, without which code hosts show nothing.


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(
    findings: Sequence[CheckFinding],
    *,
    root: Path,
    version: str,
    kernels: Iterable[KernelSource] = (),
) -> dict[str, Any]:
    """Return a SARIF log of one run.

    Args:
        findings: What was found.
        root: The folder from which paths are seen.
        version: The kit's.
        kernels: What was checked, from whose files the fixes are known.
    """
    index = {rule.id: number for number, rule in enumerate(RULES)}
    driver = {"name": "tandem check", "version": version, "rules": [_rule(rule) for rule in RULES]}
    kernels = tuple(kernels)
    fixes, lines = replacements(kernels, findings), file_lines(kernels, findings)
    results = [
        _result(finding, root, index, line=line) | _fixes(finding, pieces, root)
        for finding, pieces, line in zip(findings, fixes, lines, strict=True)
    ]
    sarif_run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [sarif_run]}


def _rule(rule: CheckRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.explanation.partition("\n")[0]},
        "fullDescription": {"text": rule.explanation},
        "defaultConfiguration": {"level": str(rule.severity)},
    }


def _result(finding: CheckFinding, root: Path, index: dict[str, int], *, line: int) -> dict[str, Any]:
    place = finding.place
    inside = describe_place(place)
    physical = {"artifactLocation": {"uri": _uri(place.path, root)}, "region": {"startLine": line}}
    location: dict[str, Any] = {"physicalLocation": physical}
    if place.cell:
        location["logicalLocations"] = [{"name": printable(place.cell), "fullyQualifiedName": inside}]
    text = printable(f"{finding.message} {finding.remedy}")
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": str(finding.severity),
        "message": {"text": f"{inside[:1].upper()}{inside[1:]}: {text}" if place.cell else text},
        "locations": [location],
        "partialFingerprints": {"tandemFinding/v1": finding_fingerprint(finding, root)},
    }
    return result | ({"ruleIndex": index[finding.rule]} if finding.rule in index else {})


def _fixes(finding: CheckFinding, pieces: Sequence[tuple[Path, Replacement]], root: Path) -> dict[str, Any]:
    """The fix of a finding as pieces of its file, whose places are counted in characters."""
    changes = [
        {
            "artifactLocation": {"uri": _uri(path, root)},
            "replacements": [
                {
                    "deletedRegion": {"charOffset": piece.start, "charLength": piece.end - piece.start},
                    "insertedContent": {"text": piece.new},
                }
            ],
        }
        for path, piece in pieces
    ]
    return (
        {"fixes": [{"description": {"text": printable(finding.remedy)}, "artifactChanges": changes}]} if changes else {}
    )


def _uri(path: Path, root: Path) -> str:
    return quote(relative(path, root), errors="surrogateescape")


# Baselines: findings that were there before, so that a check fails for new ones only.
#
# A finding is told by its rule, file, cell and sentence, and not by its line: it stays the same one when lines are
# added above it. Where the same one is found more often than the baseline has it, the rest are new.


_VERSION = 1


def check_replaceable(path: Path) -> None:
    """Make sure that a baseline written there would take the place of nothing, or of a baseline.

    Raises:
        CheckError: Something else is there.
    """
    if path.exists():
        _entries(path)


def relative(path: Path, root: Path) -> str:
    """A path as it is seen from a folder, with slashes."""
    return Path(os.path.relpath(path, root)).as_posix()


def finding_fingerprint(finding: CheckFinding, root: Path) -> str:
    """What tells a finding from others, whatever is written above it."""
    parts = (finding.rule, relative(finding.place.path, root), finding.place.cell, finding.message)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


def write_baseline(findings: Iterable[CheckFinding], path: Path) -> None:
    """Write findings as a baseline, whose paths are seen from its folder: JSON with a final newline.

    Raises:
        FileWriteError: The file cannot be written.
    """
    root = path.parent
    entries = [
        {
            "rule": finding.rule,
            "path": relative(finding.place.path, root),
            "cell": finding.place.cell,
            "message": finding.message,
            "fingerprint": finding_fingerprint(finding, root),
        }
        for finding in findings
    ]
    text = json.dumps({"version": _VERSION, "findings": entries}, indent=2, ensure_ascii=False) + "\n"
    WorkspaceFiles(root).write(path, text.encode("utf-8", "replace"))


def new_findings(findings: Iterable[CheckFinding], baseline: Path) -> list[CheckFinding]:
    """Leave out the findings that a baseline has.

    Raises:
        FileReadError: There is none.
        CheckError: The file is none.
    """
    left, new = Counter(_entries(baseline)), []
    for finding in findings:
        key = finding_fingerprint(finding, baseline.parent)
        if left[key] > 0:
            left[key] -= 1
        else:
            new.append(finding)
    return new


def _entries(baseline: Path) -> list[str]:
    try:
        document = JsonObject.of(json.loads(read_text(baseline)))
        if document.get("version") != _VERSION:
            raise ValueError(document.get("version"))
        return [JsonObject.of(entry).text("fingerprint") for entry in document["findings"]]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CheckError(
            f"{printable(str(baseline))} is not a baseline of `tandem check`, so it was not overwritten.",
            remedy="Choose another file for --write-baseline.",
            code="not-a-baseline",
        ) from error
