"""How much an uploaded archive may become, whatever it says of itself."""

import gzip
import io
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest
from desk import tarred, tree_of, zipped

from generator.localkaggle.services.archives import Room, stem_of_archive, unpack
from generator.localkaggle.services.bundle_names import BundleRefusedError

SMALL = Room(size=10_000, files=5, spare=0)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bomb.zip", zipped({"zeros": b"\0" * 2_000_000})),
        ("bomb.tar.gz", tarred(("zeros", b"\0" * 2_000_000))),
        ("bomb.tar.xz", tarred(("zeros", b"\0" * 2_000_000), mode="w:xz")),
        ("many.zip", zipped({str(number): b"" for number in range(6)})),
        ("many.tar", tarred(*((str(number), b"") for number in range(6)), mode="w:")),
    ],
)
def test_an_archive_that_becomes_too_much_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(BundleRefusedError, match=r"larger|more files"):
        unpack(tmp_path / name, name, tmp_path / "unpacked", SMALL)

    assert sum(len(content) for content in tree_of(tmp_path / "unpacked").values()) <= SMALL.size


def test_a_zip_that_lies_about_its_sizes_is_counted_as_it_comes_out(tmp_path: Path) -> None:
    honest = zipped({"zeros": b"\0" * 2_000_000})
    lying = honest.replace(struct.pack("<L", 2_000_000), struct.pack("<L", 100))
    (tmp_path / "lying.zip").write_bytes(lying)

    assert lying != honest
    assert not unpack(tmp_path / "lying.zip", "lying.zip", tmp_path / "unpacked", SMALL)
    assert not (tmp_path / "unpacked").exists()


def test_a_tar_with_a_header_of_gigabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    header = tarfile.TarInfo("long")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 3 << 30
    whole = io.BytesIO()
    with gzip.GzipFile(fileobj=whole, mode="wb") as pressed:
        pressed.write(header.tobuf(tarfile.GNU_FORMAT))
        pressed.write(b"\0" * 4_000_000)
    (tmp_path / "long.tgz").write_bytes(whole.getvalue())

    with pytest.raises(BundleRefusedError, match="header"):
        unpack(tmp_path / "long.tgz", "long.tgz", tmp_path / "unpacked", Room(spare=0))


def test_a_disk_that_is_nearly_full_takes_no_archive(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"a": b"1"}))

    with pytest.raises(BundleRefusedError, match="room"):
        unpack(tmp_path / "a.zip", "a.zip", tmp_path / "unpacked", Room(spare=1 << 60))


def test_empty_folders_of_archives_do_no_harm(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("folder/", b"")
        packed.writestr("folder/a", b"1")
    folder = tarfile.TarInfo("./folder")
    folder.type = tarfile.DIRTYPE
    (tmp_path / "a.tar.bz2").write_bytes(tarred(folder, ("./folder/a", b"1"), mode="w:bz2"))

    for name in ("a.zip", "a.tar.bz2"):
        assert unpack(tmp_path / name, name, tmp_path / f"of-{name}", SMALL)
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
