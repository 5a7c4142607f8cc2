"""The properties of a task that decide which cells of the templates a pair of notebooks has."""

from dataclasses import dataclass

from generator.competition import metrics
from generator.competition.facts import (
    Medium,
    SubmissionKind,
    TargetKind,
    Task,
    Value,
    are_large_photographs,
    are_photographs,
)
from generator.competition.schema import families, keys_of, values_of
from generator.pair.file_formats import TaskFiles
from generator.pair.workspace import Role

_USUAL_TOP_K = 5
_MOST_CLASSES_SHOWN = 20
_BINARY = 2
_PICTURES = (TargetKind.MASK, TargetKind.IMAGE)
_PREDICTED = {
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
        return metrics.parsed(self.task.metric)[0]

    @property
    def metric_parameter(self) -> float | None:
        """The number in a metric's name, such as 5 in "map@5"."""
        return metrics.parsed(self.task.metric)[1]

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
        named = "" if details.get("mask_rows") in ("id", "column") else details.get("image_column", "")
        named = str(named or details.get("audio_column", ""))
        return "" if named == self.task.id_column else named

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
        facts, parameter = metrics.parsed(self.task.metric)
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
        predicted = _PREDICTED[self.task.target_kind]
        return f"{predicted}: predict {', '.join(self.task.targets)} for each {self.task.id_column}"

    @property
    def task_values(self) -> dict[str, Value]:
        """Every key of the task."""
        return values_of(self.task, keys_of(self.family))

    def task_values_for(self, role: Role) -> dict[str, Value]:
        """The keys of the task whose scope has a notebook, for its templates."""
        keys = {key: rule for key, rule in keys_of(self.family).items() if rule.scope in ("", role)}
        return values_of(self.task, keys)
