"""A receipt as one HTML file that needs nothing else, readable on a phone and on paper, by day and by night."""

from collections.abc import Iterable, Sequence
from html import escape

from generator.kaggle.chain.state import Outcome
from generator.kaggle.receipt import KernelLine, Receipt
from generator.kaggle.receipt_text import TABLE_HEADER, facts, number, row, score

_STYLE = """
:root { --ink: #1c2127; --soft: #5d6772; --line: #dfe3e8; --ground: #fff; --raised: #f6f7f9; --accent: #0b6bcb;
  --bad: #b3261e; --bad-ground: #fdf0ef; --mark: #fff3d1; --mark-ink: #6b4a00; --good: #1b6b3a;
  --good-ground: #e8f3ec; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --soft: #9aa5b1; --line: #30363f; --ground: #14171b;
  --raised: #1c2026; --accent: #79b8ff; --bad: #ff8f86; --bad-ground: #2c1a1a; --mark: #3a2f12; --mark-ink: #f2d38a;
  --good-ground: #16281d; --good: #7fd3a0; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 3rem 1.5rem 5rem; }
a { color: var(--accent); overflow-wrap: anywhere; }
h1 { font-size: 2rem; line-height: 1.25; margin: 0; letter-spacing: -.015em; }
h2 { font-size: 1.2rem; margin: 2.75rem 0 .75rem; }
.eyebrow { color: var(--soft); font-size: .875rem; margin: 0 0 .4rem; }
.state { display: inline-block; padding: .05em .7em; border-radius: 1em; font-size: .875rem; font-weight: 600;
  background: var(--mark); color: var(--mark-ink); }
.state.good { background: var(--good-ground); color: var(--good); }
.state.bad { background: var(--bad-ground); color: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 1rem; padding: 0;
  margin: 1.75rem 0 0; list-style: none; }
.tiles li { border: 1px solid var(--line); border-radius: .75rem; padding: .9rem 1.1rem; background: var(--raised); }
.tiles span { display: block; color: var(--soft); font-size: .875rem; line-height: 1.4; }
.tiles strong { display: block; font-size: 1.6rem; line-height: 1.3; font-weight: 650; overflow-wrap: anywhere; }
.notice { border-radius: .75rem; padding: .9rem 1.1rem; margin: 1.75rem 0 0; background: var(--mark);
  color: var(--mark-ink); white-space: pre-line; overflow-wrap: anywhere; }
.notice.bad { background: var(--bad-ground); color: var(--bad); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9375rem; }
th, td { text-align: left; padding: .5rem 1.25rem .5rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; color: var(--soft); font-size: .875rem; }
tbody th { width: 15rem; font-weight: 400; font-size: .9375rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { font: .875em ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
tr.replaced { color: var(--soft); }
@media (max-width: 40rem) { main { padding: 1.5rem 1rem 3rem; } tbody th { width: 40%; } }
"""
_CLASSES = {Outcome.SCORED: "good", Outcome.FAILED: "bad"}
_NUMBERS = {"chain", "out-of-fold", "public", "private", "minutes", "bytes", "version", "min queued", "min run"}


def as_html(receipt: Receipt, others: Sequence[Receipt]) -> str:
    """A receipt with the table over all chains.

    Args:
        receipt: The chain.
        others: All chains of the pair, this one among them.
    """
    title = f"{receipt.pair}, chain {receipt.chain}"
    body = [
        f'<p class="eyebrow">Receipt of a chain · {escape(receipt.title or receipt.competition)}</p>',
        f"<h1>{escape(title)}</h1>",
        f'<p><span class="state {_CLASSES.get(receipt.outcome, "")}">{escape(receipt.outcome)}</span></p>',
        *_notices(receipt),
        _tiles(receipt),
        "<h2>What is on record</h2>",
        _facts(receipt),
        "<h2>Kernels</h2>",
        _kernels(receipt.kernels),
        *_files(receipt),
        *_parameters(receipt),
        "<h2>All chains of this pair</h2>",
        _table(TABLE_HEADER, [[escape(cell) for cell in row(other)] for other in others]),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escape(title)}: receipt</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _notices(receipt: Receipt) -> list[str]:
    notices = []
    if receipt.failure:
        notices.append(f'<p class="notice bad">{escape(receipt.failure)}</p>')
    if receipt.by_hand_page:
        link = _link(receipt.by_hand_page, receipt.by_hand_page)
        notices.append(f'<p class="notice">To do: open {link} and press “{escape(receipt.by_hand_button)}”.</p>')
    if receipt.is_emulated:
        notices.append('<p class="notice">The TPU was emulated on CPUs: the times say nothing of Kaggle.</p>')
    return notices


def _tiles(receipt: Receipt) -> str:
    tiles = [
        (f"out-of-fold {receipt.metric}", score(receipt.out_of_fold)),
        ("public score", score(receipt.public)),
        ("private score", score(receipt.private)),
        ("minutes in all", "" if receipt.minutes is None else f"{receipt.minutes:.1f}"),
    ]
    items = "".join(
        f"<li><span>{escape(name)}</span><strong>{escape(value)}</strong></li>" for name, value in tiles if value
    )
    return f'<ul class="tiles">{items}</ul>'


def _facts(receipt: Receipt) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in facts(receipt)
    )
    versions = ", ".join(f"{name} {version}" for name, version in receipt.versions.items())
    if versions:
        rows += f'<tr><th scope="row">versions in training</th><td>{escape(versions)}</td></tr>'
    if receipt.submission_sha256:
        value = f"{receipt.submission_rows:,} rows, SHA-256 <code>{escape(receipt.submission_sha256)}</code>"
        rows += f'<tr><th scope="row">submission file</th><td>{value}</td></tr>'
    return f'<div class="wide"><table><tbody>{rows}</tbody></table></div>'


def _kernels(kernels: Iterable[KernelLine]) -> str:
    header = ("kernel", "version", "asked for", "state", "min queued", "min run")
    rows = [
        [
            f"{escape(kernel.role)}<br>{_link(kernel.url, kernel.ref)}",
            str(kernel.version),
            escape(kernel.asked_for),
            escape(kernel.state) + (", replaced" if kernel.replaced else ""),
            number(kernel.queued_minutes),
            number(kernel.ran_minutes),
        ]
        for kernel in kernels
    ]
    return _table(header, rows) if rows else "<p>Nothing was pushed yet.</p>"


def _files(receipt: Receipt) -> list[str]:
    if not receipt.files:
        return []
    rows = [
        [f"<code>{escape(file.file)}</code>", f"{file.size:,}", f"<code>{escape(file.sha256)}</code>"]
        for file in receipt.files
    ]
    return ["<h2>Handed over</h2>", _table(("file", "bytes", "SHA-256"), rows)]


def _parameters(receipt: Receipt) -> list[str]:
    parts = []
    for role, values in receipt.parameters.items():
        if values:
            rows = [
                [f"<code>{escape(str(name))}</code>", f"<code>{escape(repr(value))}</code>"]
                for name, value in values.items()
            ]
            heading = f"<h2>Parameters of the {escape(role)} notebook</h2>"
            parts.append(
                f"{heading}<details><summary>{len(rows)} values</summary>{_table(('name', 'value'), rows)}</details>"
            )
    return parts


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    kinds = [' class="number"' if name in _NUMBERS else "" for name in header]
    head = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(header, kinds, strict=True))
    lines = "".join(
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(cells, kinds, strict=True)) + "</tr>"
        for cells in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'


def _link(url: str, text: str) -> str:
    """A link where the address is one of the web; anything else is text."""
    if not url.startswith(("https://", "http://")):
        return escape(text)
    return f'<a href="{escape(url, quote=True)}" rel="noreferrer">{escape(text)}</a>'
