"""A receipt as Markdown, and the table over all chains of a pair."""

from collections.abc import Sequence
from datetime import UTC, datetime

from generator.kaggle.receipt import Receipt
from generator.untrusted import markdown, markdown_code

TABLE_HEADER = ("chain", "begun", "on", "outcome", "out-of-fold", "public", "private", "minutes")


def row(receipt: Receipt) -> tuple[str, ...]:
    """A chain as a row of the table."""
    return (
        str(receipt.chain),
        moment(receipt.begun),
        receipt.target,
        str(receipt.outcome),
        score(receipt.out_of_fold),
        score(receipt.public),
        score(receipt.private),
        "" if receipt.minutes is None else f"{receipt.minutes:.0f}",
    )


def facts(receipt: Receipt) -> list[tuple[str, str]]:
    """The facts of a chain, each with its name; those that are not known are left out."""
    pairs = [
        ("outcome", str(receipt.outcome)),
        ("competition", receipt.competition),
        ("on", f"{receipt.target}, as {receipt.account}"),
        ("begun", moment(receipt.begun)),
        ("last change", moment(receipt.last)),
        ("git commit", receipt.commit),
        ("hand-over by", ", ".join((receipt.handoff, *receipt.uploads))),
        ("accelerator obtained", receipt.accelerator),
        ("out-of-fold", f"{receipt.metric} {score(receipt.out_of_fold)}".strip()),
        ("public score", score(receipt.public)),
        ("private score", score(receipt.private)),
        ("submission", str(receipt.submission or "")),
        ("GPU hours of the account meanwhile", number(receipt.gpu_hours)),
        ("TPU hours of the account meanwhile", number(receipt.tpu_hours)),
        ("kit", receipt.kit),
    ]
    return [(name, value) for name, value in pairs if value]


def as_markdown(receipt: Receipt, others: Sequence[Receipt]) -> str:
    """A receipt with the table over all chains.

    Args:
        receipt: The chain.
        others: All chains of the pair, this one among them.
    """
    lines = [f"# {markdown(receipt.pair)}: chain {receipt.chain}", ""]
    if receipt.failure:
        lines += [f"**Failed.** {markdown(receipt.failure)}", ""]
    if receipt.by_hand_page:
        lines += [f"**To do:** open {markdown(receipt.by_hand_page)}, press {markdown(receipt.by_hand_button)}.", ""]
    lines += _table(("", ""), [(name, markdown_code(value)) for name, value in facts(receipt)])
    lines += ["", "## Kernels", ""]
    header = ("kernel", "version", "asked for", "state", "minutes queued", "minutes run", "")
    lines += _table(header, [_kernel(receipt, index) for index in range(len(receipt.kernels))])
    if receipt.files:
        lines += ["", "## Handed over", ""]
        files = [(markdown_code(f.file), f"{f.size:,}", markdown_code(f.sha256)) for f in receipt.files]
        lines += _table(("file", "bytes", "SHA-256"), files)
    lines += ["", "## All chains of this pair", ""]
    lines += _table(TABLE_HEADER, [tuple(map(markdown, row(other))) for other in others])
    return "\n".join(lines) + "\n"


def moment(at: datetime | None) -> str:
    """A moment to the minute, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at else ""


def score(value: float | None) -> str:
    """A score with as many digits as a leaderboard of Kaggle shows, or nothing."""
    return "" if value is None else f"{value:.5f}"


def number(value: float | None) -> str:
    """An amount, or nothing."""
    return "" if value is None else f"{value:.4f}".rstrip("0").rstrip(".")


def _kernel(receipt: Receipt, index: int) -> tuple[str, ...]:
    kernel = receipt.kernels[index]
    return (
        f"{kernel.role}: {markdown(kernel.ref)}",
        f"{kernel.version}, {markdown(kernel.url)}",
        markdown(kernel.asked_for),
        kernel.state,
        number(kernel.queued_minutes),
        number(kernel.ran_minutes),
        "replaced" if kernel.replaced else "",
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows)]
