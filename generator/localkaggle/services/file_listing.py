"""Listings of files as Kaggle shows them: as a tree, one folder at a time, and as a summary by kind."""

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from generator.localkaggle.file_names import ListedFile
from generator.localkaggle.rpc import Call, Fields, page


def tree(files: Sequence[ListedFile], call: Call, *, created: str) -> Fields:
    """One page of what is directly in the folder `path` of the request: its folders, then its files."""
    path = call.text("path").strip("/")
    prefix = f"{path}/" if path else ""
    inside = [file for file in files if file.name.startswith(prefix)]
    rest = [file.name.removeprefix(prefix) for file in inside]
    names = sorted({name.split("/")[0] for name in rest if "/" in name})
    directories = [_directory(name, rest, prefix) for name in names]
    plain = [
        {"name": name, "creationDate": created, "totalBytes": file.size, "relativeUrl": file.name}
        for name, file in zip(rest, inside, strict=True)
        if "/" not in name
    ]
    shown = page([*directories, *plain], call, key="items")
    return {
        "directories": [item for item in shown["items"] if "totalChildren" in item],
        "files": [item for item in shown["items"] if "totalChildren" not in item],
        "totalChildren": len(directories) + len(plain),
        "totalDirectories": len(directories),
        "totalFiles": len(plain),
        "nextPageToken": shown["nextPageToken"],
    }


def summary(files: Sequence[ListedFile]) -> Fields:
    """The number and the size of files by extension; nothing is said of the columns of tables."""
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for file in files:
        extension = PurePosixPath(file.name).suffix.lower()
        counts[extension] += 1
        sizes[extension] += file.size
    kinds = [{"extension": kind, "fileCount": counts[kind], "totalSize": sizes[kind]} for kind in sorted(counts)]
    return {
        "fileSummaryInfo": {"totalFileCount": len(files), "fileTypes": kinds},
        "columnSummaryInfo": {"totalColumnCount": 0, "columnTypes": []},
    }


def _directory(name: str, rest: Sequence[str], prefix: str) -> Fields:
    below = [other.removeprefix(f"{name}/") for other in rest if other.startswith(f"{name}/")]
    folders = {other.split("/")[0] for other in below if "/" in other}
    plain = sum("/" not in other for other in below)
    return {
        "name": name,
        "relativeUrl": prefix + name,
        "totalDirectories": len(folders),
        "totalFiles": plain,
        "totalChildren": len(folders) + plain,
    }
