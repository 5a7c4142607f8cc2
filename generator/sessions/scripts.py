"""Notebooks of one cell: what a kernel of the type `script` runs as, and what a new notebook begins with."""

import json


def notebook_of(source: str, *, language: str = "python", name: str = "script") -> str:
    """A notebook, as text, whose only cell, of this name, is the source."""
    cell: dict[str, object] = {"cell_type": "code", "id": name, "metadata": {}, "execution_count": None, "outputs": []}
    spec = {"name": "python3" if language == "python" else "ir", "display_name": language, "language": language}
    return json.dumps(
        {"cells": [{**cell, "source": source}], "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
    )
