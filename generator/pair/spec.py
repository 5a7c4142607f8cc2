"""The specification of a pair: everything that its templates are told."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from generator.accelerators import Accelerator, AcceleratorKind, Service, Status, catalog
from generator.competition import builtin, metrics
from generator.competition.facts import (
    Competition,
    Medium,
    SubmissionKind,
    TargetKind,
    Task,
    are_large_photographs,
    are_photographs,
)
from generator.competition.schema import (
    Preset,
    Setting,
    converters_of,
    families,
    frameworks,
    is_handle,
    keys_of,
    preset_of,
    presets_of,
    task_of,
    values_of,
)
from generator.competition.tables import TableFormat, table_format
from generator.errors import PairError, did_you_mean
from generator.pair.blend import FRAMEWORK, METHODS, Member, parse_members
from generator.pair.settings import PLACEHOLDER_OWNER, Settings
from generator.pair.workspace import KernelName, Role, dataset_beside, kernel_name
from generator.text import Value, printable

# Pretrained models of texts: which of them a framework reads, and what suits their fine-tuning.


def model_kinds(framework: str) -> Sequence[str]:
    """Return what a framework reads pretrained models of texts from, such as "keras"; nothing of an unknown one."""
    declaration = frameworks().get(framework)
    return declaration.models if declaration else ()


def suggested_models(family: str, framework: str) -> Mapping[str, Preset]:
    """Return the suggested models of a family that a framework reads, by short name."""
    kinds = model_kinds(framework)
    return {name: preset for name, preset in presets_of(family).items() if preset.kind in kinds}


def with_preset_budget(task: Task, decisions: Mapping[str, Value]) -> Task:
    """Return the task with the batch size and the epochs that suit the pretrained model, if one is named."""
    preset = preset_of(task.family, str(decisions.get("pretrained", "")))
    if preset is None:
        return task
    values = {**task.details, **decisions}
    batch_size, length, epochs = (int(str(values[key])) for key in ("batch_size", "sequence_length", "epochs"))
    fitting = {"batch_size": preset.batch_size(batch_size, length), "epochs": preset.epochs(epochs)}
    return replace(task, details={**task.details, **fitting})


# What a competition asks for that the templates cannot do.


def template_limits(task: Task, *, is_served: bool) -> Iterator[str]:
    """Yield warnings of what a competition, or the name of its submission, wants that the templates cannot do."""
    lookup = task.details.get("lookup_table")
    if is_served and lookup:
        yield (
            "This competition serves its test data through an inference server (kaggle_evaluation), but the "
            f"inference notebook only predicts the rows of {printable(str(lookup))}. Train with this "
            "pair, and write the server's predict() by hand."
        )
    name, file_format = task.submission_file, table_format(task.submission_file)
    is_binary_archive = file_format.format is TableFormat.PARQUET and file_format.compression
    is_json = file_format.format in (TableFormat.JSON, TableFormat.JSON_LINES)
    if file_format.format is None or is_binary_archive or (is_json and file_format.compression == ".zip"):
        yield (
            f"The submission must have the name {printable(name)}, but the inference notebook can only write CSV, JSON "
            "and "
            "Parquet. Change its last cells by hand. If the competition accepts another file, set it with --file-name."
        )
    elif is_json and table_format(task.sample_submission).format is not file_format.format:
        yield (
            f"{printable(name)} will have one JSON object per row, with the names of the sample's columns. Compare it "
            "with the example on the evaluation page."
        )


# The formats of a task's tables and submission, which decide what reads and writes them.


@dataclass(frozen=True)
class TaskFiles:
    """The formats of a task's files, by what their names promise and its values say.

    Attributes:
        task: The task.
        values: Every key of the task.
    """

    task: Task
    values: Mapping[str, Value]

    @property
    def table_formats(self) -> tuple[str, ...]:
        """The formats of the tables, by what their names promise: "csv", "json", "parquet"."""
        tables = filter(None, (self.task.train_table, self.task.labels_table, self.task.test_table))
        return tuple(sorted({_format_of_table(name) for name in tables})) or ("csv",)

    @property
    def table_reader(self) -> str:
        """The format of all tables, or "several" where they differ."""
        return self.table_formats[0] if len(self.table_formats) == 1 else "several"

    @property
    def may_have_lists(self) -> bool:
        """True if a cell of the tables may be a list, which has no hash."""
        return self.table_formats != ("csv",) or bool(self.values.get("pixel_lists"))

    @property
    def sample_format(self) -> str:
        """The format of the sample submission: "csv", "json", "json lines" or "parquet"; "" if there is none."""
        if not self.task.sample_submission:
            return ""
        is_lines = table_format(self.task.sample_submission).format is TableFormat.JSON_LINES
        return "json lines" if is_lines else _format_of_table(self.task.sample_submission)

    @property
    def has_sample_like_tables(self) -> bool:
        """True if what reads the tables reads the sample submission as well, since both are csv of one kind."""
        is_csv = self.sample_format == "csv" and "csv" in self.table_formats
        return is_csv and self.sample_separator == self.values["separator"]

    @property
    def has_sample_of_its_own(self) -> bool:
        """True if the sample submission is csv, but of another kind than the tables."""
        return self.sample_format == "csv" and not self.has_sample_like_tables

    @property
    def keeps_sample_text(self) -> bool:
        """True if cells or names of a sample in csv have to be repeated as they stand there."""
        is_nameless = bool(self.values["has_sample_ids"]) and self.task.id_column.startswith("Unnamed: ")
        is_repeated = is_nameless or bool(self.values["context_columns"])
        return self.sample_format == "csv" and not self.has_typed_submission and is_repeated

    @property
    def has_packed_tables(self) -> bool:
        """True if a table, or the sample submission, is a member of a zip archive."""
        task = self.task
        tables = (task.train_table, task.labels_table, task.test_table, task.sample_submission)
        return any(".zip/" in name for name in tables)

    @property
    def has_json_lines(self) -> bool:
        """True if the name of the training table promises an object on each line."""
        return table_format(self.task.train_table).format is TableFormat.JSON_LINES

    @property
    def has_plain_csv(self) -> bool:
        """True if pandas reads the tables, where they are csv, without being told how they are written."""
        values = self.values
        is_usual = (values["separator"], values["encoding"], values["decimal"]) == (",", "utf-8", ".")
        is_marked = values["keep_null_words"] or values["trailing_separator"]
        return is_usual and not self.has_packed_tables and not is_marked

    @property
    def submission_separator(self) -> str:
        """The separator of the submission's cells, where it is a text: what its name says, else the task."""
        separator = table_format(self.task.submission_file).separator
        return separator or str(self.values["submission_separator"])

    @property
    def sample_separator(self) -> str:
        """The separator of the sample submission's cells, where it is a text: the tables may have another."""
        separator = table_format(self.task.sample_submission).separator
        return separator or str(self.values["submission_separator"])

    @property
    def submission_writer(self) -> str:
        """The file of the cells that write the submission, by what its name promises."""
        file_format = table_format(self.task.submission_file)
        if file_format.format is TableFormat.PARQUET:
            return "parquet"
        if file_format.format in (TableFormat.JSON, TableFormat.JSON_LINES):
            return "json"
        if file_format.compression == ".zip":
            return "zip"
        return "separated" if file_format.compression or self.submission_separator != "," else "csv"

    @property
    def has_typed_sample(self) -> bool:
        """True if the sample submission says itself which of its columns are numbers."""
        return self.sample_format not in ("", "csv")

    @property
    def has_typed_submission(self) -> bool:
        """True if the submission's format knows numbers from text."""
        return self.submission_writer in ("json", "parquet")

    @property
    def writes_json_lines(self) -> bool:
        """True if the submission has an object on each line."""
        return table_format(self.task.submission_file).format is TableFormat.JSON_LINES


def _format_of_table(name: str) -> str:
    declared_format = table_format(name).format
    if declared_format is TableFormat.PARQUET:
        return "parquet"
    return "json" if declared_format in (TableFormat.JSON, TableFormat.JSON_LINES) else "csv"


# The properties of a task that decide which cells of the templates a pair of notebooks has.


_USUAL_TOP_K = 5
_MOST_CLASSES_SHOWN = 20
_BINARY = 2
_PICTURES = (TargetKind.MASK, TargetKind.IMAGE)
_TASK_NAMES = {
    TargetKind.CLASS: "classification",
    TargetKind.LABELS: "multi-label classification",
    TargetKind.NUMBER: "regression",
    TargetKind.MASK: "segmentation",
    TargetKind.IMAGE: "image to image",
}


@dataclass(frozen=True)
class TaskProperties:
    """The questions of templates on a task; each has its answer from the task alone.

    Attributes:
        task: The task, with the evidence for it.
    """

    task: Task

    @property
    def family(self) -> str:
        """The kind of task, which has its own templates."""
        return self.task.family

    @property
    def metric(self) -> metrics.MetricFacts:
        """The facts of the metric, whose name is that of the file of its cell: "map_at_k" for "map@5"."""
        return metrics.parse_metric(self.task.metric)[0]

    @property
    def metric_parameter(self) -> float | None:
        """The number in a metric's name, such as 5 in "map@5"."""
        return metrics.parse_metric(self.task.metric)[1]

    @property
    def decision(self) -> str:
        """The way from predictions to what the metric wants, which names a file of cells."""
        decision = metrics.decision_of(self.task.metric, self.task.target_kind, self.task.submission)
        return "argmax" if decision == "threshold" and self.class_count > _BINARY else decision

    @property
    def class_count(self) -> int:
        """The number of classes, 0 if that is not known."""
        return int(str(self.task.details.get("class_count", 0)))

    @property
    def has_several_images(self) -> bool:
        """True if an id of the submission has several images."""
        return bool(self.task.details.get("has_several_images"))

    @property
    def training_id(self) -> str:
        """The column that names a training example: the id's, or the images' where an id has several."""
        return str(self.task.details["image_column"]) if self.has_several_images else self.task.id_column

    @property
    def has_images_in_test_table(self) -> bool:
        """True if the test table says which image an id has, or, without a sample submission, which ids there are."""
        names_images = self.task.details.get("image_column") not in (None, "", self.task.id_column)
        return bool(self.task.test_table) and (names_images or not self.task.sample_submission)

    @property
    def reads_test_table(self) -> bool:
        """True if inference needs the test table: images are found by the ids of the sample submission alone."""
        is_of_image = self.task.target_kind not in _PICTURES
        has_files = self.has_test_files and is_of_image and "audio_column" not in self.task.details
        is_needed = not has_files or self.has_several_images or self.has_images_in_test_table
        return bool(self.task.test_table) and is_needed

    @property
    def reads_sample_alone(self) -> bool:
        """True if the sample submission, a plain csv, is the only table that inference reads."""
        is_needed = self.reads_test_table or self.looks_up or self.is_served or not self.has_test_files
        is_plain = self.files.has_plain_csv and self.files.has_sample_like_tables and bool(self.task.sample_submission)
        of_images = "audio_column" not in self.task.details
        return is_plain and of_images and not is_needed and self.task.target_kind not in _PICTURES

    @property
    def reads_training_table_alone(self) -> bool:
        """True if the training table, a plain csv, is the only table that training reads, and inference reads none."""
        is_plain = not self.task.details.get("formatted_columns")
        return self.reads_sample_alone and self.files.table_reader == "csv" and not self.task.labels_table and is_plain

    @property
    def has_channel_files(self) -> bool:
        """True if the channels of an image are files of their own."""
        return bool(self.task.details.get("channel_suffixes"))

    @property
    def has_test_files(self) -> bool:
        """True if a test example is a file or several, and no row of a table."""
        return "test_folder" in self.task.details and self.task.details.get("labels_from") != "pixels"

    @property
    def has_parts_in_ids(self) -> bool:
        """True if an id may say which part of a file is meant: some seconds, a label, a class."""
        details = self.task.details
        return self.has_rows_for_labels or bool(details.get("part_seconds")) or details.get("mask_rows") == "id"

    @property
    def is_served(self) -> bool:
        """True if an inference server hands out the test examples."""
        return bool(self.task.details.get("inference_server"))

    @property
    def reads_served_tables(self) -> bool:
        """True if a served notebook of files reads a table as training does: the sample submission."""
        return (
            self.files.has_sample_like_tables
            or self.files.has_packed_tables
            or self.task.details.get("mask_rows") == "column"
        )

    @property
    def file_column(self) -> str:
        """The column that names the files of examples, "" where that is the one of the ids."""
        details = self.task.details
        column = "" if details.get("mask_rows") in ("id", "column") else details.get("image_column", "")
        column = str(column or details.get("audio_column", ""))
        return "" if column == self.task.id_column else column

    @property
    def looks_up(self) -> bool:
        """True if a table says what each row of the submission asks for."""
        return bool(self.task.details.get("lookup_table"))

    @property
    def may_lack_targets(self) -> bool:
        """True if examples without labels are left out: a sequence stays whole, those to predict went before."""
        return not self.predicts_steps and self.task.test_table != self.task.train_table

    @property
    def has_backbone(self) -> bool:
        """True if the images are photographs, which a backbone of ImageNet suits: in colour, and large enough."""
        details = self.task.details
        return are_photographs(details.get("channels"), details.get("image_size"), self.task.target_kind)

    @property
    def has_large_photographs(self) -> bool:
        """True if the photographs are large enough for EfficientNetV2-S."""
        return self.has_backbone and are_large_photographs(self.task.details.get("image_size"))

    @property
    def has_crops(self) -> bool:
        """True if training crops images, and may mix them, as suits photographs."""
        return self.has_backbone or self.has_colours

    @property
    def has_colours(self) -> bool:
        """True if training changes colours, and does whatever else there is."""
        return self.task.details.get("augmentation") == "all"

    @property
    def has_turns(self) -> bool:
        """True if training turns and moves images, as suits small ones."""
        return not self.has_backbone or self.has_colours

    @property
    def has_mirrored_views(self) -> bool:
        """True if an image may be mirrored, so that its mirror image is a second view of it."""
        return bool(self.task.details.get("flip")) and not self.has_fixed_places

    @property
    def has_fixed_places(self) -> bool:
        """True if the targets are places in an image, which may not be moved then."""
        return bool(self.task.details.get("has_fixed_places"))

    @property
    def loss(self) -> str:
        """The loss that training makes small, which names a file of cells."""
        kind, loss = self.task.target_kind, metrics.loss_of(self.task.metric, self.task.target_kind)
        if kind is TargetKind.LABELS:
            return "binary_cross_entropy"
        if kind is TargetKind.IMAGE:
            return f"image_{loss}"
        return "squared_error" if loss == "squared_log_error" else loss  # the logarithm is taken of the target

    @property
    def has_tuned_decision(self) -> bool:
        """True if the decision has something to tune out-of-fold, such as a threshold."""
        return self.decision not in ("none", "argmax")

    @property
    def checks_images(self) -> bool:
        """True if every image is decoded before it is used; records that all have one common encoding are not."""
        source, encoding = (self.task.details.get(name) for name in ("labels_from", "image_encoding"))
        return source != "pixels" and (source != "records" or encoding == "any")

    @property
    def has_target_encoding(self) -> bool:
        """True if categories are described by the mean target of their rows, where that cannot leak between groups."""
        is_one = self.task.target_kind in (TargetKind.CLASS, TargetKind.NUMBER) and len(self.task.targets) == 1
        details = self.task.details
        return is_one and bool(details.get("has_categories", True)) and not details.get("group_column")

    @property
    def has_label_lists(self) -> bool:
        """True if a cell of the training table lists the labels of an example."""
        return self.task.target_kind is TargetKind.LABELS and len(self.task.targets) == 1

    @property
    def can_fill_unseen(self) -> bool:
        """True if the submission has a probability for each class or label, so that one without examples gets one."""
        kinds = (SubmissionKind.NUMBERS, SubmissionKind.KEYED_ROWS)
        is_list = self.has_label_lists and self.task.submission in kinds and not self.is_served
        return is_list or self.task.submission is SubmissionKind.CLASS_COLUMNS

    @property
    def has_many_classes(self) -> bool:
        """True if there are more classes than a confusion matrix can show."""
        return self.class_count > _MOST_CLASSES_SHOWN

    @property
    def reads_targets(self) -> bool:
        """True if inference needs to know what the targets are called to find out what is asked for."""
        has_endings = self.has_rows_for_labels and len(self.task.targets) > 1 and not self.is_served
        return not self.task.sample_submission or has_endings

    @property
    def submits_decided(self) -> bool:
        """True if the submission has what was decided, rather than the predictions behind it."""
        kinds = (SubmissionKind.PROBABILITY, SubmissionKind.CLASS_COLUMNS, SubmissionKind.TOP_K)
        return self.decision != "none" and self.task.submission not in kinds

    @property
    def predicts_steps(self) -> bool:
        """True if an example is a sequence whose rows all have a prediction: what fills it up must not count."""
        return self.task.details.get("prediction_per") == "row"

    @property
    def quantile(self) -> float:
        """The quantile that the pinball loss aims at; the median where the metric names none."""
        facts, parameter = metrics.parse_metric(self.task.metric)
        return parameter if facts.loss == "pinball" and parameter is not None else 0.5

    @property
    def has_members(self) -> bool:
        """True if a model is an ensemble of several members, whose predictions are averaged."""
        medium = families()[self.family].medium
        return medium is Medium.ROW or (medium is Medium.TEXT and not self.task.details.get("pretrained"))

    @property
    def has_text_numbers(self) -> bool:
        """True if there are numbers beside a text: columns of the tables, or counts of the text."""
        return bool(self.task.details.get("number_columns") or self.task.details.get("text_counts"))

    @property
    def streams_files(self) -> bool:
        """True if examples are read by the stream of a framework, rather than from a table in memory."""
        return families()[self.family].medium.is_files

    @property
    def has_table_rows(self) -> bool:
        """True if training keeps the positions of its rows, by which they are told apart where ids may repeat."""
        is_sequence = families()[self.family].medium is Medium.SEQUENCE
        is_of_rows = not is_sequence and self.task.target_kind not in _PICTURES
        may_repeat = bool(self.task.details.get("group_column") or self.task.details.get("time_column"))
        return bool(self.task.train_table) and is_of_rows and may_repeat

    @property
    def has_log_target(self) -> bool:
        """True if the metric compares logarithms, so that training should as well."""
        return metrics.loss_of(self.task.metric, self.task.target_kind) == "squared_log_error"

    @property
    def has_rows_for_labels(self) -> bool:
        """True if a row of the submission is one label, or one number, of an example, which its id ends in."""
        is_pixel = self.task.target_kind is TargetKind.IMAGE
        return self.task.submission is SubmissionKind.KEYED_ROWS and not is_pixel

    @property
    def top_k(self) -> int:
        """The number of labels that a row of the submission lists."""
        return int(self.metric_parameter or _USUAL_TOP_K)

    @property
    def files(self) -> TaskFiles:
        """The formats of the tables and of the submission."""
        return TaskFiles(self.task, self.task_values)

    @property
    def task_sentence(self) -> str:
        """A sentence on what is predicted, for the table at the top of the notebooks; untrusted text."""
        task_name = _TASK_NAMES[self.task.target_kind]
        return f"{task_name}: predict {', '.join(self.task.targets)} for each {self.task.id_column}"

    @property
    def task_values(self) -> dict[str, Value]:
        """Every key of the task."""
        return values_of(self.task, self.task_keys)

    @property
    def task_keys(self) -> Mapping[str, Setting]:
        """What each of these keys can be."""
        return keys_of(self.family)


@dataclass(frozen=True)
class PairSpec(TaskProperties):
    """Everything that the templates need to know of a pair, the properties of its task among it.

    Attributes:
        pair_id: What both notebooks must agree on: the competition, the framework, and a digest of the rest.
        framework: What the notebooks are written in.
        train: The training kernel's name.
        infer: The inference kernel's name.
        competition: The competition.
        accelerator: The kind of device that training runs on, as the parameter ACCELERATOR says.
        platform: Who lends it.
        continues: Whether the training kernel has its own last output attached, to go on from there.
        members: Those of a blend.
        methods: The methods that a blend chooses from; all that suit it if empty.
    """

    pair_id: str
    framework: str
    train: KernelName
    infer: KernelName
    competition: Competition
    accelerator: AcceleratorKind
    platform: Service = Service.KAGGLE
    continues: bool = False
    members: tuple[Member, ...] = ()
    methods: tuple[str, ...] = ()

    @property
    def task_keys(self) -> Mapping[str, Setting]:
        """What each key of the task can be that notebooks in its framework use."""
        return keys_of(self.family, self.framework)

    def task_values_for(self, role: Role) -> dict[str, Value]:
        """The keys of the task whose scope has a notebook, for its templates."""
        return values_of(self.task, {key: rule for key, rule in self.task_keys.items() if rule.scope in ("", role)})

    @property
    def is_built_in(self) -> bool:
        """True if the competition is one of the kit's own, which Kaggle does not have."""
        return builtin.find(self.competition.slug) is not None

    @property
    def inference_backend(self) -> str:
        """The framework that inference computes with: the pair's own, unless the user said otherwise."""
        return str(self.task_values.get("inference_backend") or self.framework)

    @property
    def platform_name(self) -> str:
        """The platform, as people write it."""
        return self.platform.capitalize()

    def accelerator_of(self, role: Role) -> Accelerator:
        """What one of the notebooks asks its platform for."""
        return self.training_accelerator if role is Role.TRAIN else self.inference_accelerator

    @property
    def training_accelerator(self) -> Accelerator:
        """What the training notebook asks its platform for."""
        accelerator_catalog = catalog()
        offers = (
            accelerator_catalog.training,
            *(candidate for candidate in accelerator_catalog.all_accelerators if candidate.status is Status.OFFERED),
        )
        return next(
            candidate
            for candidate in offers
            if (candidate.kind, candidate.service) == (self.accelerator, self.platform)
        )

    @property
    def inference_accelerator(self) -> Accelerator:
        """What the inference notebook asks Kaggle for."""
        backends = {member.framework for member in self.kernel_members} or {self.inference_backend}
        infers_on_cpu = all(
            backend in frameworks() and frameworks()[backend].inference == AcceleratorKind.CPU for backend in backends
        )
        return catalog().accelerators[""] if infers_on_cpu else catalog().inference

    @property
    def kernel_members(self) -> list[Member]:
        """The members of a blend that are pairs; in `members` they come first."""
        return [member for member in self.members if not member.dataset]

    @property
    def member_datasets(self) -> list[str]:
        """The dataset of each member of a blend that is files."""
        return [member.dataset for member in self.members if member.dataset]

    @property
    def is_ranked(self) -> bool:
        """True if the metric compares the order of predictions only, so that a blend may average their ranks."""
        return self.metric.name.startswith(("auc", "gini"))

    @property
    def blend_methods(self) -> list[str]:
        """The methods that a blend chooses from: those of the user, or all that suit the metric."""
        return list(self.methods) or [name for name in METHODS if name != "rank" or self.is_ranked]

    @property
    def blend_space(self) -> str:
        """The scale on which a blend averages predictions."""
        if self.task.target_kind is TargetKind.NUMBER:
            return "log" if self.has_log_target else "number"
        return "classes" if self.task.target_kind is TargetKind.CLASS else "labels"

    @property
    def has_owner(self) -> bool:
        """True if the kernels are rendered for a user of Kaggle."""
        return self.train.ref.partition("/")[0] != PLACEHOLDER_OWNER

    @property
    def handover_dataset(self) -> str:
        """The dataset of Kaggle that carries the hand-over of a training that ran elsewhere; "" where it runs there."""
        return "" if self.platform is Service.KAGGLE else dataset_beside(self.train.ref, "-handover")

    @property
    def results(self) -> str:
        """The folder that results are copied to where a runtime keeps nothing."""
        return f"/content/drive/MyDrive/{self.train.slug}"

    @property
    def handover_mounts(self) -> list[str]:
        """Where that dataset is mounted, as of 2026 and in older sessions."""
        ref = self.handover_dataset
        return [f"datasets/{ref}", ref.partition("/")[2]] if ref else []

    @property
    def session_hours(self) -> float:
        """The hours that the platform lets the training notebook run."""
        return float(self.training_accelerator.session_hours)

    @property
    def inference_hours(self) -> float:
        """The hours that the inference notebook may run: the competition's limit, else that of a session."""
        session = float(self.inference_accelerator.session_hours)
        return min(session, float(self.competition.inference_hours or session))

    @property
    def preset(self) -> Preset | None:
        """The pretrained model of texts to start from; None if the user named none."""
        return preset_of(self.family, str(self.task_values.get("pretrained", "")))

    @property
    def handle(self) -> str:
        """The Kaggle Model that notebooks have attached: the pretrained one; "" if the user named none."""
        return self.preset.handle if self.preset else str(self.task_values.get("pretrained", ""))

    def kernel(self, role: Role) -> KernelName:
        """The name of one of the two kernels."""
        return self.train if role is Role.TRAIN else self.infer


def check_spec(spec: PairSpec) -> None:
    """Make sure that the framework can do what the pair asks of it.

    Raises:
        PairError: It cannot start from the pretrained model, or compute inference in the other framework, or train on
            the accelerator, or on several hosts, or use the TPU of the platform.
    """
    _check_model(spec)
    _check_backend(spec)
    all_frameworks = frameworks()
    usable = all_frameworks[spec.framework].accelerators
    if spec.accelerator not in usable:
        raise PairError(
            f"The framework {spec.framework} does not train on a {spec.accelerator.upper()}, only on a "
            f"{' or a '.join(kind.upper() for kind in usable)}. Choose one of them, such as "
            f"-P ACCELERATOR={usable[0]}."
        )
    able = [name for name, framework in all_frameworks.items() if framework.several_hosts]
    if spec.task_values.get("several_hosts") and spec.framework not in able:
        raise PairError(
            f"several_hosts is true, but the framework {spec.framework} trains on one host. Set it to false "
            f"(--set several_hosts=false), or use another framework (--framework {' or '.join(able)})."
        )
    able = [name for name, framework in all_frameworks.items() if spec.platform in framework.tpu]
    if spec.accelerator is AcceleratorKind.TPU and spec.framework not in able:
        raise PairError(
            f"The framework {spec.framework} cannot use the TPU of {spec.platform_name}, because its TPU runtime does "
            f"not have it. Use another one (--framework {' or '.join(able)}), or a GPU (-P ACCELERATOR=gpu)."
        )


def _check_model(spec: PairSpec) -> None:
    """Make sure that the pretrained model can be attached, that the framework reads it, and that images can use it."""
    handle, framework, all_frameworks = spec.handle, spec.framework, frameworks()
    suggestions = suggested_models(spec.family, framework)
    if handle and not is_handle(handle):
        names = f"{', '.join(suggestions)}, or " if suggestions else ""
        raise PairError(
            f'pretrained is "{printable(handle)}", which is not a Kaggle Model. Valid values: {names}'
            "owner/model/framework/variation/version, such as keras/bert/keras/bert_small_en_uncased/3."
            f"{did_you_mean(handle, suggestions)}"
        )
    if spec.preset is not None and spec.preset.kind not in all_frameworks[framework].models:
        readers = [name for name, candidate in all_frameworks.items() if spec.preset.kind in candidate.models]
        readers = readers or [name for name, candidate in all_frameworks.items() if candidate.models]
        advice = f"Omit pretrained, or choose a framework that reads it: {', '.join(readers)}."
        if suggestions:
            advice = f"It reads {', '.join(suggestions)}, and other Kaggle Models for the same library."
        raise PairError(
            f'pretrained is "{printable(handle)}", which the framework "{framework}" does not read. {advice}'
        )
    if handle and "image_size" in spec.task.details and not spec.has_backbone:
        raise PairError(
            f'pretrained is "{printable(handle)}", but these images are trained from scratch. Only photographs '
            "have a backbone. Set channels = 3 and image_size = 96 or more as well, or omit pretrained."
        )


def _check_backend(spec: PairSpec) -> None:
    """Make sure that inference can load the weights of the framework into another's model of the family.

    That weights can be converted is said by a template `frameworks/<framework>/<backend>.py.j2`.
    """
    framework, backend = spec.framework, spec.inference_backend
    converters = set(converters_of(framework)) if backend != framework else set()
    able = [framework, *sorted(converters & set(families()[spec.family].frameworks))]
    if backend not in able:
        raise PairError(
            f'INFERENCE_BACKEND is "{printable(backend)}", but a model of the family {printable(spec.family)} trained '
            "in "
            f"{framework} can only be loaded with {' or '.join(able)}.{did_you_mean(backend, able)}"
        )


def spec_of(settings: Settings) -> PairSpec:
    """Make the specification of a pair from its complete settings.

    Raises:
        KeyError: They are not complete, see `Settings.complete`.
        PairError: There is no such accelerator, or no such platform.
    """
    pair_values: dict[str, Any] = {key: entry.value for key, entry in settings.pair.items()}
    competition = Competition(
        slug=pair_values["competition"],
        title=pair_values["title"],
        is_code_competition=pair_values["code_competition"],
        inference_hours=pair_values.get("inference_hours"),
        internet=pair_values.get("internet"),
    )
    keys = keys_of(settings.family, settings.framework)
    values: dict[str, Any] = {
        key: settings.task[key].value if key in settings.task or rule.default is None else rule.default
        for key, rule in keys.items()
    }
    evidence = {key: entry.evidence for key, entry in settings.task.items() if entry.evidence}
    evidence["family"] = settings.pair["family"].evidence
    identity = {
        **{key: pair_values[key] for key in ("competition", "family", "framework")},
        **{key: values[key] for key, rule in keys.items() if not rule.scope},
    }
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]
    return PairSpec(
        pair_id=f"{pair_values['competition']}-{settings.framework}-{digest}",
        framework=settings.framework,
        train=kernel_name(pair_values, Role.TRAIN),
        infer=kernel_name(pair_values, Role.INFER),
        competition=competition,
        task=task_of(settings.family, values, evidence),
        accelerator=_accelerator(settings),
        platform=_platform(str(pair_values.get("platform", Service.KAGGLE))),
        continues=pair_values.get("continues") is True,
        members=parse_members(pair_values.get("members", ())) if settings.framework == FRAMEWORK else (),
        methods=tuple(pair_values.get("blend_methods", ())),
    )


def _accelerator(settings: Settings) -> AcceleratorKind:
    if "ACCELERATOR" not in settings.parameters:
        return AcceleratorKind(frameworks()[settings.framework].accelerators[0])
    value = str(settings.parameters["ACCELERATOR"].value)
    if value not in list(AcceleratorKind):
        names = ", ".join(f'"{kind}"' for kind in AcceleratorKind)
        nearest = did_you_mean(value, AcceleratorKind)
        raise PairError(f'ACCELERATOR is "{printable(value)}", and notebooks know {names}.{nearest}')
    return AcceleratorKind(value)


def _platform(name: str) -> Service:
    if name not in (Service.KAGGLE, Service.COLAB):
        platforms = [str(Service.KAGGLE), str(Service.COLAB)]
        nearest = did_you_mean(name, platforms)
        raise PairError(f'The platform is "{printable(name)}", but it must be {" or ".join(platforms)}.{nearest}')
    return Service(name)


# The names of backbones that a framework has, as far as they are known without it.


_BACKBONE = "BACKBONE"


def check_backbone(spec: PairSpec, parameters: Mapping[str, Value], defaults: Mapping[str, Value]) -> None:
    """Makes sure that the framework can have the backbone that the user names, if any.

    Args:
        spec: The pair.
        parameters: Those that the user sets.
        defaults: All that there are.

    Raises:
        PairError: It cannot.
    """
    if _BACKBONE not in parameters or _BACKBONE not in defaults:
        return
    name, of_photographs, of_others = str(parameters[_BACKBONE]), *_names_in(spec.framework)
    backbones = of_photographs if spec.has_backbone else of_others
    if not spec.has_backbone and spec.task.target_kind not in (TargetKind.MASK, TargetKind.IMAGE):
        backbones = (*of_others, *of_photographs)  # of sounds
    if not _is_possible(name, backbones):
        raise PairError(
            f'BACKBONE is "{printable(name)}", which the framework {spec.framework} does not have for this pair.'
            f"{_nearest(name, backbones, default=str(defaults[_BACKBONE]))}{_reason(name, spec, of_photographs)}"
        )


def untested_backbone(settings: Settings) -> tuple[str, ...]:
    """Return a sentence on the backbone that the user chose, if it is not tested."""
    if _BACKBONE not in settings.parameters:
        return ()
    name = str(settings.parameters[_BACKBONE].value)
    if not name.startswith(tuple(frameworks()[settings.framework].untested)):
        return ()
    unknown = f"{printable(name)} is not tested: its memory, time and best LEARNING_RATE are unknown"
    return (f"{unknown}. `tandem plan` measures a step.",)


def without_foreign_backbone(settings: Settings, framework: str) -> Settings:
    """Return the settings that a pair keeps in another framework: all but a backbone that this one does not have."""
    of_photographs, of_others = _names_in(framework)
    backbones = (*of_photographs, *of_others)
    backbone = settings.parameters.get(_BACKBONE)
    if backbone is None or _is_possible(str(backbone.value), backbones):
        return settings
    return replace(
        settings, parameters={name: entry for name, entry in settings.parameters.items() if name != _BACKBONE}
    )


def _names_in(framework: str) -> tuple[Collection[str], Collection[str]]:
    declaration = frameworks().get(framework)
    return (declaration.backbones, declaration.encoders) if declaration else ((), ())


def _reason(name: str, spec: PairSpec, of_photographs: Collection[str]) -> str:
    """Why there is no such backbone, as a sentence; nothing where the name is unknown altogether."""
    having = [
        framework.title for framework in frameworks().values() if name in (*framework.backbones, *framework.encoders)
    ]
    if not of_photographs:
        return " It uses the models of timm, whose names are in lower case."
    if name in of_photographs:
        return f" It works only for photographs with classes or numbers. This pair predicts {spec.task.target_kind}s."
    if having and spec.framework not in having:
        return f" This backbone exists only in {' and '.join(having)}."
    return ""


def _nearest(name: str, backbones: Collection[str], *, default: str) -> str:
    """The nearest names, for the end of the message."""
    by_letters = {candidate.lower().replace("_", ""): candidate for candidate in backbones}
    letters = name[:100].lower().replace("_", "").replace("-", "")
    near = [letters] if letters in by_letters else get_close_matches(letters, by_letters, n=3)
    if not near:
        return f' Use another one, such as "{printable(default)}".'
    return " Did you mean {}?".format(" or ".join(f'"{by_letters[candidate]}"' for candidate in near))


def _is_possible(name: str, backbones: Collection[str]) -> bool:
    """True unless the name is known to be wrong: timm, which has many, writes all of its own in lower case."""
    return name in backbones if backbones else name.islower() or bool(set("/:") & set(name))
