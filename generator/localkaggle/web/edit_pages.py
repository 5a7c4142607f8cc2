"""Writing, editing and copying notebooks."""

from collections.abc import Callable

from generator.localkaggle.rpc import ApiError, Fields
from generator.localkaggle.services.kernel_pushes import SAVE_KERNEL
from generator.localkaggle.services.kernel_records import KernelRecord
from generator.localkaggle.services.kernel_validation import TITLE_LENGTHS, slug_of
from generator.localkaggle.web.asking import text, texts, whole
from generator.localkaggle.web.drafts import Draft, draft_of, machines, new_draft, typed
from generator.localkaggle.web.kernel_facts import kernel_address
from generator.localkaggle.web.kernel_pages import Opened, opened
from generator.localkaggle.web.request import WebAnswer, redirect
from generator.localkaggle.web.visit import Visit

_REFUSED = 422
_COPY = " copy"


def new(visit: Visit) -> WebAnswer:
    """A form for a new notebook."""
    return _form(visit, new_draft(visit.request.query.get("competition", "")), heading="New notebook")


def save_new(visit: Visit) -> WebAnswer:
    """Saves a new notebook."""
    draft = typed(new_draft(""), visit.request.form().fields)
    return _saved(visit, draft, heading="New notebook")


def edit(visit: Visit, owner: str, kernel: str) -> WebAnswer:
    """A form with a version of one's own notebook."""
    found = _own(visit, opened(visit, owner, kernel))
    return _form(visit, _draft(visit, found), heading=_edit_heading(found), source=found)


def save_edit(visit: Visit, owner: str, kernel: str) -> WebAnswer:
    """Saves the next version of one's own notebook."""
    found = _own(visit, opened(visit, owner, kernel))
    draft = typed(_draft(visit, found), visit.request.form().fields)
    return _saved(visit, draft, heading=_edit_heading(found), source=found, kernel=found.kernel)


def copy(visit: Visit, owner: str, kernel: str) -> WebAnswer:
    """A form with a version of anybody's notebook, to be saved as a new one."""
    found = opened(visit, owner, kernel)
    title = _free_title(found.kernel.title, lambda slug: visit.kernels.records.kernel(visit.account, slug) is None)
    return _form(visit, _draft(visit, found, title=title), heading="Copy & edit", source=found)


def save_copy(visit: Visit, owner: str, kernel: str) -> WebAnswer:
    """Saves a version of anybody's notebook as a new notebook."""
    found = opened(visit, owner, kernel)
    return _saved(visit, typed(_draft(visit, found), visit.request.form().fields), heading="Copy & edit", source=found)


def _saved(
    visit: Visit, draft: Draft, *, heading: str, source: Opened | None = None, kernel: KernelRecord | None = None
) -> WebAnswer:
    problem = _problem(visit, draft, kernel)
    answer: Fields = {}
    if not problem:
        fields = draft.fields(runs=visit.request.form().fields.get("then") != "save")
        try:
            answer = visit.asker.ask(SAVE_KERNEL, **fields, **({"id": kernel.id} if kernel is not None else {}))
        except ApiError as error:
            problem = error.message
    problem = problem or text(answer, "error")
    if problem:
        return _form(visit, draft, heading=heading, source=source, problem=problem)
    owner, _, slug = text(answer, "ref").strip("/").partition("/")
    saved = visit.kernels.records.kernel(owner, slug)
    address = "/code" if saved is None else kernel_address(saved)
    invalid = [
        name
        for kind in ("Competition", "Kernel", "Dataset", "Model")
        for name in texts(answer, f"invalid{kind}Sources")
    ]
    if not invalid:
        return redirect(address)
    return visit.page(
        "message.html.j2",
        here="code",
        eyebrow=text(answer, "ref").strip("/"),
        heading=f"Saved as version {whole(answer, 'versionNumber')}, without all of its inputs",
        sentence=f"There is no such input here: {', '.join(invalid)}. The version was saved without it.",
        onward=("Go to the notebook", address),
    )


def _problem(visit: Visit, draft: Draft, kernel: KernelRecord | None) -> str:
    """What a person is better told before the API is asked; empty if there is nothing."""
    if len(draft.title) not in TITLE_LENGTHS:
        shortest, longest = TITLE_LENGTHS.start, TITLE_LENGTHS.stop - 1
        return f"A title has {shortest} to {longest} characters; this one has {len(draft.title)}."
    if kernel is None and visit.kernels.records.kernel(visit.account, slug_of(draft.title)) is not None:
        # The API would take it for the next version of that one.
        return "You have a notebook of this title already. Please choose another title."
    return ""


def _form(visit: Visit, draft: Draft, *, heading: str, source: Opened | None = None, problem: str = "") -> WebAnswer:
    address = f"{visit.request.path}?version={source.version.number}" if source is not None else visit.request.path
    return visit.page(
        "editor.html.j2",
        here="code",
        status=_REFUSED if problem else 200,
        draft=draft,
        heading=heading,
        source=source,
        problem=problem,
        address=address,
        machines=machines(),
    )


def _draft(visit: Visit, found: Opened, *, title: str = "") -> Draft:
    source = visit.kernels.records.source(found.version)
    draft_title = title or found.kernel.title
    return draft_of(draft_title, found.version.settings, source=source, is_private=found.kernel.is_private)


def _own(visit: Visit, found: Opened) -> Opened:
    if found.kernel.owner != visit.account:
        raise ApiError(403, "This notebook is somebody else's; a copy of it would be yours.")
    return found


def _edit_heading(found: Opened) -> str:
    return f"Edit “{found.kernel.title}”"


def _free_title(title: str, is_free: Callable[[str], bool]) -> str:
    longest = TITLE_LENGTHS.stop - 1
    for number in range(1, 1_000):
        ending = _COPY if number == 1 else f"{_COPY} {number}"
        candidate = title[: longest - len(ending)].rstrip() + ending
        if is_free(slug_of(candidate)):
            return candidate
    return ""
