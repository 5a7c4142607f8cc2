"""What a user asks of a chain, and the pair it is asked for."""

import os
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from generator.kaggle.chain.events import Event, Listener
from generator.kaggle.chain.patience import Patience, SystemTime, Time
from generator.kaggle.chain.state import Step
from generator.pair.folder import existing_pair
from generator.pair.generation import read_pair
from generator.pair.spec import PairSpec
from generator.pair.workspace import PairFolder, Workspace


class Handoff(StrEnum):
    """How the weights get from one notebook to the other."""

    KERNEL = "kernel"
    DATASET = "dataset"
    MODEL = "model"


def _nobody(_: Event) -> None:
    pass


@dataclass(frozen=True)
class Request:
    """What is asked for.

    Attributes:
        workspace: Where the pair is.
        pair: Its name.
        submit: Whether to submit, and to wait for the score.
        back_to: The step to take again, with all behind it.
        restart: Whether to begin a new chain, whatever there is of the last one.
        repair: Whether to go on from a damaged journal, with what Kaggle says was done.
        handoff: How the weights travel; None for as the chain began, which is by the kernel's output.
        offline_wheels: Whether to take along what the inference notebook imports beyond Kaggle's image.
        message: What stands in the submission before the kit's tag.
        show_log: Whether to show the sessions' own lines.
    """

    workspace: Workspace
    pair: str
    submit: bool = False
    back_to: Step | None = None
    restart: bool = False
    repair: bool = False
    handoff: Handoff | None = None
    offline_wheels: bool = False
    message: str = ""
    show_log: bool = False


@dataclass(frozen=True)
class Surroundings:
    """What a chain lives in: who is told, how long it waits, and by which clocks."""

    listener: Listener = _nobody
    patience: Patience = field(default_factory=Patience)
    clock: Time = field(default_factory=SystemTime)


@dataclass(frozen=True)
class Subject:
    """The pair of a request."""

    folder: PairFolder
    spec: PairSpec

    @classmethod
    def of(cls, workspace: Workspace, pair: str) -> "Subject":
        """Reads the pair.

        Raises:
            PairError: There is none of this name, or its choices cannot be used.
        """
        folder = existing_pair(workspace, pair)
        return cls(folder, read_pair(folder))

    @property
    def sample(self) -> str:
        """The competition's sample submission, below its data; empty if it has none."""
        return self.spec.task.sample_submission


def git_commit(folder: Path) -> str:
    """The commit of a folder's files, with `+` where they were changed since; empty outside of a repository.

    Settings of a repository name programs, which git executes as it looks for changes: monitors, filters, what fetches
    missing objects. Whoever sent the workspace may have written them, so git looks without them.
    """
    import subprocess
    import tempfile

    def asked(*arguments: str, **variables: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        done = subprocess.run(  # noqa: S603 - no shell
            command,
            capture_output=True,
            text=True,
            timeout=8,
            check=True,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", **variables},
        )
        return done.stdout.strip()

    try:
        commit = asked("rev-parse", "--verify", "HEAD")
        top, *places = asked(
            *("rev-parse", "--path-format=absolute", "--show-toplevel"),
            *("--git-path", "objects", "--git-path", "index"),
        ).splitlines()
        objects, index = places
        with tempfile.TemporaryDirectory() as clean:
            for name in ("objects", "refs"):
                Path(clean, name).mkdir()
            Path(clean, "HEAD").write_text(f"{commit}\n", encoding="ascii")
            apart = {"GIT_DIR": clean, "GIT_WORK_TREE": top, "GIT_OBJECT_DIRECTORY": objects, "GIT_INDEX_FILE": index}
            changed = asked("status", "--porcelain", "--ignore-submodules=all", "--", ".", **apart)
        return commit[:12] + ("+" if changed else "")
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
