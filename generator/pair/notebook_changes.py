"""Changes of a notebook's text for one occasion: other parameters, a cell before all others."""

import json
from collections.abc import Mapping
from typing import Any

from generator.competition.facts import Value
from generator.pair.notebook import joined
from generator.pair.parameters import PARAMETERS_TAG, override, read_parameters
from generator.untrusted import JsonObject


def with_parameters(text: str, values: Mapping[str, Value]) -> str:
    """The notebook with other defaults in its parameters cell; parameters that it does not have are left out."""
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if has_parameters(cell):
            source = joined(cell["source"])
            known = read_parameters(source)
            cell["source"] = override(source, {name: value for name, value in values.items() if name in known})
    return json.dumps(notebook, ensure_ascii=False, indent=1)


def with_first_cell(text: str, *, name: str, source: str) -> str:
    """The notebook with a code cell before all other code."""
    notebook = json.loads(text)
    at = next((i for i, cell in enumerate(notebook["cells"]) if cell["cell_type"] == "code"), 0)
    added: dict[str, Any] = {"cell_type": "code", "execution_count": None, "id": name, "metadata": {}, "outputs": []}
    notebook["cells"].insert(at, {**added, "source": source})
    return json.dumps(notebook, ensure_ascii=False, indent=1)


def has_parameters(cell: Mapping[str, Any]) -> bool:
    """True if a cell is the one with the parameters."""
    tags = JsonObject.of(cell.get("metadata")).get("tags")
    return isinstance(tags, list) and PARAMETERS_TAG in tags
