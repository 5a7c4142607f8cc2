"""The inference server that some competitions bring along: which module it is, and what its gateway says."""

from collections.abc import Sequence

from generator.competition.survey.facts import InferenceServer
from generator.competition.survey.files import Files
from generator.competition.survey.listing import Directory

_PACKAGE = "kaggle_evaluation"
_SERVER, _GATEWAY = "_inference_server.py", "_gateway.py"
_LONGEST = 64 << 10  # bytes


def find_server(files: Files, directories: Sequence[Directory]) -> InferenceServer | None:
    """The inference server in the package `kaggle_evaluation` at the top of a competition's files, if there is one."""
    package = next((found for found in directories if found.path == _PACKAGE), None)
    servers = [name for name in package.names if name.endswith(_SERVER)] if package else []
    if package is None or not servers:
        return None
    name = servers[0]
    gateway = name.removesuffix(_SERVER) + _GATEWAY
    text = _text(files, package.path_of(gateway)) if gateway in package.names else ""
    return InferenceServer(module=name.removesuffix(".py"), gateway_name=gateway if text else "", gateway=text)


def _text(files: Files, path: str) -> str:
    """The beginning of a file as text; "" if it cannot be read."""
    try:
        with files.opened(path) as file:
            return file.read(_LONGEST).decode("utf-8", "replace")
    except OSError:
        return ""
