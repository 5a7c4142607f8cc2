"""The text of `pair.toml`: writing choices into it without losing what the user wrote around them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from generator.competition.facts import Value
from generator.pair.choices import Choice, Choices, MadeBy

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_BANNER = (
    "The choices behind this pair of notebooks, written by `tandem generate`, which keeps what you change here:",
    'replace a table by a plain value (framework = "tensorflow"), or edit its value, and the choice is yours.',
)
_INTRODUCTIONS = {
    "pair": "",
    "task": "What the competition asks for, and what that was inferred from.",
    "parameters": "Values for the parameters cells of both notebooks, such as EPOCHS = 10; none are set by default.",
}


def text_of(choices: Choices, *, existing: str | None = None) -> str:
    """Writes choices as TOML.

    Args:
        choices: All choices of the pair.
        existing: The file as it is. Comments and order in it stay, and so does each entry that says the same already;
            what it leaves open is left open as long as nobody but the kit chooses it.

    Returns:
        The file's new content.
    """
    import tomlkit

    document = _new_document() if existing is None else tomlkit.parse(existing)
    said = document.unwrap()
    for name, entries in choices.sections().items():
        present: Mapping[str, Any] = said.get(name, {})
        changed = {
            key: choice
            for key, choice in entries.items()
            if (not _says(present[key], choice) if key in present else existing is None or choice.by.is_the_users)
        }
        if changed and name not in document:
            document.add(name, tomlkit.table())
        for key, choice in changed.items():
            section: Any = document[name]
            section[key] = _inline_table(choice)
    return tomlkit.dumps(document)


def _new_document() -> "TOMLDocument":
    import tomlkit

    document = tomlkit.document()
    for line in _BANNER:
        document.add(tomlkit.comment(line))
    document.add(tomlkit.nl())
    for name, introduction in _INTRODUCTIONS.items():
        section = tomlkit.table()
        if introduction:
            section.add(tomlkit.comment(introduction))
        document.add(name, section)
    return document


def _inline_table(choice: Choice) -> Any:
    import tomlkit

    fields = {"value": choice.value, "by": str(choice.by)} | ({"evidence": choice.evidence} if choice.evidence else {})
    return tomlkit.value(
        "{ " + ", ".join(f"{key} = {tomlkit.item(value).as_string()}" for key, value in fields.items()) + " }"
    )


def _says(entry: Value | Mapping[str, Any], choice: Choice) -> bool:
    """Whether an entry of the file means this choice already; a plain value is a choice by hand."""
    if isinstance(entry, Mapping):
        meant = (entry.get("value"), entry.get("by", MadeBy.HAND), entry.get("evidence", ""))
        return meant == (choice.value, choice.by, choice.evidence)
    return choice.by is MadeBy.HAND and entry == choice.value
