"""Rendering a pair: from templates and a specification to the files of both kernels."""

import json
import os
import re
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import jinja2
from jinja2.bccache import Bucket

from generator.competition.schema import all_parameters, extended_names, frameworks
from generator.errors import PairError
from generator.kit_files import places, sections, template_folder
from generator.pair.notebook import (
    FOLDED_TAG,
    SHARED_MARK,
    Cell,
    PercentError,
    UnknownParameterError,
    check_own_cells,
    check_own_cells_suit,
    check_syntax,
    different_cells,
    gather_imports,
    is_fixed,
    join_parts,
    notebook_text,
    override,
    parameters_cell,
    parse_percent_cells,
    read_comments,
    read_parameters,
    with_own_cells,
    with_runtime,
)
from generator.pair.settings import Origin, Settings, SettingValue
from generator.pair.spec import PairSpec, check_backbone, check_spec, spec_of
from generator.pair.workspace import PairFolder, Role
from generator.text import Value, filled_list, markdown, markdown_code, printable, python_literal

PairCells = dict[Role, list[Cell]]
"""The cells of both notebooks of a pair."""


# `kernel-metadata.json`: what Kaggle is told of a kernel, with every field explicit.
#
# Written afresh each time. A `docker_image` is never among the fields: one of a GPU makes a TPU session run without
# its TPU (Kaggle/kaggle-cli#1197).


def metadata_text(spec: PairSpec, role: Role, *, code_file: str | None = None) -> str:
    """Writes the metadata of one kernel of a pair.

    Args:
        spec: The pair.
        role: Which of its kernels.
        code_file: The notebook, relative to the folder of the metadata; by default it stands beside it.

    Returns:
        JSON with a final newline.
    """
    is_training = role is Role.TRAIN
    kernel = spec.kernel(role)
    accelerator = spec.accelerator_of(role)
    # Training and inference both read an output of the training kernel, if it runs on Kaggle.
    reads_training = not spec.handover_dataset and (spec.continues or not is_training)
    fields = {
        "id": kernel.ref,
        "title": kernel.title,
        "code_file": code_file or f"{role}.ipynb",
        "language": "python",
        "kernel_type": "notebook",
        "is_private": True,
        "enable_gpu": accelerator.kind == "gpu",
        "enable_tpu": accelerator.kind == "tpu",
        # Training fetches ImageNet weights. Code competitions refuse a submission from a kernel with internet, so that
        # it stays off even where the pages would allow it, unless the user says otherwise.
        "enable_internet": is_training or bool(spec.competition.internet),
        "machine_shape": accelerator.machine_shape,
        "keywords": [],
        "dataset_sources": _dataset_sources(spec, role),
        "competition_sources": [spec.competition.slug],
        "kernel_sources": [
            *([spec.train.ref] if reads_training else []),
            *(member.kernel for member in spec.kernel_members),
        ],
        "model_sources": _model_sources(spec, role),
    }
    return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


def _dataset_sources(spec: PairSpec, role: Role) -> list[str]:
    """The datasets that a notebook reads: members of a blend that are files, or a hand-over."""
    if spec.members:
        return sorted(set(spec.member_datasets))
    return [spec.handover_dataset] if spec.handover_dataset and role is Role.INFER else []


def _model_sources(spec: PairSpec, role: Role) -> list[str]:
    """The Kaggle Models that a notebook reads; a backbone's weights are in the hand-over."""
    if spec.members:
        return sorted({member.model for member in spec.members if member.model}) if role is Role.INFER else []
    return [spec.handle] if spec.handle and (role is Role.TRAIN or not spec.has_backbone) else []


_OTHERS_MAY_WRITE = 0o022
_PATTERN = "*.j2"


def _template_cells(spec: PairSpec, role: Role) -> list[Cell]:
    """Render the cells and parts of cells that the templates of one notebook have."""
    text = render_text(spec, role)
    try:
        return parse_percent_cells(text)
    except PercentError as error:
        source = _line_in_templates(error.text)
        raise PercentError(line=error.line, text=error.text, problem=error.problem, source=source) from error


def render_text(spec: PairSpec, role: Role) -> str:
    """Renders one notebook of a pair to py:percent text.

    Raises:
        PairError: Jinja cannot read a template, or it uses what the specification does not have; with its line.
    """
    top, folder = f"{role}.py.j2", template_folder()
    if spec.members:
        top = f"frameworks/{spec.framework}/{top}"
    try:
        template = jinja_environment(folder).get_template(top)
        return template.render(
            pair=spec,
            competition=spec.competition,
            task=SimpleNamespace(**spec.task_values_for(role)),
            backend=spec.framework if role is Role.TRAIN else spec.inference_backend,
            framework=frameworks()[spec.framework],
            role=role,
        )
    except (jinja2.TemplateError, TypeError, ValueError) as error:
        location = _place(error, folder) or top
        raise PairError(
            f"The template {printable(location)} cannot be rendered: {printable(_problem(error))}."
        ) from error


@cache
def jinja_environment(templates: Path) -> jinja2.Environment:
    """The Jinja environment of all templates: statements stand in Python comments, so a template is Python."""
    # The text becomes Python and Markdown; HTML escaping would corrupt both. Values pass the filters below.
    jinja_environment = jinja2.Environment(
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
    jinja_environment.filters.update(
        py=_literal,
        py_lines=filled_list,
        md=lambda value: markdown(str(value)),
        code=lambda value: markdown_code(str(value)),
    )
    return jinja_environment


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


# The two kernels of a pair as files: what its settings render to.


_RELATIVE = PairFolder(Path())
_NAME = re.compile("`([A-Z][A-Z_]*)`")
_MODEL_CELL = "model"
_END_OF_CLAUSE = re.compile(r"[.:;](?=\s|$)| \(")


def render_kernels(settings: Settings, *, user_files: Mapping[Path, str] | None = None) -> dict[Path, bytes]:
    """Renders both notebooks of a pair with their metadata.

    Args:
        settings: A complete set of settings.
        user_files: What stands in the place of cells, by the user's file that has it; see `read_own_cells`.

    Returns:
        The content of each file by its path inside of the pair's folder; the same settings always give the same bytes.

    Raises:
        PairError: A template cannot be rendered, or a parameter that the user sets does not exist or fit, or a file of
            the user's has no cell whose place it can take.
    """
    return kernel_files(settings, rendered_cells(settings, user_files=user_files))


def rendered_cells(settings: Settings, *, user_files: Mapping[Path, str] | None = None) -> PairCells:
    """Render the cells of both notebooks as they are where the user sets no parameter.

    Raises:
        PairError: As for `rendered_parts`.
    """
    notebooks = {
        role: join_parts(with_runtime(parts)) for role, parts in rendered_parts(settings, user_files=user_files).items()
    }
    return notebooks | {Role.INFER: [_folded_copy(cell) for cell in notebooks[Role.INFER]]}


def _folded_copy(cell: Cell) -> Cell:
    """Return a cell of inference, folded if training shows the same code."""
    is_copy = cell.source.startswith(SHARED_MARK) and FOLDED_TAG not in cell.tags
    return replace(cell, tags=(*cell.tags, FOLDED_TAG)) if is_copy else cell


def rendered_parts(settings: Settings, *, user_files: Mapping[Path, str] | None = None) -> PairCells:
    """Render the parts that the cells of both notebooks are joined of.

    Raises:
        PairError: A template cannot be rendered, or the framework cannot do what the user asks for.
        OwnCellError: A file of the user's cannot take the place of a cell.
        PercentError: A template renders to no sequence of named cells; with its line if that is known.
    """
    spec, user_files = spec_of(settings), user_files or {}
    check_spec(spec)
    backend = spec.inference_backend
    cells = {role: _template_cells(spec, role) for role in Role}
    if user_files:
        without_own = [gather_imports(of_role) for of_role in cells.values()]
        check_own_cells(without_own, user_files)
        if backend != spec.framework:
            check_own_cells_suit(backend, without_own, user_files)
    parts = {role: gather_imports(with_own_cells(of_role, user_files)) for role, of_role in cells.items()}
    in_both = set.intersection(*({part.name for part in notebook} for notebook in parts.values()))
    if backend != spec.framework:
        in_both -= different_cells(parts.values())
    return {role: [_drop_false_mark(part, in_both) for part in notebook] for role, notebook in parts.items()}


def kernel_files(settings: Settings, notebooks: PairCells) -> dict[Path, bytes]:
    """Makes the files of both kernels of the cells that the settings render to, with the parameters that the user sets.

    Raises:
        PairError: A parameter does not exist or fit.
    """
    spec = spec_of(settings)
    overrides = {name: entry.value for name, entry in settings.parameters.items()}
    defaults = default_parameters(notebooks)
    for name in overrides:
        if name not in defaults:
            raise UnknownParameterError(name=name, valid_names=defaults, source="pair.toml, section parameters: ")
    check_backbone(spec, overrides, defaults)
    files: dict[Path, bytes] = {}
    for role, cells in notebooks.items():
        final_cells = [_with_values(_apply_overrides(cell, overrides), defaults | overrides) for cell in cells]
        check_syntax(final_cells, notebook=role)
        files[_RELATIVE.notebook(role)] = notebook_text(final_cells).encode("utf-8")
        files[_RELATIVE.metadata(role)] = metadata_text(spec, role).encode("utf-8")
    return files


def default_parameters(notebooks: PairCells) -> dict[str, Value]:
    """The parameters of both notebooks with their defaults; what both have is as in training."""
    cells = [cell for role in Role if (cell := parameters_cell(notebooks[role]))]
    train_last = [read_parameters(cell.source) for cell in reversed(cells)]
    return {name: value for parameters in train_last for name, value in parameters.items()}


def parameters_in_use(settings: Settings, training: Iterable[Cell]) -> tuple[dict[str, SettingValue], frozenset[str]]:
    """Return the parameters of the training notebook that the user can set, and the names of those to set first.

    Args:
        settings: The settings of the pair.
        training: The cells of its training notebook.

    Returns:
        Each parameter in the order of the cell, with its comment as evidence; and the names of the main ones and of
        those that the user set.
    """
    source = cell.source if (cell := parameters_cell(training)) else ""
    comments, parameters = read_comments(source), {}
    for name, default in read_parameters(source).items():
        entry = (
            settings.parameters.get(name) or settings.task.get(name.lower()) or SettingValue(default, Origin.DEFAULT)
        )
        value = entry.value if name in settings.parameters else default
        if not is_fixed(name):
            parameters[name] = SettingValue(value, entry.by, comments.get(name) or entry.evidence)
    main = {name for name, setting in all_parameters().items() if setting.group == "main"}
    return parameters, frozenset(parameters) & (main | set(settings.parameters))


def model_summary(training: Iterable[Cell]) -> str:
    """Return what the notebook says its model is: the first clause below the heading; "" if it says nothing."""
    text = next((cell.source for cell in training if cell.name == _MODEL_CELL), "")
    lines = [line.lstrip("# ").strip() for line in text.split("\n") if not line.startswith("#")]
    return _END_OF_CLAUSE.split(" ".join(filter(None, lines)))[0].replace("`", "")


def _drop_false_mark(cell: Cell, in_both: set[str]) -> Cell:
    """The cell; one that the other notebook lacks, or has otherwise, does not say that it is the same in both."""
    if cell.name in in_both:
        return cell
    return replace(cell, source=cell.source.replace(f"{SHARED_MARK}\n", ""))


def _with_values(cell: Cell, parameters: Mapping[str, Value]) -> Cell:
    """Return the title cell with values for the parameters that its table names, such as `N_FOLDS`."""
    if cell.name != "title":
        return cell

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        return markdown(str(parameters[name])) if name in parameters else match.group()

    rows = [_NAME.sub(value, line) if line.startswith("|") else line for line in cell.source.split("\n")]
    return replace(cell, source="\n".join(rows))


def _apply_overrides(cell: Cell, overrides: Mapping[str, Value]) -> Cell:
    """The cell with the user's values, where it is a parameters cell that has such parameters."""
    if not overrides or parameters_cell([cell]) is None:
        return cell
    cell_values = {name: value for name, value in overrides.items() if name in read_parameters(cell.source)}
    return replace(cell, source=override(cell.source, cell_values))
