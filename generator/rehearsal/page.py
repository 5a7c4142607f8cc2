"""The page of a rehearsal: what was tried, what passed, what would have failed on Kaggle and when."""

from datetime import datetime
from pathlib import Path

from generator.page_templates import PageTemplates
from generator.rehearsal.result import Rehearsal
from generator.run.report import duration
from generator.workspace_files import WorkspaceFiles


def write_page(rehearsal: Rehearsal, files: WorkspaceFiles) -> None:
    """Writes the page, whole or not at all.

    Raises:
        FileWriteError: It could not be written.
    """
    page = PageTemplates(Path(__file__).parent, duration=duration).render(
        "rehearsal.html.j2",
        rehearsal=rehearsal,
        written=f"{datetime.now():%Y-%m-%d %H:%M}",
        parts=[
            ("Training on eight devices", "training", rehearsal.training),
            ("The hidden test", "hidden-test", rehearsal.hidden_test),
        ],
    )
    files.write(rehearsal.report, page.encode("utf-8", "replace"))
