"""The questions of `generate`: values that are hardly more than a guess are put to whoever sits at the terminal."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from generator.cli.generate_report import value_text
from generator.cli.table import table
from generator.cli.terminal import complain
from generator.competition.facts import Value
from generator.competition.schema import called
from generator.errors import TandemError
from generator.pair.assignments import setting_of
from generator.pair.generation import GenerateOptions
from generator.pair.proposal import Proposal

if TYPE_CHECKING:
    from generator.competition.introspection import Finding

_MOST_SHOWN = 9

Understand = Callable[[GenerateOptions], Proposal]


def asked(options: GenerateOptions, understand: Understand) -> GenerateOptions:
    """Asks for every value that is not clear; each answer counts for those that rest on it.

    Args:
        options: What is asked for.
        understand: Makes a proposal of the options.

    Returns:
        The options with the answers among their flags, which are kept even where they confirm what was inferred.
    """
    settled: set[str] = set()
    while unclear := [finding for finding in understand(options).unclear if finding.key not in settled]:
        options = _answered(unclear[0], options, understand)
        settled.add(unclear[0].key)
    return options


def _answered(finding: "Finding", options: GenerateOptions, understand: Understand) -> GenerateOptions:
    candidates = finding.candidates[:_MOST_SHOWN]
    # A number that is typed could be meant for either, so numbers are not numbered.
    is_number = isinstance(finding.value, int | float) and not isinstance(finding.value, bool)
    names = [value_text(each.value) if is_number else str(place) for place, each in enumerate(candidates, start=1)]
    rows = [[name, _shown(each.value), each.evidence] for name, each in zip(names, candidates, strict=True)]
    click.echo(f"{called(finding.key)} is not clear from the files. What speaks for it:", err=True)
    click.echo(
        table(["", "value", "evidence"][is_number:], [row[is_number:] for row in rows], stream=sys.stderr), err=True
    )
    question = "Which value" if is_number else "Its number, or another value"
    while True:
        text = click.prompt(question, default=names[0], err=True).strip()
        try:
            known = dict(zip(names, (each.value for each in candidates), strict=True))
            answered = _with(options, finding.key, known[text] if text in known else _value(finding.key, text))
            understand(answered)
        except TandemError as error:
            complain(error.message)
        else:
            return answered


def _with(options: GenerateOptions, key: str, value: Value) -> GenerateOptions:
    if key == "family":
        return replace(options, flags={**options.flags, key: value})
    return replace(options, task_flags={**options.task_flags, key: value})


def _value(key: str, text: str) -> Value:
    return text if key == "family" else setting_of(f"{key}={text}")[1]


def _shown(value: Value) -> str:
    return "none" if value in ("", []) else value_text(value)
