"""Checking what inference predicted, against the competition's sample submission as this Kaggle has it."""

from pathlib import Path

from generator.competition.submission import (
    MissingReaderError,
    SubmissionError,
    SubmissionSummary,
    sample_columns_of,
    summarize,
    tolerance_of,
    validate,
)
from generator.competition.tables.formats import format_of
from generator.kaggle.chain.errors import SubmissionUnfitError
from generator.kaggle.chain.execution import ChainExecution
from generator.kaggle.chain.options import PushOptions
from generator.kaggle.errors import KaggleError
from generator.pair.handover import DamagedError

_LARGEST = 512 * 1024 * 1024


def fetch_sample(chain: ChainExecution, options: PushOptions) -> Path | None:
    """The sample, fetched once; the workspace's copy where Kaggle does not give it; None where there is neither."""
    slug, name = options.spec.competition.slug, options.spec.task.sample_submission
    if not name:
        return None
    archive, zipped, member = name.partition(".zip/")
    file = archive + zipped.removesuffix("/")
    copy = chain.folder("sample") / Path(file).name
    if not copy.is_file():
        url = chain.page(f"competitions/{slug}/data")
        try:
            chain.read(f"the sample submission of {slug}", lambda: _fetch(chain, slug, file, copy), url=url)
        except KaggleError as error:
            chain.tell("infer", f"The sample submission cannot be fetched: {error.message}")
    here = options.workspace.competition_data(slug) / file
    found = next((path for path in (copy, here) if path.is_file()), None)
    return found / member if found is not None and member else found


def checked(path: Path, sample: Path | None, options: PushOptions) -> SubmissionSummary:
    """The summary of a submission that is what the competition asks for; without columns where nothing here reads it.

    Raises:
        DamagedError: It is not, or it arrived in part.
        SubmissionUnfitError: It is empty.
    """
    unread = SubmissionSummary(path=path, rows=0, columns=())
    if format_of(path.name).format is None:
        if not path.stat().st_size:
            raise SubmissionUnfitError(problem=f"{path.name} is empty.")
        return unread
    try:
        if sample is None:
            return summarize(path)
        task = options.spec.task
        return validate(path, sample, columns=sample_columns_of(task), tolerance=tolerance_of(task))
    except MissingReaderError:
        # The notebook has checked it as well, and a chain is long: that is no reason to stop at its end.
        return unread
    except SubmissionError as error:
        # Half of a file looks like one with rows missing: it is fetched again before that is believed.
        raise DamagedError(error.message) from error


def _fetch(chain: ChainExecution, slug: str, name: str, copy: Path) -> None:
    listed = {file.name: file for file in chain.kaggle.competition_files(slug)}
    if name not in listed or listed[name].size > _LARGEST:
        return
    for _ in chain.kaggle.download(chain.kaggle.competition_file_url(slug, name), copy, size=listed[name].size):
        pass
