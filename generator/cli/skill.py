"""The verb `skill`: how a program works with this kit, as a file in the open format SKILL.md."""

import hashlib
import re
from pathlib import Path

import click

from generator import __version__
from generator.cli.options import shortest
from generator.errors import TandemError
from generator.files import WorkspaceFiles, read_text, writing
from generator.kit_files import skill_path
from generator.text import printable

_SIGNATURE = re.compile(r"(?P<text>.*)<!-- tandem \S+ sha256:(?P<digest>[0-9a-f]{64}) -->\n", re.DOTALL)


@click.command()
@click.option(
    "--install",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write DIR/tandem/SKILL.md, where DIR is a folder of skills.",
)
@click.option("--force", is_flag=True, help="With --install: overwrite an edited file.")
@click.pass_context
def skill(context: click.Context, /, folder: Path | None, *, force: bool) -> None:
    """Print how a program works with Tandem: which verb when, what costs quota, how to read a report.

    \b
    tandem skill
    tandem skill --install ~/skills
    """  # noqa: D301 - click wants the character itself
    text = skill_path().read_text(encoding="utf-8")
    if folder is None:
        if force:
            context.fail("--force works only with --install.")
        click.echo(text, nl=False)
        return
    path = folder / "tandem" / "SKILL.md"
    if path.is_file() and not force and _is_edited(read_text(path)):
        raise TandemError(
            f"{printable(str(path))} has edits, so it was not overwritten.",
            remedy="Move it away, or overwrite it with --force.",
            code="edited-skill",
        )
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    WorkspaceFiles(folder).write(path, _with_signature(text).encode())
    click.echo(f"{printable(shortest(path))} is written.")


def _with_signature(text: str) -> str:
    """The text with a last line by which a later version knows that nobody edited it."""
    return f"{text}<!-- tandem {__version__} sha256:{hashlib.sha256(text.encode()).hexdigest()} -->\n"


def _is_edited(text: str) -> bool:
    signature = _SIGNATURE.fullmatch(text)
    return signature is None or hashlib.sha256(signature["text"].encode()).hexdigest() != signature["digest"]
