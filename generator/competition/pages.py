"""The demands of a competition's pages on its notebooks: run time, internet, the name of the file.

Hosts write these pages by hand, in Markdown or HTML, from a few templates of Kaggle's. Nothing here is certain, so that
every rule carries the words that it was read from.
"""

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from generator.untrusted import printable

_LONGEST_PAGE = 200_000
_QUOTED = 100
# From one mark to the other, which may overlap as in `<!-->`; what is never ended, to the end.
_DROPPED = [
    re.compile(rf"(?={begin}).*?(?={end}|\Z)", re.IGNORECASE | re.DOTALL)
    for begin, end in (("<script", "</script"), ("<style", "</style"), ("<!--", "-->"))
]
_LINE_ENDING_TAG = re.compile(r"<\s{0,3}(?:br|/?(?:p|li|ul|ol|div|tr|h[1-6]|table))\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_LINK = re.compile(r"!?\[([^\]]{0,300})\]\([^)\s]{0,500}\)")
_EMPHASIS = re.compile(r"\\([\\`*_{}\[\]()#+.!<>=-])|[*`#]+|^\s*>+|(?<!\w)_+|_+(?!\w)")

_CLAUSE_END = re.compile(r"[\n;]|(?<=[\w)])\.(?=\s)")
_DURATION = re.compile(
    r"(?P<number>\d{1,3}(?:\.\d{1,2})?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
    r"[\s-]*(?P<unit>hours?|hrs?|h|minutes?|mins?)\b",
    re.IGNORECASE,
)
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve")
_NUMBERS = dict(zip(_WORDS, (*range(1, 11), 12), strict=True))
_DEVICE = re.compile(r"\b(cpu|gpu|tpu)s?\b", re.IGNORECASE)
_RUNS = re.compile(
    r"\b(?:run[\s-]?times?|run|runs|running|execut\w+|complete|finish|takes?)\b|\b[ct]pu|\bgpu", re.IGNORECASE
)
_LIMITS = re.compile(
    r"<|\u2264|=|:|\bless than|\bat most|\bmore than|\bwithin|\bunder|\bup to|\blimit|\bmax|\bexceed|\brun[\s-]?time"
    r"|\bin\b",
    re.IGNORECASE,
)
# Hours of other things: a day's submissions, a server that has to be up, what Kaggle adds to hide the run time.
_OTHER_TIMES = re.compile(
    r"\b(?:per|a|each|every) (?:day|week)\b|\bdaily\b|\bserver\b|\bstart(?:s|up)?\b|\bdeadline\b|\bobfuscat|\bpredict\("
    r"|\bquota\b|\bweekly\b|\bprevious\b|\btrain(?:ing|ed)?\b",
    re.IGNORECASE,
)
_NO_INTERNET = re.compile(
    r"\binternet\b[^.\n]{0,40}?\b(?:disabled|off|not (?:be )?(?:enabled|allowed|available|permitted)|prohibited)\b"
    r"|\b(?:no|without|disable|turn off|switch off)\b[^.\n]{0,20}?\binternet\b",
    re.IGNORECASE,
)
_INTERNET = re.compile(
    r"\binternet\b(?: access)?(?: is| may be| can be| must be)?\s+(?:enabled|allowed|permitted|on)\b", re.IGNORECASE
)
_NAMED = re.compile(
    r"(?:named|called|name of|file ?name(?: is)?|titled|entitled)[\s:]{1,3}(?:exactly\s+)?['\"\u2018\u201c]?"
    r"(?P<name>[A-Za-z0-9][\w-]{0,60}\.(?:csv|parquet|jsonl?|ndjson|zip|npz|tsv|txt|pkl|h5)"
    r"(?:\.(?:gz|bz2|xz|zip))?)\b",
    re.IGNORECASE,
)
_DEVICES = ("cpu", "gpu", "tpu")
# Rules and prizes have other hours, and other files, in plenty.
_TELLING_PAGES = ("code", "notebook", "kernel", "evaluation", "overview", "description", "abstract")
_OTHER_PAGES = ("data", "prize", "rule", "timeline")
_MOST_HOURS = 48.0
_MINUTES_OF_AN_HOUR = 60

_Texts = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Rule:
    """Something that a page demands: `value`, and the words that say so, in which page."""

    value: str
    quote: str
    page: str

    @property
    def evidence(self) -> str:
        """A short clause in plain words."""
        return printable(f'the page "{self.page}" says "{self.quote}"')


@dataclass(frozen=True)
class Rules:
    """The demands of the pages; None or nothing where they do not say.

    Attributes:
        hours: How long a submitted notebook may run, by "cpu", "gpu" and "tpu", the strictest where several are said.
        file_name: What the submission has to be called.
        internet: "off" or "on".
    """

    hours: Mapping[str, Rule] = field(default_factory=dict)
    file_name: Rule | None = None
    internet: Rule | None = None


def read_rules(pages: Mapping[str, str]) -> Rules:
    """Reads what the pages of a competition demand of its notebooks.

    Args:
        pages: The content of each page, Markdown or HTML, by name.
    """
    texts = [(name, plain_text(content)) for name, content in _in_order(pages)]
    return Rules(
        hours=_hours(texts),
        file_name=_first(texts, _NAMED, lambda found: found["name"]),
        internet=_first(texts, _NO_INTERNET, lambda _: "off") or _first(texts, _INTERNET, lambda _: "on"),
    )


def plain_text(content: str) -> str:
    """The words of a page, without tags, links and emphasis; a line for each paragraph or item of a list."""
    text = content[:_LONGEST_PAGE]
    for dropped in _DROPPED:
        text = dropped.sub(" ", text)
    text = _TAG.sub("", _LINE_ENDING_TAG.sub("\n", text))
    text = _LINK.sub(r"\1", html.unescape(text))
    lines = (" ".join(_EMPHASIS.sub(lambda found: found[1] or "", line).split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def evaluation_text(pages: Mapping[str, str]) -> str:
    """The page that says how submissions are scored, as plain text; "" if there is none."""
    found = next((content for name, content in pages.items() if "evaluation" in name.lower()), "")
    return plain_text(found)


def _in_order(pages: Mapping[str, str]) -> list[tuple[str, str]]:
    """The pages that tell of notebooks and submissions, those on code requirements first."""
    ranked = [
        (min(place for place, word in enumerate(_TELLING_PAGES) if word in name.lower()), name)
        for name in pages
        if any(word in name.lower() for word in _TELLING_PAGES)
        and not any(word in name.lower() for word in _OTHER_PAGES)
    ]
    return [(name, pages[name]) for _, name in sorted(ranked)]


def _first(texts: _Texts, pattern: re.Pattern[str], value: Callable[[re.Match[str]], str]) -> Rule | None:
    for page, text in texts:
        for clause in _clauses(text):
            found = pattern.search(clause)
            if found is not None:
                return Rule(value(found), _quote(clause, found), page)
    return None


def _clauses(text: str) -> Iterator[str]:
    return (clause.strip() for clause in _CLAUSE_END.split(text) if clause.strip())


def _quote(clause: str, found: re.Match[str]) -> str:
    """The clause, or the middle of a long one with what was found in it."""
    if len(clause) <= _QUOTED:
        return clause
    start = max(0, min(found.start() - _QUOTED // 4, len(clause) - _QUOTED))
    return f"{'… ' if start else ''}{clause[start : start + _QUOTED].strip()} …"


def _hours(texts: _Texts) -> dict[str, Rule]:
    """The strictest limit for each device; the first page that has any is the one that counts."""
    for page, text in texts:
        strictest: dict[str, tuple[float, Rule]] = {}
        for clause in _clauses(text):
            for device, hours, found in _limits(clause):
                if device not in strictest or hours < strictest[device][0]:
                    strictest[device] = hours, Rule(f"{hours:g}", _quote(clause, found), page)
        if strictest:
            return {device: strictest[device][1] for device in _DEVICES if device in strictest}
    return {}


def _limits(clause: str) -> Iterator[tuple[str, float, re.Match[str]]]:
    """The devices of which a clause says how long a notebook may run; all where it names none."""
    if not _RUNS.search(clause) or not _LIMITS.search(clause) or _OTHER_TIMES.search(clause):
        return
    before = 0
    for found in _DURATION.finditer(clause):
        number = found["number"].lower()
        hours = float(_NUMBERS.get(number, 0) or number)
        if found["unit"].lower().startswith("m"):
            hours /= _MINUTES_OF_AN_HOUR
        named = _DEVICE.findall(clause[before : found.start()]) or _DEVICE.findall(clause)
        before = found.end()
        if 0 < hours <= _MOST_HOURS:
            yield from ((device, hours, found) for device in {name.lower(): 0 for name in named} or _DEVICES)
