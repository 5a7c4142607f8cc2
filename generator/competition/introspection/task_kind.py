"""The kind of task: what images and sounds are like, family, submission, folds and training budget."""

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise

from generator.competition.facts import (
    Medium,
    SubmissionKind,
    TargetKind,
    Wants,
    are_large_photographs,
    are_photographs,
    read_rules,
)
from generator.competition.introspection.evidence import (
    Candidate,
    Confidence,
    Findings,
    IntrospectionError,
    NotPixelsError,
    Reason,
    UnknownKeyError,
    UnusableValueError,
    is_whole,
    join_names,
    likely_id_column,
    looks_like_id,
    overlap,
    split_words,
    weigh,
)
from generator.competition.introspection.features import (
    FeatureColumns,
    date_order,
    settle_columns,
    settle_sequences,
    settle_texts,
)
from generator.competition.introspection.files import (
    ExampleFiles,
    FolderMatch,
    PixelLists,
    describe_files,
    pixel_columns,
)
from generator.competition.introspection.observations import Observations, classes_seen, settle_masks
from generator.competition.introspection.targets import Targets, served_file_name, settle_format, settle_row_ids
from generator.competition.schema import Family, families, option_of, preset_of
from generator.competition.survey import (
    IMAGE_SUFFIXES,
    SOUND_SUFFIXES,
    Column,
    ColumnKind,
    Folder,
    ImageEncoding,
    ImageFormat,
    InferenceServer,
    Table,
    are_dates,
    moment_of,
)
from generator.competition.tables import TableFormat, table_format
from generator.text import duration, printable

# Images and sounds: size, channels, sampling rate, and images that are targets.


# Images: size, channels, encoding, whether a mirrored image means the same, and images that are targets.


_GREY_MODES = frozenset(("1", "L", "LA", "I", "F", "I;16", "I;16B", "I;16L", "I;16N"))
_CHANNEL = re.compile(r"[._-](?:red|green|blue|yellow|[rgby]|(?:c|ch|channel|band|w)\d+)\.\w+", re.IGNORECASE)
_PIXEL, _PIXEL_CHANNEL = re.compile(r"(.+)_\d+_\d+"), re.compile(r"(.+)_\d+_\d+_\d+")
_COLOURS, _RGB = "rgb", 3
_TINY, _VERY_TINY, _SIZE_MULTIPLE, _LARGEST, _LARGEST_PHOTOGRAPH, _USUAL = 32, 12, 32, 224, 512, 224
# A TPU lays out the few channels of whole images without waste where 128 tiles are a core's batch.
_LARGEST_TILE = 64
_SMALL_SCAN = 64
_CHARACTER_WORDS = frozenset(
    ("digit", "digits", "mnist", "letter", "letters", "character", "characters", "handwritten")
)
_CHARACTER_WORDS |= {"handwriting", "kanji", "hiragana", "emnist", "kmnist", "ocr"}
_DIGITS = frozenset("0123456789")
_FEWEST_LETTERS = 5
_ANY_ENCODING = "any"
_OF_SUFFIX = {".png": ImageEncoding.PNG, ".gif": ImageEncoding.GIF, ".bmp": ImageEncoding.BMP}
_OF_SUFFIX |= dict.fromkeys((".jpg", ".jpeg", ".jfif"), ImageEncoding.JPEG)
_ENCODING_NAMES = {ImageEncoding.JPEG: "JPEG", ImageEncoding.PNG: "8-bit PNG"}
_OF_EITHER_COLOUR = frozenset(_ENCODING_NAMES)
_OF_TENSORFLOW = _OF_EITHER_COLOUR | {ImageEncoding.GIF, ImageEncoding.BMP}  # which it does not make grey


def settle_images(observations: Observations, files: ExampleFiles, findings: Findings) -> None:
    """Settles size and channels of the images, and what their targets ask for."""
    train, targets, lists = observations.tables.train, observations.targets, files.source.lists
    form = files.images
    if files.source.labels_from == "pixels" and train is not None:
        form = _pixel_format(train, lists)
    channels = 1 if form is not None and form.mode in _GREY_MODES else _RGB
    has_backbone = are_photographs(channels, _LARGEST, findings.member("target_kind", TargetKind))
    largest = _LARGEST_PHOTOGRAPH if has_backbone else _LARGEST
    size = image_size(form.width, form.height, largest=largest) if form is not None else _USUAL
    if "target_folder" in findings:  # images that become images are cut into tiles
        size = min(size, _LARGEST_TILE)
    size_text = f"{form.width} x {form.height} pixels" if form is not None else "unknown"
    sure = Confidence.SURE if form is not None else Confidence.THIN
    mode = f'the images are of mode "{form.mode}"' if form is not None else "no image could be read"
    findings.settle("image_size", size, f"the images are {size_text}", sure)
    findings.settle("channels", channels, mode, sure)
    _settle_flip(files, targets, form, findings)
    if are_coordinates(targets.names):
        evidence = f"{targets.names[0]} and the other targets are coordinates, which change if the image moves"
        findings.settle("has_fixed_places", True, evidence, Confidence.LIKELY)
    if lists is not None:
        findings.settle("pixel_lists", list(lists.columns), files.source.candidate.evidence)
        findings.settle("pixel_low", lists.low, "the range of the sampled values")
        findings.settle("pixel_high", lists.high, "the range of the sampled values")
    if targets.lookup is not None:
        evidence = f"{targets.lookup.path} lists the example and the target of each row of the submission"
        findings.settle("lookup_table", targets.lookup.path, evidence)
        findings.settle("example_column", targets.lookup.example_column, "it has the test examples in that table")
        findings.settle("part_column", targets.lookup.part_column, "it has the targets in that table")


def settle_encoding(files: ExampleFiles, target_images: FolderMatch | None, findings: Findings) -> None:
    """Settles what has to decode the images, and those that they are to become; nothing where a table has the pixels.

    To how many channels the notebooks bring them has been settled before.
    """
    if files.source.labels_from == "pixels":
        return
    channels = 1 if "channel_suffixes" in findings else int(str(findings["channels"].value))
    folders = [files.source.train, files.test, target_images.folder if target_images is not None else None]
    encoding_sets = [
        _encodings(part)
        for folder in folders
        if folder is not None
        for part in folder.folders
        if part.images is not None
    ]
    if files.records:
        encoding_sets = [
            records.image.encodings if records.image is not None else frozenset() for records in files.records
        ]
    no_test = files.test is not None and not any(part.images for part in files.test.folders)
    if no_test or not files.has_test:
        findings.settle("image_encoding", _ANY_ENCODING, "no test image was found")
    else:
        findings.settle("image_encoding", *_encoding(encoding_sets, channels))


def _encoding(encoding_sets: Sequence[frozenset[ImageEncoding]], channels: int) -> tuple[str, str]:
    encodings = frozenset[ImageEncoding]().union(*encoding_sets)
    if not encoding_sets or frozenset() in encoding_sets or ImageEncoding.OTHER in encodings:
        return _ANY_ENCODING, "some sampled images are neither JPEG nor 8-bit PNG, or could not be read"
    if len(encodings) == 1 and encodings <= _OF_EITHER_COLOUR:
        (encoding,) = encodings
        return str(encoding), f"all sampled images of training and test are {_ENCODING_NAMES[encoding]}"
    mix = join_names(sorted(encodings))
    if encodings <= (_OF_TENSORFLOW if channels == _RGB else _OF_EITHER_COLOUR):
        return "tensorflow", f"the sampled images are {mix}, which TensorFlow decodes"
    return _ANY_ENCODING, f"the sampled images are {mix}, which TensorFlow cannot convert to grayscale"


def _encodings(folder: Folder) -> frozenset[ImageEncoding]:
    """The encodings of a folder's images; OTHER among them where those of a rarer suffix were not seen."""
    form = folder.images
    encodings = form.encodings if form is not None else frozenset[ImageEncoding]()
    rarer = [suffix for suffix in list(folder.suffixes)[1:] if suffix in IMAGE_SUFFIXES]
    unseen = any(_OF_SUFFIX.get(suffix, ImageEncoding.OTHER) not in encodings for suffix in rarer)
    return encodings | {ImageEncoding.OTHER} if unseen else encodings


def settle_channels(files: ExampleFiles, findings: Findings) -> None:
    """Settles of which grey files an image is made, such as `<id>_red.png` and `<id>_green.png`; nothing of others."""
    endings = _channel_endings(files)
    if len(endings) < _RGB:
        return
    by_colour = [next((end for end in endings if end[1:2].lower() == colour), "") for colour in _COLOURS]
    suffixes = by_colour if all(by_colour) else list(endings[:_RGB])
    left_out = [ending for ending in endings if ending not in suffixes]
    evidence = f"an image has {len(endings)} grayscale files; three become its red, green and blue channels"
    evidence += f", {join_names(left_out)} is not used" if left_out else ""
    findings.settle("channel_suffixes", suffixes, evidence)
    findings.settle("channels", _RGB, evidence)


def settle_owners(files: ExampleFiles, train: Table | None, findings: Findings) -> None:
    """Settles that ids have several images each, whose predictions are averaged; nothing where they do not."""
    owner = files.owner_column
    if not owner:
        return
    evidence = f"a {owner} has several images, and the submission one row per {owner}"
    findings.settle("has_several_images", True, evidence)
    if train is not None and train.column(owner) is not None:
        findings.settle("group_column", owner, f"the images of a {owner} are alike")


def _channel_endings(files: ExampleFiles) -> tuple[str, ...]:
    """The ends of the names of an image's grey files, its channels; nothing where an image is one file."""
    match, form = files.source.match, files.images
    if match is None or form is None or form.mode not in _GREY_MODES or not _CHANNEL.fullmatch(match.suffix):
        return ()
    endings = (_CHANNEL.search(name) for name in match.folder.names)
    counts = Counter(ending[0] for ending in endings if ending is not None)
    return tuple(ending for ending in sorted(counts) if 2 * counts[ending] >= max(counts.values()))


def are_coordinates(names: Sequence[str]) -> bool:
    """True if columns are the coordinates of points in an image: `nose_x` and `nose_y`."""
    stems = [Counter(name.lower()[:-1] for name in names if name.lower().endswith(axis)) for axis in "xy"]
    return len(names) > 1 and stems[0] == stems[1] and stems[0].total() * 2 == len(names)


def image_size(width: int, height: int, *, largest: int = _LARGEST) -> int:
    """The side of the square that images are brought to: as it is if tiny, else a multiple of 32 up to the largest."""
    side = min(width, height)
    if side < _VERY_TINY:
        return 2 * side
    if side < _TINY:
        return side
    return max(_TINY, min(largest, round(side / _SIZE_MULTIPLE) * _SIZE_MULTIPLE))


def tiles_of_an_image(files: ExampleFiles, findings: Findings) -> int:
    """How many tiles the notebooks cut an image into that is to become another; they overlap by an eighth."""
    form = files.images
    if form is None or "target_folder" not in findings:
        return 1
    size = int(str(findings["image_size"].value))
    overlap = size // 8
    return math.prod(-(-max(side - overlap, 1) // (size - overlap)) for side in (form.width, form.height))


def _pixel_format(train: Table, lists: PixelLists | None) -> ImageFormat:
    if lists is None:
        side = math.isqrt(len(pixel_columns(train)))
        return ImageFormat(mode="L", width=side, height=side, is_uniform=True)
    # The notebooks make a third channel of two, their mean.
    mode = "L" if len(lists.columns) == 1 else "RGB"
    return ImageFormat(mode=mode, width=lists.side, height=lists.side, is_uniform=True)


def _settle_flip(files: ExampleFiles, targets: Targets, form: ImageFormat | None, findings: Findings) -> None:
    if are_coordinates(targets.names):
        findings.settle("flip", False, "the targets are positions in the image")
        return
    classes = files.source.classes or (sorted(targets.columns[0].distinct) if len(targets.columns) == 1 else ())
    is_said = bool(split_words(findings.hints.slug) & _CHARACTER_WORDS)
    is_scan = form is not None and (form.mode in _GREY_MODES or max(form.width, form.height) <= _SMALL_SCAN)
    are_digits = set(classes) >= _DIGITS and len(classes) == len(_DIGITS) and is_scan
    letters = [name for name in classes if len(name) == 1 and name.isalpha()]
    are_letters = len(letters) >= _FEWEST_LETTERS and len(letters) > len(classes) / 2
    if is_said or are_digits or are_letters:
        findings.settle("flip", False, "a mirrored digit or letter has another meaning")
    else:
        findings.settle("flip", True, "a mirrored image has the same label", Confidence.LIKELY)


def settle_target_images(observations: Observations, findings: Findings) -> None:
    """Settles where the images are that the training images are to become.

    Raises:
        NotPixelsError: The submission has something else than the pixels of grey images.
    """
    _check_that_pixels_are_asked_for(observations)
    folder = observations.target_images.folder.path if observations.target_images is not None else ""
    findings.settle("target_folder", folder, "it has an image for each training image")


def _check_that_pixels_are_asked_for(observations: Observations) -> None:
    sample, files = observations.tables.sample, observations.files
    columns = sample.columns if sample is not None else ()
    ids = next((column for column in columns if column.name not in observations.targets.answer_names), None)
    if sample is None or ids is None or not ids.present:
        raise NotPixelsError(sample="", example="", problem="there is no sample submission with pixel ids")
    strange = next((value for value in ids.present if not _PIXEL.fullmatch(value)), None)
    if strange is not None:
        raise NotPixelsError(sample=sample.path, example=strange, problem="a row is not a pixel")
    test = files.test if files is not None else None
    stems = {name.rpartition(".")[0] for name in test.names} if test is not None else set()
    channel = _PIXEL_CHANNEL.fullmatch(ids.present[0])
    pixel = _PIXEL.fullmatch(ids.present[0])
    if channel is not None and channel[1] in stems and (pixel is None or pixel[1] not in stems):
        raise NotPixelsError(
            sample=sample.path, example=ids.present[0], problem="a row is one channel of a color pixel"
        )


# Sounds: the sampling rate and the length that the model needs to know.


_HIGHEST_RATE, _USUAL_RATE = 32_000, 32_000
_SHORTEST, _LONGEST, _USUAL_SECONDS = 1.0, 30.0, 5.0


def settle_audio(observations: Observations, files: ExampleFiles, findings: Findings) -> None:
    """Settles what there is to know of the sounds."""
    form, sample = files.audio, observations.tables.sample
    rate = min(form.sample_rate, _HIGHEST_RATE) if form is not None and form.sample_rate else _USUAL_RATE
    rate_evidence = (
        f"the sounds have {form.sample_rate:,} samples per second" if form is not None else "no sound could be read"
    )
    sure = Confidence.SURE if form is not None else Confidence.THIN
    ids = likely_id_column(sample)
    step = _seconds_per_part(observations.targets.parts) or _seconds_per_part(_ends(ids))
    seconds = form.seconds if form is not None and form.seconds else _USUAL_SECONDS
    length = step or round(min(_LONGEST, max(_SHORTEST, seconds)), 1)
    evidence = "the ids end with seconds, at this distance" if step else f"the median is {seconds:.1f} s"
    findings.settle("sample_rate", rate, rate_evidence, sure)
    findings.settle("seconds", length, evidence, sure)
    findings.settle("part_seconds", step, evidence if step else "an id is a complete sound")
    findings.settle("are_wav", *_are_wav(files))
    if files.test is None or files.test.names:
        findings.settle("hidden_test", False, "there are test sounds, or there is no folder for them")
    else:
        evidence = f"{files.test.path} has no sounds; Kaggle adds them when the notebook is scored"
        findings.settle("hidden_test", True, evidence)


def _are_wav(files: ExampleFiles) -> tuple[bool, str]:
    folders = [folder for folder in (files.source.train, files.test) if folder is not None]
    suffixes = {suffix for folder in folders for part in folder.folders for suffix in part.suffixes}
    other_suffixes = sorted((suffixes & (SOUND_SUFFIXES | {".mp3"})) - {".wav"})
    if other_suffixes or ".wav" not in suffixes:
        return False, f"there are {', '.join(other_suffixes)}" if other_suffixes else "there is no WAV file"
    formats = [part.audio for folder in folders for part in folder.folders if part.audio is not None]
    if not all(form.is_plain_wav for form in formats):
        return False, "some .wav files have samples that are neither integers nor floats"
    return True, "all sounds are .wav"


def _ends(ids: Column | None) -> tuple[str, ...]:
    """The ends of the ids, where all of them are of one long sound, as a sample of a hidden test may be."""
    splits = [key.rpartition("_") for key in ids.present] if ids is not None else []
    return tuple(end for _, _, end in splits) if len({start for start, _, _ in splits}) == 1 else ()


def _seconds_per_part(parts: tuple[str, ...]) -> float:
    """The length of a part, where parts are named by the second at which they end: `5`, `10`, `15`; else 0."""
    ends = sorted(float(part) for part in parts if part.isdecimal())
    if len(ends) <= 1 or len(ends) < len(parts):
        return 0.0
    steps = {later - earlier for earlier, later in pairwise(ends)}
    step = min(steps)
    return step if steps == {step} and ends[0] in (0, step) and step > 1 else 0.0


# The submission: what a row says, and what the file is called and written in.


_SUBMISSION_KEY = "submission"
_NAMES = frozenset((ColumnKind.TEXT, ColumnKind.BOOLEAN, ColumnKind.DATE))
_USUAL_NAME = "submission.csv"
_SUFFIXES = {TableFormat.PARQUET: ".parquet", TableFormat.JSON: ".json", TableFormat.JSON_LINES: ".jsonl"}
_SUFFIX_OF = {"\t": ".tsv", "|": ".psv"}
_SPACES = r"\s+"
_ONE_COLUMN = frozenset(
    (SubmissionKind.PROBABILITY, SubmissionKind.LABEL, SubmissionKind.TOP_K, SubmissionKind.LABEL_SET)
)
_KINDS = {
    TargetKind.CLASS: _ONE_COLUMN - {SubmissionKind.LABEL_SET} | {SubmissionKind.CLASS_COLUMNS},
    TargetKind.LABELS: frozenset((SubmissionKind.NUMBERS, SubmissionKind.LABEL_SET)),
    TargetKind.NUMBER: frozenset((SubmissionKind.NUMBERS, SubmissionKind.LABEL)),
    TargetKind.MASK: frozenset((SubmissionKind.RUN_LENGTH,)),
    TargetKind.IMAGE: frozenset((SubmissionKind.KEYED_ROWS,)),
}


def find_submission(kind: TargetKind, observations: Observations, findings: Findings) -> SubmissionKind:
    """Weighs the shapes that a submission for such targets can have.

    Raises:
        UnusableValueError: The user decided on another one.
    """
    targets = observations.targets
    column_count = len(targets.answer_names) or len(targets.names)
    if kind is TargetKind.IMAGE:
        findings.settle(
            _SUBMISSION_KEY, SubmissionKind.KEYED_ROWS, "each row is one pixel of an image, named by its id"
        )
    elif kind is TargetKind.MASK:
        findings.settle(_SUBMISSION_KEY, SubmissionKind.RUN_LENGTH, "the submission has masks as run-length codes")
    elif targets.are_keyed:
        findings.settle(
            _SUBMISSION_KEY, SubmissionKind.KEYED_ROWS, f"ids are <id>_<part>, with {len(targets.parts)} parts per id"
        )
    elif kind is TargetKind.LABELS and (len(targets.names) > 1 or len(targets.answer_names) > 1):
        findings.settle(_SUBMISSION_KEY, SubmissionKind.NUMBERS, f"a probability in each of {column_count} columns")
    elif kind is TargetKind.LABELS:
        findings.settle(_SUBMISSION_KEY, SubmissionKind.LABEL_SET, "all labels of an example are in one column")
    else:
        reasons = _for_number(observations) if kind is TargetKind.NUMBER else _for_class(observations)
        findings.choose(_SUBMISSION_KEY, [weigh(value, because) for value, because in reasons.items()])
    submission = findings.member(_SUBMISSION_KEY, SubmissionKind)
    if findings.decided_text(_SUBMISSION_KEY):
        _check_decided(submission, kind, targets)
    return submission


def settle_unseen_columns(
    kind: TargetKind, submission: SubmissionKind, observations: Observations, findings: Findings
) -> None:
    """Settles which columns of the sample, or labels in its ids, are for classes without a training example."""
    targets, labels = observations.targets, observations.labels
    is_list = kind is TargetKind.LABELS and len(targets.names) == 1 and bool(labels.separator)
    answer_names = targets.parts if submission is SubmissionKind.KEYED_ROWS else targets.answer_names
    if submission is not SubmissionKind.CLASS_COLUMNS and not (is_list and len(answer_names) > 1):
        return
    classes = classes_seen(observations)
    beside = [name for name in classes if name not in answer_names]
    unseen = [name for name in answer_names if name not in classes and not any(map(name.endswith, beside))]
    if unseen and len(answer_names) - len(unseen) >= 2:  # noqa: PLR2004 - else the columns are called otherwise
        is_whole = observations.tables.target_table is None or observations.tables.target_table.is_complete
        evidence = f"no {'' if is_whole else 'sampled '}training example has the class {join_names(unseen)}"
        findings.settle("unseen_columns", unseen, evidence)


def settle_submission_file(sample: Table | None, server: InferenceServer | None, findings: Findings) -> None:
    """Settles the name of the file, and of a text with another separator than the comma that and its decimal sign.

    Args:
        sample: The sample submission, if there is one.
        server: What hands out the test data and writes the submission, if something does.
        findings: Takes the findings.
    """
    file_format = table_format(findings.settle("submission_file", *_file_name(sample, server, findings)))
    key, separator = "submission_separator", _separator(sample)
    is_text = file_format.format in (TableFormat.CSV, None) and not file_format.separator
    if key in findings.hints.overrides or (is_text and separator != ","):
        findings.settle(key, separator, f"as {sample.name} is written" if sample is not None else "usual")
    if is_text and sample is not None and sample.decimal == "," and separator != ",":
        findings.settle("submission_decimal", sample.decimal, f"as {sample.name} is written")


def labels_per_cell(targets: Targets) -> int:
    """The number of labels in a cell of the sample, separated by spaces; 1 if there is one or no sample."""
    if len(targets.answers) != 1 or not targets.answers[0].present:
        return 1
    counts = Counter(len(value.split()) for value in targets.answers[0].present)
    return counts.most_common(1)[0][0]


def _check_decided(submission: SubmissionKind, kind: TargetKind, targets: Targets) -> None:
    """That such targets can be submitted so, in as many columns as the sample has."""
    apart = frozenset[SubmissionKind]()
    if len(targets.answer_names) > 1:
        apart = _ONE_COLUMN if kind is not TargetKind.NUMBER else apart
    elif targets.answer_names:
        apart = frozenset((SubmissionKind.CLASS_COLUMNS,))
    keyed_kinds = frozenset((SubmissionKind.KEYED_ROWS,)) if targets.parts else frozenset[SubmissionKind]()
    possible = (_KINDS[kind] | keyed_kinds) - apart
    if submission not in possible:
        columns = f" in {len(targets.answer_names)} columns" if submission in apart else ""
        requirement = f"a kind of submission for {kind} targets{columns}: {' or '.join(sorted(possible))}"
        raise UnusableValueError(key=option_of(_SUBMISSION_KEY), value=submission, requirement=requirement)


def _for_number(observations: Observations) -> dict[SubmissionKind, list[Reason]]:
    answers, metric = observations.targets.answers, observations.metric
    wants_labels = metric.facts is not None and metric.facts.wants is Wants.LABELS
    answers_whole = bool(answers) and all(column.kind is ColumnKind.INTEGER for column in answers)
    return {
        SubmissionKind.NUMBERS: [Reason(4, "the targets are numbers")],
        SubmissionKind.LABEL: [
            Reason(6 * wants_labels, f"{metric.name} compares whole numbers"),
            Reason(1 * answers_whole, "the sample submission has whole numbers"),
        ],
    }


def _for_class(observations: Observations) -> dict[SubmissionKind, list[Reason]]:
    targets, labels, metric = observations.targets, observations.labels, observations.metric
    wants = metric.facts.wants if metric.facts is not None else None
    answer = targets.answers[0] if len(targets.answers) == 1 else None
    best = labels_per_cell(targets)
    is_one = len(targets.names) == 1 and len(targets.answer_names) <= 1
    are_columns = targets.are_classes_asked or (labels.is_one_hot and len(targets.answer_names) > 1)
    ranks = answer is not None and answer.kind is ColumnKind.TEXT and best > 1 and not _is_spaced(observations)
    is_fraction = answer is not None and answer.kind is ColumnKind.NUMBER
    suits_probability = is_one and labels.distinct <= 2  # noqa: PLR2004 - yes and no
    return {
        SubmissionKind.LABEL: [
            Reason(2.5 * (answer is not None and is_whole(answer)), _cells(answer)),
            Reason(3 * (answer is not None and answer.kind in _NAMES and not ranks), _cells(answer)),
            Reason(3 * (is_one and wants is Wants.LABELS), f"{metric.name} compares labels"),
            Reason(1 * (answer is None and not are_columns), "one label per example is the simplest submission"),
        ],
        SubmissionKind.CLASS_COLUMNS: [Reason(5 * are_columns, "the sample submission has a column for each class")],
        SubmissionKind.TOP_K: [
            Reason(3 * ranks, f"a cell of the sample submission has {best} labels"),
            Reason(4 * (is_one and wants is Wants.RANKED), f"{metric.name} compares ranked labels"),
        ],
        SubmissionKind.PROBABILITY: [
            Reason(3 * (is_fraction and suits_probability), _cells(answer)),
            Reason(4 * (suits_probability and wants is Wants.PROBABILITIES), f"{metric.name} compares probabilities"),
        ],
    }


def _is_spaced(observations: Observations) -> bool:
    """True if the classes themselves are of several words."""
    classes = observations.files.source.classes if observations.files is not None else ()
    labels = (value for column in observations.targets.columns for value in column.distinct)
    return any(" " in value.strip() for value in (*classes, *labels))


def _cells(answer: Column | None) -> str:
    if answer is None or not answer.present:
        return ""
    return f'the cells of {answer.name} in the sample submission are like "{answer.present[0][:40]}"'


def _file_name(sample: Table | None, server: InferenceServer | None, findings: Findings) -> tuple[str, str]:
    """The name that pages demand, else that which a server's gateway writes, else the usual one with a suffix."""
    rule = findings.hints.file_name or read_rules({"evaluation": findings.hints.evaluation_text}).file_name
    if rule is not None:
        return rule.value, rule.evidence
    if server is not None:
        return served_file_name(server)
    suffix = _suffix(sample) if sample is not None else ""
    if sample is not None and suffix:
        return f"submission{suffix}", f"{sample.name} is written so, and nothing names another"
    return _USUAL_NAME, "the usual name"


def _suffix(sample: Table) -> str:
    """The suffix of a file like the sample; "" for csv, compressed or not, which is the usual one."""
    if sample.format in _SUFFIXES:
        return _SUFFIXES[sample.format]
    return _SUFFIX_OF.get(table_format(sample.name).separator, "")


def _separator(sample: Table | None) -> str:
    """The separator of the sample's cells, unless its suffix says that this is what such files have."""
    if sample is None or sample.format is not TableFormat.CSV or table_format(sample.name).separator:
        return ","
    return " " if sample.separator == _SPACES else sample.separator or ","


# Honest folds: groups that must stay together, and time that must not run backwards.


_GROUP = frozenset(("group", "patient", "user", "subject", "customer", "client", "session", "person", "household"))
_REPEATS, _FEWEST_GROUPS = 2, 5  # as many groups as folds
_DISJOINT = 0.05


def settle_folds(
    features: FeatureColumns,
    keys: Collection[str],
    findings: Findings,
    *,
    of_ids: Collection[str] = (),
    repeated_ids: tuple[Column, str] | None = None,
) -> None:
    """Settles by which columns folds are made, of those that a family's notebooks read.

    Args:
        features: The columns.
        keys: The keys that say by which columns folds are made.
        findings: Takes the findings.
        of_ids: A column whose values the ids begin with: it names what several rows are of.
        repeated_ids: The column of ids that several training rows have, and the evidence; None if there is none.
    """
    later = next((column.name for column in features.columns if _is_later(column, features)), "")
    if "group_column" in keys:
        name, evidence = _group(features, of_ids)
        if repeated_ids is not None and not (name and _is_within(repeated_ids[0], features.train.column(name))):
            is_forecast = bool(later) and "time_column" in keys and _are_in_test(repeated_ids[0], features)
            name, evidence = repeated_ids[0].name, repeated_ids[1]
            if is_forecast:  # which folds of time are honest about
                name, evidence = "", f"test examples have the same {name}, at later times"
        findings.settle("group_column", name, evidence, Confidence.LIKELY if name else Confidence.SURE)
    if "time_column" in keys:
        name = later
        evidence = f"all sampled values of {name} are later in the test examples"
        evidence = evidence if name else "the test examples are not from a later time"
        name = findings.settle("time_column", name, evidence, Confidence.LIKELY if name else Confidence.SURE)
        column = features.train.column(name)
        if column is not None:
            order = date_order(column.present)
            evidence = (
                f"dates of {name} start with the {order}"
                if len(order) > 1
                else f"the order of day and month in {name} is unknown"
            )
            findings.settle("day_first", order == "day", evidence, Confidence.THIN if order == "?" else Confidence.SURE)


def _group(features: FeatureColumns, of_ids: Collection[str]) -> tuple[str, str]:
    """The column whose groups the test examples have others of; "" if there is none."""
    for column in features.columns:
        test = features.in_test(column.name)
        is_named = column.name in of_ids or looks_like_id(column.name) or bool(split_words(column.name) & _GROUP)
        repeats = _FEWEST_GROUPS <= len(column.distinct) <= len(column.present) / _REPEATS
        if is_named and repeats and test is not None and overlap(column, test) <= _DISJOINT:
            return column.name, f"{column.name} repeats, and the test examples have other values"
        if repeats and features.test is None and split_words(column.name) & _GROUP:
            return column.name, f"{column.name} repeats, and the test examples may have other values"
    return "", "no column has groups that are only in training or only in test"


def find_repeated_ids(observations: Observations, names: Sequence[str]) -> tuple[Column, str] | None:
    """Finds the column of ids, or of files, that several training rows have; None if each row has its own.

    Exact copies of rows do not count, as training leaves them out.

    Args:
        observations: The observations of the files; the labels may have a table of their own.
        names: The columns that name examples, or their files.
    """
    train, labels = observations.tables.train, observations.tables.labels
    if train is None:
        return None
    candidates: list[tuple[Column, str]] = []
    for name in dict.fromkeys(names):
        ids, of_labels = train.column(name), labels.column(name) if labels is not None else None
        if ids is None:
            continue
        count, path = _repeat_count(ids, train.columns), train.name
        if not count and labels is not None and of_labels is not None:
            answers = [column for column in labels.columns if column.name in observations.targets.names]
            count, path = _repeat_count(of_labels, answers), labels.name
        if count:
            candidates.append(
                (ids, f"{count:,} sampled values of {name} repeat in {path}; their rows stay in the same fold")
            )
    whole = (
        candidate for candidate in candidates if all(_is_within(rival_ids, candidate[0]) for rival_ids, _ in candidates)
    )
    return next(whole, candidates[0] if candidates else None)


def _repeat_count(ids: Column, columns: Sequence[Column]) -> int:
    """The number of values that rows have of which some other column says different things."""
    rows = zip(ids.values, *(column.values for column in columns), strict=True)
    different = Counter(row[0] for row in dict.fromkeys(rows) if row[0] is not None)
    return sum(count > 1 for count in different.values())


def _is_within(ids: Column, groups: Column | None) -> bool:
    """True if all rows of an id are in the same group."""
    pairs = set(zip(ids.values, groups.values, strict=True)) if groups is not None else set()
    return len(pairs) == len({value for value, _ in pairs})


def _are_in_test(ids: Column, features: FeatureColumns) -> bool:
    """True if the test examples go on with ids of training."""
    test = features.in_test(ids.name)
    return test is not None and overlap(ids, test) > _DISJOINT


def _is_later(train: Column, features: FeatureColumns) -> bool:
    """True if the test's times begin where training's end; False where days cannot be told from months."""
    test = features.in_test(train.name)
    if test is None or len(train.distinct) <= 1 or not (are_dates(train) and are_dates(test)):
        return False
    order = date_order((*train.present, *test.present))
    before, after = (
        [moment for value in column.distinct if (moment := moment_of(value, day_first=order == "day")) is not None]
        for column in (train, test)
    )
    return order != "?" and bool(before and after) and max(before) <= min(after)


# The training budget: epochs, and examples at once.


_REPLICAS, _STEPS, _BATCH_MULTIPLE, _LARGEST_BATCH = 8, 8, 8, 128
_SHARE_TRAINED_ON = 0.8
_FEWEST_EPOCHS, _MOST_EPOCHS, _ROWS_FOR_MOST = 3, 40, 1_000
# Up to so many texts train within so many CPU seconds: with inference, ten minutes on two idle cores.
_FEW_TEXTS, _SECONDS, _FEWEST_EPOCHS_OF_TEXTS = 2_000, 450, 2
_FOLDS = {5: 8, 3: 6, 2: 1}  # so many where each can have so many epochs
# Five folds of a model of 85 million parameters that reads so many tokens take half an hour of a TPU v5e-8.
_USUAL_FOLDS, _MOST_TOKENS = 5, 2e9
# EfficientNetV2-S takes few photographs at once: a large batch leaves fine-tuning few steps. docs/adr/0021.
_BATCH_OF_LARGE, _MOST_EPOCHS_OF_PHOTOGRAPHS, _FOLDS_OF_PHOTOGRAPHS = 16, 20, 5
# Milliseconds of a TPU v5e-8 for a photograph of 512 pixels, by Google's compiler: EfficientNetV2-S, and V2-B0.
_MILLISECONDS_OF_LARGE, _MILLISECONDS, _PIXELS = 0.84, 0.2, 512
_MOST_HOURS = 2.0  # a tenth of the 20 that Kaggle lends a TPU each week


def batch_size(examples: int) -> int:
    """Examples per replica: a multiple of 8, with which 8 replicas still make 8 steps an epoch, from 8 to 128."""
    fitting = int(examples * _SHARE_TRAINED_ON) // (_REPLICAS * _STEPS)
    return max(_BATCH_MULTIPLE, min(_LARGEST_BATCH, fitting // _BATCH_MULTIPLE * _BATCH_MULTIPLE))


def epochs(examples: int) -> int:
    """From 40 for a thousand examples down to 3: an epoch of many examples teaches more."""
    return max(_FEWEST_EPOCHS, min(_MOST_EPOCHS, round(_MOST_EPOCHS * math.sqrt(_ROWS_FOR_MOST / max(1, examples)))))


def photograph_epochs(examples: int) -> int:
    """Epochs of fine-tuning: 15 for the 16,465 flowers of tpu-getting-started, 20 at most."""
    usual = round(1.5 * _MOST_EPOCHS * math.sqrt(_ROWS_FOR_MOST / max(1, examples)))
    return max(_FEWEST_EPOCHS, min(_MOST_EPOCHS_OF_PHOTOGRAPHS, usual))


def photograph_hours(examples: int, times: int, pixels: int) -> float:
    """Hours of a TPU v5e-8 for the steps of five models of photographs, by the compiler's cycles."""
    milliseconds = _MILLISECONDS_OF_LARGE if are_large_photographs(pixels) else _MILLISECONDS
    photo_count = _FOLDS_OF_PHOTOGRAPHS * _SHARE_TRAINED_ON * examples * times
    return photo_count * milliseconds * (pixels / _PIXELS) ** 2 / 3.6e6


def train_text_seconds(tokens: int) -> float:
    """CPU seconds that training takes for a text of so many tokens: 0.027 for 128 and 0.155 for 512, as measured."""
    return tokens * (1.8e-4 + 2.4e-7 * tokens)


def text_budget(examples: int, tokens: int, *, has_linear_member: bool) -> tuple[int, int]:
    """The folds and the epochs with which few texts train in ten minutes, inference included.

    A linear member needs other folds to say how much it counts, so that it has two at least.
    """
    affordable = _SECONDS / (max(1, examples) * train_text_seconds(tokens))  # passes over all texts
    possible = {folds: int(affordable / (folds - 1)) for folds in _FOLDS}
    folds = next((folds for folds, least in _FOLDS.items() if possible[folds] >= least), min(_FOLDS))
    if folds == min(_FOLDS) and not has_linear_member:
        return 1, max(_FEWEST_EPOCHS_OF_TEXTS, min(epochs(examples), int(affordable / _SHARE_TRAINED_ON)))
    return folds, max(_FEWEST_EPOCHS_OF_TEXTS, min(epochs(examples), possible[folds]))


def settle_budget(family: str, examples: int, findings: Findings, *, tiles: int = 1) -> None:
    """Settles both, and the folds of photographs and texts: a pretrained model of texts needs fewer epochs.

    Batches are of the tiles that examples are cut into.
    """
    size, times, usual = batch_size(examples * tiles), epochs(examples), f"usual for {examples:,} examples"
    channels, pixels = (findings[key].value if key in findings else None for key in ("channels", "image_size"))
    if are_photographs(channels, pixels, findings.member("target_kind", TargetKind)):
        times, usual = photograph_epochs(examples), f"usual for fine-tuning with {examples:,} examples"
        size = min(size, _BATCH_OF_LARGE) if are_large_photographs(pixels) else size
        hours = photograph_hours(examples, times, int(str(pixels)))
        training_time = f"{_FOLDS_OF_PHOTOGRAPHS} models train about {duration(3600 * hours)} on a TPU v5e-8"
        evidence = f"{training_time}, and Kaggle's TPU quota is 20 hours per week"
        findings.settle("fold_count", _FOLDS_OF_PHOTOGRAPHS if hours <= _MOST_HOURS else 1, evidence)
    elif preset := preset_of(family, findings.text("pretrained")):
        length = int(findings.text("sequence_length"))
        size, times = preset.batch_size(size, length), preset.epochs(times)
        usual = f"usual for {examples:,} examples and a pretrained model"
        if examples * length * times * (_USUAL_FOLDS - 1) <= _MOST_TOKENS:
            findings.settle("fold_count", _USUAL_FOLDS, "five models train at most half an hour on a TPU")
    elif families()[family].medium is Medium.TEXT:
        times, usual = _settle_folds_of_texts(examples, times, usual, findings)
    steps = max(1, int(examples * tiles * _SHARE_TRAINED_ON) // (_REPLICAS * size))
    unit, tile_text = "step" if steps == 1 else "steps", f" of {tiles} tiles" if tiles > 1 else ""
    findings.settle(
        "batch_size", size, f"with 8 replicas, {examples:,} examples{tile_text} are {steps:,} {unit} per epoch"
    )
    findings.settle("epochs", times, usual)


def _settle_folds_of_texts(examples: int, times: int, usual: str, findings: Findings) -> tuple[int, str]:
    """Settles the folds of texts; returns the epochs, and why."""
    has_linear_member = "linear_member" in findings and bool(findings["linear_member"].value)
    tokens = int(str(findings["sequence_length"].value))
    folds, fitting = text_budget(examples, tokens, has_linear_member=has_linear_member)
    evidence = (
        "the weight of the linear model comes from the other folds"
        if has_linear_member
        else "the most folds within ten minutes"
    )
    if has_linear_member or (folds > 1 and examples <= _FEW_TEXTS):
        findings.settle("fold_count", folds, evidence)
    if examples > _FEW_TEXTS or fitting == times:
        return times, usual
    return fitting, f"for {examples:,} texts, about ten minutes on two cores, with N_FOLDS = {folds}"


# The family of the task, and what that family needs to know.


_FAMILY_KEY = "family"
_EACH_NUMBER, _MOST_FOR_NUMBERS = 0.2, 3.0


def find_family(kind: TargetKind, observations: Observations, findings: Findings) -> Family:
    """Weighs the families.

    Raises:
        IntrospectionError: There is nothing to predict from.
        UnusableValueError: The user decided on a family that the files do not allow.
    """
    candidates = [*_of_files(kind, observations.files), *_of_table(observations)]
    if not candidates:
        tables = observations.tables
        train, test = tables.train.path if tables.train else "", tables.test.path if tables.test else "the test data"
        raise IntrospectionError(
            f"There are no features: {printable(train)} and {printable(test)} share no column except the id, and no "
            "files belong to their rows. Name other tables with --train or --test."
        )
    decision, possible = findings.decided_text(_FAMILY_KEY), [str(candidate.value) for candidate in candidates]
    if decision and decision not in possible and not _can_be_read_as_text(decision, observations):
        raise UnusableValueError(
            key=_FAMILY_KEY, value=decision, requirement=f"{' or '.join(possible)} for these files"
        )
    return families()[str(findings.choose(_FAMILY_KEY, candidates))]


def settle_details(family: Family, observations: Observations, findings: Findings, *, is_served: bool) -> None:
    """Settles what a family needs to know, then what every family needs.

    Args:
        family: The family.
        observations: What was seen.
        findings: Takes the findings.
        is_served: Whether an inference server hands out the test data.

    Raises:
        IntrospectionError: Nothing leads from the test rows to the ids that are asked for.
        UnknownKeyError: The user said what ids are made of where they name files.
    """
    files = observations.files if family.medium.is_files else None
    features, groups, train = observations.features, observations.groups, observations.tables.train
    has_table = files is None or files.source.is_table
    examples = files.examples if files is not None else train.rows if train is not None else 0
    tiles, folds = 1, Findings(findings.hints)
    if features is not None and has_table:
        of_ids = observations.row_ids.columns[:1] if observations.row_ids else ()
        repeated_ids = _repeated_ids(family, observations, findings)
        settle_folds(features, family.folds_by, folds, of_ids=of_ids, repeated_ids=repeated_ids)
    if files is not None:
        examples //= len(observations.targets.row_labels) or 1
        if files.source.train is not None:  # a mask of each class may have a row of its own
            examples = min(examples, files.source.train.files)
        _settle_files(family, observations, files, findings, is_served=is_served)
        tiles = tiles_of_an_image(files, findings)
    elif family.medium is Medium.TEXT and features is not None:
        settle_texts(observations.texts, features, examples, findings)
        missing = sorted(
            {word for column in observations.targets.columns for word in column.null_words - column.distinct}
        )
        evidence = f"{join_names(missing)} is no label" if missing else "no target has such a word"
        findings.settle("missing_words", missing, evidence)
    elif family.medium is Medium.SEQUENCE and groups is not None and features is not None:
        settle_sequences(groups, features, findings, family)
        examples = max(1, round(examples / groups.rows))
    elif features is not None:
        group = str(folds["group_column"].value) if "group_column" in folds else ""
        settle_columns(features, findings, family, group=group)
    findings.update({key: finding for key, finding in folds.items() if key not in findings})
    settle_budget(family.name, examples, findings, tiles=tiles)
    _settle_label_cells(observations, findings)
    tables = observations.tables if has_table else replace(observations.tables, train=None, labels=None)
    settle_format(tables, str(findings["id_column"].value), observations.targets, findings)
    if files is None:
        settle_row_ids(observations.row_ids, observations.tables, observations.targets, findings)
    elif "has_sample_ids" in findings:
        sample = observations.tables.sample.path if observations.tables.sample is not None else ""
        raise IntrospectionError(
            f"{printable(sample)} has no id column, but the notebooks need it to find the file of a row. Add one to a "
            "copy of the table, and name the copy with --sample."
        )
    elif "id_columns" in findings.hints.overrides:
        raise UnknownKeyError(key="id_columns", family=family.name, keys=findings)


def _repeated_ids(family: Family, observations: Observations, findings: Findings) -> tuple[Column, str] | None:
    """The ids that several rows have; None for sequences and masks, of which an example usually has several rows."""
    has_pictures = TargetKind.MASK in family.targets or TargetKind.IMAGE in family.targets
    if family.medium is Medium.SEQUENCE or has_pictures or observations.targets.row_labels:
        return None
    files = observations.files.source.column if family.medium.is_files and observations.files is not None else ""
    return find_repeated_ids(observations, (str(findings["id_column"].value), files))


def _can_be_read_as_text(name: str, observations: Observations) -> bool:
    family, features = families().get(name), observations.features
    has_text = features is not None and any(column.kind is ColumnKind.TEXT for column in features.columns)
    return family is not None and family.medium is Medium.TEXT and has_text


def _of_files(kind: TargetKind, files: ExampleFiles | None) -> list[Candidate]:
    if files is None:
        return []
    reasons = [
        Reason(files.source.candidate.weight, files.source.candidate.evidence),
        Reason(2, f"the examples are {files.medium} files"),
    ]
    of_medium = [family for family in families().values() if family.medium is files.medium]
    fitting = [family for family in of_medium if kind in family.targets] or of_medium
    return [weigh(family.name, reasons) for family in fitting]


def _of_table(observations: Observations) -> list[Candidate]:
    features, text, groups = observations.features, observations.texts.best, observations.groups
    if features is None or not features.columns:
        return []
    numbers = _EACH_NUMBER * len(features.measures)
    beside = f"an example has {len(features.columns)} feature columns"
    number_clause = f"{len(features.measures)} of them are numeric"
    reasons = {Medium.ROW: [Reason(2, beside), Reason(min(_MOST_FOR_NUMBERS, numbers), number_clause)]}
    if text is not None:
        beside_text = Reason(-numbers, "an example also has numeric columns")
        reasons[Medium.TEXT] = [Reason(text.weight, text.evidence), beside_text]
    if groups is not None:
        reasons[Medium.SEQUENCE] = [Reason(groups.candidate.weight + 2, groups.candidate.evidence)]
    candidates = families().values()
    return [
        weigh(family.name, medium_reasons)
        for medium, medium_reasons in reasons.items()
        for family in candidates
        if family.medium is medium
    ]


def _settle_files(
    family: Family, observations: Observations, files: ExampleFiles, findings: Findings, *, is_served: bool
) -> None:
    if not files.source.is_table:
        for key in ("train_table", "labels_table"):
            findings.settle(key, "", f"the labels come from {files.source.labels_from}, not from a table")
    describe_files(files, findings, is_served=is_served)
    if family.medium is Medium.AUDIO:
        settle_audio(observations, files, findings)
        return
    predicts_masks, predicts_images = TargetKind.MASK in family.targets, TargetKind.IMAGE in family.targets
    if predicts_masks:
        settle_masks(observations, findings)
    elif predicts_images:
        settle_target_images(observations, findings)
    settle_images(observations, files, findings)
    if not predicts_masks and not predicts_images:
        settle_channels(files, findings)
        settle_owners(files, observations.tables.train, findings)
    settle_encoding(files, observations.target_images if predicts_images else None, findings)


def _settle_label_cells(observations: Observations, findings: Findings) -> None:
    """Settles how labels are written: one in a cell, several in a cell, or several rows for an example."""
    separator, labels = (
        "" if observations.labels.is_run_length else observations.labels.separator,
        observations.targets.row_labels,
    )
    lists = f'cells are lists, separated by "{separator}"' if separator else "a cell is one label"
    rows = "a row of the training table is an example"
    if labels:
        separator, lists = ",", "the labels of an example become one cell"
        rows = f"training rows are <id>_<label>, with {len(labels)} labels per id, as in the sample submission"
    findings.settle("label_separator", separator, lists)
    findings.settle("label_rows", bool(labels), rows)
