"""What Kaggle and Colab lend, as a table and as JSON."""

import json
from dataclasses import asdict

from generator.accelerators.catalog import Accelerator, Service, Status, catalog
from generator.cli.table import table
from generator.untrusted import printable

_HEADER = ("accelerator", "TFLOP/s", "memory", "GB/s", "cores", "RAM", "hours", "sessions", "units/h", "good for")
_UNKNOWN = "?"


def accelerators_as_text() -> str:
    """The comparison: what everybody can have, what only some competitions lend, what is retired."""
    known = catalog()
    parts = [f"What Kaggle and Colab lend, as of {known.as_of}; ? is not known.", ""]
    offered = [each for each in known.everything if each.status is Status.OFFERED]
    parts += [table(_HEADER, [_row(each) for each in offered]), ""]
    parts += [
        "TFLOP/s, GB/s: of all chips; dense matrices in bfloat16 (TPU) or float16 (GPU).",
        "cores: of the smallest and the largest host, where they differ. RAM: in GiB.",
        "hours: of a session / of a week's quota. sessions: at a time, queued ones included.",
        "units/h: Colab's, first and last known.",
        "",
    ]
    others = [each for each in known.everything if each.status is not Status.OFFERED]
    parts.append(table(("not offered to all", "chips", "why"), [_other(each) for each in others]))
    return "\n".join(parts)


def accelerators_as_json() -> str:
    """The same for programs, with the source of every figure."""
    known = catalog()
    return json.dumps(
        {
            "as_of": str(known.as_of),
            "dollars_per_unit": known.dollars_per_unit,
            "accelerators": [{**asdict(each), "title": each.title} for each in known.everything],
        },
        indent=2,
        default=str,
    )


def _row(each: Accelerator) -> tuple[str, ...]:
    rate = each.rate(each.chip.training_dtype) if each.chip else None
    chips = f"{each.chips} x " if each.chips > 1 else ""
    return (
        each.title,
        _figure(rate and rate / 1e12) if each.chip else "",
        f"{chips}{each.chip.memory_gb:g} GB" if each.chip else "",
        _figure(each.bandwidth and each.bandwidth / 1e9) if each.chip else "",
        _figure(each.cores) + (f"-{each.max_cores}" if each.max_cores else ""),
        _figure(each.host_memory_gib),
        f"{each.session_hours}/{each.weekly_hours}" if each.weekly_hours else f"{each.session_hours}",
        str(each.concurrent_sessions or ""),
        _units(each),
        each.good_for,
    )


def _units(each: Accelerator) -> str:
    if each.service is not Service.COLAB:
        return ""
    prices = sorted({price.per_hour for price in each.units}, key=[price.per_hour for price in each.units].index)
    return "→".join(f"{price:g}" for price in prices) or _UNKNOWN


def _other(each: Accelerator) -> tuple[str, ...]:
    chips = f"{each.chips} x {each.chip.name}" if each.chip else ""
    since = f"retired{f' {each.retired_on}' if each.retired_on else ''}: " if each.status is Status.RETIRED else ""
    return each.title, printable(chips), f"{since}{each.good_for}"


def _figure(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"  # noqa: PLR2004 - digits
