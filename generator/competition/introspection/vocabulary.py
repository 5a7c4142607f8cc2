"""The words that people name files and columns with."""

import re

_BOUNDARY = re.compile(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

TRAIN = frozenset(("train", "training", "trn", "learn"))
TEST = frozenset(("test", "testing", "tst", "eval", "evaluation", "predict"))
VALIDATION = frozenset(("val", "valid", "validation", "dev"))
SAMPLE = frozenset(("sample", "submission", "submissions", "submit", "samplesubmission"))
LABELS = frozenset(("label", "labels", "y", "truth", "groundtruth", "answers", "annotations", "targets"))
CHECKED = frozenset(("curated", "clean", "cleaned", "verified"))
TARGET = frozenset(
    ("target", "targets", "label", "labels", "class", "category", "y", "outcome", "score", "prediction", "price")
)
MASKS = frozenset(("mask", "masks", "annotation", "annotations", "seg", "segmentation", "segmentations", "gt", "label"))
MASKS |= {"labels", "groundtruth"}
OUTPUTS = frozenset(("clean", "cleaned", "target", "targets", "output", "outputs", "hr", "high", "sharp", "denoised"))
COMPANIONS = MASKS | OUTPUTS
ID = frozenset(("id", "ids", "key", "uuid", "uid", "index", "idx", "image", "img", "file", "filename", "row", "rowid"))
_GLUED_ID = re.compile(r".+(?:id|Id|ID)$")


def words(name: str) -> frozenset[str]:
    """The words of a name in lower case: `sampleSubmission_v2` has `sample`, `submission` and `v`."""
    return frozenset(word.lower() for word in _BOUNDARY.split(name) if word)


def stem(path: str) -> str:
    """The file's name without its folders and without everything behind the first dot."""
    name = path.rpartition("/")[2]
    return name.partition(".")[0] or name


def is_below(path: str, folder: str) -> bool:
    """True if a path is a folder itself or in it; everything is in the folder ""."""
    return not folder or path == folder or path.startswith(f"{folder}/")


def is_nameless(name: str) -> bool:
    """True if a column has no name, as the index that pandas writes: `Unnamed: 0`."""
    return not name.strip() or name.startswith("Unnamed: ")


def looks_like_id(name: str) -> bool:
    """True if people call an id so: `id`, `PassengerId`, `image_name`, `row_id`."""
    return bool(words(name) & ID) or is_nameless(name) or _GLUED_ID.fullmatch(name) is not None
