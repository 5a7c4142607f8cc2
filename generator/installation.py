"""Where the kit's own files are, in a clone and in an installed package."""

from pathlib import Path


def template_folder() -> Path:
    """The kit's templates: inside of the package when it was installed from a wheel, else beside it in the clone."""
    package = Path(__file__).resolve().parent
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent / "templates"
