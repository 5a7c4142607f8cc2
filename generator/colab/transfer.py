"""Folders to the machine at Colab and back: an archive in pieces, as the command line holds a whole file in memory."""

import gzip
import hashlib
import os
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, cast

from generator.colab.errors import ColabError, TransferError
from generator.colab.remote.pack import main as pack
from generator.colab.rental import FOLDER, Rental
from generator.competition.bounded_tar import TOO_LARGE, tar_members
from generator.untrusted import printable, quoted

PIECE_BYTES = 32 * 2**20
_MOST_PIECES = 640  # 20 GiB, what a session on Kaggle may write
_MOST_FILES = 100_000
_DEEPEST = 100  # folders below one another
_CHUNK = 1 << 20
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
        ColabError: It has what is not sent.
        CommandError: A command failed.
        TransferError: What arrived is not what was sent.
    """
    check_sendable(folder)
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
            rental.download(f"{FOLDER}/results.{number}", piece, most=PIECE_BYTES)
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
        TransferError: It has something else, or too much of it; part of it may be unpacked then.
    """

    def refusal(why: str) -> TransferError:
        return TransferError(what="the results", problem=f"their archive {why.partition(';')[0]}")

    most_bytes = _MOST_PIECES * PIECE_BYTES
    left = most_bytes
    try:
        with gzip.open(archive) as stream:
            members = tar_members(
                cast("IO[bytes]", stream), most_files=_MOST_FILES, most_bytes=most_bytes, refusal=refusal
            )
            for member, content in members:
                if member.isdir():
                    _place(member.name, target).mkdir(parents=True, exist_ok=True)
                    continue
                if content is None or member.issparse():
                    raise TransferError(what="the results", problem=f"{member.name} is neither file nor folder")
                left -= member.size
                if left < 0:
                    raise refusal(TOO_LARGE)
                path = _place(member.name, target)
                path.parent.mkdir(parents=True, exist_ok=True)
                with content, path.open("xb") as file:
                    shutil.copyfileobj(content, file, _CHUNK)
    except FileExistsError as error:
        raise TransferError(what="the results", problem="a file is in them twice, or is a folder at once") from error
    except (*_DAMAGE, OSError) as error:
        raise TransferError(what="the results", problem=str(error)) from error


def _place(name: str, target: Path) -> Path:
    parts = PurePosixPath(name).parts
    if ".." in parts or name.startswith("/") or len(parts) > _DEEPEST or "\0" in name:
        raise TransferError(what="the results", problem=f"{name[:80]} is no place below their folder")
    return target.joinpath(*parts)


def check_sendable(folder: Path) -> None:
    """Makes sure that a folder has nothing but what belongs to it, before it is sent.

    Raises:
        ColabError: A link in it leads out of it, or to a folder; it has a pipe or a device, or is too deep.
    """
    top, waiting = Path(os.path.realpath(folder)), [(folder, 1)]
    while waiting:
        place, depth = waiting.pop()
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.is_symlink():
                    end = Path(os.path.realpath(entry.path))
                    problem = "" if end.is_file() and end.is_relative_to(top) else "a link that leads elsewhere"
                elif entry.is_dir():
                    problem = "" if depth < _DEEPEST else "too deep"
                    waiting += [] if problem else [(Path(entry.path), depth + 1)]
                else:
                    problem = "" if entry.is_file() else "a pipe or a device"
                if problem:
                    raise ColabError(
                        f"{quoted(entry.path)} is {problem}; it may have come with the workspace, and nothing but the "
                        f"files of {printable(str(folder))} is sent to Colab. Remove it, or put the file itself there."
                    )
