"""The first page, and the page of sessions and quota: what this local Kaggle is doing."""

from dataclasses import dataclass
from datetime import timedelta

from generator.accelerators.catalog import AcceleratorKind
from generator.local_server import serve_command
from generator.localkaggle.services.kernel_quota import allowed, next_week, used
from generator.localkaggle.services.kernel_records import SessionRecord, State
from generator.localkaggle.web import competition_facts
from generator.localkaggle.web.kernel_facts import kernel_rows, session_rows
from generator.localkaggle.web.request import WebAnswer
from generator.localkaggle.web.visit import Visit

_SHOWN_KERNELS, _SHOWN_COMPETITIONS, _SHOWN_SESSIONS = 5, 6, 100


@dataclass(frozen=True)
class QuotaFacts:
    """The hours of this week for one kind of accelerator."""

    word: str
    used: timedelta
    allowed: timedelta

    @property
    def allowed_seconds(self) -> float:
        """The whole budget in seconds."""
        return self.allowed.total_seconds()


def home(visit: Visit) -> WebAnswer:
    """What runs, what was pushed last, and what there is to compete in."""
    sessions = visit.kernels.records.unfinished()
    running = sum(session.state is State.RUNNING for session in sessions)
    return visit.page(
        "home.html.j2",
        here="home",
        running=running,
        queued=len(sessions) - running,
        quotas=_quotas(visit, visit.kernels.records.sessions()),
        kernels=kernel_rows(visit.kernels.records, visit.account, most=_SHOWN_KERNELS),
        clients_command=serve_command(visit.local_kaggle.site.root, "--env"),
        competitions=competition_facts.competitions(visit.asker)[:_SHOWN_COMPETITIONS],
        moves=bool(sessions),
    )


def sessions(visit: Visit) -> WebAnswer:
    """The sessions that wait, run and ran, and the quota that they used."""
    records = visit.kernels.records
    return visit.page(
        "sessions.html.j2",
        here="sessions",
        quotas=_quotas(visit, records.sessions()),
        refresh=next_week(visit.now),
        sessions=session_rows(records, visit.account, most=_SHOWN_SESSIONS),
        isolation=visit.kernels.sessions.isolation,
        moves=bool(records.unfinished()),
    )


def _quotas(visit: Visit, sessions: list[SessionRecord]) -> list[QuotaFacts]:
    found = []
    for kind in (AcceleratorKind.GPU, AcceleratorKind.TPU):
        hours = allowed(kind)
        if hours is not None:
            found.append(QuotaFacts(kind.upper(), used(sessions, kind, now=visit.now), hours))
    return found
