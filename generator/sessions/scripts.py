"""Scripts as notebooks: a kernel of the type `script` is one cell here."""

import json


def notebook_of(source: str, *, language: str) -> str:
    """A notebook, as text, whose only cell is the script."""
    cell: dict[str, object] = {
        "cell_type": "code",
        "id": "script",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": source,
    }
    spec = {"name": "python3" if language == "python" else "ir", "display_name": language, "language": language}
    return json.dumps({"cells": [cell], "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5})
