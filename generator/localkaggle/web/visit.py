"""One browser at one page: who asks, what for, and what every page says beside its own content."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from generator.localkaggle.services.kernels import Kernels
from generator.localkaggle.web.asking import Asker, LocalKaggleApi
from generator.localkaggle.web.request import WebAnswer, WebRequest
from generator.localkaggle.web.templating import page


@dataclass(frozen=True)
class Visit:
    """A request for a page of this local Kaggle."""

    local_kaggle: LocalKaggleApi
    request: WebRequest

    @property
    def asker(self) -> Asker:
        """What asks the API for this page."""
        return Asker(self.local_kaggle, self.request.base, self.account)

    @property
    def account(self) -> str:
        """Whose pages these are."""
        return self.request.caller or self.local_kaggle.site.account

    @property
    def kernels(self) -> Kernels:
        """The kernels with their versions, sessions and files."""
        return self.local_kaggle.kernels

    @property
    def now(self) -> datetime:
        """The present moment at this local Kaggle."""
        return self.local_kaggle.site.clock.now()

    def page(self, template: str, *, here: str, status: int = 200, **values: Any) -> WebAnswer:
        """A page from a template.

        Args:
            template: Its file.
            here: The word of the bar on top that the page belongs to.
            status: The HTTP status.
            **values: What the template shows; with `moves` the page looks again by itself.
        """
        common = {"account": self.account, "here": here, "now": self.now, "moves": False}
        return page(template, {**common, **values}, status=status)


Answering = Callable[..., WebAnswer]
"""Answers a visit; what the path names comes after it, by keyword."""
