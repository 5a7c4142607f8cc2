"""The files of a competition that no notebook reads."""

from collections.abc import Iterator

from generator.competition.facts import Task
from generator.competition.introspection.vocabulary import is_below
from generator.competition.schema import families, keys_of, values_of
from generator.competition.survey.facts import Survey

_NO_INPUT, _SERVER = "submission_file", "kaggle_evaluation"


def unused_files(survey: Survey, task: Task) -> tuple[str, ...]:
    """Returns the tables, files and whole folders that the task does not name, a folder with a slash, in their order.

    Of a folder it is enough that something in it, or around it, is used; those of an inference server always are.
    """
    keys = keys_of(task.family)
    values = values_of(task, keys)
    used = {str(value) for key, value in values.items() if keys[key].form == "path" and key != _NO_INPUT}
    given = values.get("gateway_files")
    used |= {*(given if isinstance(given, list) else ()), *([_SERVER] if survey.server else ())}
    used = {path.rstrip("/") for path in used} - {""}
    # Files of examples at the top of the data: any of them may be one.
    is_top_read = families()[task.family].medium.is_files and values.get("train_folder") == ""
    seen = (table.path for table in survey.tables) if is_top_read else _seen(survey)
    unused = [path for path in seen if not any(is_below(path.rstrip("/"), each) for each in used)]
    return tuple(sorted({_top(path, used) for path in unused}))


def _seen(survey: Survey) -> Iterator[str]:
    """Yields the path of every table and file, and that of every folder of examples with a slash behind it."""
    yield from (table.path for table in survey.tables)
    yield from (f"{records.path}/" for records in survey.records)
    for folder in survey.folders:
        if folder.path:
            yield f"{folder.path}/"
        else:
            yield from folder.names


def _top(path: str, used: set[str]) -> str:
    """The highest folder around a path in which nothing is used, or the path itself."""
    parts = path.rstrip("/").split("/")
    around = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
    empty = (folder for folder in around if not any(is_below(each, folder) for each in used))
    top = next(empty, "")
    return f"{top}/" if top else path
