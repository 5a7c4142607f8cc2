"""The errors of a local Kaggle that cannot be started or used.

LocalKaggleError
└── (the leaves stand beside the code that raises them)
"""

from generator.errors import TandemError


class LocalKaggleError(TandemError):
    """A local Kaggle cannot do what was asked of it by the person who runs it."""
