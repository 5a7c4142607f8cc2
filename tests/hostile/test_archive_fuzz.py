"""An archive that somebody uploads: whatever is in it, its files end up inside of a folder, or it is refused."""

import bz2
import gzip
import io
import lzma
import shutil
import stat
import struct
import tarfile
import tracemalloc
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from cases import CASES
from commands import in_time
from greedy_lzma import greedy_xz, greedy_zip
from hypothesis import example, given
from hypothesis import strategies as st
from mutations import HOSTILE_TEXTS, pieces

from generator.localkaggle.storage import ExtractionLimits, InvalidFileError, unpack_upload

ROOM = ExtractionLimits(size=200_000, files=20, spare=0)
MOST_MEMORY = 256 << 20
FITTING = st.sampled_from(["a", "b", "c.csv", "a/b", "d/e/f", "./g"])
NAMES = FITTING | st.sampled_from(
    [
        *(*HOSTILE_TEXTS, "a/", "a//b", "/a", "//a", "a/../../b", "../../outside", "a/..", "a\\..\\b", "C:\\a", "a:b"),
        *("a/" * 40 + "b", "a\udcff", "é" * 200, "unpacked", "../unpacked/a"),
    ]
)
CONTENTS = st.sampled_from([b"", b"1", b"x" * 512, b"y" * 700, b"\0" * 10_000, b"\0" * 300_000]) | st.binary(max_size=9)
NUMBERS = st.sampled_from([0, 1, 511, 512, 513, 2**16, 2**31 - 1, 2**32 - 1, 2**33 - 1, 2**62])
KINDS = st.binary(min_size=1, max_size=1) | st.sampled_from([tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.GNUTYPE_SPARSE])
PAX = st.dictionaries(
    st.sampled_from(
        [
            *("path", "linkpath", "size", "mtime", "uid", "hdrcharset", "GNU.sparse.map", "GNU.sparse.size"),
            *("GNU.sparse.major", "GNU.sparse.minor", "GNU.sparse.name", "GNU.sparse.realsize", "GNU.sparse.numblocks"),
        ]
    ),
    st.sampled_from(["1", "0", "-1", "", "x", "0,1", "1,2,3", "9" * 30, "1.5", "nan", "BINARY", "a", "../outside"]),
    max_size=4,
)
PACKED = {".tar": bytes, ".tar.gz": gzip.compress, ".tgz": gzip.compress, ".tar.bz2": bz2.compress}
PACKED[".tar.xz"] = lzma.compress

pytestmark = pytest.mark.slow


@st.composite
def tars(draw: st.DrawFn) -> bytes:
    """A tar of entries of any kind; what their headers say need not be true."""
    form = draw(st.sampled_from([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]))
    made = b""
    for _ in range(draw(st.integers(0, 5))):
        content = draw(CONTENTS)
        entry = tarfile.TarInfo(draw(FITTING | NAMES))
        entry.size = len(content)
        if draw(st.integers(0, 3)) == 0:
            entry.type, entry.linkname = draw(KINDS), draw(NAMES)
        if draw(st.integers(0, 3)) == 0:
            entry.size, entry.pax_headers = draw(NUMBERS), draw(PAX)
        with suppress(ValueError):  # that is more than this kind of header can say
            made += entry.tobuf(form, errors="surrogateescape" if form != tarfile.PAX_FORMAT else "replace")
            made += content + b"\0" * (-len(content) % 512)
    return made + b"\0" * draw(st.sampled_from([1024, 0, 512]))


@st.composite
def packed_tars(draw: st.DrawFn) -> tuple[str, bytes]:
    """The suffix and the bytes of a tar, damaged before it was compressed or after, or not at all."""
    suffix, content = draw(st.sampled_from(sorted(PACKED))), draw(tars())
    packed = PACKED[suffix](draw(st.just(content) | pieces(content)))
    return suffix, draw(st.just(packed) | pieces(packed))


@st.composite
def zips(draw: st.DrawFn) -> bytes:
    """A zip of entries of any kind; what its directory says of them need not be true."""
    made = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(made, "w") as packed:  # of names that come twice
        for name in draw(st.lists(FITTING | NAMES, max_size=5)):
            entry = zipfile.ZipInfo(name.encode("utf-8", "replace").decode())
            entry.compress_type = draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]))
            entry.create_system = draw(st.sampled_from([0, 3, 255]))
            kind = draw(st.sampled_from([0, stat.S_IFREG] * 9 + [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO]))
            packed.writestr(entry, draw(CONTENTS))
            entry.external_attr = (kind | 0o4777) << 16
    content = made.getvalue()
    at = content.find(b"PK\1\2")
    if at >= 0 and draw(st.booleans()):
        field, said = draw(st.sampled_from([16, 20, 24, 42])), draw(NUMBERS)
        content = content[: at + field] + struct.pack("<L", said % 2**32) + content[at + field + 4 :]
    return content


def check_unpacking(name: str, content: bytes) -> None:
    """Unpacks, and fails if anything came of it but ordinary files within the room, or nothing."""
    root = Path("root").absolute()
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    (root / name).write_bytes(content)
    folder = root / "unpacked"
    tracemalloc.start()
    try:
        with in_time(), suppress(InvalidFileError):
            assert unpack_upload(root / name, name, folder, ROOM) == folder.is_dir()
        assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
    finally:
        tracemalloc.stop()
    assert {path.name for path in root.iterdir()} <= {name, "unpacked"}
    assert not (root.parent / "outside").exists()
    found = [path.lstat() for path in folder.rglob("*")]
    assert all(stat.S_ISDIR(each.st_mode) or stat.S_ISREG(each.st_mode) for each in found)
    assert not any(each.st_mode & (stat.S_ISUID | stat.S_ISGID) for each in found)
    files = [each.st_size for each in found if stat.S_ISREG(each.st_mode)]
    assert len(files) <= ROOM.files
    assert sum(files) <= ROOM.size


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@CASES
@given(packed_tars())
@example((".tar.xz", greedy_xz(tarfile.TarInfo("a").tobuf())))
def test_any_tar_is_unpacked_inside_or_refused(packed: tuple[str, bytes]) -> None:
    suffix, content = packed

    check_unpacking(f"a{suffix}", content)


@CASES
@given(zips() | zips().flatmap(pieces))
@example(greedy_zip("a", b"1"))
def test_any_zip_is_unpacked_inside_or_refused(content: bytes) -> None:
    check_unpacking("a.zip", content)
