"""The notebooks that a pair sent, by which a version that was edited on Kaggle is told from one of ours.

Each is kept in `.tandem/chains/sent` before it is sent, so that the cells that differ can be named.
"""

from pathlib import Path

from generator.errors import TandemError
from generator.files import read_text
from generator.kaggle.api_types import RemoteKernel
from generator.kaggle.chain.errors import JournalError
from generator.kaggle.chain.journal import Journals, Kind
from generator.kaggle.chain.replay import state_in
from generator.pair.atomic_write import base_of
from generator.pair.edits import Edits, cell_edits
from generator.pair.notebook import digest_of_cells
from generator.pair.workspace import PairFolder, Role
from generator.untrusted import printable

_LONGEST = 600


class KernelHistory:
    """What the kernels of a pair were, as its journals and the notebooks that were kept tell of them."""

    def __init__(self, pair: PairFolder, journals: Journals) -> None:
        self._pair, self._journals = pair, journals
        self._folder = journals.folder / "sent"

    def keep(self, text: str) -> None:
        """Keeps a notebook that is about to be sent.

        Raises:
            FileWriteError: No permission or no space.
            UnsafePlaceError: A folder above it is a link.
        """
        self._pair.files.write(self._folder / f"{digest_of_cells(text)}.ipynb", text.encode("utf-8"))

    def edits(self, role: Role, ref: str, found: RemoteKernel, *, sends: str) -> str:
        """The cells by which a version on Kaggle differs from ours; empty if a push over it loses nothing.

        A version is ours if a journal announced its cells, whatever became of that, or if they are those of the
        notebook that is to be sent or of the one that was rendered.

        Args:
            role: Which kernel of the pair.
            ref: Its name on Kaggle.
            found: Its newest version there.
            sends: The notebook that is to be sent.
        """
        digest, path = digest_of_cells(found.source), PairFolder(self._pair.path).notebook(role)
        rendered = _text(self._pair.path / base_of(path.relative_to(self._pair.path)))
        announced, last = self._announced(ref)
        if digest in announced | {digest_of_cells(sends), digest_of_cells(rendered)} or self._kept(digest).is_file():
            return ""
        base, what = _text(self._kept(last)), "what was pushed last"
        if not base:
            base, what = sends, "the notebook that is to be pushed"
        return f"compared with {what}, {_shortened(cell_edits(found.source, since=base))}"

    def _announced(self, ref: str) -> tuple[set[str], str]:
        """The digests of all notebooks that were announced, and of the last one that a kernel was made of."""
        announced, last = set[str](), ""
        for journal in self._journals.all():
            try:
                state, entries = state_in(journal), journal.entries()
            except JournalError:
                continue
            announced |= {entry.fields.text("sent") for entry in entries if entry.kind is Kind.PUSHING}
            made = [push for push in (*state.earlier, *state.pushes.values()) if push.ref == ref and not push.is_open]
            last = made[-1].sent if made else last
        return announced, last

    def _kept(self, digest: str) -> Path:
        return self._folder / f"{digest}.ipynb"


def _text(path: Path) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        return read_text(path)
    except TandemError:
        return ""


def _shortened(edits: Edits) -> str:
    text = printable(str(edits))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
