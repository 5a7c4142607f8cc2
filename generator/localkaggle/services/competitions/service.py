"""The competitions as a service of the API, and as what sessions mount."""

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from generator.localkaggle.hosting import Hosted
from generator.localkaggle.rpc import Methods
from generator.localkaggle.service_context import Reruns, ServiceContext
from generator.localkaggle.services.competitions import records
from generator.localkaggle.services.competitions.catalog import Catalog
from generator.localkaggle.services.competitions.data import CompetitionData
from generator.localkaggle.services.competitions.leaderboard import Leaderboard
from generator.localkaggle.services.competitions.records import Submissions
from generator.localkaggle.services.competitions.scoring import ScoringQueue
from generator.localkaggle.services.competitions.submitting import Submitting

_SERVICE = "competitions.CompetitionApiService"


class Competitions:
    """Everything that the API knows of competitions.

    Args:
        site: The local Kaggle.
        hosted: The competitions that it hosts, such as `generator.localkaggle.hosting.host` finds them.
    """

    SCHEMA: ClassVar[str] = records.SCHEMA

    def __init__(self, site: ServiceContext, hosted: Iterable[Hosted]) -> None:
        submissions = Submissions(site.database, site.root / "submissions")
        self._catalog = Catalog(site, hosted, submissions)
        self._data = CompetitionData(site, self._catalog)
        self._scoring = ScoringQueue(site, self._catalog, submissions)
        self._submitting = Submitting(site, self._catalog, submissions, self._scoring)
        self._leaderboard = Leaderboard(site, self._catalog, submissions)

    def start(self, reruns: Reruns) -> None:
        """Takes up what the last run of the server left; submitted notebooks are run again by `reruns`."""
        self._scoring.start(reruns)

    def methods(self) -> Methods:
        """The methods of the API."""
        catalog, data, submitting, leaderboard = self._catalog, self._data, self._submitting, self._leaderboard
        return {
            f"{_SERVICE}/ListCompetitions": catalog.list,
            f"{_SERVICE}/GetCompetition": catalog.get,
            f"{_SERVICE}/ListCompetitionPages": catalog.pages,
            f"{_SERVICE}/ListDataFiles": data.list,
            f"{_SERVICE}/ListDataTreeFiles": data.tree,
            f"{_SERVICE}/GetCompetitionDataFilesSummary": data.summary,
            f"{_SERVICE}/DownloadDataFile": data.download_file,
            f"{_SERVICE}/DownloadDataFiles": data.download_all,
            f"{_SERVICE}/StartSubmissionUpload": submitting.start_upload,
            f"{_SERVICE}/CreateSubmission": submitting.submit_file,
            f"{_SERVICE}/CreateCodeSubmission": submitting.submit_notebook,
            f"{_SERVICE}/ListSubmissions": submitting.list,
            f"{_SERVICE}/GetSubmission": submitting.get,
            f"{_SERVICE}/DownloadSubmission": submitting.download,
            f"{_SERVICE}/GetSubmissionLimits": submitting.limits,
            f"{_SERVICE}/GetLeaderboard": leaderboard.get,
            f"{_SERVICE}/DownloadLeaderboard": leaderboard.download,
        }

    def data_folder(self, slug: str, *, hidden: bool) -> Path | None:
        """The folder to mount: the public one, or with `hidden` the one with the hidden test; None if unknown."""
        hosted = self._catalog.find(slug)
        if hosted is None:
            return None
        return hosted.hidden() if hidden else hosted.data()

    def is_known(self, slug: str) -> bool:
        """True if there is such a competition here."""
        return self._catalog.find(slug) is not None

    def close(self) -> None:
        """Lets the submission that is being scored finish; what waits is scored after the next start."""
        self._scoring.close()
