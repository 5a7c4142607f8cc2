"""Which names the files of a dataset or model may have."""

from generator.localkaggle import names
from generator.localkaggle.errors import LocalKaggleError
from generator.localkaggle.rpc import ApiError
from generator.untrusted import printable

_SHOWN = 80


class BundleRefusedError(LocalKaggleError):
    """Files that cannot become a version of a dataset or model; the sentence is what the client is told."""

    def __init__(self, *, name: str, why: str) -> None:
        super().__init__(f'"{printable(name[:_SHOWN])}" {why}.')


def checked_name(name: str) -> str:
    """A relative POSIX path that stays in its folder.

    Raises:
        BundleRefusedError: It is absolute, leads upwards, or has characters that a name here may not have.
    """
    try:
        return names.checked_name(name)
    except ApiError as error:
        why = 'is no name for a file here; use a relative path without "..", backslashes and colons'
        raise BundleRefusedError(name=name, why=why) from error
