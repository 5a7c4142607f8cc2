"""The pages of datasets and models."""

from generator.localkaggle.web import library_facts as facts
from generator.localkaggle.web.request import WebAnswer, redirect
from generator.localkaggle.web.visit import Visit
from generator.run.safe_html import markdown_html


def datasets(visit: Visit) -> WebAnswer:
    """All datasets."""
    return _shelf(visit, "datasets", facts.datasets(visit.asker), command="kaggle datasets create -p FOLDER")


def dataset(visit: Visit, owner: str, slug: str) -> WebAnswer:
    """One dataset."""
    return _item(visit, "datasets", facts.dataset(visit.asker, owner, slug))


def dataset_archive(visit: Visit, owner: str, slug: str) -> WebAnswer:
    """The files of a dataset."""
    return redirect(facts.dataset_archive(visit.asker, owner, slug))


def models(visit: Visit) -> WebAnswer:
    """All models."""
    return _shelf(visit, "models", facts.models(visit.asker), command="kaggle models create -p FOLDER")


def model(visit: Visit, owner: str, slug: str, **_variation: str) -> WebAnswer:
    """One model, whichever of its variations an address names."""
    return _item(visit, "models", facts.model(visit.asker, owner, slug))


def model_archive(visit: Visit, owner: str, slug: str, framework: str, variation: str) -> WebAnswer:
    """The files of a variation of a model."""
    return redirect(facts.model_archive(visit.asker, owner, slug, framework, variation))


def _shelf(visit: Visit, place: str, rows: list[facts.LibraryRow], *, command: str) -> WebAnswer:
    shown = [row for row in rows if not row.is_private or row.ref.startswith(f"{visit.account}/")]
    return visit.page("library.html.j2", here=place, place=place, rows=shown, command=command)


def _item(visit: Visit, place: str, item: facts.LibraryItem) -> WebAnswer:
    description = markdown_html(item.description)
    return visit.page("library_item.html.j2", here=place, place=place, item=item, description=description)
