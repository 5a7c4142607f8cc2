"""The package `google.colab` as far as notebooks meet it, which keeps what was asked of it in `asked`."""

import sys
from types import ModuleType

import pytest


class StandInColab:
    """A runtime of Colab without Colab: the drive is a folder, secrets are a dictionary, and nobody is at a browser."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.secrets: dict[str, str] = {}
        parts = {
            "drive": {"mount": self._tell("mount"), "flush_and_unmount": self._tell("flush")},
            "runtime": {"unassign": self._tell("unassign")},
            "userdata": {"get": self._secret},
        }
        package = ModuleType("google.colab")
        for name, functions in parts.items():
            module = ModuleType(f"google.colab.{name}")
            vars(module).update(functions)
            monkeypatch.setitem(sys.modules, module.__name__, module)
            setattr(package, name, module)
        monkeypatch.setitem(sys.modules, "google.colab", package)

    def _tell(self, what: str) -> object:
        def asked(*arguments: str) -> None:
            self.asked.append(" ".join((what, *arguments)))

        return asked

    def _secret(self, name: str) -> str:
        self.asked.append(f"secret {name}")
        return self.secrets[name]
