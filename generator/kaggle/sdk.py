"""Kaggle's own typed client, `kagglesdk`: its methods, requests and answers, without its HTTP client and its reading.

`kagglesdk` knows every method and every type. Its HTTP client knows no time-outs and no bounds: `api_client` sends in
its place. Its reading of answers believes any type and crashes on enum names of tomorrow: it is done here.
"""

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any, get_type_hints

from generator.text import storable

COMPETITIONS = "kagglesdk.competitions.services.competition_api_service:CompetitionApiClient"
KERNELS = "kagglesdk.kernels.services.kernels_api_service:KernelsApiClient"
DATASETS = "kagglesdk.datasets.services.dataset_api_service:DatasetApiClient"
MODELS = "kagglesdk.models.services.model_api_service:ModelApiClient"
BLOBS = "kagglesdk.blobs.services.blob_api_service:BlobApiClient"
OAUTH = "kagglesdk.security.services.oauth_service:OAuthClient"
ACCOUNT = "kagglesdk.users.services.account_service:AccountClient"

JsonObject = Mapping[str, Any]

_LARGEST_FIELD_NAME = 60
_LONGEST_TEXT = 100_000  # characters of a text in an answer that is no document
_DOCUMENTS = ("content", "log", "source")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")
_SCALARS: dict[Any, str] = {str: "a text", int: "a whole number", bool: "true or false", float: "a number"}
_import_lock = threading.Lock()


class WrongTypeError(Exception):
    """A field of an answer has a type that `kagglesdk` does not expect there."""


@dataclass(frozen=True)
class SdkCall:
    """A call of a method, ready to be sent.

    Attributes:
        path: The method's name in addresses, such as `kernels.KernelsApiService/SaveKernel`.
        body: The request as JSON.
        answer_type: The type of `kagglesdk` that the answer has.
    """

    path: str
    body: bytes
    answer_type: Any

    @property
    def expects_redirect(self) -> bool:
        """True if the method answers with the address of a file."""
        return bool(self.answer_type is _import_name("kagglesdk.common.types.http_redirect:HttpRedirect"))

    def answer(self, values: JsonObject) -> Any:
        """The answer from its JSON.

        A field with an enum name that `kagglesdk` does not know is None; a field that is left out has its default,
        which for an enum is its first member.

        Raises:
            WrongTypeError: A field has another type than `kagglesdk` expects.
        """
        return _build(self.answer_type, values, "json_name")


def prepare_call(service: str, method: str, /, **fields: Any) -> SdkCall:
    """The call of a method by its name in `kagglesdk`.

    Args:
        service: One of the services above.
        method: The method in `snake_case`, such as `save_kernel`.
        fields: The fields of the request in `snake_case`: enums by name, objects as mappings. None leaves one out.
    """

    def call(service: str, method: str, request: Any, answer_type: Any) -> SdkCall:
        return SdkCall(f"{service}/{method}", json.dumps(type(request).to_dict(request)).encode(), answer_type)

    # A service hands what it is asked to its HTTP client; this one sends nothing.
    bound_method = getattr(_import_name(service)(SimpleNamespace(call=call)), method)
    prepared_call: SdkCall = bound_method(_build(get_type_hints(bound_method)["request"], fields, "field_name"))
    return prepared_call


def model_framework(name: str) -> str:
    """Kaggle's name of the framework in a model's handle: `pyTorch` is `MODEL_FRAMEWORK_PY_TORCH`; "" for none."""
    member = _enum(_import_name("kagglesdk.models.types.model_enums:ModelFramework"), name)
    return str(member.name) if member else ""


def moment(value: Any) -> datetime | None:
    """A date as Kaggle writes it, in UTC; None for anything else, since a date is never worth failing for."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _import_name(name: str) -> Any:
    # Two threads that import a package for the first time at once can see half of it.
    with _import_lock:
        return resolve_name(name)


def _build(kind: Any, values: JsonObject, naming: str) -> Any:
    """An object of a type of `kagglesdk`; `naming` is the property of its fields that has their names in `values`.

    Its own reading crashes on values that it does not expect.
    """
    instance = kind()
    fields = {getattr(field, naming): field for field in kind._fields}
    for name, value in values.items():
        # An answer may have fields that are not known yet, a request may not.
        if value is not None and (name in fields or naming == "field_name"):
            field = fields[name]
            setattr(instance, field.private_field_name, _value(field, value, naming))
    return instance


def _value(field: Any, value: Any, naming: str) -> Any:
    serializer = type(field.serializer).__name__
    if serializer == "ListSerializer":
        if not isinstance(value, list):
            raise _wrong(field, "a list")
        # How the items are written is known to a closure only, but their type tells.
        return [_item(field, item, naming) for item in value if item is not None]
    if serializer == "MapSerializer":
        return value if isinstance(value, dict) else {}
    return _item(field, value, naming)


def _item(field: Any, value: Any, naming: str) -> Any:
    kind = field.field_type
    if kind is datetime:
        return moment(value)
    if kind is timedelta:
        return _duration(field, value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum(kind, value)
    if hasattr(kind, "_fields"):
        if not isinstance(value, dict):
            raise _wrong(field, "an object")
        return _build(kind, value, naming)
    if kind in _SCALARS and type(value) is not kind:
        return _scalar(field, kind, value)
    return _text(field, value) if kind is str and naming == "json_name" else value


def _text(field: Any, value: str) -> str:
    if len(value) > _LONGEST_TEXT and field.json_name not in _DOCUMENTS:
        raise _wrong(field, f"a text of at most {_LONGEST_TEXT:,} characters")
    return storable(value)


def _scalar(field: Any, kind: type, value: Any) -> Any:
    """A number that came as a text, as JSON of protocol buffers writes large ones, or a text that came as a number."""
    is_number = type(value) in (int, float)
    if kind is str and is_number:
        return str(value)
    if kind is float and is_number:
        return float(value)
    if kind is int and isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value):
        return int(value)
    raise _wrong(field, _SCALARS[kind])


def _enum(kind: Any, value: Any) -> Any:
    """A member by its number, or by its name: without regard to case and underscores, with the enum's prefix or not."""
    if isinstance(value, str):
        names = (_plain(value), _plain(kind.__name__ + value))
        return next((member for name, member in kind.__members__.items() if _plain(name) in names), None)
    return next((member for member in kind if member.value == value), None) if type(value) is int else None


def _duration(field: Any, value: Any) -> timedelta:
    try:
        return timedelta(seconds=float(value.removesuffix("s")))
    except (AttributeError, ValueError, OverflowError):
        raise _wrong(field, "a duration") from None


def _wrong(field: Any, expected: str) -> WrongTypeError:
    return WrongTypeError(f"has {field.json_name[:_LARGEST_FIELD_NAME]} that is not {expected}")


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
