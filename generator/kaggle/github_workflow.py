"""A GitHub Actions workflow that pushes a pair, from the text beside this module; secrets by name only."""

from pathlib import Path

from generator.errors import PairError
from generator.files import read_text
from generator.untrusted import printable


def check_unedited(path: Path, pair: str) -> None:
    """Makes sure that nothing is lost if the workflow is written anew.

    Args:
        path: Where it belongs.
        pair: The pair's name, a slug.

    Raises:
        PairError: One is there that was edited.
    """
    ours = [github_workflow(pair, submit=is_submitting) for is_submitting in (False, True)]
    if path.exists() and read_text(path) not in ours:
        raise PairError(
            f"{printable(str(path))} says something else than the kit writes, and is left as it is; move it away to "
            "have it written anew."
        )


def github_workflow(pair: str, *, submit: bool) -> str:
    """The text of the workflow.

    Args:
        pair: The pair's name, a slug.
        submit: Whether it also submits.
    """
    text = Path(__file__).with_suffix(".yml").read_text(encoding="utf-8")
    return text.replace("[[pair]]", pair).replace("[[submit]]", " --submit" if submit else "")
