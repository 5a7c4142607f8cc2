"""The competitions that are hosted here, by name, and what the API says of them."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from generator.competition.metrics import parsed
from generator.localkaggle.clock import as_wire
from generator.localkaggle.hosting import Hosted, HostedFacts
from generator.localkaggle.hosting.pages import metric_wording
from generator.localkaggle.rpc import ApiError, Call, Fields, page
from generator.localkaggle.service_context import ServiceContext
from generator.localkaggle.services.competitions.records import Submission, Submissions

_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
# A competition without an end: far enough for every client that asks how long it still runs.
_NEVER = datetime(2099, 12, 31, 23, 59, tzinfo=UTC)


class Catalog:
    """Finds competitions."""

    def __init__(self, site: ServiceContext, hosted: Mapping[str, Hosted], submissions: Submissions) -> None:
        self._site = site
        self._submissions = submissions
        self._hosted = hosted

    def find(self, slug: str) -> Hosted | None:
        """The competition of this name, if it is hosted here."""
        return self._hosted.get(slug)

    def named(self, call: Call) -> Hosted:
        """The competition that a request names.

        Raises:
            ApiError: 404, there is none of that name.
        """
        hosted = self._hosted.get(call.text("competitionName"))
        if hosted is None:
            raise ApiError(404, "Competition not found")
        return hosted

    def get(self, call: Call) -> Fields:
        """`GetCompetition`."""
        return self._fields(call, self.named(call).facts)

    def list(self, call: Call) -> Fields:
        """`ListCompetitions`, those that have the searched words in their name or title."""
        words = call.text("search").lower().split()
        found = [
            each.facts
            for each in self._hosted.values()
            if all(word in f"{each.facts.slug} {each.facts.title}".lower() for word in words)
        ]
        found.sort(key=lambda facts: facts.slug)
        return page([self._fields(call, facts) for facts in found], call, key="competitions")

    def pages(self, call: Call) -> Fields:
        """`ListCompetitionPages`, all or the one named."""
        name = call.text("pageName")
        return {
            "pages": [
                {
                    "name": each.name,
                    "postTitle": each.title,
                    "content": each.content,
                    "mimeType": "text/markdown",
                    "isPublished": True,
                }
                for each in self.named(call).facts.pages
                if name in ("", each.name)
            ]
        }

    def _fields(self, call: Call, facts: HostedFacts) -> Fields:
        is_private = is_private_now(facts, self._site.clock.now())
        teams = [each.owner for each in ranking(facts, self._submissions.scored(facts.slug), is_private=is_private)]
        has_entered = not self._site.faults.strikes("rules-not-accepted", at=call.method, also=facts.slug)
        return {
            # The same for a name after every start.
            "id": 1_000 + sum(place * byte for place, byte in enumerate(facts.slug.encode(), start=1)) % 1_000_000,
            "ref": page_of(call, facts.slug),
            "url": page_of(call, facts.slug),
            "title": facts.title,
            "description": facts.description,
            "organizationName": "",
            "category": "Community",
            "reward": "Kudos",
            "tags": [],
            "deadline": as_wire(facts.deadline or _NEVER),
            "enabledDate": as_wire(_BEGAN),
            "dateCreated": as_wire(_BEGAN),
            "teamCount": len(teams),
            "userHasEntered": has_entered,
            "userRank": teams.index(call.caller) + 1 if call.caller in teams else 0,
            "maxDailySubmissions": facts.daily_limit,
            "maxTeamSize": 1,
            "evaluationMetric": metric_wording(facts.question.metric),
            "isKernelsSubmissionsOnly": facts.is_code_competition,
            "submissionsDisabled": False,
            "hostName": "Local Kaggle",
        }


def page_of(call: Call, slug: str) -> str:
    """The address of a competition's page, at the origin that the client knows this server by."""
    return f"{call.base}/competitions/{slug}"


def is_private_now(facts: HostedFacts, now: datetime) -> bool:
    """True if the private part of the test decides, as it does from the end of a competition on."""
    return facts.deadline is not None and facts.deadline <= now


def ranking(facts: HostedFacts, scored: Iterable[Submission], *, is_private: bool) -> list[Submission]:
    """The leaderboard of a competition.

    Args:
        facts: The competition; its metric says which way is better.
        scored: All submissions that have scores.
        is_private: Whether they are ranked on the private part of the test.

    Returns:
        One submission for each team; of equal ones the earlier is better.
    """
    sign = -1 if parsed(facts.question.metric)[0].higher_is_better else 1

    def place(submission: Submission) -> tuple[float, int]:
        score = submission.private if is_private else submission.public
        return sign * (score if score is not None else 0.0), submission.ref

    best: dict[str, Submission] = {}
    for submission in sorted(scored, key=place):
        best.setdefault(submission.owner, submission)
    return list(best.values())
