"""Kaggle's own typed client, `kagglesdk`, over this kit's transport: the methods and types are its, the manners ours.

`kagglesdk` knows every method, its request and its answer; what it lacks is put around it here: time-outs, sizes,
answers that are no JSON, enum names of tomorrow, fields of another type, errors with words.
"""

import json
import re
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Protocol, get_type_hints

_LARGEST_FIELD_NAME = 60
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")
_SCALARS: dict[Any, str] = {str: "a text", int: "a whole number", bool: "true or false", float: "a number"}


class Post(Protocol):
    """Sends the JSON of a request to a method, such as `kernels.KernelsApiService/SaveKernel`."""

    def __call__(self, method: str, body: bytes, *, wants_redirect: bool) -> "JsonObject | str":
        """The object in the answer, or with `wants_redirect` the address that it sends on to."""


JsonObject = Mapping[str, Any]


class WrongTypeError(Exception):
    """A field of an answer has a type that `kagglesdk` does not expect there."""


class Sdk:
    """The services of `kagglesdk`, each call sent by `post`."""

    def __init__(self, post: Post) -> None:
        self._post = post

    def call(self, service: str, method: str, /, **fields: Any) -> Any:
        """Calls a method of a service by its name in `kagglesdk`.

        Args:
            service: One of `SERVICES`.
            method: The method in `snake_case`, such as `save_kernel`.
            fields: The fields of the request in `snake_case`; those that are None are left out.

        Returns:
            The answer as the type of `kagglesdk`. A field with an enum name that it does not know is None; a field
            that the answer leaves out has its default, which for an enum is its first member.

        Raises:
            WrongTypeError: A field has another type than `kagglesdk` expects.
            KaggleError: As `post` raises it.
        """
        client = _client(service, self._transport)
        method_of_client = getattr(client, method)
        request = get_type_hints(method_of_client)["request"]()
        _fill(request, fields)
        return method_of_client(request)

    def _transport(self, service: str, method: str, request: Any, response_type: Any) -> Any:
        from kagglesdk.common.types.http_redirect import HttpRedirect  # type: ignore[import-untyped]  # no stubs

        body = json.dumps(type(request).to_dict(request)).encode()
        wants_redirect = response_type is HttpRedirect
        answer = self._post(f"{service}/{method}", body, wants_redirect=wants_redirect)
        if isinstance(answer, str):
            redirect = HttpRedirect()
            redirect.url = answer
            return redirect
        return _typed(response_type, answer)


def enum_member(type_name: str, name: str) -> Any:
    """A member of one of `kagglesdk`'s enums, found without regard to case and underscores.

    Args:
        type_name: One of `ENUMS`.
        name: The name with or without the enum's own prefix: `pyTorch` for `MODEL_FRAMEWORK_PY_TORCH`.

    Raises:
        KeyError: There is no such member.
    """
    members: Any = _imported(*ENUMS[type_name])
    prefix = _plain("".join(f"_{c}" if c.isupper() else c for c in type_name))
    wanted = _plain(name)
    for member in members:
        if _plain(member.name) in (wanted, prefix + wanted):
            return member
    raise KeyError(name)


def new_object(type_name: str, /, **fields: Any) -> Any:
    """An object of one of `kagglesdk`'s types that are parts of requests, by a name of `OBJECTS`."""
    instance = _imported(*OBJECTS[type_name])()
    _fill(instance, fields)
    return instance


COMPETITIONS = "competitions"
KERNELS = "kernels"
DATASETS = "datasets"
MODELS = "models"
BLOBS = "blobs"
OAUTH = "oauth"
ACCOUNT = "account"

SERVICES = {
    COMPETITIONS: ("kagglesdk.competitions.services.competition_api_service", "CompetitionApiClient"),
    KERNELS: ("kagglesdk.kernels.services.kernels_api_service", "KernelsApiClient"),
    DATASETS: ("kagglesdk.datasets.services.dataset_api_service", "DatasetApiClient"),
    MODELS: ("kagglesdk.models.services.model_api_service", "ModelApiClient"),
    BLOBS: ("kagglesdk.blobs.services.blob_api_service", "BlobApiClient"),
    OAUTH: ("kagglesdk.security.services.oauth_service", "OAuthClient"),
    ACCOUNT: ("kagglesdk.users.services.account_service", "AccountClient"),
}
ENUMS = {
    "ModelFramework": ("kagglesdk.models.types.model_enums", "ModelFramework"),
    "ModelInstanceType": ("kagglesdk.models.types.model_enums", "ModelInstanceType"),
    "ApiBlobType": ("kagglesdk.blobs.types.blob_api_service", "ApiBlobType"),
    "ApiVersion": ("kagglesdk.users.types.account_service", "ApiVersion"),
    "KernelsListViewType": ("kagglesdk.kernels.types.kernels_enums", "KernelsListViewType"),
}
_DATASET_TYPES = "kagglesdk.datasets.types.dataset_api_service"
_MODEL_TYPES = "kagglesdk.models.types.model_api_service"
OBJECTS = {
    "DatasetFile": (_DATASET_TYPES, "ApiDatasetNewFile"),
    "DatasetFolder": (_DATASET_TYPES, "ApiUploadDirectoryInfo"),
    "DatasetVersion": (_DATASET_TYPES, "ApiCreateDatasetVersionRequestBody"),
    "ModelFile": (_MODEL_TYPES, "ApiDatasetNewFile"),
    "ModelFolder": (_MODEL_TYPES, "ApiUploadDirectoryInfo"),
    "ModelInstance": (_MODEL_TYPES, "ApiCreateModelInstanceRequestBody"),
    "ModelInstanceVersion": (_MODEL_TYPES, "ApiCreateModelInstanceVersionRequestBody"),
}

_import_lock = threading.Lock()


class _Client:
    """What the service classes of `kagglesdk` take for its HTTP client."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call


def _client(service: str, call: Callable[..., Any]) -> Any:
    return _imported(*SERVICES[service])(_Client(call))


def _imported(module: str, name: str) -> Any:
    from importlib import import_module

    # Two threads that import a package for the first time at once can see half of it.
    with _import_lock:
        return getattr(import_module(module), name)


def _fill(instance: Any, fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if value is not None:
            setattr(instance, name, value)


def _typed(kind: Any, values: JsonObject) -> Any:
    """An object of a type of `kagglesdk` from JSON, without its crashes on values that it does not expect."""
    instance = kind()
    for field in kind._fields:
        value = values.get(field.json_name)
        if value is not None:
            setattr(instance, field.private_field_name, _value(field, value))
    return instance


def _value(field: Any, value: Any) -> Any:
    kind, serializer = field.field_type, type(field.serializer).__name__
    if serializer == "ListSerializer":
        if not isinstance(value, list):
            raise _wrong(field, "a list")
        # How the items are written is known to a closure only, but their type tells.
        return [_item(field, kind, item) for item in value if item is not None]
    if serializer == "MapSerializer":
        return value if isinstance(value, dict) else {}
    return _item(field, kind, value)


def _item(field: Any, kind: Any, value: Any) -> Any:
    if kind is datetime:
        return _moment(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum(kind, value)
    if hasattr(kind, "_fields"):
        if not isinstance(value, dict):
            raise _wrong(field, "an object")
        return _typed(kind, value)
    if type(field.serializer).__name__ == "TimeDeltaSerializer":
        return _duration(field, value)
    if kind in _SCALARS and type(value) is not kind:
        return _scalar(field, kind, value)
    return value


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
    if isinstance(value, str):
        try:
            return kind[value]
        except KeyError:
            # As the SDK itself is lenient: without regard to case, and with or without the enum's prefix.
            prefix = _plain("".join(f"_{c}" if c.isupper() else c for c in kind.__name__))
            return next((m for m in kind if _plain(m.name) in (_plain(value), prefix + _plain(value))), None)
    if type(value) is int:
        return next((member for member in kind if member.value == value), None)
    return None


def _moment(value: Any) -> datetime | None:
    """A moment in UTC; a date is never worth failing for."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _duration(field: Any, value: Any) -> Any:
    try:
        return timedelta(seconds=float(value.removesuffix("s")))
    except (AttributeError, ValueError, OverflowError):
        raise _wrong(field, "a duration") from None


def _wrong(field: Any, expected: str) -> WrongTypeError:
    return WrongTypeError(f"has {field.json_name[:_LARGEST_FIELD_NAME]} that is not {expected}")


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
