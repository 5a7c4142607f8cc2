"""The kit's own files, in a clone and in an installed package, and the command that adds packages to it."""

import re
import shlex
import sys
from pathlib import Path

from generator.errors import TandemError
from generator.untrusted import printable

_PACKAGE = Path(__file__).resolve().parent


class PackageMissingError(TandemError):
    """Something takes a package that the light install leaves out."""

    def __init__(self, *, what: str, package: str) -> None:
        super().__init__(
            f"{what} {package}, which is not installed beside {printable(sys.executable)}. "
            f"Install it with: pip install {printable(package)}"
        )


def installed_version(package: str) -> str:
    """The version of a package that is installed; "" of one that is not."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def template_folder() -> Path:
    """The kit's templates: inside of the package when it was installed from a wheel, else beside it in the clone."""
    installed = _PACKAGE / "templates"
    return installed if installed.is_dir() else _PACKAGE.parent / "templates"


def install_command(extra: str) -> str:
    """The command that installs what an extra of the kit names: by the clone, or else by the packages' own names.

    The kit is on no package index, so its name there would be an error, or some day a stranger's program.
    """
    clone = _PACKAGE.parent
    if (clone / "pyproject.toml").is_file():
        wanted = ["-e", f"{clone}[{extra}]"]
    else:
        from importlib.metadata import requires

        condition = re.compile(rf"(;| and) extra == ['\"]{extra}['\"]$")
        required = [line for line in requires("kaggle-tandem") or () if condition.search(line)]
        wanted = [condition.sub("", line).replace("'", '"') for line in required]
    return printable(shlex.join(["pip", "install", *wanted]))
