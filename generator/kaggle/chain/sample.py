"""The competition's sample submission, as this Kaggle has it: what a submission is checked against."""

from pathlib import Path

from generator.kaggle.chain.record import Record
from generator.kaggle.chain.request import Subject
from generator.kaggle.errors import KaggleError
from generator.pair.workspace import Workspace

_LARGEST = 512 * 1024 * 1024


def fetch_sample(record: Record, subject: Subject, workspace: Workspace) -> Path | None:
    """The sample, fetched once; the workspace's copy where Kaggle does not give it; None where there is neither."""
    slug, name = subject.spec.competition.slug, subject.sample
    if not name:
        return None
    archive, zipped, member = name.partition(".zip/")
    file = archive + zipped.removesuffix("/")
    copy = record.folder("sample") / Path(file).name
    if not copy.is_file():
        url = record.page(f"competitions/{slug}/data")
        try:
            record.read(f"the sample submission of {slug}", lambda: _fetch(record, slug, file, copy), url=url)
        except KaggleError as error:
            record.tell("infer", f"The sample submission cannot be fetched: {error.message}")
    here = workspace.competition_data(slug) / file
    found = next((place for place in (copy, here) if place.is_file()), None)
    return found / member if found is not None and member else found


def _fetch(record: Record, slug: str, name: str, copy: Path) -> None:
    listed = {file.name: file for file in record.kaggle.competition_files(slug)}
    if name not in listed or listed[name].size > _LARGEST:
        return
    for _ in record.kaggle.download(record.kaggle.competition_file_url(slug, name), copy, size=listed[name].size):
        pass
