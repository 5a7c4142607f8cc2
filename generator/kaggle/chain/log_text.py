"""The text of a session's log, which Kaggle keeps as a JSON array, or cut off in the middle of one."""

import json
import re

_DATA = re.compile(r'"data"\s*:\s*("(?:[^"\\]|\\.)*")')


def plain(log: str) -> str:
    """What the session printed; text that is no JSON stays as it is."""
    pieces = _DATA.findall(log)
    if not pieces:
        return log
    return "".join(_text(piece) for piece in pieces)


def _text(piece: str) -> str:
    try:
        return str(json.loads(piece, strict=False))
    except ValueError:
        return ""
