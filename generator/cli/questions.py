"""The questions of `generate`: values that are hardly more than a guess are put to whoever sits at the terminal."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from generator.cli.generate_report import value_text
from generator.cli.terminal import complain, table
from generator.competition.schema import display_name
from generator.errors import TandemError
from generator.pair.generation import GenerateOptions, Infer
from generator.pair.overrides import parse_setting
from generator.text import Value

if TYPE_CHECKING:
    from generator.competition.introspection.evidence import Finding

_MOST_SHOWN = 9


def ask_about_unclear(options: GenerateOptions, infer: Infer) -> GenerateOptions:
    """Asks for every value that is not clear; each answer counts for those that rest on it.

    Args:
        options: The options of the command line.
        infer: Infers the task, given the options.

    Returns:
        The options with the answers among their flags, which are kept even where they confirm what was inferred.
    """
    answered_keys: set[str] = set()
    while unclear := [finding for finding in infer(options).unclear if finding.key not in answered_keys]:
        options = _with_answer(unclear[0], options, infer)
        answered_keys.add(unclear[0].key)
    return options


def _with_answer(finding: "Finding", options: GenerateOptions, infer: Infer) -> GenerateOptions:
    candidates = finding.candidates[:_MOST_SHOWN]
    # A number that is typed could be meant for either, so numbers are not numbered.
    is_number = isinstance(finding.value, int | float) and not isinstance(finding.value, bool)
    names = [
        value_text(candidate.value) if is_number else str(place) for place, candidate in enumerate(candidates, start=1)
    ]
    rows = [
        [name, _format_value(candidate.value), candidate.evidence]
        for name, candidate in zip(names, candidates, strict=True)
    ]
    click.echo(f"{display_name(finding.key)} is not clear from the files. The candidates are:", err=True)
    click.echo(
        table(["", "value", "evidence"][is_number:], [row[is_number:] for row in rows], stream=sys.stderr), err=True
    )
    question = "Value" if is_number else "Number of a candidate, or another value"
    while True:
        text = click.prompt(question, default=names[0], err=True).strip()
        try:
            values = dict(zip(names, (candidate.value for candidate in candidates), strict=True))
            value = values[text] if text in values else _value(finding.key, text)
            with_answer = replace(options, values={**options.values, finding.key: value})
            infer(with_answer)
        except TandemError as error:
            complain(error.message)
        else:
            return with_answer


def _value(key: str, text: str) -> Value:
    return text if key == "family" else parse_setting(f"{key}={text}")[1]


def _format_value(value: Value) -> str:
    return "none" if value in ("", []) else value_text(value)
