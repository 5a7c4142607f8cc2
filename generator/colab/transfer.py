"""Folders to the machine at Colab and back: an archive in pieces, as the command line holds a whole file in memory."""

import hashlib
import tarfile
import zlib
from pathlib import Path

from generator.colab.errors import TransferError
from generator.colab.remote.pack import main as pack
from generator.colab.rental import FOLDER, Rental

PIECE_BYTES = 32 * 2**20
_MOST_PIECES = 640  # 20 GiB, what a session on Kaggle may write
_MOST_FILES = 100_000
# Of sizes and times without measure, and of headers that say nothing but that another one follows.
_DAMAGE = (tarfile.TarError, EOFError, OverflowError, RecursionError, ValueError, zlib.error)


def size_of(folder: Path, *, limit: int) -> int:
    """The bytes of the files in a folder, counted no further than the limit."""
    total = 0
    for path in folder.rglob("*"):
        total += path.stat().st_size if path.is_file() else 0
        if total > limit:
            break
    return total


def send_folder(rental: Rental, folder: Path, target: str) -> None:
    """Puts the files of a folder into one of the machine.

    Raises:
        CommandError: A command failed.
        TransferError: What arrived is not what was sent.
    """
    archive = rental.private / "sent"
    packed = pack({"folder": folder, "archive": archive, "piece_bytes": PIECE_BYTES, "follow": True})
    pieces = {Path(piece): f"{FOLDER}/{Path(piece).name}" for piece in packed["pieces"]}
    for piece, name in pieces.items():
        rental.upload(piece, name)
        piece.unlink()
    promised, names = packed["sha256"], list(pieces.values())
    arrived = rental.ask("unpack", archive=f"{FOLDER}/sent", pieces=names, sha256=promised, target=target)
    if arrived.text("sha256") != promised:
        raise TransferError(what=folder.name, problem="the machine has other bytes than were sent")


def fetch_folder(rental: Rental, folder: str, target: Path) -> None:
    """Puts the files of a folder of the machine, if there are any, into an empty one here.

    Raises:
        CommandError: A command failed.
        TransferError: What arrived is not what was sent, or too much.
    """
    packed = rental.ask("pack", folder=folder, archive=f"{FOLDER}/results", piece_bytes=PIECE_BYTES, follow=False)
    pieces = packed.get("pieces")
    if not isinstance(pieces, list) or not pieces:
        return
    if len(pieces) > _MOST_PIECES:
        raise TransferError(what="the results", problem=f"they have {len(pieces)} pieces of {PIECE_BYTES >> 20} MiB")
    archive, digest = rental.private / "results.tar.gz", hashlib.sha256()
    piece = rental.private / "piece"
    with archive.open("wb") as whole:
        for number in range(len(pieces)):
            rental.download(f"{FOLDER}/results.{number}", piece)
            if piece.stat().st_size > PIECE_BYTES:
                raise TransferError(what="the results", problem=f"piece {number} is larger than was promised")
            content = piece.read_bytes()
            digest.update(content)
            whole.write(content)
    if digest.hexdigest() != packed.text("sha256"):
        raise TransferError(what="the results", problem="other bytes arrived than were sent")
    unpack(archive, target)


def unpack(archive: Path, target: Path) -> None:
    """Unpacks what came from the machine, which may be anything: files and folders alone, within bounds.

    Raises:
        TransferError: It has something else, or too much of it.
    """
    members: list[tarfile.TarInfo] = []
    size = 0
    try:
        with tarfile.open(archive, "r:gz") as opened:
            for member in opened:
                members.append(member)
                size += member.size
                if not (member.isfile() or member.isdir()) or member.issparse():
                    raise TransferError(what="the results", problem=f"{member.name} is neither file nor folder")
                if len(members) > _MOST_FILES or size > _MOST_PIECES * PIECE_BYTES:
                    raise TransferError(what="the results", problem="unpacked they are too large")
            opened.extractall(target, members, filter="data")
    except (*_DAMAGE, OSError) as error:
        raise TransferError(what="the results", problem=str(error)) from error
