"""The competitions as a service of the API."""

from collections.abc import Mapping
from typing import ClassVar

from generator.localkaggle.hosting import Hosted
from generator.localkaggle.rpc import Methods
from generator.localkaggle.service_context import ServiceContext
from generator.localkaggle.services.competitions import records
from generator.localkaggle.services.competitions.catalog import Catalog
from generator.localkaggle.services.competitions.data import CompetitionData
from generator.localkaggle.services.competitions.leaderboard import Leaderboard
from generator.localkaggle.services.competitions.records import Submissions
from generator.localkaggle.services.competitions.scoring import ScoringQueue
from generator.localkaggle.services.competitions.submitting import Submitting
from generator.localkaggle.services.kernels import Kernels

_SERVICE = "competitions.CompetitionApiService"


class Competitions:
    """Everything that the API knows of competitions.

    Args:
        site: The local Kaggle.
        hosted: The competitions that it hosts, such as `generator.localkaggle.hosting.host` finds them.
        kernels: What runs submitted notebooks again.
    """

    SCHEMA: ClassVar[str] = records.SCHEMA

    def __init__(self, site: ServiceContext, hosted: Mapping[str, Hosted], kernels: Kernels) -> None:
        submissions = Submissions(site.database, site.root / "submissions")
        self._catalog = Catalog(site, hosted, submissions)
        self._data = CompetitionData(site, self._catalog)
        self.scoring = ScoringQueue(site, self._catalog, submissions, kernels)
        self._submitting = Submitting(site, self._catalog, submissions, self.scoring)
        self._leaderboard = Leaderboard(site, self._catalog, submissions)

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
