"""A GitHub Actions workflow that pushes a pair; secrets by name only.

WorkflowEditedError   the workflow that is there says something else than the kit writes
"""

from pathlib import Path

from generator.errors import PairError
from generator.files import read_text
from generator.untrusted import printable

_TEXT = """\
# Pushes the pair {pair} to Kaggle, and waits for its score. Written by `tandem push {pair} --workflow github`.
#
# It needs one repository secret, KAGGLE_API_TOKEN (kaggle.com/settings/api). The journal of the chain is kept in a
# cache: a job that GitHub ends after six hours is started again by hand, and goes on where it stopped.
#
# Tandem is on no package index. Unless this repository is a clone of it, set the repository variable TANDEM to what pip
# installs it from, such as a git+https:// address or the path of a wheel that is committed here.
name: Push {pair} to Kaggle

on:
  workflow_dispatch:

permissions:
  contents: read

concurrency:
  group: tandem-{pair}
  cancel-in-progress: false

jobs:
  push:
    runs-on: ubuntu-latest
    timeout-minutes: 355
    steps:
      - uses: actions/checkout@v4
        with:
          persist-credentials: false
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: python -m pip install "$TANDEM"
        env:
          TANDEM: ${{{{ vars.TANDEM || '.' }}}}
      - uses: actions/cache/restore@v4
        with:
          path: kernels/{pair}/.tandem
          key: tandem-{pair}-${{{{ github.run_id }}}}-${{{{ github.run_attempt }}}}
          restore-keys: tandem-{pair}-
      - run: tandem push {pair}{submit} --yes --json
        env:
          KAGGLE_API_TOKEN: ${{{{ secrets.KAGGLE_API_TOKEN }}}}
      - uses: actions/cache/save@v4
        if: always()
        with:
          path: kernels/{pair}/.tandem
          key: tandem-{pair}-${{{{ github.run_id }}}}-${{{{ github.run_attempt }}}}
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: receipt
          path: output/{pair}/receipt.html
          if-no-files-found: ignore
"""


class WorkflowEditedError(PairError):
    """Writing the workflow again would lose what somebody made of it."""

    def __init__(self, *, path: Path) -> None:
        super().__init__(
            f"{printable(str(path))} says something else than the kit writes, and is left as it is; move it away "
            "to have it written anew."
        )


def check_unedited(path: Path, pair: str) -> None:
    """Makes sure that nothing is lost if the workflow is written anew.

    Args:
        path: Where it belongs.
        pair: The pair's name, a slug.

    Raises:
        WorkflowEditedError: One is there that was edited.
    """
    ours = [github_workflow(pair, submit=is_submitting) for is_submitting in (False, True)]
    if path.exists() and read_text(path) not in ours:
        raise WorkflowEditedError(path=path)


def github_workflow(pair: str, *, submit: bool) -> str:
    """The text of the workflow.

    Args:
        pair: The pair's name, a slug.
        submit: Whether it also submits.
    """
    return _TEXT.format(pair=pair, submit=" --submit" if submit else "")
