"""The built-in competitions: real data that needs no account, and a hidden test set to be scored by.

In: a slug. Out: a `BuiltIn`, which writes its files and scores a submission. A further one is a module with a
`BuiltIn`, its declaration in a `.toml` beside it, and a slug in `BUILT_IN`. All packages above may import this one, and
the single competitions only their tests.
"""

from importlib import import_module

from generator.competition.builtin.built_in import BuiltIn
from generator.errors import CompetitionError, did_you_mean
from generator.untrusted import printable

__all__ = ["BUILT_IN", "BuiltIn", "find", "known", "require"]

# Each stands under this name in the module of its own.
BUILT_IN = {slug: slug.upper() for slug in ("diabetes", "digits", "docstrings", "tumours")}


def known() -> list[str]:
    """The slugs of the built-in competitions."""
    return sorted(BUILT_IN)


def find(slug: str) -> BuiltIn | None:
    """The built-in competition of this name, if there is one."""
    if slug not in BUILT_IN:
        return None
    found: BuiltIn = getattr(import_module(f"{__name__}.{slug}"), BUILT_IN[slug])
    return found


def require(slug: str) -> BuiltIn:
    """The built-in competition of this name.

    Raises:
        CompetitionError: There is none; the message lists those that there are.
    """
    built_in = find(slug)
    if built_in is None:
        raise CompetitionError(
            f'There is no competition "{printable(slug)}" here; the built-in ones are: {", ".join(known())}.'
            f"{did_you_mean(slug, known())}"
        )
    return built_in
