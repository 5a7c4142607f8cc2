"""A GitHub Actions workflow that pushes a pair; secrets by name only."""

_TEXT = """\
# Pushes the pair {pair} to Kaggle, and waits for its score. Written by `tandem push {pair} --workflow github`.
#
# It needs one repository secret, KAGGLE_API_TOKEN (kaggle.com/settings/api). The journal of the chain is kept in a
# cache: a job that GitHub ends after six hours is started again by hand, and goes on where it stopped.
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
      - run: python -m pip install kaggle-tandem
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


def github_workflow(pair: str, *, submit: bool) -> str:
    """The text of the workflow.

    Args:
        pair: The pair's name, a slug.
        submit: Whether it also submits.
    """
    return _TEXT.format(pair=pair, submit=" --submit" if submit else "")
