"""`Kaggle` over HTTP: one account at the real Kaggle or at a local one, in front of the modules that do the work."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from generator.kaggle import guards, sdk
from generator.kaggle.api import (
    DatasetState,
    KernelOutput,
    KernelPush,
    LogLine,
    Page,
    Pushed,
    Quota,
    RemoteCompetition,
    RemoteFile,
    RemoteFolder,
    RemoteKernel,
    SessionStatus,
    Submission,
    SubmissionLimits,
    Upload,
)
from generator.kaggle.certificates import certificate_warning
from generator.kaggle.competitions import Competitions
from generator.kaggle.credentials import Credentials, LegacyKey, RefreshToken, exposed_files
from generator.kaggle.downloads import Downloads
from generator.kaggle.errors import (
    CredentialsError,
    CredentialsRefusedError,
    ForbiddenError,
    NotFoundError,
    RefusedError,
)
from generator.kaggle.kernels import Kernels
from generator.kaggle.log_stream import LogStream
from generator.kaggle.refusals import Errand
from generator.kaggle.retries import Patience
from generator.kaggle.stores import Stores
from generator.kaggle.transport import Route, Timeouts, Transport
from generator.kaggle.uploads import Started, Uploads
from generator.kaggle.wire import REAL_HOST, Endpoint, Wire
from generator.untrusted import printable

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class Gateway:
    """Implements `generator.kaggle.api.Kaggle`; any thread may use it. Making one sends nothing."""

    def __init__(  # noqa: PLR0913 - a keyword each for what a command or a test may want otherwise
        self,
        address: str,
        credentials: Credentials,
        *,
        is_local: bool | None = None,
        patience: Patience | None = None,
        timeouts: Timeouts | None = None,
        route: Route | None = None,
    ) -> None:
        """Stands for an account.

        Args:
            address: The origin of the API, such as `https://api.kaggle.com` or `http://127.0.0.1:8400`.
            credentials: Whose account it is.
            is_local: Whether it is a local Kaggle; by default if the address is one of this machine.
            patience: How often and how long reads are repeated.
            timeouts: How long answers may take.
            route: The way there, if it is not the direct one.

        Raises:
            CredentialsError: The address is one that credentials must not be sent to, since it is not encrypted.
        """
        parts = urlsplit(address)
        local = parts.hostname in _LOOPBACK if is_local is None else is_local
        if parts.scheme != "https" and not local:
            raise CredentialsError(
                why=f"{printable(parts.netloc.rpartition('@')[2])} is reached without encryption",
                remedy="use an address that begins with https://",
            )
        self._endpoint = Endpoint(address.rstrip("/"), local)
        wait = patience or Patience()
        transport = Transport(timeouts, route=route)
        self._wire = Wire(self._endpoint, credentials, transport=transport, patience=wait)
        self._uploads = Uploads(self._wire)
        self._downloads = Downloads(self._endpoint, transport=transport, patience=wait)
        self._competitions = Competitions(self._wire)
        self._kernels = Kernels(self._wire)
        self._logs = LogStream(self._wire, self._kernels)
        self._stores = Stores(self._wire, self._uploads)
        self._username = ""

    def __repr__(self) -> str:
        return f"Gateway({self.address!r})"

    @property
    def address(self) -> str:
        """See `Kaggle.address`."""
        return self._endpoint.address

    @property
    def is_local(self) -> bool:
        """See `Kaggle.is_local`."""
        return self._endpoint.is_local

    def warnings(self, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
        """See `Kaggle.warnings`."""
        if urlsplit(self.address).hostname != REAL_HOST:
            return ()
        exposed = tuple(
            f"{printable(str(path))} can be read by other users of this machine: run `chmod 600` on it."
            for path in exposed_files(environment)
        )
        return tuple(warning for warning in (certificate_warning(), *exposed) if warning)

    def username(self) -> str:
        """See `Kaggle.username`."""
        if not self._username:
            self._username = self._asked_username()
        return self._username

    def competition(self, slug: str) -> RemoteCompetition:
        """See `Kaggle.competition`."""
        return self._competitions.competition(slug)

    def pages(self, slug: str) -> tuple[Page, ...]:
        """See `Kaggle.pages`."""
        return self._competitions.pages(slug)

    def competition_files(self, slug: str) -> tuple[RemoteFile, ...]:
        """See `Kaggle.competition_files`."""
        return self._competitions.files(slug)

    def competition_folder(self, slug: str, path: str, *, most: int) -> RemoteFolder:
        """See `Kaggle.competition_folder`."""
        return self._competitions.folder(slug, path, most=most)

    def competition_file_url(self, slug: str, name: str) -> str:
        """See `Kaggle.competition_file_url`."""
        return self._competitions.file_url(slug, name)

    def competition_archive_url(self, slug: str) -> str:
        """See `Kaggle.competition_archive_url`."""
        return self._competitions.archive_url(slug)

    def read_range(self, url: str, start: int, length: int) -> bytes:
        """See `Kaggle.read_range`."""
        return self._downloads.read_range(url, start, length)

    def download(self, url: str, destination: Path, *, size: int | None = None) -> Iterator[int]:
        """See `Kaggle.download`."""
        return self._downloads.download(url, destination, size=size)

    def submission_limits(self, slug: str) -> SubmissionLimits:
        """See `Kaggle.submission_limits`."""
        return self._competitions.submission_limits(slug)

    def submissions(self, slug: str) -> tuple[Submission, ...]:
        """See `Kaggle.submissions`."""
        return self._competitions.submissions(slug)

    def submission(self, slug: str, ref: int) -> Submission:
        """See `Kaggle.submission`."""
        return self._competitions.submission(slug, ref)

    def submit_kernel(self, slug: str, *, kernel: str, version: int, file_name: str, message: str) -> int:
        """See `Kaggle.submit_kernel`."""
        return self._competitions.submit_kernel(
            slug, kernel=kernel, version=version, file_name=file_name, message=message
        )

    def submit_file(self, slug: str, *, path: Path, message: str) -> int:
        """See `Kaggle.submit_file`."""
        errand = Errand(f"submit {path.name} to {slug}", slug, is_submission=True)
        guards.check_upload([(path.name, path)], doing=errand.doing)

        def start(size: int, changed: int) -> Started:
            started = self._competitions.start_upload(slug, name=path.name, size=size, changed=changed)
            return Started(*started)

        token = self._uploads.send(path, start=start, errand=errand)
        return self._competitions.submit_blob(slug, token=token, file_name=path.name, message=message)

    def kernel(self, ref: str) -> RemoteKernel | None:
        """See `Kaggle.kernel`."""
        return self._kernels.kernel(ref)

    def push(self, kernel: KernelPush) -> Pushed:
        """See `Kaggle.push`."""
        return self._kernels.push(kernel)

    def session_status(self, ref: str, version: int) -> SessionStatus:
        """See `Kaggle.session_status`."""
        return self._kernels.session_status(ref, version)

    def output(self, ref: str, version: int) -> KernelOutput:
        """See `Kaggle.output`."""
        return self._kernels.output(ref, version)

    def fetch_output(self, file: RemoteFile, destination: Path) -> None:
        """See `Kaggle.fetch_output`."""
        self._downloads.fetch(file, destination)

    def log_lines(self, ref: str) -> Iterator[LogLine]:
        """See `Kaggle.log_lines`."""
        return self._logs.lines(ref)

    def quota(self) -> Quota:
        """See `Kaggle.quota`."""
        return self._kernels.quota()

    def dataset_state(self, ref: str) -> DatasetState:
        """See `Kaggle.dataset_state`."""
        return self._stores.dataset_state(ref)

    def upload_dataset(self, ref: str, upload: Upload) -> int:
        """See `Kaggle.upload_dataset`."""
        return self._stores.upload_dataset(ref, upload)

    def upload_model(self, handle: str, upload: Upload) -> int:
        """See `Kaggle.upload_model`."""
        return self._stores.upload_model(handle, upload)

    def dataset_version(self, ref: str) -> int:
        """See `Kaggle.dataset_version`."""
        return self._stores.dataset_version(ref)

    def model_version(self, handle: str) -> int:
        """See `Kaggle.model_version`."""
        return self._stores.model_version(handle)

    def _asked_username(self) -> str:
        credentials = self._wire.credentials
        if isinstance(credentials, LegacyKey):
            return credentials.username
        if isinstance(credentials, RefreshToken) and credentials.username:
            return credentials.username
        return self._introspected()

    def _introspected(self) -> str:
        errand = Errand("find out whose credentials these are")
        refused = CredentialsRefusedError(source=self._wire.credentials.source, site=self._endpoint.site.base)
        token = self._wire.access_token(errand)
        try:
            found = self._wire.read(errand, sdk.OAUTH, "introspect_token", token=token)
        except (RefusedError, ForbiddenError, NotFoundError):
            raise refused from None
        if not found.active or not found.username:
            raise refused
        return str(found.username)
