"""Rendering the two notebook templates to py:percent text with Jinja."""

import os
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import jinja2
from jinja2.bccache import Bucket

from generator.competition.schema import extended_names
from generator.errors import PairError
from generator.installation import template_folder
from generator.pair.imports import gathered
from generator.pair.own_cells import with_own_cells
from generator.pair.percent import Cell, PercentError, read_cells
from generator.pair.spec import PairSpec
from generator.pair.template_catalog import frameworks
from generator.pair.workspace import Role
from generator.template_files import places, sections
from generator.untrusted import markdown, markdown_code, printable, python_literal

_OTHERS_MAY_WRITE = 0o022
_PATTERN = "*.j2"


def render_parts(spec: PairSpec, role: Role, *, own: Mapping[Path, str] | None = None) -> list[Cell]:
    """Render the parts of one notebook of a pair, before they are joined into its cells.

    Args:
        spec: What the templates are told, as `pair`, `competition` and `task`.
        role: Which notebook, told to the templates as `role`.
        own: What stands in the place of parts or cells, by the user's file that has it.

    Returns:
        The parts in their order.

    Raises:
        PairError: As for `render_text`.
        OwnCellError: A file of the user's cannot take the place of its cell.
        PercentError: What was rendered is no sequence of named cells; with the template and line if they are known.
    """
    text = render_text(spec, role)
    try:
        cells = read_cells(text)
    except PercentError as error:
        source = _line_in_templates(error.text)
        raise PercentError(line=error.line, text=error.text, problem=error.problem, source=source) from error
    return gathered(with_own_cells(cells, own or {}))


def render_text(spec: PairSpec, role: Role) -> str:
    """Renders one notebook of a pair to py:percent text.

    Raises:
        PairError: Jinja cannot read a template, or it uses what the specification does not have; with its line.
    """
    top, folder = f"{role}.py.j2", template_folder()
    try:
        template = environment(folder).get_template(top)
        return template.render(
            pair=spec,
            competition=spec.competition,
            task=SimpleNamespace(**spec.task_values_for(role)),
            backend=spec.framework if role is Role.TRAIN else spec.inference_backend,
            framework=frameworks()[spec.framework],
            role=role,
        )
    except (jinja2.TemplateError, TypeError, ValueError) as error:
        where = _place(error, folder) or top
        raise PairError(f"The template {printable(where)} cannot be rendered: {printable(_problem(error))}.") from error


@cache
def environment(templates: Path) -> jinja2.Environment:
    """The Jinja environment of all templates: statements stand in Python comments, so a template is Python."""
    # The text becomes Python and Markdown; HTML escaping would corrupt both. Values pass the filters below.
    made = jinja2.Environment(
        loader=SectionLoader(templates),
        bytecode_cache=compiled_templates(),
        block_start_string="# {%",
        block_end_string="%}",
        comment_start_string="# {#",
        comment_end_string="#}",
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701
        keep_trailing_newline=True,
    )
    made.filters.update(
        py=_literal, md=lambda value: markdown(str(value)), code=lambda value: markdown_code(str(value))
    )
    return made


def _literal(value: object) -> str:
    # An undefined value says what is undefined when it becomes text; as a value it would only have no literal.
    return python_literal(str(value) if isinstance(value, jinja2.Undefined) else value)


def _problem(error: Exception) -> str:
    if isinstance(error, jinja2.TemplateNotFound):
        return f"there is no template {error.name or error}"
    message = error.message if isinstance(error, jinja2.TemplateSyntaxError) else str(error)
    return (message or type(error).__name__).rstrip(".")


def _place(error: Exception, folder: Path) -> str:
    """The innermost template and line of an error, or ""; Jinja rewrites the frames of templates to show both."""
    if isinstance(error, jinja2.TemplateSyntaxError) and error.name:
        return f"{error.name}, line {error.lineno}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).is_relative_to(folder):
            return f"{Path(frame.filename).relative_to(folder).as_posix()}, line {frame.lineno}"
    return ""


def _line_in_templates(text: str) -> str:
    """The template and line that a rendered line was copied from, if one has it word for word."""
    folder = template_folder()
    for path in sorted(folder.rglob(_PATTERN)):
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
            if text.strip() and line == text:
                return f"the template {path.relative_to(folder).as_posix()}, line {number}"
    return ""


class SectionLoader(jinja2.FileSystemLoader):
    """Loads templates, sections of them, and those of another family or framework that are extended."""

    def get_source(self, environment: jinja2.Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """Return the text of a template or a section, the path of its file, and whether it is still the same.

        Raises:
            jinja2.TemplateNotFound: There is no such file, or it has no such section.
        """
        for place in places(template, extended_names()):
            path, _, section = place.partition("#")
            with suppress(jinja2.TemplateNotFound, KeyError):
                text, file, is_unchanged = super().get_source(environment, path)
                return sections(text)[section], file, is_unchanged
        raise jinja2.TemplateNotFound(template)


class CompiledTemplates(jinja2.FileSystemBytecodeCache):
    """Compiled templates in files of the user's own, since compiling them takes longer than rendering a pair.

    Nothing depends on it, so whatever goes wrong with it goes unsaid.
    """

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fills the bucket if there is something for its template as it stands now."""
        try:
            super().load_bytecode(bucket)
        except Exception:  # noqa: BLE001 - a damaged file can raise anything, and compiling anew is no harm
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keeps what the bucket has."""
        try:
            super().dump_bytecode(bucket)
        except OSError:
            return


def compiled_templates() -> CompiledTemplates | None:
    """The cache, or None where there is no folder that only this user writes to: what is read from it is executed."""
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = caches / "tandem" / f"templates-{jinja2.__version__}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except (OSError, RuntimeError):
        return None
    is_mine = not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & _OTHERS_MAY_WRITE)
    return CompiledTemplates(str(folder)) if is_mine else None
