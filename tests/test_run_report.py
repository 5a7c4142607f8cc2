"""The report of a run."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from runnable_pair import INFER, TRAIN, write_pair

from generator.errors import RunError
from generator.pair.workspace import Role
from generator.run.execution import ExecutedNotebook
from generator.run.report import exact_duration, write_report
from generator.run.result import RunResult

HOSTILE = "</pre></div><script>alert(1)</script><img src='http://evil.example/x.png' onerror='alert(1)'>"
MEASURES = """
    import numpy as np
    path = Path(WORKING_ROOT, "handoff.json")
    history = [{"loss": 1 / (epoch + 1), "score": score} for epoch, score in enumerate([0.5, 0.8, 0.7, 0.6])]
    fold = {"score": 0.6, "history": history}
    handover = json.loads(path.read_text()) | {"folds": [fold, fold]}
    path.write_text(json.dumps(handover))
    half, fourth = np.arange(12) % 2, np.arange(12) % 4
    truth, ids = (fourth == 0).astype(int), [f"r{row}" for row in range(12)]
    np.savez(WORKING_ROOT + "/oof.npz", ids=ids, fold=half, truth=truth, rows=np.arange(12))
"""
SHOWS = {
    "## Figures": "![elsewhere](https://evil.example/y.png)",
    "waits": "open('/kaggle/input/tiny/x</pre><script>.csv') if HOSTILE is None else None",
    "figure": """
        from IPython.display import HTML, SVG, Markdown, Image, display
        display(SVG('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><rect width="9" height="9"/></svg>'))
        display(HTML(HOSTILE), Markdown(HOSTILE))
        display(HTML("<![b["), HTML("<b>" * 700_000))
        print(HOSTILE)
    """,
}


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the tags that are open at its end; none closes another."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open_tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br", "hr"):
            self.open_tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open_tags.pop() == tag


def fold(path: Path, *, cell: str) -> None:
    notebook = json.loads(path.read_text())
    (one,) = (each for each in notebook["cells"] if each["id"] == cell)
    one["metadata"]["tags"] = ["hide-input"]
    path.write_text(json.dumps(notebook))


@pytest.fixture(scope="module")
def written() -> list[str]:
    """The report, as soon as a test has asked for it."""
    return []


@pytest.fixture
def report(written: list[str], tandem: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The report of a pair that is hostile wherever it can be; it is run once."""
    if written:
        return written[0]
    monkeypatch.chdir(tmp_path)
    shows = {"hostile": f"HOSTILE = {HOSTILE!r}", **SHOWS}
    folder = write_pair(
        tmp_path,
        train={**TRAIN, "measures": MEASURES, **shows},
        infer={f"## {HOSTILE}": HOSTILE, **INFER},
        title=HOSTILE,
    )
    fold(folder / "train" / "train.ipynb", cell="hostile")
    done = tandem("run", "tiny", "-P", "EPOCHS=4")
    assert done.code == 0, done.err
    assert "\nbaseline     0.7500 the best constant\n" in done.out
    assert "\nnext         The validation score gets worse after the best epochs. Try -P EPOCHS=2" in done.out
    written.append((tmp_path / "output/tiny/report.html").read_text())
    return written[0]


def test_the_report_needs_nothing_from_elsewhere_and_runs_nothing(report: str) -> None:
    elements = Elements(report).found

    assert not {tag for tag, _ in elements} & {"script", "link", "iframe", "object", "embed", "base", "form"}
    assert all(
        value is None or value.startswith("data:") for tag, a in elements for k, value in a.items() if k == "src"
    )
    assert not [name for _, attributes in elements for name in attributes if name.startswith("on")]
    assert not re.search(r"@import|url\(", report.partition("</style>")[0])
    assert "default-src 'none'" in report
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in report


def test_what_a_notebook_shows_cannot_close_the_page_around_it(report: str) -> None:
    assert Elements(report).open_tags == []


def test_the_report_has_scores_parameters_versions_times_figures_and_notebooks(report: str) -> None:
    assert "Out-of-fold accuracy" in report
    assert "0.7500" in report
    assert re.search(r'<code>EPOCHS</code>.*<td class="changed"><code>4</code>.*default <code>3</code>', report)
    assert "3.15.0" in report
    assert '<h2 id="time">' in report
    assert report.count('<img src="data:image/svg+xml;base64,') == 2, "in the gallery and in the notebook"
    assert report.count('<details class="notebook"') == 2


def test_the_report_has_what_the_check_finds_beside_its_cell(report: str) -> None:
    cells = re.split(r'<div class="cell[^>]*>', report)
    (waits,) = (each for each in cells if "<header><span>waits</span>" in each)

    assert (
        '<li class="warning"><b>N040</b> warning, line 1: /kaggle/input/tiny/x&lt;/pre&gt;&lt;script&gt;.csv' in waits
    )
    assert re.search(r"tandem check: \d+ errors?, \d+ warnings?", report)


def test_the_report_concludes_from_its_own_figures(report: str) -> None:
    assert re.search(
        r">Baseline&#39;s accuracy</span> <span class=\"value\">0.7500</span> <span class=\"note\">the best con", report
    )
    assert "<li>The best epoch is 2 of 4, in every fold.</li>" in report
    assert "<li>Out-of-fold accuracy 0.7500 is as good as the best constant, 0.7500.</li>" in report
    assert "Try -P EPOCHS=" in report  # the curves speak first


def test_an_output_that_cannot_be_shown_is_left_out_and_said(report: str) -> None:
    assert report.count('<div class="output note">') == 1
    assert "2,100,000 characters of HTML are too many, or take too long, to be shown here" in report
    assert "<b><b>" not in report


def test_a_report_is_written_of_a_notebook_that_cannot_be_read(tmp_path: Path) -> None:
    lost = ExecutedNotebook(tmp_path / "train.ipynb", 1.0, {})
    result = RunResult(
        pair="tiny",
        title="Tiny",
        is_smoke=False,
        is_specimen=False,
        seconds=1.0,
        notebooks={Role.TRAIN: lost},
        parameters={},
        handover=None,
        submission=None,
        hidden_test=None,
        report=tmp_path / "report.html",
        failure=RunError("The disk was full."),
    )

    write_report(result)

    assert "The disk was full." in result.report.read_text()
    assert "train.ipynb: it does not exist." in result.report.read_text()


def test_the_code_of_a_folded_cell_is_shown_on_demand(report: str) -> None:
    folded = re.findall(r'(?s)<details class="folded">\s*<summary>Code</summary>(.*?)</details>', report)

    assert len(folded) == 1
    assert "HOSTILE" in folded[0]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.6, "1 min 0 s"), (185, "3 min 5 s"), (7_800, "2 h 10 min")],
)
def test_times_read_the_way_people_say_them(seconds: float, text: str) -> None:
    assert exact_duration(seconds) == text
