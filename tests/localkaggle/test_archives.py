"""How much an uploaded archive may become, whatever it says of itself."""

import gzip
import io
import lzma
import shutil
import stat
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from desk import tarred, zipped
from greedy_lzma import greedy_xz, greedy_zip
from miniature import tree_of

from generator.localkaggle.storage import ExtractionLimits, InvalidFileError, stem_of_archive, unpack_upload


@dataclass
class FakeDisk:
    """A disk whose free space is taken by somebody else while it is looked at."""

    free: int
    taken_by_others_at_each_look: int = 0

    def usage(self, _path: object) -> SimpleNamespace:
        self.free -= self.taken_by_others_at_each_look
        return SimpleNamespace(free=self.free)


@contextmanager
def peak_below(limit: int) -> Iterator[None]:
    """Makes sure that Python never held more than so many bytes inside of the `with`."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < limit


def _folder(name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type = tarfile.DIRTYPE
    return entry


SMALL, ROOMY = ExtractionLimits(size=10_000, files=5, spare=0), ExtractionLimits(spare=0)


def unpacks(folder: Path, name: str, content: bytes, limits: ExtractionLimits = SMALL) -> bool:
    """True if this is an archive; its files are below `unpacked` then."""
    (folder / name).write_bytes(content)
    return unpack_upload(folder / name, name, folder / "unpacked", limits)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bomb.zip", zipped({"zeros": b"\0" * 2_000_000})),
        ("bomb.tar.gz", tarred(("zeros", b"\0" * 2_000_000))),
        ("bomb.tar.xz", tarred(("zeros", b"\0" * 2_000_000), mode="w:xz")),
        ("many.zip", zipped({str(number): b"" for number in range(6)})),
        ("many.tar", tarred(*((str(number), b"") for number in range(6)), mode="w:")),
        ("folders.tar.bz2", tarred(*map(_folder, "abcdefghijk"), mode="w:bz2")),
    ],
)
def test_an_archive_that_becomes_too_much_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    with pytest.raises(InvalidFileError, match=r"larger|more files"):
        unpacks(tmp_path, name, content)

    assert sum(len(content) for content in tree_of(tmp_path / "unpacked").values()) <= SMALL.size


def test_a_zip_that_lies_about_its_sizes_is_counted_as_it_comes_out(tmp_path: Path) -> None:
    honest = zipped({"zeros": b"\0" * 2_000_000})
    lying = honest.replace(struct.pack("<L", 2_000_000), struct.pack("<L", 100))

    assert lying != honest
    assert not unpacks(tmp_path, "lying.zip", lying)
    assert not (tmp_path / "unpacked").exists()


def test_a_tar_with_a_header_of_gigabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    header = tarfile.TarInfo("long")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 3 << 30
    whole = io.BytesIO()
    with gzip.GzipFile(fileobj=whole, mode="wb") as pressed:
        pressed.write(header.tobuf(tarfile.GNU_FORMAT))
        pressed.write(b"\0" * 4_000_000)

    with pytest.raises(InvalidFileError, match="header"):
        unpacks(tmp_path, "long.tgz", whole.getvalue(), ROOMY)


def test_a_disk_that_is_nearly_full_takes_no_archive(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="room"):
        unpacks(tmp_path, "a.zip", zipped({"a": b"1"}), ExtractionLimits(spare=1 << 60))


def test_what_others_write_meanwhile_is_room_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = FakeDisk(free=30 << 20)
    monkeypatch.setattr("shutil.disk_usage", disk.usage)
    disk.taken_by_others_at_each_look = 8 << 20

    with pytest.raises(InvalidFileError, match="room"):
        unpacks(tmp_path, "a.tar", tarred(("a", b"1" * (5 << 20)), mode="w:"), ExtractionLimits(spare=10 << 20))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_a_zip_with_a_link_or_a_device_is_refused(tmp_path: Path, kind: int) -> None:
    special = zipfile.ZipInfo("folder/special")
    special.create_system, special.external_attr = 3, (kind | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("a.txt", b"1")
        packed.writestr(special, b"/etc/passwd")

    with pytest.raises(InvalidFileError, match='"folder/special" is a link or a device; pack plain files only'):
        unpack_upload(tmp_path / "a.zip", "a.zip", tmp_path / "unpacked", ROOMY)


def test_a_zip_that_a_usual_program_made_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "tree" / "folder").mkdir(parents=True)
    (tmp_path / "tree" / "folder" / "a").write_text("1")
    archive = shutil.make_archive(str(tmp_path / "a"), "zip", tmp_path / "tree")

    assert unpack_upload(Path(archive), "a.zip", tmp_path / "unpacked", SMALL)
    assert tree_of(tmp_path / "unpacked") == {"folder/a": b"1"}


def _sparse(form: int) -> tarfile.TarInfo:
    """A file of 2 MB of which nothing is in the tar: as old GNU programs say it, or as new ones do."""
    entry = tarfile.TarInfo("sparse")
    if form == tarfile.GNU_FORMAT:
        entry.type = tarfile.GNUTYPE_SPARSE
    else:
        told = {"major": "0", "minor": "1", "name": "sparse", "size": "2000000", "map": "2000000,0"}
        entry.pax_headers = {f"GNU.sparse.{name}": value for name, value in told.items()}
    return entry


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_tar_with_a_sparse_file_is_refused(tmp_path: Path, form: int) -> None:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=form) as packed:
        packed.addfile(_sparse(form))
    content = bytearray(whole.getvalue())
    if form == tarfile.GNU_FORMAT:
        # One piece, of no bytes at the end of 2 MB; `tarfile` writes no such maps itself.
        content[386:410] = b"%011o\0%011o\0" % (2_000_000, 0)
        content[483:495] = b"%011o\0" % 2_000_000
        content[148:156] = b"%06o\0 " % (sum(content[:148]) + sum(content[156:512]) + 8 * ord(" "))

    with pytest.raises(InvalidFileError, match='"sparse" is a sparse file; pack it without --sparse'):
        unpacks(tmp_path, "a.tar", bytes(content), ROOMY)


@pytest.mark.slow
def test_a_map_of_a_sparse_file_without_end_takes_no_memory(tmp_path: Path) -> None:
    head = bytearray(_sparse(tarfile.GNU_FORMAT).tobuf(tarfile.GNU_FORMAT))
    head[386:410] = b"%011o\0%011o\0" % (1, 1)
    head[482], head[483:495] = 1, b"%011o\0" % 2_000_000
    head[148:156] = b"%06o\0 " % (sum(head[:148]) + sum(head[156:512]) + 8 * ord(" "))
    further = (b"%011o\0%011o\0" % (1, 1)) * 21 + b"\1".ljust(8, b"\0")
    with gzip.open(tmp_path / "a.tgz", "wb") as packed:
        packed.write(bytes(head) + further * 20_000)

    with peak_below(10 << 20), pytest.raises(InvalidFileError, match="header that is far too long"):
        unpack_upload(tmp_path / "a.tgz", "a.tgz", tmp_path / "unpacked", ROOMY)


@pytest.mark.slow
def test_a_zip_of_more_names_than_files_are_allowed_takes_no_memory(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        for number in range(30_000):
            packed.writestr(zipfile.ZipInfo(f"{number:05d}"), b"")

    with peak_below(5 << 20), pytest.raises(InvalidFileError, match="more files"):
        unpack_upload(tmp_path / "a.zip", "a.zip", tmp_path / "unpacked", SMALL)


def _cut(content: bytes, at: int, *, length: int) -> bytes:
    return content[:at] + b"\xff" * length + content[at + length :]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tar.bz2", _cut(tarred(("a", b"1" * 5_000), mode="w:bz2"), 40, length=20)),
        ("a.tar.xz", _cut(tarred(("a", b"1" * 5_000), mode="w:xz"), 40, length=20)),
        ("a.tgz", _cut(tarred(("a", b"1" * 5_000)), 40, length=20)),
        ("elsewhere.zip", zipped({"a": b"1"})[:-6] + b"\xff\xff\xff\x7f\0\0"),
    ],
    ids=["bz2", "xz", "gz", "zip"],
)
def test_a_damaged_archive_is_a_file_like_any_other(tmp_path: Path, name: str, content: bytes) -> None:
    assert not unpacks(tmp_path, name, content)
    assert not (tmp_path / "unpacked").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tar.xz", greedy_xz(tarred(("a", b"1" * 5_000), mode="w:"))),
        ("a.zip", greedy_zip("a", b"1" * 5_000)),
    ],
    ids=["xz", "zip"],
)
def test_an_archive_that_wants_gigabytes_of_memory_is_a_file_like_any_other(
    tmp_path: Path, name: str, content: bytes
) -> None:
    with peak_below(256 << 20):
        assert not unpacks(tmp_path, name, content)


def test_an_archive_of_the_strongest_xz_is_unpacked(tmp_path: Path) -> None:
    strongest = lzma.compress(tarred(("a", b"1"), mode="w:"), preset=9 | lzma.PRESET_EXTREME)

    assert unpacks(tmp_path, "a.tar.xz", strongest)
    assert tree_of(tmp_path / "unpacked") == {"a": b"1"}


def test_empty_folders_of_archives_do_no_harm(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("folder/", b"")
        packed.writestr("folder/a", b"1")
    (tmp_path / "a.tar.bz2").write_bytes(tarred(_folder("./folder"), ("./folder/a", b"1"), mode="w:bz2"))

    for name in ("a.zip", "a.tar.bz2"):
        assert unpack_upload(tmp_path / name, name, tmp_path / f"of-{name}", SMALL)
        assert tree_of(tmp_path / f"of-{name}") == {"folder/a": b"1"}


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("a.zip", "a"),
        ("A.ZIP", "A"),
        ("x/a.b.tar.gz", "x/a.b"),
        ("a.tgz", "a"),
        ("a.whl", None),
        ("a.csv.gz", None),
        ("a.npz", None),
        (".zip", None),
        ("x/.zip", None),
    ],
)
def test_which_names_are_archives(name: str, stem: str | None) -> None:
    assert stem_of_archive(name) == stem
