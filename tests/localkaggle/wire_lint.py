"""Holds recorded exchanges against the types of the installed kagglesdk.

The client ignores fields that it does not know, so nothing else shows a typo in an answer; an enum's name that it does
not know ends it with a traceback.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import kagglesdk
from kagglesdk import kaggle_object as sdk
from kagglesdk.common.types.file_download import FileDownload
from kagglesdk.common.types.http_redirect import HttpRedirect
from serving import Exchange

# 7 digits and more of a fraction are cut by the client; 1 or 2 are read wrongly by Python 3.10.
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3,9})?Z")
_SPAN = re.compile(r"\d+(?:\.\d{1,9})?s")
# kagglehub asks for it, and the SDK has no class for it.
_BEYOND_THE_SDK = {"api.v1.DiagnosticsService/Hello": {"userName"}}
_ERROR = {"code", "message"}


@dataclass(frozen=True)
class Shape:
    """What a method takes and gives; `response` is None where it gives nothing."""

    request: type[Any]
    response: type[Any] | None


class _Recorder:
    """Stands where the SDK's HTTP client does, and notes what would have been called."""

    def __init__(self) -> None:
        self.shapes: dict[str, Shape] = {}

    def call(self, service: str, method: str, request: Any, response: type[Any] | None) -> None:
        self.shapes[f"{service}/{method}"] = Shape(type(request), response)


@cache
def methods() -> dict[str, Shape]:
    """Every method that the installed SDK can call."""
    recorder = _Recorder()
    for module in pkgutil.walk_packages(kagglesdk.__path__, "kagglesdk."):
        if ".services." not in module.name:
            continue
        for name, client in vars(importlib.import_module(module.name)).items():
            if isinstance(client, type) and name.endswith("Client") and client.__module__ == module.name:
                instance = client(recorder)
                for method, function in vars(client).items():
                    if not method.startswith("_") and callable(function):
                        function(instance)
    return recorder.shapes


def complaints(exchanges: Iterable[Exchange], *, requests: bool = False) -> list[str]:
    """What the SDK would not know of these answers, and with `requests` of these requests; each complaint once."""
    found: dict[str, None] = {}
    for exchange in exchanges:
        found.update(dict.fromkeys(_of_exchange(exchange, requests=requests)))
    return list(found)


def _of_exchange(exchange: Exchange, *, requests: bool) -> Iterator[str]:
    shape = methods().get(exchange.method)
    if exchange.status >= 400:
        if set(exchange.answer or {}) != _ERROR and exchange.status != 500:
            yield f"{exchange.method}: an error of {sorted(exchange.answer or {})}, not of a code and a message"
    elif shape is None:
        if not set(exchange.answer or {}) <= _BEYOND_THE_SDK.get(exchange.method, set()):
            yield f"{exchange.method}: answered, and no method of the SDK"
    else:
        if requests:
            yield from _of_object(exchange.request, shape.request, f"{exchange.method} request")
        yield from _of_answer(exchange, shape.response)


def _of_answer(exchange: Exchange, expected: type[Any] | None) -> Iterator[str]:
    is_file = expected in (HttpRedirect, FileDownload)
    if (exchange.answer is None) is not is_file:
        yield f"{exchange.method}: {'a file' if is_file else 'JSON'} is expected, and the answer is something else"
    elif expected is None and exchange.answer:
        yield f"{exchange.method}: fields, where the SDK expects nothing"
    elif expected is not None and not is_file:
        yield from _of_object(exchange.answer, expected, exchange.method)


def _of_object(value: Any, kind: type[Any], place: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{place}: {value!r:.60} is no {kind.__name__}"
        return
    known = {field.json_name: field for field in kind._fields}
    for name, item in value.items():
        if name not in known:
            yield f"{place}: {kind.__name__} has no field {name}"
        elif item is None:
            if known[name].default_value is not None:
                yield f"{place}.{name}: null"
        else:
            yield from _of_value(item, known[name].field_type, known[name].serializer, f"{place}.{name}")


def _of_value(value: Any, kind: Any, serializer: Any, place: str) -> Iterator[str]:
    if isinstance(serializer, sdk.ListSerializer | sdk.MapSerializer):
        yield from _of_many(value, kind, serializer, place)
    elif isinstance(serializer, sdk.KaggleObjectSerializer):
        yield from _of_object(value, kind, place)
    elif not _is_a(value, kind, serializer):
        yield f"{place}: {value!r:.60} is no {getattr(kind, '__name__', kind)} as the SDK reads one"


def _of_many(value: Any, kind: Any, serializer: Any, place: str) -> Iterator[str]:
    many = list if isinstance(serializer, sdk.ListSerializer) else dict
    if not isinstance(value, many):
        yield f"{place}: {value!r:.60} is no {many.__name__}"
        return
    # The SDK keeps what the items are in the closure of its own function.
    cells = [cell.cell_contents for cell in serializer.from_dict_value.__closure__]
    inner = next(cell for cell in cells if isinstance(cell, sdk.ObjectSerializer))
    for item in value.values() if isinstance(value, dict) else value:
        yield from _of_value(item, kind, inner, place)


def _is_a(value: Any, kind: Any, serializer: Any) -> bool:
    match serializer:
        case sdk.EnumSerializer():
            return isinstance(value, str) and value in kind.__members__
        case sdk.DateTimeSerializer():
            return isinstance(value, str) and _MOMENT.fullmatch(value) is not None
        case sdk.TimeDeltaSerializer():
            return isinstance(value, str) and _SPAN.fullmatch(value) is not None
    if kind in (int, float):
        return isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
    return not isinstance(kind, type) or isinstance(value, kind)
