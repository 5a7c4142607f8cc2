"""The receipt of a training on Colab: what was asked for and what was got, and whether it may still cost units.

It is on the disk before a machine is asked for, and after each step: whatever ends this process, the next one knows the
session's name. No token is among its fields.
"""

import json
import re
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

from generator.colab.errors import NoReceiptError
from generator.pair.handover import DamagedError, json_object
from generator.pair.workspace import Workspace
from generator.untrusted import JsonObject, quoted

_SESSION = re.compile(r"tandem-[a-z0-9-]{1,40}")
_MOST_FACTS = 50
_MOST = 1e15  # of a number in a receipt


class Stage(StrEnum):
    """How far a rental has come."""

    ASKED = "asked for"
    RENTED = "rented"
    RETURNED = "given back"
    UNKNOWN = "perhaps still rented"


@dataclass(frozen=True)
class Receipt:
    """A training on Colab.

    Attributes:
        pair: The pair.
        session: The name by which Google's command line knows the machine.
        asked: The machine that was asked for.
        high_memory: Whether much memory was asked for.
        hours: How long the notebook may run.
        stage: Where the machine is.
        others: The machines that the account had before.
        machine: What the machine says of itself before anything is trained.
        accelerator: What the notebook found.
        units: The account's balance before and after.
        out_of_fold: The score that training measured.
        handover: The SHA-256 of what it handed over.
        failure: The sentence of the error that ended it.
        began: When it began.
        ended: When it ended.
    """

    pair: str
    session: str
    asked: str
    high_memory: bool
    hours: float
    stage: Stage = Stage.ASKED
    others: tuple[str, ...] = ()
    machine: dict[str, Any] = field(default_factory=dict)
    accelerator: dict[str, Any] = field(default_factory=dict)
    units: tuple[float | None, float | None] = (None, None)
    out_of_fold: dict[str, Any] = field(default_factory=dict)
    handover: str = ""
    failure: str = ""
    began: str = ""
    ended: str = ""


@dataclass
class ReceiptFile:
    """The receipt of a pair on the disk, `output/PAIR/colab/receipt.json`."""

    workspace: Workspace
    receipt: Receipt

    @property
    def path(self) -> Path:
        """The file."""
        return receipt_path(self.workspace, self.receipt.pair)

    def note(self, **changes: Any) -> None:
        """Writes the receipt with other fields."""
        self.receipt = replace(self.receipt, **changes)
        text = json.dumps(asdict(self.receipt), indent=2, ensure_ascii=False) + "\n"
        self.workspace.files.write(self.path, text.encode("utf-8"))


def receipt_path(workspace: Workspace, pair: str) -> Path:
    """The place of a pair's receipt."""
    return workspace.output(pair) / "colab" / "receipt.json"


def read_receipt(workspace: Workspace, pair: str) -> Receipt:
    """Reads the receipt of a pair's last training on Colab.

    Raises:
        NoReceiptError: There is none, or it is none that was written here.
    """
    path = receipt_path(workspace, pair)
    workspace.files.check(path)
    try:
        fields = json_object(path)
        stage = Stage(fields.text("stage"))
    except (FileNotFoundError, DamagedError, ValueError) as error:
        raise NoReceiptError(pair=pair, path=path) from error
    # The name becomes an argument of Google's program.
    if not _SESSION.fullmatch(fields.text("session")):
        raise NoReceiptError(pair=pair, path=path)
    units = dict(enumerate(_list(fields, "units")))
    return Receipt(
        pair=pair,
        session=fields.text("session"),
        asked=fields.text("asked"),
        high_memory=fields.flag("high_memory"),
        hours=fields.number("hours") or 0.0,
        stage=stage,
        others=tuple(map(str, _list(fields, "others"))),
        machine=facts_of(fields.section("machine")),
        accelerator=facts_of(fields.section("accelerator")),
        units=(_number(units.get(0)), _number(units.get(1))),
        out_of_fold=facts_of(fields.section("out_of_fold")),
        handover=fields.text("handover"),
        failure=fields.text("failure"),
        began=fields.text("began"),
        ended=fields.text("ended"),
    )


def _list(fields: JsonObject, name: str) -> list[Any]:
    value = fields.get(name)
    return value if isinstance(value, list) else []


def _number(value: object) -> float | None:
    """A number that can be reckoned with, or None."""
    number = JsonObject({"": value}).number("")
    return number if number is not None and abs(number) < _MOST else None


def facts_of(fields: JsonObject) -> dict[str, Any]:
    """What a machine says of itself, as far as it is a number or a short text; the machine is untrusted."""
    few = islice(fields.items(), _MOST_FACTS)
    return {
        quoted(name): quoted(value) if isinstance(value, str) else value
        for name, value in few
        if value is None or isinstance(value, str | bool) or _number(value) is not None
    }


def now() -> str:
    """This moment, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
