"""Every combination of family, framework, target, metric and submission renders to clean notebooks."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from generator.competition.facts import Competition, SubmissionKind, TargetKind, Task
from generator.competition.metrics import METRICS
from generator.competition.schema import families, keys_of
from generator.pair.rendering import render_kernels
from generator.pair.settings import Origin, Settings, SettingValue, propose_settings
from generator.pair.workspace import Role

RULES = Path(__file__).resolve().parents[1] / "kernels" / "ruff.toml"
EXAMPLES = {str: "train", int: 64, float: 1.0, bool: True, list: ["text"]}
SUBMISSIONS = {
    TargetKind.CLASS: (
        *(SubmissionKind.LABEL, SubmissionKind.PROBABILITY, SubmissionKind.CLASS_COLUMNS, SubmissionKind.TOP_K),
    ),
    TargetKind.LABELS: (
        *(SubmissionKind.NUMBERS, SubmissionKind.LABEL_SET, SubmissionKind.TOP_K, SubmissionKind.KEYED_ROWS),
    ),
    TargetKind.NUMBER: (SubmissionKind.NUMBERS, SubmissionKind.LABEL, SubmissionKind.KEYED_ROWS),
    TargetKind.MASK: (SubmissionKind.RUN_LENGTH,),
    TargetKind.IMAGE: (SubmissionKind.KEYED_ROWS,),
}
MASK_ROWS = (  # with the classes of masks, and the column that names them
    ("image", [], ""),
    ("id", ["it's", "1"], ""),
    ("id", ["it's", "1"], "a class"),
    ("column", ["it's", "1"], "a class"),
    ("piece", [], ""),
)
FILES = (  # the sample submission, and the name of the submission
    ("sample_submission.csv", "submission.csv"),
    ("sample_submission.csv", "submission.parquet"),
    ("sample_submission.parquet", "submission.parquet"),
    ("sample_submission.json", "submission.jsonl.gz"),
    ("sample_submission.tsv", "submission.tsv"),
    ("sample_submission.csv", "submission.zip"),
    ("sample_submission.csv", "submission.csv"),
)
IMAGES = (  # where images and their labels are; the last one for numbers only
    {},
    {"labels_from": "pixels"},
    {"labels_from": "pixels", "pixel_lists": ["it's", "band"]},
    {"labels_from": "folders"},
    {"channel_suffixes": ["_red.png", "_green.png", "_blue.png"]},
    {"labels_from": "records"},
    {"has_several_images": True},
    {"lookup_table": "it's.csv", "example_column": "image", "part_column": "target", "has_fixed_places": True},
)
IDS = (  # how test rows get them
    {},
    {"has_test_ids": False, "id_columns": ["it's", "a day"], "id_separator": "'"},
    {"has_test_ids": False, "first_id": 7},
)
OFFERED = families().values()


@dataclass(frozen=True)
class Combination:
    """A combination of what varies; `str` names the test."""

    family: str
    target: TargetKind
    metric: str
    submission: SubmissionKind
    place: int

    def __str__(self) -> str:
        return f"{self.family}-{self.target}-{self.metric}-{self.submission}"

    def choices(self, framework: str) -> Settings:
        """The choices of a pair with strange but possible facts."""
        details = {
            key: EXAMPLES[rule.type] if not rule.options else rule.options[self.place % len(rule.options)]
            for key, rule in keys_of(self.family).items()
            if rule.default is None
        }
        if self.family == "sequence":
            details["group_column"] = "a group"
        if self.family in ("tabular", "sequence", "text"):
            details |= IDS[self.place % len(IDS)]
        if self.target is TargetKind.MASK:
            rows, classes, column = MASK_ROWS[self.place % len(MASK_ROWS)]
            details |= {"mask_rows": rows, "mask_classes": classes, "class_column": column}
        if self.family in ("image_classification", "image_regression"):
            details |= IMAGES[self.place % (len(IMAGES) - (self.target is not TargetKind.NUMBER))]
        if self.place % 2 and not details.get("lookup_table"):
            details["inference_server"] = "it's_inference_server"
        targets = ("it's", 'a "label"') if self.target is not TargetKind.CLASS else ("it's",)
        task = Task(
            *(self.family, self.metric, self.target, self.submission, "the id", targets, "train.csv", ""),
            *("test.csv", FILES[self.place % len(FILES)][0], FILES[self.place % len(FILES)][1]),
            details=details,
        )
        competition = Competition(slug="some-thing", title="Some {{ thing }}", is_code_competition=True)
        owner = SettingValue("ada", Origin.FLAG)
        return propose_settings(competition, task, framework=framework, owner=owner)


def combinations() -> Iterator[Combination]:
    """Every metric of every target that a family has, the submissions taking turns, so that each occurs with each."""
    for family in OFFERED:
        for target in map(TargetKind, family.targets):
            metrics = [name for name, facts in METRICS.items() if target in facts.target_kinds]
            submissions = SUBMISSIONS[target]
            ways = len(MASK_ROWS) if target is TargetKind.MASK else 0
            for place in range(max(len(metrics), len(submissions), ways)):
                metric = METRICS[metrics[place % len(metrics)]]
                spelled = metric.task_name(metric.parameter_default)
                yield Combination(family.name, target, spelled, submissions[place % len(submissions)], place)


def combinations_of(family: str, framework: str) -> Iterator[Combination]:
    """All of them in Keras and TensorFlow; the other frameworks take turns."""
    every = [each for each in combinations() if each.family == family]
    others = [name for name in families()[family].frameworks if name not in ("keras", "tensorflow")]
    for each in every:
        # Three of them a turn, so that a framework has both odd and even places, which have other details.
        if framework not in others or others[each.place // 3 % len(others)] == framework:
            yield each


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "framework"),
    [(family.name, framework) for family in OFFERED for framework in family.frameworks],
)
def test_every_combination_renders_to_notebooks_that_agree_read_well_and_that_a_linter_likes(
    tmp_path: Path, family: str, framework: str
) -> None:
    for combination in combinations_of(family, framework):
        files = render_kernels(combination.choices(framework))
        for path, content in files.items():
            target = tmp_path / f"{combination}-{combination.place}" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        cells = {
            role: {
                cell["id"]: "".join(cell["source"])
                for cell in json.loads(files[Path(role, f"{role}.ipynb")])["cells"]
                if cell["cell_type"] == "code"
            }
            for role in Role
        }
        if framework == "keras":
            own = {"imports", "runtime", "parameters"}
            long = {name for each in cells.values() for name, text in each.items() if text.count("\n") >= 45}
            assert long - own == set(), combination
        of_both = cells[Role.TRAIN].keys() & cells[Role.INFER].keys()
        preparing = {name for name in of_both - {"runtime"} if "def " in cells[Role.TRAIN][name]}
        differing = {name for name in preparing if cells[Role.TRAIN][name] != cells[Role.INFER][name]}
        assert differing <= {"devices"}, combination

    for command in (["check", "--output-format", "concise"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", "--quiet", "--config", str(RULES), str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4_000:]
