"""What `generate` says of files that do not fit one another, and of decisions that do not fit the files."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from image_layouts import write_images
from miniature import Outcome, write_tree
from notebook_cells import executed_alone
from written_submissions import table_task

from generator.competition.facts import TargetKind
from generator.text import Value

Generate = Callable[..., Outcome]

KINDS = ("cat", "dog", "owl")


def rows(header: str, numbers: range, *columns: Callable[[int], object]) -> str:
    """A csv of numbered rows with some columns."""
    lines = (",".join(str(each) for each in (number, *(column(number) for column in columns))) for number in numbers)
    return "\n".join([header, *lines, ""])


PETS = {
    "train.csv": rows("id,age,size,kind", range(60), lambda n: n % 9, lambda n: n / 3, lambda n: KINDS[n % 3]),
    "test.csv": rows("id,age,size", range(60, 90), lambda n: n % 9, lambda n: n / 3),
    "sample_submission.csv": rows("id,kind", range(60, 90), lambda _: "cat"),
}


@pytest.fixture
def generate(tandem: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generate:
    """`generate` for a competition of some files, in an empty workspace."""
    (tmp_path / "workspace").mkdir()
    monkeypatch.chdir(tmp_path / "workspace")

    def run(files: Mapping[str, str], *arguments: str) -> Outcome:
        data = write_tree(tmp_path / "downloads" / "pets", files)
        return tandem("generate", "--competition", "pets", "--data", data, *arguments)

    return run


@pytest.mark.parametrize(
    ("files", "argument", "says"),
    [
        (PETS, "--submission=label_set", '--submission cannot be "label_set"'),
        (PETS, "-P=PRECISION=fp16", "PRECISION must be one of auto, float32, mixed_bfloat16, mixed_float16"),
    ],
)
def test_a_decision_that_the_files_contradict_is_one_sentence_and_nothing_is_written(
    generate: Generate, files: Mapping[str, str], argument: str, says: str
) -> None:
    outcome = generate(files, *argument.split("=", 1))

    assert (outcome.code, outcome.err.count("\n")) == (1, 1), outcome.err
    assert re.search(says, outcome.err)
    assert list(Path().iterdir()) == []


@pytest.mark.slow
def test_a_byte_order_mark_before_the_choices_is_passed_by(generate: Generate) -> None:
    generate(PETS)
    choices = Path("kernels", "pets", "pair.toml")
    choices.write_text(choices.read_text(), encoding="utf-8-sig")

    outcome = generate(PETS)

    assert outcome.code == 0, outcome.err


@pytest.mark.slow
def test_files_of_an_example_that_are_not_read_are_named(generate: Generate, tmp_path: Path) -> None:
    slices = {part: range(first, last) for part, first, last in (("train", 0, 40), ("test", 40, 60))}
    names = [f"{part}/scan{number:03}.{at}.png" for part, some in slices.items() for number in some for at in range(3)]
    write_images(tmp_path / "downloads/pets", names)
    tables = {
        "train.csv": "\n".join(["id,kind", *(f"scan{number:03},{KINDS[number % 3]}" for number in range(40)), ""]),
        "sample_submission.csv": "\n".join(["id,kind", *(f"scan{number:03},cat" for number in range(40, 60)), ""]),
    }

    outcome = generate(tables)

    said = "In train the notebooks read only the file <id>.0.png of each example, and not <id>.1.png, <id>.2.png"
    assert outcome.code == 0
    assert said in " ".join(outcome.err.split())
    assert said not in generate(tables, "--set", "image_suffix=.1.png").err


@pytest.mark.slow
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("details", [{}, {"keep_null_words": True}])
def test_rows_that_end_in_a_separator_do_not_shift_the_columns(
    generate: Generate, separator: str, details: dict[str, Value], tmp_path: Path
) -> None:
    files = {}
    for name in ("train.csv", "test.csv"):
        header, *lines = PETS[name].replace(",", separator).splitlines()
        files[name] = "\n".join((header, *(line + separator for line in lines), ""))

    outcome = generate({**PETS, **files})

    assert outcome.code == 0
    assert "train.csv has a separator at the end of its rows, which was left out" in outcome.out + outcome.err
    assert "more cells than its header" not in outcome.out
    task = table_task(TargetKind.CLASS, **details, separator=separator, trailing_separator=True)
    read_table = executed_alone(["read-table"], task, "train", SEPARATOR=separator).read_table
    table = read_table(tmp_path / "downloads" / "pets" / "train.csv", ["id"])
    assert table.columns.tolist() == ["id", "age", "size", "kind"]
    assert table.iloc[4].tolist() == ["4", 4, pytest.approx(4 / 3), KINDS[1]]
