"""The page of a rehearsal: what was tried, what passed, what would have failed on Kaggle and when."""

from datetime import datetime
from pathlib import Path

from generator.rehearsal.result import Rehearsal
from generator.run.report import duration
from generator.workspace_files import WorkspaceFiles

TEMPLATE = "rehearsal.html.j2"


def write_page(rehearsal: Rehearsal, files: WorkspaceFiles) -> None:
    """Writes the page, whole or not at all.

    Raises:
        FileWriteError: It could not be written.
    """
    import jinja2  # noqa: TID251 (rendering.py has the rules for notebooks; a page escapes HTML instead)

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["duration"] = duration
    page = environment.get_template(TEMPLATE).render(
        rehearsal=rehearsal,
        written=f"{datetime.now():%Y-%m-%d %H:%M}",
        parts=[
            ("Training on eight devices", "training", rehearsal.training),
            ("The hidden test", "hidden-test", rehearsal.hidden_test),
        ],
    )
    files.write(rehearsal.report, page.encode("utf-8", "replace"))
