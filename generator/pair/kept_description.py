"""Kaggle's description of a competition, kept beside a pair so that it need not be asked again."""

import json
from typing import Any

from generator.competition.description import Description
from generator.competition.facts import Competition
from generator.files import read_bytes
from generator.pair.workspace import PairFolder

_NAME = "competition.json"
_LONGEST_PAGE, _MOST_PAGES = 50_000, 50  # characters; a page that is longer says what matters before


def keep_description(folder: PairFolder, description: Description) -> None:
    """Writes a description into the kit's own part of a pair's folder.

    Raises:
        FileWriteError: It cannot be written.
    """
    content = {
        "slug": description.competition.slug,
        "title": description.competition.title,
        "is_code_competition": description.competition.is_code_competition,
        "metric_text": description.metric_text,
        "pages": {name: text[:_LONGEST_PAGE] for name, text in list(description.pages.items())[:_MOST_PAGES]},
        "source": description.source,
    }
    folder.files.write(folder.state / _NAME, json.dumps(content, indent=2).encode("utf-8", "replace"))


def kept_description(folder: PairFolder, slug: str) -> Description | None:
    """The description that was kept, if there is one of this competition that can be read."""
    try:
        content: Any = json.loads(read_bytes(folder.state / _NAME))
        if content["slug"] != slug:
            return None
        return Description(
            competition=Competition(slug, str(content["title"]), bool(content["is_code_competition"])),
            metric_text=str(content["metric_text"]),
            pages={str(name): str(text) for name, text in content["pages"].items()},
            source=str(content["source"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
