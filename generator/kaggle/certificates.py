"""Warns of a list of trusted certificates that Kaggle's tokens are not safe with."""

OLDEST_SAFE = (2026, 10, 19)
"""Before this, certifi trusts roots that were compromised (GHSA-6q48-6c7w-9gw2): a stranger could take the token."""


def certificate_warning() -> str:
    """A sentence on certificates that are too old, or nothing."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("certifi")
    except PackageNotFoundError:
        return ""
    parts = tuple(int(part) for part in installed.split(".")[:3] if part.isdigit())
    if parts >= OLDEST_SAFE:
        return ""
    return (
        f"certifi {installed} trusts certificates that were compromised, with which a stranger could take your Kaggle "
        f"token: update it with `pip install 'certifi>={'.'.join(map(str, OLDEST_SAFE))}'` as soon as your index of "
        "packages has it."
    )
