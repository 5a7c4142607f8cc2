"""Rules of paths: where inputs are, how they are looked for, where a session may write."""

import ast
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import PurePosixPath

from generator.check.code import UNKNOWN, NotebookCode
from generator.check.environment import is_guarded, is_optional, shell_commands, writes
from generator.check.findings import Fix, Severity, with_text
from generator.check.rule import RuleProblem, rule
from generator.check.source import KernelSource

_INPUT = "/kaggle/input"
# The list of the metadata that attaches a kind of input, and how many parts its name has.
_SOURCES = {
    "competitions": ("competition_sources", 1),
    "datasets": ("dataset_sources", 2),
    "notebooks": ("kernel_sources", 2),
    "models": ("model_sources", 2),
}
_WRITABLE = ("/kaggle/working", "/kaggle/temp", "/tmp", "/dev")  # noqa: S108 - of a session on Kaggle
_AUTHORS = re.compile(
    r"/(?:home|Users)/(?!jovyan\b|runner\b)[^/\s\0]+/|[A-Za-z]:[\\/](?![\\/])\S|\\\\[\w.-]+\\\w|/content/(?:drive|gdrive)\b|/mnt/[a-z]/"
)
_DRIVE = ("/content/drive", "/content/gdrive")
# Caches and settings of programs, which nobody means to keep.
_SETTINGS = re.compile(r"/(?:root/\.|(?:usr|etc|opt|var/tmp)/)")
_IN_COMMAND = re.compile(r"(?:/kaggle/input|(?<![\w.])\.\./input)/[\w./-]*[\w-]")
# Those that only look: what is not there is said, and the session goes on.
_LOOKING = re.compile(r"\s*(?:ls|tree|du|find|head|wc|cat|stat|echo|#)\b|^\s*#")
_WRITES_INPUT = re.compile(
    r"^(?:mkdir|touch|rm)\b[^|;&]*?\s(?P<path>/kaggle/input/\S+)"
    r"|(?:>|\bunzip\b[^|;&]*?\s-d|\btar\s+(?!--exclude)-{0,2}\w*x[^|;&]*?\s(?:-C|--directory)|\s-O|\s--output-document)"
    r"[ =]?\s*(?P<to>/kaggle/input/\S+)"
)
_SEARCHES = ("?.rglob", "?.glob", "?.walk")
_LONGEST_COMMAND = 10_000
_KNOWN_ROOTS = ("/", "/kaggle", _INPUT)


@rule("N040", "flat-input-path", Severity.WARNING)
def flat_input_path(kernel: KernelSource) -> Iterator[RuleProblem]:
    """An input is read at /kaggle/input/NAME, the old layout.

    Since 2026 inputs are mounted by kind: /kaggle/input/competitions/SLUG, datasets/OWNER/SLUG, notebooks/OWNER/SLUG,
    models/OWNER/MODEL/FRAMEWORK/VARIATION/VERSION. Some sessions still have the old layout, so that a notebook that
    worked yesterday finds nothing today. A search by `/kaggle/input/*/train.csv` is of that layout, too.
    Try the new path, then the old one; a notebook that has both is fine.

    Source (2026-11-23): real listings of 2026; Kaggle/kaggle-cli#1140.
    """
    paths = _input_paths(kernel.code)
    nested_names = {_name(path) for _, path in paths if _is_nested(path)}
    for node, path in paths:
        if (
            not _is_nested(path)
            and _name(path) not in nested_names
            and not _is_fallback(kernel.code, node, is_nested=True)
        ):
            display_path = _format_path(path)
            mount = _mount(kernel, _parts(path)[0])
            new = f"{_INPUT}/{mount}" if mount else f"{_INPUT}/competitions/SLUG (datasets/OWNER/SLUG, …)"
            fix = _insert_mount(node, path, mount) if mount else None
            remedy = f"Read {new} first, and this path if it does not exist."
            if mount:
                remedy = f'Write "{new}" if os.path.exists("{new}") else "{_INPUT}/{_parts(path)[0]}" for the folder.'
            yield RuleProblem(kernel.code.place(node), f"{display_path} is a path of the old layout.", remedy, fix)
    commands = [(cell, line, path) for cell, line, command in kernel.code.commands() for path in _in_command(command)]
    nested_names |= {_name(path) for _, _, path in commands if _is_nested(path)}
    for cell, line, path in commands:
        if not _is_nested(path) and _name(path) not in nested_names and cell.lines[line - 1][:1].strip():
            mount = _mount(kernel, _parts(path)[0])
            new = f"{_INPUT}/{mount}" if mount else f"{_INPUT}/competitions/SLUG (datasets/OWNER/SLUG, …)"
            place = kernel.code.place(cell, line)
            yield RuleProblem(place, f"{_format_path(path)} is a path of the old layout.", f"Write {new}.")
    globs = _globs(kernel.code)
    if (
        nested_names
        or {"walk", "rglob"} & kernel.code.callee_names
        or any(_is_of_mounts(pattern) for _, pattern in globs)
    ):
        return
    for node, pattern in globs:
        if _is_of_old(kernel, pattern) and not is_guarded(kernel.code, node, any_if=True):
            _, _, rest = pattern.partition("*/")
            remedy = f'Write "{_INPUT}/*/*/{rest}" for a competition, "{_INPUT}/*/*/*/{rest}" for a dataset.'
            yield RuleProblem(kernel.code.place(node), f"{_format_path(pattern)} is a path of the old layout.", remedy)


@rule("N041", "hard-coded-input-path", Severity.NOTE)
def hard_coded_input_path(kernel: KernelSource) -> Iterator[RuleProblem]:
    """An input is read at one fixed path.

    Which of the two layouts a session has depends on when and how its inputs were attached: by the API they are mounted
    by kind, added in the editor some are still flat.
    Try /kaggle/input/competitions/SLUG and /kaggle/input/SLUG, then a bounded search.

    Source (2026-11-23): sessions of 2026 that had both layouts at once.
    """
    paths = _input_paths(kernel.code)
    flat = {_name(path) for _, path in paths if not _is_nested(path)}
    for node, path in paths:
        if _is_nested(path) and _name(path) not in flat and not _is_fallback(kernel.code, node, is_nested=False):
            remedy = f"Try {_INPUT}/{_name(path).replace(UNKNOWN, '…')} if this path does not exist."
            yield RuleProblem(kernel.code.place(node), f"{_format_path(path)} exists only in some sessions.", remedy)


@rule("N042", "unbounded-search", Severity.NOTE)
def unbounded_search(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A search covers all of /kaggle/input, without a limit.

    A competition of images has a hundred thousand files and more, on a network disk: os.walk, rglob and glob("**")
    take minutes for them, in every run, and print as many lines as there are files.
    Look at the usual mounts first, then at most four levels deep; or prune os.walk by `folders[:] = []`.

    Source (2026-11-26): 25 findings in public notebooks: seconds in 18 of them, whose inputs have some hundred files.
    """
    for call in kernel.code.calls:
        node, name = call.node, call.name
        root = _find_search_root(kernel.code, node, name)
        if root is None:
            continue
        around = list(kernel.code.ancestors(node))
        is_fallback = any(isinstance(ancestor, ast.If | ast.IfExp | ast.ExceptHandler) for ancestor in around)
        if not is_fallback and not _is_pruned(kernel.code, node):
            message = f"The search covers all of {root}, which can have very many files."
            remedy = f'Limit the depth: glob.glob("{_INPUT}/*/*/*.csv"), with the ending of your files.'
            yield RuleProblem(kernel.code.place(node), message, remedy)


@rule("N043", "write-into-input")
def write_into_input(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A file is written below /kaggle/input, which is read-only.

    The session ends with "Read-only file system".
    Write to /kaggle/working, which is kept as the notebook's output, or to /kaggle/temp, which is not.

    Source (2026-11-23): kaggle.com/docs/notebooks.
    """
    for write in writes(kernel.code):
        path = _absolute(write.path)
        is_tried = is_optional(kernel.code, write.node)
        if path is not None and path.is_relative_to(_INPUT) and path != PurePosixPath(_INPUT) and not is_tried:
            message = f"{_format_path(str(write.path))} is read-only on Kaggle."
            yield RuleProblem(kernel.code.place(write.node), message, _to_working(write.path))
        elif write.path and not write.path.startswith(("/", UNKNOWN, "..")) and not is_tried:
            folder = _folder_at(kernel.code, kernel.code.order(write.node))
            if folder.startswith(f"{_INPUT}/"):
                message = (
                    f"{_format_path(write.path)} is written in {_format_path(folder)}, which is read-only on Kaggle."
                )
                yield RuleProblem(kernel.code.place(write.node), message, _to_working(write.path))
    yield from _commands_in_input(kernel.code)
    for cell, line, command in kernel.code.commands():
        match = _WRITES_INPUT.search(command)
        if match is not None and cell.lines[line - 1][:1].strip():
            message = f"{_format_path(match['path'] or match['to'])} is read-only on Kaggle."
            yield RuleProblem(kernel.code.place(cell, line), message, _to_working(match["path"] or match["to"]))


@rule("N044", "write-outside", Severity.WARNING)
def write_outside(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A file is written outside of /kaggle/working.

    Nothing else is kept when a session ends: neither the submission nor the weights would be in the output. A folder
    that is zipped or copied afterwards is fine.
    Write to /kaggle/working; /kaggle/temp and /tmp are for what may be lost.

    Source (2026-11-23): kaggle.com/docs/notebooks.
    """
    saved_paths = _list_saved_paths(kernel.code)
    for write in writes(kernel.code):
        path = _absolute(write.path)
        if (
            path is None
            or any(path.is_relative_to(root) for root in (*_WRITABLE, _INPUT))
            or _SETTINGS.match(str(path))
            or any(path.is_relative_to(folder) for folder in saved_paths)
        ):
            continue
        if not _AUTHORS.search(f"{write.path}/"):
            message = f"{_format_path(str(write.path))} is lost when the session ends."
            yield RuleProblem(kernel.code.place(write.node), message, _to_working(write.path))


@rule("N045", "path-of-the-author", Severity.WARNING)
def path_of_the_author(kernel: KernelSource) -> Iterator[RuleProblem]:
    r"""A path of the author's own machine, or of a drive in Colab: /home/ada/…, /Users/…, C:\Users\…, /content/drive/….

    Nothing is there on Kaggle, and the path tells every reader who wrote it and where; the drive is there in a notebook
    that mounts it by `google.colab`.
    Attach the data as a dataset, and take the folder from a constant at the top.

    Source (2026-11-26): the mounts of Kaggle, /kaggle/input/…; our own reading of 18 findings in public notebooks.
    """
    mounts = _DRIVE if "google.colab.drive" in kernel.code.imports.values() else ()
    for node in kernel.code.nodes(ast.Constant):
        text = node.value if isinstance(node.value, str) else ""
        if _AUTHORS.match(text) and not text.startswith(mounts) and not _is_pattern(kernel.code, node, text):
            message = f"{_format_path(text)} is a path on the author's machine."
            name = _format_path(re.split(r"[\\/]", text.rstrip("\\/"))[-1])
            remedy = f'Attach the data, and write "{_INPUT}/datasets/OWNER/NAME/{name}".'
            yield RuleProblem(kernel.code.place(node), message, remedy)


@rule("N046", "input-not-attached", Severity.WARNING)
def input_not_attached(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A path leads to an input that the metadata do not attach.

    What was added in the editor is not in kernel-metadata.json; a push attaches what stands there, and nothing else.
    Add it to competition_sources, dataset_sources, kernel_sources or model_sources.

    Source (2026-11-23): Kaggle/kaggle-cli#377, #1140.
    """
    for node, path in _input_paths(kernel.code):
        parts = _parts(path)
        source, length = _SOURCES.get(parts[0], ("", 0))
        name = "/".join(parts[1 : 1 + length]).lower()
        if kernel.metadata is None or not source or len(parts) <= length or UNKNOWN in name:
            continue
        # One that is named there in another form than it should be is the matter of another rule.
        if parts[length].lower() not in str(kernel.setting(source)).lower():
            message = f"{_format_path(path)} is not attached: {name} is not in {source}."
            yield RuleProblem(kernel.code.place(node), message, f'Add "{name}" to "{source}" in kernel-metadata.json.')


def _globs(code: NotebookCode) -> list[tuple[ast.AST, str]]:
    """The patterns below the inputs by which files are looked for."""
    patterns: list[tuple[ast.AST, str]] = []
    for call in code.calls:
        if call.last not in ("glob", "iglob", "list_files"):
            continue
        pattern = code.text(call.argument(0, "pathname", "pattern", "file_pattern"))
        folder = code.text(call.receiver) if call.last == "glob" and call.receiver is not None else None
        path = (pattern or "") if folder is None else f"{folder}/{pattern or ''}"
        path = re.sub(r"^(?:\./)?\.\./input/", f"{_INPUT}/", path)
        if path.startswith(f"{_INPUT}/") and _parts(path):
            patterns.append((call.node, path))
    return patterns


def _is_of_mounts(pattern: str) -> bool:
    """True for a pattern that goes as deep as inputs are mounted today."""
    parts = _parts(pattern)
    return parts[0] in _SOURCES or parts[:2] == ("*", "*") or "**" in pattern


def _is_of_old(kernel: KernelSource, pattern: str) -> bool:
    """True for `/kaggle/input/*/train.csv`: files stand deeper today, below the kind and the name of an input."""
    kind, *below = _parts(pattern)
    if kind != "*" or not below or "**" in pattern or UNKNOWN in pattern:
        return False
    if len(below) == 1:
        return "." in below[0]
    attached_parts = {part for source, _ in _SOURCES.values() for ref in kernel.refs(source) for part in ref.split("/")}
    return kernel.metadata is not None and below[0] not in attached_parts and "*" not in below[0]


def _to_working(path: str | None) -> str:
    return f'Write to "/kaggle/working/{PurePosixPath(_format_path(path or "")).name}".'


def _mount(kernel: KernelSource, name: str) -> str:
    """Where the input of a name is mounted, below the inputs, by what the metadata attach; "" unless that is clear."""
    mounts = [f"competitions/{ref}" for ref in kernel.refs("competition_sources") if ref == name]
    for kind, source in (("datasets", "dataset_sources"), ("notebooks", "kernel_sources")):
        refs = {"/".join(ref.split("/")[:2]) for ref in kernel.refs(source)}
        mounts += [f"{kind}/{ref}" for ref in refs if ref.count("/") == 1 and ref.partition("/")[2] == name]
    return mounts[0] if len(mounts) == 1 else ""


def _insert_mount(node: ast.AST, path: str, mount: str) -> Fix | None:
    """The path with the folder of its kind before the name; None where the name stands there twice."""
    name = _parts(path)[0]
    if not isinstance(node, ast.expr) or _parts(path).count(name) > 1:
        return None
    if fix := with_text(node, f"input/{name}", f"input/{mount}"):
        return fix
    texts = [
        constant.value
        for constant in ast.walk(node)
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
    ]
    is_part = any(re.search(rf"(?:^|/){re.escape(name)}(?:/|$)", text) for text in texts)
    return with_text(node, name, mount) if is_part else None


@lru_cache(maxsize=2)
def _input_paths(code: NotebookCode) -> tuple[tuple[ast.AST, str], ...]:
    """Every path that is read below the inputs, each expression once: the widest that can be read."""
    paths = []
    visited_ids = {id(write.target) for write in writes(code)}
    for node in code.all_nodes():
        if id(node) in visited_ids or not isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp | ast.Call):
            continue
        path = _normal(code.text(node))
        if path is not None and path.startswith(f"{_INPUT}/") and _parts(path):
            visited_ids.update(id(inside) for inside in ast.walk(node))
            if not _parts(path)[0].startswith(UNKNOWN):
                paths.append((node, path))
    return tuple(paths)


def _normal(path: str | None) -> str | None:
    """A path as an absolute one; `../input` is what old notebooks call it."""
    if path is None or "\n" in path or "*" in path:
        return None
    for start in ("../input", "./../input"):
        if path == start or path.startswith(f"{start}/"):
            return _INPUT + path[len(start) :]
    return re.sub("/+", "/", path)


def _in_command(command: str) -> list[str]:
    """The paths below the inputs that a command cannot do without."""
    if _LOOKING.match(command):
        return []
    candidates = (_normal(path) for path in _IN_COMMAND.findall(command[:_LONGEST_COMMAND]))
    paths = [path for path in candidates if path is not None and _parts(path)]
    # An input is a folder; what is copied from beside them is somebody's own file.
    return [path for path in paths if len(_parts(path)) > 1 or command.startswith("cd ")]


def _commands_in_input(code: NotebookCode) -> Iterator[RuleProblem]:
    """The commands that write where they are, in a shell that is in a folder below the inputs."""
    numbers = {cell.name: number for number, cell in enumerate(code.cells)}
    before, folder = "", ""
    for command in shell_commands(code):
        if command.is_optional:
            continue
        name, number = command.place.cell, numbers[command.place.cell]
        if name != before or not code.cells[number].is_of_shell:  # else the `cd` of a line above holds
            before, folder = name, _folder_at(code, (number, command.place.line))
        for command_words in command.words:
            words = command_words[1:] if command_words[0] in ("do", "then", "else") else command_words
            if words[:1] == ("cd",):
                target = "".join(words[1:2])
                path = None if "$" in target or target in ("", "-") else _absolute(str(PurePosixPath(folder, target)))
                folder = UNKNOWN if path is None else str(path)
            elif folder.startswith(f"{_INPUT}/") and _writes_here(words):
                message = f"{words[0]} writes to {_format_path(folder)}, which is read-only on Kaggle."
                suggestion = "unzip FILE -d /kaggle/working" if words[0] == "unzip" else "cd /kaggle/working"
                yield RuleProblem(command.place, message, f"Write to /kaggle/working: {suggestion}.")
                break


def _writes_here(words: tuple[str, ...]) -> bool:
    """True for a command that writes to the folder that it is in."""
    program, rest = words[0] if words else "", words[1:]
    options = {*"".join(word for word in rest if word.startswith("-"))}
    if program == "unzip":  # but for what lists, tests and prints, or says where to
        return not options & {*"dlptvZ"}
    if program == "tar":
        is_unpacking = bool(rest) and (rest[0] == "--extract" or ("x" in rest[0] and not rest[0].startswith("--")))
        is_printing = any("O" in word for word in rest if re.fullmatch(r"-?[a-zA-Z]+", word) and "x" in word)
        elsewhere = any(word.startswith(("-C", "-O", "--directory", "--to-")) for word in rest)
        return is_unpacking and not is_printing and not elsewhere
    operands = [word for word in rest if not word.startswith("-")]
    return (
        program in {"mkdir", "touch"} and bool(operands) and not operands[0].startswith(("/", "~", "$", "..", UNKNOWN))
    )


def _folder_at(code: NotebookCode, order: tuple[int, int]) -> str:
    """The folder that a notebook is in at a line, as far as `%cd` and `os.chdir` outside of functions tell."""
    moves = _moves(code)
    after = bisect_right(moves, order, key=lambda move: move[0])
    return _normal(moves[after - 1][1]) or UNKNOWN


@lru_cache(maxsize=1)
def _moves(code: NotebookCode) -> list[tuple[tuple[int, int], str]]:
    """Where a notebook goes to another folder outside of functions, in the order of its text."""
    moves: list[tuple[tuple[int, int], str]] = [((-1, 0), "/kaggle/working")]
    for cell, line, command in code.commands():
        is_of_shell = cell.is_of_shell or cell.lines[line - 1].startswith("!")  # whose `cd` ends with it
        if command.startswith("cd ") and cell.lines[line - 1][:1].strip() and not is_of_shell:
            moves.append(((code.cells.index(cell), line), command[3:].strip().strip("\"'")))
    changes = [call for call in code.calls if call.name == "os.chdir" and code.function(call.node) is None]
    moves += [(code.order(call.node), code.text(call.argument(0)) or UNKNOWN) for call in changes]
    return sorted(moves, key=lambda move: move[0])


def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(path).parts[3:]


def _is_nested(path: str) -> bool:
    return _parts(path)[0] in _SOURCES


def _name(path: str) -> str:
    """What a path leads to, in either layout: the slug."""
    parts = _parts(path)
    _, at = _SOURCES.get(parts[0], ("", 0))
    return parts[at] if len(parts) > at else UNKNOWN


def _find_search_root(code: NotebookCode, node: ast.Call, name: str) -> str | None:
    """The root of a search in all of the inputs."""
    method = f"?.{name.rpartition('.')[2]}"
    root: str | None = None
    if name == "os.walk" or (name in ("glob.glob", "glob.iglob") and node.args):
        root = code.text(node.args[0]) if node.args else None
        if name != "os.walk":
            root, separator, _ = (root or "").partition("/**")
            root = root if separator else None
    elif method in _SEARCHES and isinstance(node.func, ast.Attribute):
        is_deep = method != "?.glob" or "**" in (code.text(node.args[0] if node.args else None) or "")
        root = code.text(node.func.value) if is_deep else None
    path = _normal(root)
    folder = None if path is None else path.rstrip("/") or "/"
    return folder if folder in _KNOWN_ROOTS else None


def _is_fallback(code: NotebookCode, node: ast.AST, *, is_nested: bool) -> bool:
    """True for a path beside one of the other layout, in a list or a choice, or behind a search of the inputs."""
    if not is_nested and _is_in_text(code, f"{_INPUT}/{_name(str(_normal(code.text(node))))}"):
        return True  # the other layout is named in a comment
    for around in code.ancestors(node):
        if isinstance(around, ast.List | ast.Tuple | ast.Set | ast.IfExp | ast.BoolOp | ast.If | ast.Try):
            is_choice = isinstance(around, ast.IfExp | ast.BoolOp | ast.If | ast.Try)
            if is_nested in _layouts(code).get(around, ()) or (is_nested and is_choice and _is_searched(code)):
                return True
    return False


@lru_cache(maxsize=100)
def _is_in_text(code: NotebookCode, text: str) -> bool:
    return any(text in cell.source for cell in code.cells)


@lru_cache(maxsize=1)
def _layouts(code: NotebookCode) -> Mapping[ast.AST, set[bool]]:
    """The layouts of the paths below each node: True for the nested one, False for that of old."""
    layouts: dict[ast.AST, set[bool]] = defaultdict(set)
    for node in code.all_nodes():
        path = _normal(code.text(node)) if isinstance(node, ast.expr) else None
        if path is not None and path.startswith(f"{_INPUT}/") and _parts(path):
            for around in code.ancestors(node):
                layouts[around].add(_is_nested(path))
    return layouts


@lru_cache(maxsize=1)
def _is_searched(code: NotebookCode) -> bool:
    """True if the notebook searches the inputs by a glob or a walk."""
    searches = [call for call in code.calls if "glob" in call.last or call.name == "os.walk"]
    roots = [
        code.text(expression)
        for call in searches
        for expression in [call.receiver, *call.node.args]
        if expression is not None
    ]
    return any(root is not None and root.startswith((_INPUT, "../input")) for root in roots)


def _is_pattern(code: NotebookCode, node: ast.AST, text: str) -> bool:
    """True for a regular expression, or a sentence, that begins like the name of a drive."""
    if not re.match(r"[A-Za-z]:[\\/]", text):
        return False
    is_path = re.fullmatch(r"[A-Za-z]:[\\/](?:[\w .()-]+[\\/])*(?:[\w .()-]{2,})?[\\/]?", text) is not None
    given_to = (code.call(ancestor) for ancestor in code.ancestors(node))
    return not is_path or any(call is not None and call.name.startswith("re.") for call in given_to)


def _is_pruned(code: NotebookCode, node: ast.AST) -> bool:
    """True for a walk that is told into which folders it goes, or that ends after the first one."""
    around = list(code.ancestors(node))
    if any((call := code.call(ancestor)) is not None and call.last in ("next", "islice", "zip") for ancestor in around):
        walk_call = code.call(node)
        return walk_call is not None and walk_call.name == "os.walk"
    if any(isinstance(ancestor, ast.For) and _ends_early(ancestor) for ancestor in around):
        return True
    loop = next((ancestor for ancestor in code.ancestors(node) if isinstance(ancestor, ast.For)), None)
    if loop is None or not isinstance(loop.target, ast.Tuple) or len(loop.target.elts) < 3:  # noqa: PLR2004 - of os.walk
        return False
    folders = getattr(loop.target.elts[1], "id", "")
    return folders in _changed_in(loop)


@lru_cache(maxsize=100)  # a loop may have thousands of searches
def _ends_early(loop: ast.For) -> bool:
    return any(isinstance(statement, ast.Break) for statement in loop.body)


@lru_cache(maxsize=100)
def _changed_in(loop: ast.For) -> frozenset[str]:
    """The names of lists and the like that a loop changes: `folders[:] = []`."""
    changes = [node for node in ast.walk(loop) if isinstance(node, ast.Assign | ast.Delete)]
    targets = [target for change in changes for target in change.targets if isinstance(target, ast.Subscript)]
    return frozenset(subscript.value.id for subscript in targets if isinstance(subscript.value, ast.Name))


def _list_saved_paths(code: NotebookCode) -> list[PurePosixPath]:
    """The folders and files that the notebook itself zips, copies or moves."""
    texts = [
        text
        for call in code.calls
        if call.name.startswith("shutil.") or call.last in ("rename", "replace", "write")
        for argument in [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
        if (text := code.text(argument))
    ]
    for _, _, command in code.commands():
        if command.startswith(("zip ", "tar ", "cp ", "mv ", "rsync ")):
            texts += [word.rstrip("*") for word in command.split()[1:] if "/" in word]
    paths = [_absolute(text) for text in texts if UNKNOWN not in text and "\0" not in text]
    return [path for path in paths if path is not None and len(path.parts) > 2]  # noqa: PLR2004 - not / or /kaggle


def _absolute(path: str | None) -> PurePosixPath | None:
    """A path as a session sees it, whose folder is /kaggle/working; None where it is not known where it leads."""
    if path is None or path.startswith((UNKNOWN, "~", "s3:", "gs:", "http")) or not path:
        return None
    parts: list[str] = []
    for part in PurePosixPath("/kaggle/working", path).parts[1:]:
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    return PurePosixPath("/", *parts)


def _format_path(path: str) -> str:
    return path.replace(UNKNOWN, "…")[:100]
