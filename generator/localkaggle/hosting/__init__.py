"""The competitions that a local Kaggle hosts: the built-in ones, and folders of data with hidden answers.

In: a folder with a `competition.toml` (`description`, `answers`), or a built-in competition. Out: a `Hosted`, its
facts, files and pages, and the score of a submission: `scoring` reads and checks it, `metric_inputs` makes of its cells
the arrays that the metric compares. `generator.localkaggle` imports it, and it imports `generator.competition`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from generator.competition.builtin import known, require
from generator.localkaggle.hosting.built_in import HostedBuiltIn
from generator.localkaggle.hosting.folder import HostedFolder
from generator.localkaggle.hosting.hosted import HostedFacts

Hosted = HostedBuiltIn | HostedFolder
"""A competition and its secret. Every method may be called from any thread, and writes on first use only."""

__all__ = ["Hosted", "HostedFacts", "host"]


def host(root: Path, folders: Iterable[Path] = ()) -> Mapping[str, Hosted]:
    """Every competition of a local Kaggle by its slug: the given folders, and the built-in ones that they leave free.

    Args:
        root: The server's folder; what the competitions need beside their own files is written below it, on first use.
        folders: Folders with a `competition.toml`.

    Raises:
        HostedFolderError: A folder is none that can be hosted.
    """
    hosted: dict[str, Hosted] = {slug: HostedBuiltIn(root / "competitions" / slug, require(slug)) for slug in known()}
    for folder in folders:
        competition = HostedFolder(folder, store=root / "competitions")
        hosted[competition.facts.slug] = competition
    return hosted
