"""The pages that write, edit and copy notebooks."""

from collections.abc import Callable

from starlette.responses import Response

from generator.accelerators.catalog import catalog
from generator.localkaggle.rpc import ApiError, Fields
from generator.localkaggle.services.kernel_pushes import SAVE_KERNEL
from generator.localkaggle.services.kernel_records import KernelRecord
from generator.localkaggle.services.kernel_validation import TITLE_LENGTHS
from generator.localkaggle.web.drafts import Draft, draft_of, new_draft, typed
from generator.localkaggle.web.formats import path
from generator.localkaggle.web.kernel_pages import opened
from generator.localkaggle.web.kernel_views import KernelView, machine_name
from generator.localkaggle.web.page_request import PageRequest, redirect
from generator.untrusted import slug_of

_COPY = " copy"
_SOURCES = ("Competition", "Kernel", "Dataset", "Model")


def new(page: PageRequest) -> Response:
    """A form for a new notebook."""
    return _edited(page, new_draft(page.query.get("competition", "")), heading="New notebook")


def edit(page: PageRequest, owner: str, kernel: str) -> Response:
    """A form with a version of one's own notebook, for the next version of it."""
    found = opened(page, owner, kernel)
    if found.kernel.owner != page.account:
        raise ApiError(403, "This notebook is somebody else's; a copy of it would be yours.")
    heading = f"Edit “{found.kernel.title}”"
    draft = draft_of(found, page.kernels.records.source(found.version))
    return _edited(page, draft, heading=heading, source=found, kernel=found.kernel)


def copy(page: PageRequest, owner: str, kernel: str) -> Response:
    """A form with a version of anybody's notebook, to be saved as a new one."""
    found = opened(page, owner, kernel)
    title = _free_title(found.kernel.title, lambda slug: page.kernels.records.kernel(page.account, slug) is None)
    draft = draft_of(found, page.kernels.records.source(found.version), title=title)
    return _edited(page, draft, heading="Copy & edit", source=found)


def _edited(
    page: PageRequest,
    draft: Draft,
    *,
    heading: str,
    source: KernelView | None = None,
    kernel: KernelRecord | None = None,
) -> Response:
    """A form with a draft; once it was sent, the page of the version that was saved, or the form with the problem."""
    if not page.is_form:
        return _form(page, draft, heading=heading, source=source)
    draft = typed(draft, page.form)
    problem = _problem(page, draft, kernel)
    answer: Fields = {}
    if not problem:
        fields = draft.fields(runs=page.form.get("then") != "save")
        try:
            answer = page.call(SAVE_KERNEL, **fields, **({"id": kernel.id} if kernel is not None else {}))
        except ApiError as error:
            problem = error.message
    problem = problem or answer["error"]
    if problem:
        return _form(page, draft, heading=heading, source=source, problem=problem)
    ref = answer["ref"].strip("/")
    invalid = [name for kind in _SOURCES for name in answer[f"invalid{kind}Sources"]]
    if not invalid:
        return redirect(path("code", *ref.split("/")))
    return page.render(
        "message.html.j2",
        here="code",
        eyebrow=ref,
        heading=f"Saved as version {answer['versionNumber']}, without all of its inputs",
        sentence=f"There is no such input here: {', '.join(invalid)}. The version was saved without it.",
        onward=("Go to the notebook", path("code", *ref.split("/"))),
    )


def _problem(page: PageRequest, draft: Draft, kernel: KernelRecord | None) -> str:
    """The problem that a person is better told before the API is asked; empty if there is none."""
    if len(draft.title) not in TITLE_LENGTHS:
        shortest, longest = TITLE_LENGTHS.start, TITLE_LENGTHS.stop - 1
        return f"A title has {shortest} to {longest} characters; this one has {len(draft.title)}."
    if kernel is None and page.kernels.records.kernel(page.account, slug_of(draft.title)) is not None:
        # The API would take it for the next version of that one.
        return "You have a notebook of this title already. Please choose another title."
    return ""


def _form(
    page: PageRequest, draft: Draft, *, heading: str, source: KernelView | None = None, problem: str = ""
) -> Response:
    address = f"{page.path}?version={source.version.number}" if source is not None else page.path
    return page.render(
        "editor.html.j2",
        here="code",
        draft=draft,
        heading=heading,
        source=source,
        problem=problem,
        address=address,
        machines=[(shape, machine_name(shape)) for shape in catalog().accelerators],
    )


def _free_title(title: str, is_free: Callable[[str], bool]) -> str:
    longest = TITLE_LENGTHS.stop - 1
    for number in range(1, 1_000):
        ending = _COPY if number == 1 else f"{_COPY} {number}"
        candidate = title[: longest - len(ending)].rstrip() + ending
        if is_free(slug_of(candidate)):
            return candidate
    return ""
