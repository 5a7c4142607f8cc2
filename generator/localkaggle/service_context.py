"""Everything that the services of a local Kaggle share: folder, database, clock, faults, download links and uploads."""

from dataclasses import dataclass
from pathlib import Path

from generator.localkaggle.clock import Clock
from generator.localkaggle.database import Database
from generator.localkaggle.download_links import Tickets
from generator.localkaggle.faults import Faults
from generator.localkaggle.services.blobs import Blobs


@dataclass(frozen=True)
class ServiceContext:
    """One local Kaggle; `account` is the user name that its tokens belong to."""

    root: Path
    account: str
    database: Database
    clock: Clock
    faults: Faults
    tickets: Tickets
    uploads: Blobs
