"""The first page, and the page of sessions and quota: what this local Kaggle is doing."""

from datetime import timedelta

from starlette.responses import Response

from generator.accelerators.catalog import AcceleratorKind
from generator.local_server import serve_command
from generator.localkaggle.services.kernel_quota import allowed, next_week, used
from generator.localkaggle.services.kernel_records import SessionRecord, State
from generator.localkaggle.web.competition_pages import competitions
from generator.localkaggle.web.kernel_views import kernel_views, session_views
from generator.localkaggle.web.page_request import PageRequest

_SHOWN_KERNELS, _SHOWN_COMPETITIONS, _SHOWN_SESSIONS = 5, 6, 100


def home(page: PageRequest) -> Response:
    """The first page: sessions that run, notebooks that were pushed last, and competitions."""
    sessions = page.kernels.records.unfinished()
    running = sum(session.state is State.RUNNING for session in sessions)
    return page.render(
        "home.html.j2",
        here="home",
        running=running,
        queued=len(sessions) - running,
        quotas=_quotas(page, page.kernels.records.sessions()),
        kernels=kernel_views(page.kernels.records, page.account, most=_SHOWN_KERNELS),
        clients_command=serve_command(page.local_kaggle.site.root, "--env"),
        competitions=competitions(page)[:_SHOWN_COMPETITIONS],
        moves=bool(sessions),
    )


def sessions(page: PageRequest) -> Response:
    """The sessions that wait, run and ran, and the quota that they used."""
    records = page.kernels.records
    return page.render(
        "sessions.html.j2",
        here="sessions",
        quotas=_quotas(page, records.sessions()),
        refresh=next_week(page.now),
        sessions=session_views(records, page.account, most=_SHOWN_SESSIONS),
        isolation=page.local_kaggle.isolation,
        moves=bool(records.unfinished()),
    )


def _quotas(page: PageRequest, sessions: list[SessionRecord]) -> list[tuple[str, timedelta, timedelta]]:
    """The hours of this week for each kind of accelerator: its name, those used, those allowed."""
    found = []
    for kind in (AcceleratorKind.GPU, AcceleratorKind.TPU):
        hours = allowed(kind)
        if hours is not None:
            found.append((kind.upper(), used(sessions, kind, now=page.now), hours))
    return found
