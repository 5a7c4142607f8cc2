"""What a command prints with --json is held to its schema, which allows no other keys here."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS, EXAMPLES = ROOT / "generator" / "cli" / "schemas", ROOT / "docs" / "json"


@cache
def schema_of(name: str) -> dict[str, Any]:
    return json.loads((SCHEMAS / f"{name}.json").read_text())  # type: ignore[no-any-return]


@cache
def validator_of(name: str) -> Draft202012Validator:
    schema = closed(schema_of(name))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def closed(schema: Any) -> Any:
    """The schema without the keys that a later version may add."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(part) for key, part in schema.items()}
    is_record = schema.get("type") == "object" and "properties" in schema
    return {**parts, "additionalProperties": False} if is_record else parts


def check_documents(arguments: Sequence[str], text: str, *, program: str = "tandem", is_error: bool) -> None:
    """Makes sure that a command with --json printed what its schema says and nothing else."""
    words = [*([] if program == "tandem" else [program]), *arguments]
    if words[0] == "runs" and words[1:2] not in (["list"], ["diff"]):
        words.insert(1, "list")  # where no command is named
    name = "-".join(words[:2]) if words[0] in ("colab", "runs") else words[0]
    lines = text.splitlines() if name in ("push", "submit") and not text.startswith("{\n") else [text]
    documents = [json.loads(line, parse_constant=pytest_fail) for line in lines]
    for place, document in enumerate(documents):
        if "error" in document:
            assert is_error, "an error has another exit code than 0"
            assert place == len(documents) - 1, "an error is the last line"
            validate(document, "error")
        else:
            validate(document, name)


def validate(document: Any, name: str) -> None:
    """Names the place of what is most likely wrong, where a schema has several documents."""
    if (error := best_match(validator_of(name).iter_errors(document))) is not None:
        raise AssertionError(f"{name}: {error.json_path}: {error.message}")


def pytest_fail(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def example_path(name: str) -> Path:
    return EXAMPLES / f"{name}.json"


def shortened(document: Any, schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """A document with the first entries of its lists, and of its objects with any keys."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    for form in schema.get("anyOf", ()):
        if Draft202012Validator({**closed(form), "$defs": closed(root["$defs"])}).is_valid(document):
            return shortened(document, form, root)
    if isinstance(document, list):
        items = schema.get("items", {})
        return [shortened(item, items, root) for item in document[:2]]
    if isinstance(document, dict):
        if "properties" in schema:
            known = schema["properties"]
            return {key: shortened(value, known.get(key, {}), root) for key, value in document.items()}
        items = schema.get("additionalProperties", {})
        return {key: shortened(document[key], items, root) for key in list(document)[:3]}
    return document


def example_of(name: str, text: str, folder: Path) -> str:
    """The text of an example: short, and without the folder of a test."""
    schema = schema_of(name)
    lines = text.splitlines() if name in ("push", "submit") else [text]
    documents = [shortened(json.loads(line), schema, schema) for line in lines]
    documents = [*documents[:3], documents[-1]] if len(documents) > 4 else documents
    indent = 2 if len(documents) == 1 else None
    written = "\n".join(json.dumps(document, indent=indent) for document in documents)
    return written.replace(str(folder), "/home/ada/kaggle") + "\n"
