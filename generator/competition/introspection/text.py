"""The columns of text that are read, and their length."""

from collections.abc import Sequence
from dataclasses import dataclass

from generator.competition.facts import TargetKind
from generator.competition.introspection.errors import listed
from generator.competition.introspection.features import Features
from generator.competition.introspection.findings import Candidate, Findings, Reason, joined, weighed
from generator.competition.introspection.vocabulary import looks_like_id, words
from generator.competition.metrics import METRICS
from generator.competition.presets import preset_for
from generator.competition.survey.columns import numbers_of
from generator.competition.survey.facts import Column, ColumnKind

_NAMES = frozenset(("text", "texts", "comment", "comments", "review", "reviews", "title", "question", "sentence"))
_NAMES |= {"premise", "hypothesis", "tweet", "description", "content", "body", "phrase", "prompt", "response", "answer"}
_NAMES |= {"essay", "excerpt", "abstract", "headline", "summary", "message", "query", "document", "anchor"}
_NAMES |= {"transcript", "ingredients", "search", "target"}
_LONG, _SHORT = 6, 1.5
_LETTERS_PER_WORD = 8  # languages without spaces, and their words in others
_TOKENS_PER_WORD, _MULTIPLE, _LONGEST = 1.5, 128, 512
_MOST_TEXTS = 6
_SEVERAL = 20
_LEAST = 2.5
_HARDLY_LESS = 3
_DIFFERENT = 0.3
_FEW_TEXTS, _FEW_COUNTED_TEXTS = 1_000, 5_000
_ENGLISH = frozenset(("the", "of", "and", "to", "for", "with", "that", "this", "are"))
_ENGLISH_WORDS, _OTHER_LETTERS, _LETTERS_IN_ENGLISH = 0.01, 0.005, 0.05  # shares; of letters, those outside of ASCII
_READ_OF_A_TEXT = 500  # letters, which tell its language


@dataclass(frozen=True)
class TextColumns:
    """The columns with something to read.

    Attributes:
        columns: The columns of text, at most six, in the order of the table.
        best: The one that is text most clearly, and why; None if there is none.
        left_out: Further columns of text.
    """

    columns: tuple[Column, ...]
    best: Candidate | None = None
    left_out: tuple[str, ...] = ()


def find_text_columns(features: Features) -> TextColumns:
    """Weighs the columns that could be text."""
    of_text = [column for column in features.columns if column.kind is ColumnKind.TEXT]
    texts = [column for column in of_text if numbers_of(column) is None]
    is_all = not features.measures and len(texts) == len(of_text)
    weighed_texts = [(weighed(column.name, _reasons(column, is_all=is_all)), column) for column in texts]
    fitting = [(candidate, column) for candidate, column in weighed_texts if candidate.weight >= _LEAST]
    ordered = sorted(fitting, key=lambda pair: (-pair[0].weight, -_mean_words(pair[1])))
    # A further column counts if it is text about as clearly as the first, or says something in words beside it.
    alike = [column for candidate, column in ordered if candidate.weight >= ordered[0][0].weight - _HARDLY_LESS]
    if alike:
        alike += [column for column in texts if column not in alike and _is_beside(column)]
    kept = {column.name for column in alike[:_MOST_TEXTS]}
    return TextColumns(
        columns=tuple(column for column in features.columns if column.name in kept),
        left_out=tuple(column.name for column in alike[_MOST_TEXTS:]),
        best=max((candidate for candidate, _ in fitting), key=lambda candidate: candidate.weight, default=None),
    )


def settle_texts(texts: TextColumns, features: Features, examples: int, found: Findings) -> None:
    """Settles the columns of text, those beside them, the length, and what the model starts from."""
    columns = texts.columns or tuple(column for column in features.columns if column.kind is ColumnKind.TEXT)[:1]
    mean = joined([f"{_mean_words(column):.0f} words in {column.name}" for column in columns])
    length = sequence_length(columns)
    more = f"; {listed(texts.left_out)} would be one too many" if texts.left_out else ""
    beside = "the numbers that training and test examples both have, ids apart"
    found.settle("text_columns", [column.name for column in columns], f"on average {mean}{more}")
    found.settle("number_columns", [column.name for column in features.measures], beside)
    evidence = f"{length} tokens hold 95% of the sampled texts, or as much as is usual"
    found.settle("sequence_length", length, evidence)
    _settle_pretrained(columns, found)
    _settle_counts(columns, found)
    has_counts = "text_counts" in found and bool(found["text_counts"].value)
    if examples <= (_FEW_COUNTED_TEXTS if has_counts else _FEW_TEXTS) and not found.text("pretrained"):
        found.settle("linear_member", True, f"{examples:,} texts are few for a network alone")


def _settle_pretrained(columns: Sequence[Column], found: Findings) -> None:
    """Settles the pretrained model of texts in a language, where the framework reads one."""
    language = _language(columns)
    name = preset_for(str(found["family"].value), language=language, kinds=found.hints.models)
    if name or "pretrained" in found.hints.overrides:
        found.settle("pretrained", name, f"the texts are in {language}" if name else "nothing else was said")


def _language(columns: Sequence[Column]) -> str:
    """The language of texts, "English" or "other languages"; "" of what is in none, such as sequences of DNA."""
    texts = [value[:_READ_OF_A_TEXT] for column in columns for value in column.present]
    in_words = [word for text in texts for word in text.lower().split()]
    letters = [letter for text in texts for letter in text if letter.isalpha()]
    english = sum(word in _ENGLISH for word in in_words) / max(1, len(in_words))
    others = sum(not letter.isascii() for letter in letters) / max(1, len(letters))
    if english >= _ENGLISH_WORDS and others < _LETTERS_IN_ENGLISH:
        return "English"
    return "other languages" if others >= _OTHER_LETTERS else ""


def _settle_counts(columns: Sequence[Column], found: Findings) -> None:
    """Settles whether counts of the texts are learned from: for grades and other numbers, and for several texts."""
    metric = METRICS.get(str(found["metric"].value)) if "metric" in found else None
    is_graded = found.member("target_kind", TargetKind) is TargetKind.NUMBER or (metric and metric.is_ordinal)
    sizes = [_mean_words(column) for column in columns]  # a keyword beside a text is no second text
    is_of_several = sum(size > max(sizes) / 4 for size in sizes) > 1 and not found.text("pretrained")
    if is_graded or is_of_several:
        counted = "what several texts share" if len(columns) > 1 else "how long and how careful a text is"
        what = "a grade or another number" if is_graded else "a class"
        found.settle("text_counts", True, f"{counted} can tell much of {what}")
    elif "text_counts" in found.hints.overrides:
        found.settle("text_counts", False, "nothing in the files says otherwise")


def sequence_length(columns: Sequence[Column]) -> int:
    """Tokens that hold 95% of the examples: a multiple of 128, at most 512."""
    lengths = sorted(
        sum(_word_count(value or "") for value in row)
        for row in zip(*(column.values for column in columns), strict=True)
    )
    if not lengths:
        return _MULTIPLE
    tokens = lengths[min(len(lengths) - 1, len(lengths) * 95 // 100)] * _TOKENS_PER_WORD + 3
    return min(_LONGEST, max(_MULTIPLE, -(-int(tokens) // _MULTIPLE) * _MULTIPLE))


def _reasons(column: Column, *, is_all: bool) -> list[Reason]:
    mean = _mean_words(column)
    is_varied = len(column.distinct) > _DIFFERENT * len(column.present)
    # A phrase or a question that is asked about many times is text as well, if it is called so.
    is_named = bool(words(column.name) & _NAMES) and (is_varied or len(column.distinct) > _SEVERAL)
    return [
        Reason(2 * (is_named and mean >= _SHORT), f"{column.name} is named so"),
        Reason(3 * (mean >= _LONG and is_varied), f"{column.name} has {mean:.0f} words on average"),
        Reason(2.5 * (is_all and (is_varied or is_named) and mean >= _SHORT), "there are no numbers beside it"),
    ]


def _is_beside(column: Column) -> bool:
    """True for words beside a text, such as its keyword: neither ids, which hardly repeat, nor a few categories."""
    is_of_words = not looks_like_id(column.name) and len(column.distinct) > _SEVERAL
    parts = sum(len(value.split()) for value in column.present)
    return is_of_words and (parts >= _SHORT * len(column.present) or 2 * len(column.distinct) < parts)


def _mean_words(column: Column) -> float:
    return sum(map(_word_count, column.present)) / len(column.present) if column.present else 0.0


def _word_count(text: str) -> float:
    return max(float(len(text.split())), len(text) / _LETTERS_PER_WORD)
