"""Writes the JSON Schemas of the command line, and docs/json.md: `python docs/list_json.py`; `--check` compares only.

A schema is made of the classes that a verb declares with `json_option`: their annotations are the types, and the
sections "Attributes" of their docstrings the descriptions. The examples in docs/json are outputs of the tests
(`python -m pytest tests/test_json_documents.py --rewrite-golden`).
"""

import ast
import inspect
import json
import re
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from datetime import date, datetime
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name, walk_packages
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import click

import generator
from generator.cli.main import VERBS, verbs
from generator.cli.terminal import DISK, INTERRUPT, USAGE, Document, ErrorDocument, JsonOption
from generator.errors import TandemError, code_of

FOLDER = Path(__file__).resolve().parent
PACKAGE = FOLDER.parent / "generator"
PAGE, EXAMPLES, SCHEMAS = FOLDER / "json.md", FOLDER / "json", PACKAGE / "cli" / "schemas"
LISTED = "<!-- listed by docs/list_json.py -->\n", "<!-- end of the list -->\n"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    Any: {},
    object: {},
}
ATTRIBUTE = re.compile(r"^    (?P<name>\w+): (?P<text>.*(?:\n     +.*)*)", re.MULTILINE)
EXCLUDED = {"tpu_compiler.worker", "colab.remote"}  # programs that run elsewhere


class Schema:
    """A schema that is made of Python's types; `definitions` are those of the classes in it."""

    def __init__(self) -> None:
        self.definitions: dict[str, dict[str, Any]] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        """The schema of a type.

        Raises:
            TypeError: It is none that JSON has a form for.
        """
        if kind in SCALARS:
            return SCALARS[kind]
        if (origin := get_origin(kind)) is not None:
            return self._of_generic(origin, get_args(kind))
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return {"enum": [str(member) for member in kind]}
        if not (is_typeddict(kind) or is_dataclass(kind)):
            raise TypeError(f"{kind!r} has no form in JSON")
        if kind.__name__ not in self.definitions:
            self.definitions[kind.__name__] = {}
            self.definitions[kind.__name__] = self.of_object((kind,))
        return {"$ref": f"#/$defs/{kind.__name__}"}

    def _of_generic(self, origin: Any, arguments: tuple[Any, ...]) -> dict[str, Any]:
        if origin is Annotated:
            form = self.of_object(arguments[1:])
        elif origin is NotRequired:
            form = self.of(arguments[0])
        elif origin is Literal:
            form = {"const": arguments[0]} if len(arguments) == 1 else {"enum": list(arguments)}
        elif origin in (Union, types.UnionType):
            form = _any_of([self.of(argument) for argument in arguments])
        elif issubclass(origin, Mapping):
            form = {"type": "object", "additionalProperties": self.of(arguments[1])}
        elif origin is tuple and ... not in arguments:
            items = [self.of(argument) for argument in arguments]
            form = {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        else:
            form = {"type": "array", "items": self.of(arguments[0])}
        return form

    def of_object(self, kinds: tuple[Any, ...]) -> dict[str, Any]:
        """The schema of an object with the keys of all of some classes, described as the last of them is."""
        properties, required = {}, []
        for kind in reversed(kinds):
            texts = {}
            for parent in _with_bases(kind):
                texts |= _descriptions(parent)
            for name, hint in get_type_hints(kind, include_extras=True).items():
                text = {"description": texts[name]} if name in texts else {}
                properties[name] = {**self.of(hint), **text}
                if get_origin(hint) is not NotRequired and (is_dataclass(kind) or name in kind.__required_keys__):
                    required.append(name)
        described = {"description": inspect.getdoc(kinds[-1]).split("\n\n")[0].replace("\n", " ")}
        return {"type": "object", **described, "properties": properties, "required": required}


def schema_of(name: str, documents: tuple[Document, ...]) -> dict[str, Any]:
    """The schema of any of some documents."""
    schema = Schema()
    kinds = [tuple(_resolve(kind) for kind in (entry if isinstance(entry, tuple) else (entry,))) for entry in documents]
    forms = []
    for classes in kinds:
        title = classes[-1].__name__
        schema.definitions[title] = schema.of_object(classes)
        forms.append({"$ref": f"#/$defs/{title}"})
    head = {"$schema": DRAFT, "$id": f"urn:tandem:{name.replace(' ', '-')}", "title": name}
    return {**head, **_any_of(forms), "$defs": dict(sorted(schema.definitions.items()))}


def commands() -> Iterator[tuple[str, click.Command]]:
    """Each command as people type it, without the program."""
    for verb in VERBS:
        command = verbs.get_command(click.Context(verbs), verb)
        if isinstance(command, click.Group):
            yield from ((f"{verb} {name}", each) for name, each in command.commands.items())
        elif command is not None:
            yield verb, command


def json_options() -> dict[str, JsonOption]:
    """The flags `--json` by command."""
    options = ((name, parameter) for name, command in commands() for parameter in command.params)
    return {name: option for name, option in options if isinstance(option, JsonOption)}


def schemas() -> dict[str, dict[str, Any]]:
    """Every schema by its name: a command, `report` or `error`."""
    by_name = {name: schema_of(name, option.documents) for name, option in json_options().items()}
    report = schema_of("report", ("generator.run.report:RunReport",))
    return by_name | {"report": report, "error": schema_of("error", (ErrorDocument,))}


def codes() -> dict[str, str]:
    """The code of every kind of error, with what it says."""
    for module in walk_packages(generator.__path__, "generator."):
        if not any(part in module.name for part in EXCLUDED) and not module.name.endswith("__main__"):
            import_module(module.name)
    by_code = {
        USAGE: "The command line is wrong; the exit code is 2.",
        INTERRUPT: "The command was interrupted; the exit code is 130.",
        DISK: "The disk is full or read-only.",
    }
    for kind in _subclasses(TandemError):
        if not kind.__name__.startswith("_"):
            by_code[code_of(kind)] = inspect.getdoc(kind).split("\n\n")[0].replace("\n", " ")
    for path in sorted(PACKAGE.rglob("*.py")):
        assigned: dict[str, ast.expr] = {}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                assigned[node.targets[0].id] = node.value
            if isinstance(node, ast.Call) and node.args and _is_error(node):
                code = next((keyword.value for keyword in node.keywords if keyword.arg == "code"), None)
                message = assigned.get(node.args[0].id) if isinstance(node.args[0], ast.Name) else node.args[0]
                if isinstance(code, ast.Constant) and code.value and message is not None:
                    by_code.setdefault(code.value, _text(message))
    return dict(sorted(by_code.items()))


def listing() -> str:
    """The part of the page that is listed: verbs, their keys and examples, and the codes of errors."""
    lines: list[str] = []
    options = json_options()
    by_name = schemas()
    for name, schema in by_name.items():
        title = {"report": "output/PAIR/report.json", "error": "Errors"}.get(name, f"tandem {name}")
        lines += [f"### {title}", ""]
        if name == "report":
            lines += ["The same document as that of `tandem run`.", ""]
            continue
        if name in options and options[name].is_lines:
            lines += ["One document on each line.", ""]
        for form in schema.get("anyOf", [schema]):
            definition = schema["$defs"][form["$ref"].rpartition("/")[2]]
            lines += [definition["description"], "", "| key | type | |", "|---|---|---|"]
            for key, value in definition["properties"].items():
                optional = "" if key in definition["required"] else ", optional"
                text = value.get("description", "").replace("|", "\\|")
                lines.append(f"| `{key}` | {_type_name(value)}{optional} | {text} |")
            lines.append("")
        example = EXAMPLES / f"{name.replace(' ', '-')}.json"
        if example.is_file():
            lines += ["```json", example.read_text(encoding="utf-8").strip(), "```", ""]
    lines += ["### Codes of errors", "", "| code | |", "|---|---|"]
    lines += [f"| `{code}` | {_escaped(text)} |" for code, text in codes().items()]
    return "\n".join([*lines, ""])


def files() -> dict[Path, str]:
    """What is written: the page and the schemas."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(LISTED[0])
    page = f"{before}{LISTED[0]}\n{listing()}\n{LISTED[1]}{rest.partition(LISTED[1])[2]}"
    schema_texts = {name: json.dumps(schema, indent=2) + "\n" for name, schema in schemas().items()}
    return {PAGE: page} | {SCHEMAS / f"{name.replace(' ', '-')}.json": text for name, text in schema_texts.items()}


def main() -> None:
    """Write the files, or with `--check` say if one of them is not what would be written."""
    written = files()
    stale = [path for path in SCHEMAS.glob("*.json") if path not in written]
    if "--check" not in sys.argv[1:]:
        SCHEMAS.mkdir(exist_ok=True)
        for path in stale:
            path.unlink()
        for path, text in written.items():
            path.write_text(text, encoding="utf-8")
        return
    stale += [path for path, text in written.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if stale:
        names = ", ".join(str(path.relative_to(FOLDER.parent)) for path in stale)
        sys.exit(f"{names}: not what the code declares. Run `python docs/list_json.py`.")


def _resolve(kind: type | str) -> Any:
    return resolve_name(kind) if isinstance(kind, str) else kind


def _any_of(forms: list[dict[str, Any]]) -> dict[str, Any]:
    if len(forms) == 1:
        return forms[0]
    if all(form.keys() == {"type"} and isinstance(form["type"], str) for form in forms):
        return {"type": [form["type"] for form in forms]}
    return {"anyOf": forms}


def _with_bases(kind: type) -> Iterator[type]:
    """A class behind those that it takes keys from, which a typed dictionary has in no other place."""
    for base in getattr(kind, "__orig_bases__", kind.__bases__):
        if isinstance(base, type) and base is not object:
            yield from _with_bases(base)
    yield kind


def _descriptions(kind: type) -> dict[str, str]:
    section = inspect.cleandoc(kind.__doc__ or "").partition("\nAttributes:\n")[2].partition("\n\n")[0]
    return {match["name"]: " ".join(match["text"].split()) for match in ATTRIBUTE.finditer(section)}


def _subclasses(kind: type) -> Iterator[type]:
    yield kind
    for child in kind.__subclasses__():
        yield from _subclasses(child)


def _is_error(call: ast.Call) -> bool:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    return name.endswith("Error")


def _text(node: ast.expr) -> str:
    """The text of a message, with an ellipsis for each value in it."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts).strip()


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _type_name(schema: dict[str, Any]) -> str:
    """A type in a few words."""
    kind = schema.get("type", "any")
    if "const" in schema or "enum" in schema:
        text = " \\| ".join(f"`{json.dumps(value)}`" for value in schema.get("enum", [schema.get("const")]))
    elif "anyOf" in schema:
        text = " or ".join(dict.fromkeys(map(_type_name, schema["anyOf"])))
    elif kind == "array":
        text = f"array of {_type_name(schema['items'])}" if "items" in schema else "array"
    elif kind == "object" and schema.get("additionalProperties"):
        text = f"object of {_type_name(schema['additionalProperties'])}"
    elif "$ref" in schema:
        text = schema["$ref"].rpartition("/")[2]
    else:
        text = " or ".join(kind) if isinstance(kind, list) else kind
    return text


if __name__ == "__main__":
    main()
