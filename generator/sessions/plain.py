"""Sessions as plain processes of this user, where the machine has no means to keep them apart."""

from collections.abc import Sequence
from pathlib import Path

from generator.sessions.isolation import Launch, SessionPaths, session_folders
from generator.sessions.runner import SessionOrder


class PlainProcess:
    """Kaggle's tree as a folder of links; the kernel's own audit hook refuses what a sandbox would make impossible."""

    description = (
        "a plain process (mapped paths; Python code is kept from the inputs and the network, programs are not)"
    )
    is_sandbox = False

    def launch(self, order: SessionOrder, program: Sequence[str]) -> Launch:
        """The program itself, with paths of this machine, which reach the notebook as its parameters."""
        root = order.private / "input"
        root.mkdir()
        for place, folder in order.mounts.items():
            link = Path(root, place)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(folder, target_is_directory=True)
        folders = session_folders(order)
        paths = SessionPaths(
            input_root=str(root),
            working=str(order.working),
            session=str(folders["/kaggle/session"]),
            home=str(folders["/root"]),
            are_kaggles=False,
        )
        return Launch(tuple(program), paths)
