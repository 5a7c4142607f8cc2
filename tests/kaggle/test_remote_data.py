"""`tandem data`: all of a competition's files, resumed, checked, and there as a whole or not at all."""

import fcntl
import io
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from folder_kaggle import FolderKaggle
from greedy_lzma import greedy_zip
from miniature import write_tree

from generator.files import WorkspaceFiles
from generator.kaggle.competition_data import (
    ArchiveError,
    DownloadedData,
    DownloadProgress,
    Source,
    download_data,
    download_source,
    unpack_all,
    unpack_competition,
)
from generator.kaggle.errors import ForbiddenError, KaggleError, RulesNotAcceptedError, UnreachableError

FILES = {"train.csv": "id,label\n1,0\n", "images/a/1.bin": "x" * 5_000, "empty.txt": ""}


@pytest.fixture
def kaggle(tmp_path: Path) -> FolderKaggle:
    return FolderKaggle(write_tree(tmp_path / "remote" / "data", FILES))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the data belong; nothing is there yet, not even the folder around it."""
    return tmp_path / "input" / "competitions" / "some-thing"


def download(kaggle: FolderKaggle, place: Path, steps: list[DownloadProgress] | None = None) -> DownloadedData:
    tell = (steps if steps is not None else []).append
    return download_data(kaggle, "some-thing", place, WorkspaceFiles(place.parents[2]), tell=tell)


def files_in(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_all_files_are_where_the_notebooks_look_for_them(kaggle: FolderKaggle, place: Path) -> None:
    steps: list[DownloadProgress] = []
    done = download(kaggle, place, steps)

    assert files_in(place) == FILES
    assert (done.files, done.was_there) == (3, False)
    assert steps[0].stage == "download"
    assert steps[-1] == DownloadProgress("unpack", done.size, done.size)
    assert [path.name for path in place.parent.iterdir()] == ["some-thing"]


def test_data_that_are_there_are_not_downloaded_again(kaggle: FolderKaggle, place: Path) -> None:
    download(kaggle, place)

    assert download(kaggle, place).was_there
    assert kaggle.calls["download"] == 1


def test_an_interrupted_download_goes_on_where_it_stopped(kaggle: FolderKaggle, place: Path) -> None:
    write_tree(kaggle.folder, {f"noise/{number}.bin": os.urandom(2_000).hex() for number in range(10)})
    kaggle.breaks_after = 10_000
    with pytest.raises(UnreachableError):
        download(kaggle, place)
    assert not place.exists()
    sent = kaggle.sent

    download(kaggle, place)

    assert sent == 10_000
    assert kaggle.sent == (kaggle.folder.parent / "archive.sent.zip").stat().st_size
    assert len(files_in(place)) == 13


def test_an_address_that_expires_in_the_middle_is_asked_for_again(kaggle: FolderKaggle, place: Path) -> None:
    write_tree(kaggle.folder, {"noise.bin": os.urandom(20_000).hex()})
    whole = kaggle.files.download

    def expiring(url: str, destination: Path, *, size: int | None = None) -> Iterator[int]:
        for done in whole(url, destination, size=size):
            yield done
            if done % 8_000 == 0:
                raise ForbiddenError(doing="download", words="the signature has expired", remedy="ask again")

    kaggle.files.download = expiring
    download(kaggle, place)

    assert files_in(place)["train.csv"] == FILES["train.csv"]
    assert kaggle.calls["download"] > 1


def test_unpacking_that_was_interrupted_needs_no_second_download(kaggle: FolderKaggle, place: Path) -> None:
    def interrupt(step: DownloadProgress) -> None:
        if step.stage == "unpack":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download_data(kaggle, "some-thing", place, WorkspaceFiles(place.parent), tell=interrupt)
    assert not place.exists()

    download(kaggle, place)

    assert files_in(place) == FILES
    assert kaggle.calls["download"] == 1


def test_a_competition_of_one_file_is_taken_as_it_is_sent(tmp_path: Path, place: Path) -> None:
    kaggle = FolderKaggle(write_tree(tmp_path / "remote" / "data", {"only.csv": "id\n1\n"}))
    kaggle.competitions.archive_url = lambda slug: "only.csv"

    download(kaggle, place)

    assert files_in(place) == {"only.csv": "id\n1\n"}


def test_a_file_of_another_size_than_listed_is_refused_and_fetched_anew_the_next_time(
    kaggle: FolderKaggle, place: Path
) -> None:
    kaggle.lists["train.csv"] = 99
    with pytest.raises(ArchiveError, match=r"train\.csv has 13 bytes where 99 are listed"):
        download(kaggle, place)
    assert not place.exists()

    kaggle.lists.clear()
    download(kaggle, place)

    assert kaggle.calls["download"] == 2


def test_files_that_are_in_the_way_are_never_touched(kaggle: FolderKaggle, place: Path) -> None:
    write_tree(place, {"train.csv": "mine"})

    with pytest.raises(KaggleError, match="is not in it; move it away"):
        download(kaggle, place)
    assert files_in(place) == {"train.csv": "mine"}


def test_an_empty_folder_is_not_in_the_way(kaggle: FolderKaggle, place: Path) -> None:
    place.mkdir(parents=True)

    download(kaggle, place)

    assert files_in(place) == FILES


def test_two_downloads_of_one_competition_do_not_meet(kaggle: FolderKaggle, place: Path) -> None:
    work = place.parent / ".some-thing.download"
    work.mkdir(parents=True)
    handle = os.open(work, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)

    with pytest.raises(KaggleError, match="Another `tandem data some-thing` is at work"):
        download(kaggle, place)
    os.close(handle)
    download(kaggle, place)


def test_a_disk_that_is_too_small_is_said_before_anything_is_downloaded(kaggle: FolderKaggle, place: Path) -> None:
    kaggle.lists["train.csv"] = 1 << 60

    with pytest.raises(KaggleError, match="tandem specimen some-thing"):
        download(kaggle, place)
    assert kaggle.calls["download"] == 0


def test_a_competition_without_files_is_one_sentence(tmp_path: Path, place: Path) -> None:
    (tmp_path / "nothing").mkdir()

    with pytest.raises(KaggleError, match="accept the rules"):
        download(FolderKaggle(tmp_path / "nothing"), place)


def test_rules_that_were_not_accepted_end_it_at_once(kaggle: FolderKaggle, place: Path) -> None:
    asked = []

    def forbidden(slug: str) -> str:
        asked.append(slug)
        raise RulesNotAcceptedError(doing="download", words="", page="https://www.kaggle.com/competitions/x/rules")

    kaggle.competitions.archive_url = forbidden
    with pytest.raises(RulesNotAcceptedError):
        download(kaggle, place)
    assert len(asked) == 1


def unpacked(archive: Path, sizes: dict[str, int]) -> dict[str, str]:
    """The files that are unpacked of an archive, of which these sizes are listed."""
    folder = archive.parent / "unpacked"
    folder.mkdir()
    unpack_competition("some-thing", archive, folder, sizes=sizes, tell=lambda _: None)
    return files_in(folder)


def zipped(members: dict[str, str], *, mode: int = 0o100644) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, content in members.items():
            member = zipfile.ZipInfo(name)
            member.external_attr, member.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            file.writestr(member, content)
    return stream.getvalue()


def bomb() -> bytes:
    """An archive of a file that is far larger than it says."""
    content = bytearray(zipped({"a.csv": "0" * 50_000_000}))
    for mark, place in ((b"PK\1\2", 24), (b"PK\3\4", 22)):  # where the unpacked size is written
        at = content.index(mark) + place
        content[at : at + 4] = (10).to_bytes(4, "little")
    return bytes(content)


def damaged() -> bytes:
    content = bytearray(zipped({"a.csv": "abc" * 100}))
    content[40] ^= 0xFF
    return bytes(content)


def test_members_that_are_not_listed_are_left_out(tmp_path: Path) -> None:
    archive = tmp_path / "archive.zip"
    archive.write_bytes(zipped({"a.csv": "a", "../out.csv": "out", "/abs.csv": "abs", "more.csv": "more"}))

    assert unpacked(archive, {"a.csv": 1}) == {"a.csv": "a"}
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("content", "sizes", "words"),
    [
        pytest.param(
            zipped({"../out.csv": "out"}), {"../out.csv": 3}, "leads out of the folder", id="a name that leads out"
        ),
        pytest.param(bomb, {"a.csv": 10}, None, id="a bomb"),
        pytest.param(zipped({"a.csv": "/etc/passwd"}, mode=0o120777), {"a.csv": 11}, "is a link", id="a link"),
        pytest.param(greedy_zip("a.csv", b"1,2"), {"a.csv": 3}, "compressed by LZMA", id="gigabytes of memory"),
        pytest.param(damaged(), {"a.csv": 300}, "cannot be unpacked|bytes", id="a damaged member"),
        pytest.param(b"<html>sign in</html>", {"a.csv": 1, "b.csv": 1}, "cannot be unpacked", id="a page in its place"),
        pytest.param(
            zipped({"a.csv": "a"}),
            {"a.csv": 1, "b.csv": 1},
            r"1 files are missing, such as b\.csv",
            id="a missing file",
        ),
        pytest.param(zipped({"a": "a"}), {"\x1b[2Jevil": 1}, None, id="a name with escapes"),
    ],
)
def test_a_hostile_archive_is_refused(
    tmp_path: Path, content: bytes | Callable[[], bytes], sizes: dict[str, int], words: str | None
) -> None:
    """An archive is unpacked as the listing says it, whatever it claims itself."""
    archive = tmp_path / "archive.zip"
    archive.write_bytes(content if isinstance(content, bytes) else content())

    with pytest.raises(ArchiveError, match=words) as caught:
        unpacked(archive, sizes)

    assert "\x1b" not in str(caught.value)
    assert not (tmp_path / "out.csv").exists()
    assert sum(path.stat().st_size for path in (tmp_path / "unpacked").iterdir()) <= 10


def headers(*entries: tuple[bytes, int]) -> bytes:
    """A tar of headers alone: a kind, and the size that it says."""
    packed = b""
    for kind, size in entries:
        member = tarfile.TarInfo("a.csv")
        member.type, member.size = kind, size
        packed += member.tobuf(tarfile.GNU_FORMAT)
    return packed + bytes(1024)


def tarred(*members: tuple[str, bytes | None]) -> bytes:
    """A tar.gz; a member without content is a link to a file of the system."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as file:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content or b"")
            if content is None:
                member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
            file.addfile(member, io.BytesIO(content or b""))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(tarred(("../out.csv", b"out")), r"\.\./out\.csv", id="a name that leads out"),
        pytest.param(tarred(("/out.csv", b"out")), "/out", id="an absolute name"),
        pytest.param(tarred(("a.csv", None)), "a.csv is no ordinary file", id="a link"),
        pytest.param(tarred(("a.csv", b"1"), ("a.csv", b"2")), "in it twice", id="a name that comes twice"),
        pytest.param(tarred(("a.csv", b"abc" * 1_000))[:40], "cannot be unpacked", id="a cut archive"),
        pytest.param(tarred(("a", b"1"), ("a/b.csv", b"2")), "a folder at once", id="a file that is a folder"),
        pytest.param(tarred(("\x1b[2J.csv", b"1")), r"unpack me/m", id="a name with escapes"),
        pytest.param(headers((tarfile.FIFOTYPE, 0)), "a.csv is no ordinary file", id="a pipe"),
        pytest.param(headers((tarfile.CHRTYPE, 0)), "a.csv is no ordinary file", id="a device"),
        pytest.param(headers((tarfile.REGTYPE, -512)), "less than no bytes", id="a size below zero"),
        pytest.param(headers((tarfile.REGTYPE, 2**60)), "cannot be unpacked|larger", id="a size beyond all"),
        pytest.param(headers((tarfile.GNUTYPE_LONGNAME, 2**40)), "far too long", id="a name of a terabyte"),
        pytest.param(zipped({"../out.csv": "out"}), r"\.\./out\.csv", id="a zip that leads out"),
        pytest.param(greedy_zip("a.csv", b"1,2"), "compressed by LZMA", id="gigabytes of memory"),
        pytest.param(b"<html>sign in</html>", "cannot be unpacked", id="a page in its place"),
    ],
)
def test_a_hostile_archive_of_a_model_is_refused_and_nothing_is_left_of_it(
    tmp_path: Path, content: bytes, words: str
) -> None:
    kaggle, folder = FolderKaggle(write_tree(tmp_path / "remote", {})), tmp_path / "w" / "models" / "me" / "m"
    kaggle.models.archive_url = lambda handle: "model.tar.gz"
    (tmp_path / "remote").mkdir()
    (tmp_path / "remote" / "model.tar.gz").write_bytes(content)

    with pytest.raises(KaggleError, match=words):
        download_source(kaggle, Source("model", "me/m", folder), WorkspaceFiles(tmp_path / "w"), tell=lambda _: None)

    assert not folder.exists()
    assert not (tmp_path / "out.csv").exists()
    assert [path for path in (tmp_path / "w").rglob("*") if path.is_file()] == []


def test_a_disk_that_a_model_would_fill_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "model.tar.gz"
    archive.write_bytes(tarred(("a.bin", b"a" * 10_000)))
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1_000))

    with pytest.raises(ArchiveError, match="more than there is room for"):
        unpack_all("me/m", archive, tmp_path)
