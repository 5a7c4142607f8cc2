"""A small competition in a folder, for tests that need one to be there at once."""

from pathlib import Path

HEIGHTS = {f"p{index:02d}": 150 + 2 * index for index in range(12)}


def toy_competition(folder: Path, *, is_code: bool = True, settings: str = "") -> Path:
    """Writes the competition `toy-heights` into a folder: predict a number for 12 people, 4 of whom everybody sees."""
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "train.csv").write_text("id,age,height\n" + "".join(f"t{i},{i},{150 + i}\n" for i in range(8)))
    shown = list(HEIGHTS)[:4] if is_code else list(HEIGHTS)
    _write_test(folder / "data", shown)
    if is_code:
        (folder / "hidden").mkdir()
        _write_test(folder / "hidden", list(HEIGHTS))
    answers = "".join(f"{key},{height}\n" for key, height in HEIGHTS.items())
    (folder / "answers.csv").write_text("id,height\n" + answers)
    (folder / "competition.toml").write_text(
        'slug = "toy-heights"\ntitle = "Toy heights"\nmetric = "mae"\n'
        f"code_competition = {'true' if is_code else 'false'}\n{settings}"
    )
    return folder


def submission_text(*, off_by: float = 0, people: int = 12) -> str:
    """A submission to `toy-heights` whose every height is off by so much: its score."""
    rows = [f"{key},{HEIGHTS[key] + off_by}\n" for key in list(HEIGHTS)[:people]]
    return "id,height\n" + "".join(rows)


def _write_test(folder: Path, people: list[str]) -> None:
    (folder / "test.csv").write_text("id,age\n" + "".join(f"{person},{int(person[1:])}\n" for person in people))
    (folder / "sample_submission.csv").write_text("id,height\n" + "".join(f"{person},150.0\n" for person in people))
