"""Small competitions in the layouts that Kaggle has.

They stand as data in `competitions/*.toml`, a table for each: what Kaggle calls the metric, the `files`, and what the
evaluation page says (`page`). `cases` are the same competition with something else: `options` of the command line,
`metric`, `page`, `lists`, `examples`, more or other `files`, those that it is `without`, and other `names` of them.
What `generate` reports of a competition and its cases stands in `golden/`, which is all that is expected of them.
`competitions/cases` has what one rule makes of one table or folder after another.
`competitions/kaggle` has competitions as they stand on Kaggle, with their source: columns and first rows are quoted.

The text of a file is written as it stands, but for what is in angle brackets. A line that begins with loops,
`<n in train><kind in kinds>`, is written for each of their values, where `examples` has the numbers of the examples (as
the arguments of `range`) and `lists` has other values; in the name of a file it makes a file for each. Then there are
choices, `<male|female>`; numbers between two, with as many decimals as the first has, `<0.00~9.5>`; and expressions,
`<n % 2>`, `<n:04d>`, in which `key`, `words`, `numbers` and `fill` (with a text of `lists`) can be used as well.
The name says what a file is: an image of a size and mode ("48x40 L"), a sound of so many seconds, a table in Parquet,
a part of an archive, records ... A file of `zeros` cannot be read.
"""

import gzip
import io
import json
import re
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from gateway_package import write_gateway
from layout_files import picture, record, sentence, some, sound

from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints, Reading
from generator.competition.survey import Survey, survey_folder

DATA, GOLDEN = (Path(__file__).with_name(name) for name in ("competitions", "golden"))
_LOOP = re.compile(r"<(\w+) in ([^<>]+)>")
_SLOT = re.compile(r"<([^<>]+)>")
_DRAW = re.compile(r"(-?\d+(?:\.(\d+))?)~(-?[\d.]+)")
_SPEC = re.compile(r"(.+):(\.?\d+[dxf])")
_IMAGES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".bmp", ".webp")


@dataclass(frozen=True, eq=False)
class Layout:
    """One competition.

    Attributes:
        name: For the list of tests.
        metric: What Kaggle's API calls the metric.
        source: Where a competition as it stands on Kaggle is quoted from.
        text: The files, as the data describe them.
        scope: What the text can name.
        encoding: Of the tables.
        gateway: What the inference server of the competition is like, where it has one: arguments of `write_gateway`.
        page: What the evaluation page says.
        options: Options of `generate`, as they are typed.
        cases: The same competition with something else, by name.
    """

    name: str
    metric: str = ""
    source: str = ""
    text: Mapping[str, str] = field(default_factory=dict)
    scope: Mapping[str, object] = field(default_factory=dict)
    encoding: str = "utf-8"
    gateway: Mapping[str, str] = field(default_factory=dict)
    page: str = ""
    options: str = ""
    cases: "Mapping[str, Layout]" = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Fills an empty folder."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if self.gateway:
            write_gateway(folder, **self.gateway)

    @cached_property
    def survey(self) -> Survey:
        """The survey of its files."""
        with TemporaryDirectory() as folder:
            self.write(Path(folder))
            return survey_folder(Path(folder))

    def read(self) -> Reading:
        """Reads its task from the survey."""
        return read_task(self.survey, Hints(slug=self.name.replace("_", "-"), metric_text=self.metric))

    @cached_property
    def record(self) -> dict[str, Any]:
        """What `generate` reports of it, as far as that is not usual; empty for a layout that is new."""
        path = GOLDEN / f"{self.name}.json"
        return dict(json.loads(path.read_text(encoding="utf-8"))[""]) if path.is_file() else {}

    @cached_property
    def files(self) -> dict[str, bytes]:
        """The content of each file by its path."""
        files: dict[str, bytes] = {}
        members: dict[str, dict[str, bytes]] = {}
        fresh = {"source": some(), **self.scope}
        for path, text in self.text.items():
            for scope, name in expanded(path, fresh):
                archive, packed, member = name.partition(".zip/")
                is_broken = text == "zeros"
                content = bytes(200) if is_broken else self.content(Path(name), text, scope, shade=len(files))
                if packed:
                    members.setdefault(f"{archive}.zip", {})[member] = content
                else:
                    files[name] = content
        return files | {path: zipped(inside) for path, inside in members.items()}

    def content(self, path: Path, text: str, scope: dict[str, Any], *, shade: int) -> bytes:
        """The bytes of a file: its suffix says which kind it is of."""
        suffix = path.suffix.lower()
        if suffix in _IMAGES:
            size, _, mode = fill_text(text, scope).partition(" ")
            return picture(size or "48x40", mode or "RGB", suffix[1:], shade=shade * 37 % 256)
        if suffix == ".wav":
            return sound(seconds=float(text or 0.25))
        lines = [line for each in text.splitlines() for _, line in expanded(each, scope)]
        if suffix == ".tfrec":
            return b"".join(record(dict(map(feature, line.split(" ")))) for line in lines)
        if suffix == ".json" and _LOOP.match(text):
            return json.dumps([json.loads(line) for line in lines], ensure_ascii=False).encode()
        encoded = "".join(f"{line}\n" for line in lines).encode(self.encoding)
        if suffix == ".parquet":
            return parquet(encoded)
        return gzip.compress(encoded) if suffix == ".gz" else encoded


def expanded(text: str, scope: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yields a text for each value of its loops, with the values that it was filled in with."""
    if loop := _LOOP.search(text):
        rest = text[: loop.start()] + text[loop.end() :]
        for value in evaluated(loop[2], scope):
            yield from expanded(rest, {**scope, loop[1]: value})
    else:
        yield scope, fill_text(text, scope)


def fill_text(text: str, scope: dict[str, Any]) -> str:
    return _SLOT.sub(lambda slot: filled(slot[1], scope), text)


def filled(slot: str, scope: dict[str, Any]) -> str:
    """One of several, a number between two, or an expression."""
    source = scope["source"]
    if "|" in slot:
        slot = source.choice(slot.split("|"))
        return filled(slot, scope) if _DRAW.fullmatch(slot) else slot
    if draw := _DRAW.fullmatch(slot):
        if draw[2] is None:
            return str(source.randint(int(draw[1]), int(draw[3])))
        return f"{source.uniform(float(draw[1]), float(draw[3])):.{len(draw[2])}f}"
    formatted = _SPEC.fullmatch(slot)
    return format(evaluated(formatted[1], scope), formatted[2]) if formatted else str(evaluated(slot, scope))


def evaluated(expression: str, scope: dict[str, Any]) -> Any:
    source = scope["source"]

    def numbers(count: int, low: float, high: float, separator: str = " ") -> str:
        draw = source.randint if isinstance(low, int) else lambda low, high: round(source.uniform(low, high), 1)
        return separator.join(str(draw(low, high)) for _ in range(count))

    names = {
        "key_of": key_of,
        "key": key_of(scope.get("n", 0)),
        "words": lambda count: sentence(source, count),
        "numbers": numbers,
        "fill": lambda text: fill_text(text, scope),
    }
    return eval(_compiled(expression), names | scope)  # noqa: S307 (of our own data)


@cache
def key_of(number: int) -> str:
    """A name as many competitions give them to their files."""
    return f"{some(number).getrandbits(48):012x}"


@cache
def _compiled(expression: str) -> Any:
    return compile(expression, "<layout>", "eval")


def feature(text: str) -> tuple[str, bytes | int]:
    """The name and value of a feature of a record: a number, an image of a size, or a text."""
    name, _, value = text.partition("=")
    if re.fullmatch(r"\d+x\d+", value):
        return name, picture(value, "RGB", "jpeg")
    return name, int(value) if value.isdecimal() else value.encode()


def zipped(members: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def parquet(table: bytes) -> bytes:
    import pandas

    stream = io.BytesIO()
    pandas.read_csv(io.BytesIO(table)).to_parquet(stream)
    return stream.getvalue()


def read_layouts(paths: Iterable[Path]) -> Iterator[Layout]:
    for path in paths:
        for name, said in tomllib.loads(path.read_text(encoding="utf-8")).items():
            cases = said.pop("cases", {})
            layout = Layout(name, text=said.pop("files"), scope=scope_of(said), **said)
            yield replace(layout, cases={case: change_layout(layout, changes) for case, changes in cases.items()})


def scope_of(data: dict[str, Any]) -> dict[str, object]:
    """What the text of a layout can name."""
    numbered = {key: range(*numbers) for key, numbers in data.pop("examples", {}).items()}
    return numbered | data.pop("lists", {})


def change_layout(layout: Layout, changes: dict[str, Any]) -> Layout:
    """A case of a layout."""
    without, names = changes.pop("without", ()), changes.pop("names", {})
    files = {**layout.text, **changes.pop("files", {})}
    text = {names.get(path, path): content for path, content in files.items() if path not in without}
    return replace(layout, text=text, scope={**layout.scope, **scope_of(changes)}, **changes)


def sampled(layouts: Sequence[Layout]) -> list[Any]:
    """The layouts as parameters of a test that renders or writes each: every fourth is among the fast ones."""
    marks = [() if number % 4 == 0 else (pytest.mark.slow,) for number in range(len(layouts))]
    return [pytest.param(layout, id=layout.name, marks=mark) for layout, mark in zip(layouts, marks, strict=True)]


_EVERY = tuple(read_layouts(sorted(DATA.glob("*.toml"))))
ALL_LAYOUTS = tuple(layout for layout in _EVERY if "errors" not in layout.record)
LAYOUTS = [layout for layout in ALL_LAYOUTS if not layout.record.get("warnings")]
WARNED = [layout for layout in ALL_LAYOUTS if layout.record.get("warnings")]
CATALOGUE = [
    *_EVERY,
    *read_layouts(path for part in ("kaggle", "cases") for path in sorted(DATA.glob(f"{part}/*.toml"))),
]
