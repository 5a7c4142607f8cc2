"""A local Kaggle put together: its folder, its services, and who is told of whom."""

import hashlib
import hmac
from collections.abc import Iterable
from pathlib import Path

from generator.localkaggle.hosting import host
from generator.localkaggle.rpc import Answer, ApiCall, ApiError, Faults, ServerClock
from generator.localkaggle.services.competitions import Competitions
from generator.localkaggle.services.items import Datasets, Models
from generator.localkaggle.services.kernel_records import Accounts, Sources, require_account_name
from generator.localkaggle.services.kernels import Kernels, SessionRules
from generator.localkaggle.storage import Blobs, Database, RootFolder, ServiceContext, Tickets
from generator.sessions.sandbox import Runner

_KEEPERS = (Accounts, Blobs, Tickets, Datasets, Models, Competitions, Kernels)
"""Whatever has tables in the database."""


class LocalKaggle:
    """One local Kaggle; what it knows stands in its folder, so that the next one there goes on where it stopped."""

    def __init__(  # noqa: PLR0913 - what a test replaces, each by its name
        self,
        root: Path,
        *,
        account: str = "local",
        competitions: Iterable[Path] = (),
        runner: Runner | None = None,
        faults: Faults | None = None,
        clock: ServerClock | None = None,
        rules: SessionRules | None = None,
    ) -> None:
        """Opens a local Kaggle, or makes a new one.

        Args:
            root: Its folder.
            account: The user name that the server's token belongs to.
            competitions: Folders of competitions to host beside the built-in ones.
            runner: What executes notebooks; by default the sandbox of this machine.
            faults: Which misbehaviour is in force; none by default.
            clock: What time it is.
            rules: How many sessions run at a time, and where they find their inputs.

        Raises:
            LocalKaggleError: The account's name is none, or another local Kaggle has the folder.
            HostedFolderError: A folder is no competition that can be hosted.
        """
        require_account_name(account)
        # Looked at first: a folder that cannot be hosted is no reason to take the root.
        self.hosted_competitions = host(root.resolve(), competitions)
        self._root = RootFolder(root)
        self._database = Database(self._root.database, [kind.SCHEMA for kind in _KEEPERS])
        clock = clock or ServerClock()
        self.accounts = Accounts(self._database)
        self.blobs = Blobs(self._root.path / "blobs", self._database, clock)
        self.tickets = Tickets(self._database, clock)
        self.site = ServiceContext(
            root=self._root.path,
            account=account,
            database=self._database,
            clock=clock,
            faults=faults or Faults(),
            tickets=self.tickets,
            uploads=self.blobs,
        )
        self.token = self.accounts.token(account)
        proof = hmac.new(self.token.encode(), b"pages", hashlib.sha256).hexdigest()
        self.pages_host = f"kaggle-{proof[:16]}.localhost"
        """The host name of the pages, which no notebook can know: a browser sends it the cookie, and no other."""
        self.datasets = Datasets(self.site)
        self.models = Models(self.site)
        if runner is None:
            from generator.sessions.notebook_runner import NotebookRunner

            runner = NotebookRunner()
        self.isolation = runner.isolation
        """The isolation of notebooks from this machine, in a few words for people."""
        sources = Sources(competitions=self.hosted_competitions, datasets=self.datasets, models=self.models)
        self.kernels = Kernels(self.site, runner=runner, sources=sources, rules=rules)
        self.competitions = Competitions(self.site, self.hosted_competitions, self.kernels)
        self.freed_bytes = self.kernels.sessions.sweep()
        """The bytes that the sessions of a killed server had left, and that are free again."""
        self.competitions.scoring.start()
        services = (self.accounts, self.blobs, self.datasets, self.models, self.competitions, self.kernels)
        self.methods = {name: handler for service in services for name, handler in service.methods().items()}
        # Last, since what the last server left may end at once, and is told to those who listen.
        self.kernels.sessions.start()

    def handle(self, call: ApiCall) -> Answer:
        """Answers a call of the API.

        Raises:
            ApiError: As Kaggle would refuse; 404 for a method that there is not.
        """
        handler = self.methods.get(call.method)
        if handler is None:
            raise ApiError(404, f"{call.method} is no method of this server.")
        return handler(call)

    def close(self) -> None:
        """Stops the sessions, and closes the database."""
        self.kernels.sessions.queue.close()
        self.competitions.scoring.close()
        self._database.close()
        self._root.release()
