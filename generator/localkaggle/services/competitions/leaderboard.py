"""The leaderboard: each team's best submission, on the public or on the private part of the test."""

import csv
import io
import zipfile

from generator.localkaggle.clock import as_wire
from generator.localkaggle.hosting import HostedFacts
from generator.localkaggle.rpc import Call, Content, Fields, page
from generator.localkaggle.service_context import ServiceContext
from generator.localkaggle.services.competitions.catalog import Catalog, is_private_now, ranking
from generator.localkaggle.services.competitions.records import Submission, Submissions
from generator.localkaggle.services.competitions.submitting import score_text


class Leaderboard:
    """Answers everything about ranks: public ones while a competition runs, private ones when it is over."""

    def __init__(self, site: ServiceContext, catalog: Catalog, submissions: Submissions) -> None:
        self._site = site
        self._catalog = catalog
        self._submissions = submissions

    def get(self, call: Call) -> Fields:
        """`GetLeaderboard`."""
        facts = self._catalog.named(call).facts
        is_private = is_private_now(facts, self._site.clock.now()) and not call.flag("overridePublic")
        rows: list[Fields] = [
            {
                "teamId": rank,
                "teamName": best.owner,
                "submissionDate": as_wire(best.moment),
                "score": score_text(best.private if is_private else best.public),
            }
            for rank, best in enumerate(self._best(facts, is_private=is_private), start=1)
        ]
        return page(rows, call, key="submissions")

    def download(self, call: Call) -> Content:
        """`DownloadLeaderboard`: the public one as a table in a zip, as Kaggle has it."""
        facts = self._catalog.named(call).facts
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(("Rank", "TeamId", "TeamName", "LastSubmissionDate", "Score", "SubmissionCount"))
        for rank, best in enumerate(self._best(facts, is_private=False), start=1):
            count = self._submissions.counts(facts.slug, best.owner, self._site.clock.now())[1]
            moment = f"{best.moment:%Y-%m-%d %H:%M:%S}"
            writer.writerow((rank, rank, best.owner, moment, score_text(best.public), count))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            entry = zipfile.ZipInfo(f"{facts.slug}-publicleaderboard.csv", self._site.clock.now().timetuple()[:6])
            archive.writestr(entry, table.getvalue())
        return Content(packed.getvalue(), "application/zip")

    def _best(self, facts: HostedFacts, *, is_private: bool) -> list[Submission]:
        return ranking(facts, self._submissions.scored(facts.slug), is_private=is_private)
