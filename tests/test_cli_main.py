"""Whatever goes wrong, the command line ends with one message and the right exit code."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from miniature import Outcome, python, write_tree

from generator import __version__
from generator.cli.main import VERBS, main

Tandem = Callable[..., Outcome]


def test_help_shows_every_verb_without_importing_one() -> None:
    script = """
import sys
from generator.cli.main import main
code = main(["--help"])
heavy = {"numpy", "sklearn", "jinja2", "tomlkit", "rich", "nbformat", "papermill", "jupyter_client"}
loaded = (heavy | {"generator.pair", "generator.run"}) & set(sys.modules)
sys.exit(str(loaded) if loaded else code)
"""
    shown = python("-c", script)

    assert (shown.returncode, shown.stderr) == (0, "")
    assert all(name in shown.stdout for name in VERBS)


@pytest.mark.slow
def test_help_is_there_in_a_quarter_of_a_second() -> None:
    def seconds() -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "generator", "--help"], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - start

    assert any(seconds() < 0.25 for _ in range(5))


def test_the_version_is_the_packages(tandem: Tandem) -> None:
    assert tandem("--version").out == f"tandem, version {__version__}\n"


def test_an_unknown_verb_is_usage_with_the_nearest_one(tandem: Tandem) -> None:
    outcome = tandem("generat")

    assert outcome.code == 2
    known = ", ".join(VERBS)
    assert f'There is no verb "generat". Did you mean "generate"? The verbs are {known}.' in outcome.err


def test_an_unknown_option_is_usage(tandem: Tandem) -> None:
    assert tandem("generate", "--compettion", "digits").code == 2
    assert tandem(program="generate").code == 2


def test_an_error_is_one_printable_message_and_no_traceback(tandem: Tandem) -> None:
    outcome = tandem("generate", "--competition", "dig\x1b[31m\nits")

    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err == (
        'Error: "dig\\x1b[31m\\nits" cannot be the name of a pair: use lower-case letters, digits and hyphens.\n'
    )


def test_an_interrupt_is_exit_code_130(tandem: Tandem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.pair.generation.draft", Mock(side_effect=KeyboardInterrupt))
    outcome = tandem("generate", "--competition", "digits")

    assert (outcome.code, outcome.err.strip()) == (130, "Interrupted.")


def test_a_bug_shows_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.pair.generation.draft", Mock(side_effect=ZeroDivisionError))
    with pytest.raises(ZeroDivisionError):
        main(["generate", "--competition", "digits"])


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_traceback() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    left = subprocess.run(
        [sys.executable, "-m", "generator", "generate", "--list"], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)

    assert left.stderr == b""


@pytest.mark.slow
def test_a_terminal_that_lacks_a_character_is_no_reason_to_fail(tmp_path: Path) -> None:
    write_tree(tmp_path, {"kernels/digits/pair.toml": '[pair]\ntitle = "Цифры"\n'})
    arguments = ["generate", "--competition", "digits", "--dry-run", "--workspace", str(tmp_path)]
    shown = python("-m", "generator", *arguments, env={**os.environ, "PYTHONIOENCODING": "latin-1"})

    assert (shown.returncode, shown.stderr) == (0, "")
    assert "\\u0426\\u0438\\u0444\\u0440\\u044b" in shown.stdout
