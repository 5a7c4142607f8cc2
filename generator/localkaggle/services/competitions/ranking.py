"""The ranking of teams: the best submission of each, the best team first."""

from collections.abc import Iterable

from generator.competition.metrics import parsed
from generator.localkaggle.hosting import HostedFacts
from generator.localkaggle.services.competitions.records import Submission


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
