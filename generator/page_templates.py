"""The templates of pages and receipts; those of notebooks, which are Python, are `generator.pair.rendering`'s."""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2


# What pages of several packages have alike.
SHARED = Path(__file__).with_name("page_parts")


class PageTemplates:
    """The templates of a folder: those that end in `.html.j2` escape what they show, `.md.j2` do not.

    They can also include and import what is in `SHARED`.

    Args:
        folder: Where they are.
        functions: What they call by name, as `name(value)`.
        filters: What they call as `value | name`.
    """

    def __init__(self, folder: Path, *, functions: Mapping[str, Callable[..., Any]] = {}, **filters: Any) -> None:
        self._folder, self._functions, self._filters = folder, functions, filters

    def render(self, name: str, /, **values: Any) -> str:
        """Fills in a template; a value that it names and does not get is an error."""
        return self._environment.get_template(name).render(**values)

    @cached_property
    def _environment(self) -> "jinja2.Environment":
        import jinja2

        made = jinja2.Environment(
            loader=jinja2.FileSystemLoader([self._folder, SHARED]),
            autoescape=jinja2.select_autoescape(["html.j2"]),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,
        )
        made.filters.update(self._filters)
        made.globals.update(self._functions)
        return made
