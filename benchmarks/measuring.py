"""Measurements taken in pairs, and the table that reports them."""

import argparse
import multiprocessing
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import psutil

QUIET = 0.1  # the share of the processors that other programs may take while a pair is measured


@dataclass(frozen=True)
class Bar:
    """What a median has to reach: `sign` is "<", "<=" or ">=", in the unit of its row."""

    sign: str
    limit: float

    def is_reached_by(self, value: float) -> bool:
        """Whether a value is on the right side of the limit."""
        return {"<": value < self.limit, "<=": value <= self.limit, ">=": value >= self.limit}[self.sign]

    def __str__(self) -> str:
        return f"{self.sign} {self.limit:g}"


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, every sample of it, and the bar if there is one."""

    what: str
    samples: Sequence[float]
    unit: str = "s"
    bar: Bar | None = None

    def cells(self) -> tuple[str, ...]:
        """The texts of the line."""
        middle = median(self.samples)
        values = (_short(value) for value in (middle, min(self.samples), max(self.samples)))
        verdict = ("", "") if self.bar is None else (str(self.bar), "yes" if self.bar.is_reached_by(middle) else "NO")
        return (self.what, self.unit, *values, str(len(self.samples)), *verdict)


def ratio_row(what: str, over: Sequence[float], under: Sequence[float], bar: Bar) -> Row:
    """The ratio within each pair, which a machine that slows down meanwhile does not change."""
    return Row(what, [mine / other for mine, other in zip(over, under, strict=True)], "ratio", bar)


def print_table(rows: Sequence[Row]) -> None:
    """Prints the rows as a Markdown table, under the machine and the command that made them."""
    head = ("what", "unit", "median", "min", "max", "samples", "bar", "reached")
    lines = [head, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    lines.insert(1, tuple("-" * width for width in widths))
    python = f"Python {platform.python_version()}"
    print(f"\n{os.cpu_count()} cores, {platform.system()} {platform.machine()}, {python}")
    print(f"$ python {shlex.join([os.path.relpath(sys.argv[0]), *sys.argv[1:]])}\n")
    for line in lines:
        print(f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |")
    print(flush=True)


def command_line(description: str | None) -> argparse.ArgumentParser:
    """A command line with the option --quick."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a reduced size, to see that it works")
    return parser


def is_quick(description: str | None) -> bool:
    """Reads the command line, whose only option is --quick."""
    return bool(command_line(description).parse_args().quick)


def say(text: str) -> None:
    """Prints progress where it does not mix with the table."""
    print(text, file=sys.stderr, flush=True)


def in_pairs(
    what: str, first: Callable[[], float], second: Callable[[], float], *, pairs: int
) -> tuple[list[float], list[float]]:
    """Takes the two measurements in turn, A B B A A B …, so that drift falls on both alike.

    A pair during which other programs took much of the machine is taken again, at most twice as often in all. Which
    pairs are kept is decided by how busy the machine was, never by what was measured.
    """
    taken: list[tuple[float, tuple[float, float]]] = []
    while len(taken) < pairs or (len(taken) < 2 * pairs and sum(busy < QUIET for busy, _ in taken) < pairs):
        others = OtherPrograms()
        samples = (first(), second()) if len(taken) % 2 == 0 else (second(), first())[::-1]
        taken.append((others.share(), samples))
        figures = f"{samples[0]:.4g} and {samples[1]:.4g}"
        say(f"{what}: pair {len(taken)}: {figures}; other programs took {taken[-1][0]:.0%} of the processors")
    kept = sorted(taken, key=lambda pair: pair[0])[:pairs]
    say(f"{what}: kept {pairs} of {len(taken)} pairs, with other programs at {kept[-1][0]:.0%} or less")
    return [samples[0] for _, samples in kept], [samples[1] for _, samples in kept]


class OtherPrograms:
    """What share of the processors went to anything but this process and its children since this was made."""

    def __init__(self) -> None:
        self._busy, self._own, self._started = *self._seconds(), time.perf_counter()

    def share(self) -> float:
        """Returns it, from 0 to 1."""
        busy, own = self._seconds()
        available = (time.perf_counter() - self._started) * (os.cpu_count() or 1)
        return max(0.0, (busy - self._busy) - (own - self._own)) / available

    @staticmethod
    def _seconds() -> tuple[float, float]:
        machine = psutil.cpu_times()
        idle = machine.idle + getattr(machine, "iowait", 0.0)
        return sum(machine) - idle, sum(os.times()[:4])


def program(name: str) -> str:
    """The console script of a package that is installed beside this Python."""
    path = Path(sys.executable).with_name(name)
    if not path.is_file():
        raise SystemExit(f"{path} does not exist. Run this with the Python of the project's environment: make bench")
    return str(path)


def seconds_of(command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None) -> float:
    """Runs a command and returns its wall time; what it printed is shown only if it fails."""
    started = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return seconds


def in_fresh_process(function: Callable[..., Any], *arguments: object) -> Any:
    """Calls a function of a module in a new Python, which has imported nothing yet, and ends it."""
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) >= 10 else f"{value:.3f}"
