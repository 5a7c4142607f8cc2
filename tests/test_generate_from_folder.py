"""`generate` for a competition that the kit has only the files of."""

import json
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from miniature import Outcome, write_tree

from generator.pair.workspace import Workspace

Tandem = Callable[..., Outcome]

PASSENGERS = "".join(f"{number},{number % 2},{20 + number % 50},{'SCQ'[number % 3]}\n" for number in range(1, 81))
TITANIC = {
    "train.csv": f"PassengerId,Survived,Age,Embarked\n{PASSENGERS}",
    "test.csv": "PassengerId,Age,Embarked\n" + "".join(f"{number},{number % 60},S\n" for number in range(81, 111)),
    "gender_submission.csv": "PassengerId,Survived\n" + "".join(f"{number},0\n" for number in range(81, 111)),
}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The current folder, an empty workspace."""
    (tmp_path / "workspace").mkdir()
    monkeypatch.chdir(tmp_path / "workspace")
    return Workspace(Path())


@pytest.fixture
def titanic(tmp_path: Path) -> Path:
    """A folder with the files of a competition."""
    return write_tree(tmp_path / "downloads" / "titanic", TITANIC)


def task_of(workspace: Workspace, pair: str = "titanic") -> dict[str, object]:
    choices = tomllib.loads(workspace.pair(pair).settings_path.read_text())
    return {key: entry["value"] for key, entry in choices["task"].items()}


def test_a_folder_of_files_becomes_a_pair_and_the_workspace_points_to_it(
    tandem: Tandem, workspace: Workspace, titanic: Path
) -> None:
    outcome = tandem("generate", "--competition", "titanic", "--data", titanic, "--metric", "accuracy")

    assert outcome.code == 0, outcome.err
    task = task_of(workspace)
    assert (task["id_column"], task["targets"], task["submission"]) == ("PassengerId", ["Survived"], "label")
    assert "unique in gender_submission.csv" in outcome.out
    assert outcome.out.splitlines()[-1] == "Next: tandem run titanic"
    assert workspace.competition_data("titanic").resolve() == titanic.resolve()
    assert f"is now a link to {titanic}" in outcome.err
    assert "Warning" not in outcome.err


@pytest.mark.slow
def test_files_in_their_place_need_no_flag(tandem: Tandem, workspace: Workspace) -> None:
    write_tree(workspace.competition_data("titanic"), TITANIC)

    assert tandem("generate", "--competition", "titanic").code == 0
    assert task_of(workspace)["test_table"] == "test.csv"


def test_what_is_hardly_more_than_a_guess_is_said_with_the_flag_that_settles_it(
    tandem: Tandem, workspace: Workspace, titanic: Path
) -> None:
    outcome = tandem("generate", "--competition", "titanic", "--data", titanic)

    assert "Warning: The metric is a guess: accuracy" in outcome.err
    assert "Set it with --metric." in outcome.err


@pytest.mark.slow
def test_a_flag_overrules_is_written_down_and_stays(tandem: Tandem, workspace: Workspace, titanic: Path) -> None:
    tandem("generate", "--competition", "titanic", "--data", titanic, "--metric", "auc", "--set", "epochs=3")
    again = tandem("generate", "--competition", "titanic")

    assert again.code == 0, again.err
    choices = tomllib.loads(workspace.pair("titanic").settings_path.read_text())["task"]
    assert choices["metric"] == {"value": "auc", "by": "flag"}
    assert choices["epochs"] == {"value": 3, "by": "flag"}
    assert "guess" not in again.err


@pytest.mark.slow
def test_a_value_edited_by_hand_is_what_the_rest_is_inferred_from(
    tandem: Tandem, workspace: Workspace, titanic: Path
) -> None:
    tandem("generate", "--competition", "titanic", "--data", titanic)
    choices = workspace.pair("titanic").settings_path
    text = choices.read_text()
    start = text.index("target_kind = ")
    choices.write_text(text[:start] + 'target_kind = "number"\n' + text[text.index("\n", start) + 1 :])

    outcome = tandem("generate", "--competition", "titanic", "--force")

    assert outcome.code == 0, outcome.err
    assert task_of_hand(workspace)["submission"] == "numbers"


def task_of_hand(workspace: Workspace) -> dict[str, object]:
    entries = tomllib.loads(workspace.pair("titanic").settings_path.read_text())["task"]
    return {key: entry["value"] if isinstance(entry, dict) else entry for key, entry in entries.items()}


def test_explain_shows_what_was_weighed(tandem: Tandem, workspace: Workspace, titanic: Path) -> None:
    outcome = tandem("generate", "--competition", "titanic", "--data", titanic, "--explain", "--dry-run")

    rows = [line.split() for line in outcome.out.splitlines()]
    first = next(number for number, row in enumerate(rows) if row[:2] == ["id_column", "PassengerId"])
    assert rows[first + 1][0] in {"Survived", "Age", "Embarked"}
    assert not workspace.pair("titanic").path.exists()
    assert not workspace.competition_data("titanic").exists()


def test_a_separator_that_cannot_be_seen_is_shown_in_quotes(
    tandem: Tandem, workspace: Workspace, tmp_path: Path
) -> None:
    tags = ["haze", "road", "water"]
    rows = [f"{number}\t{number * 7 % 60}\t{tags[number % 3]} {tags[(number + 1) % 3]}" for number in range(60)]
    folder = write_tree(
        tmp_path / "downloads" / "places",
        {
            "train.tsv": "\n".join(["id\tsize\ttags", *rows, ""]),
            "test.tsv": "id\tsize\n" + "".join(f"{number}\t{number % 60}\n" for number in range(60, 90)),
            "sample_submission.csv": "id,tags\n" + "".join(f"{number},haze road\n" for number in range(60, 90)),
        },
    )
    outcome = tandem("generate", "--competition", "places", "--data", folder, "--metric", "f1_samples", "--dry-run")

    shown = {line.split()[0]: line.split("  ")[1:] for line in outcome.out.splitlines() if "inferred" in line}
    assert '" "' in [cell.strip() for cell in shown["label_separator"]]
    assert '"\\t"' in [cell.strip() for cell in shown["separator"]]
    assert workspace.root.exists()


@pytest.mark.slow
def test_the_json_has_warnings_and_candidates(tandem: Tandem, workspace: Workspace, titanic: Path) -> None:
    outcome = tandem("generate", "--competition", "titanic", "--data", titanic, "--explain", "--json")

    report = json.loads(outcome.out)
    assert len(report["warnings"]) == 1
    assert report["weighed"]["targets"][0]["value"] == ["Survived"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "There are no files of the competition"),
        (("--metric", "acuracy"), 'There is no metric "acuracy"'),
        (("--set", "epoch=3"), 'Did you mean "epochs"?'),
        (("--set", "epochs=many"), "epochs must be a whole number"),
        (("--set", "epochs=0"), "epochs must be at least 1"),
        (("--id-column", "PassengerID"), 'Did you mean "PassengerId"?'),
        (("--test", "tst.csv"), "tst.csv"),
        (("--family", "tabula"), "tabula"),
        (("--framework", "torhc"), 'Did you mean "torch"?'),
    ],
)
def test_what_cannot_be_is_one_sentence_and_nothing_is_written(
    tandem: Tandem, workspace: Workspace, titanic: Path, arguments: tuple[str, ...], message: str
) -> None:
    data = ("--data", str(titanic)) if arguments else ()
    outcome = tandem("generate", "--competition", "titanic", *data, *arguments)

    assert outcome.code == 1
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert list(workspace.root.iterdir()) == []


def test_an_empty_folder_is_one_sentence(tandem: Tandem, workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    outcome = tandem("generate", "--competition", "titanic", "--data", tmp_path / "empty")

    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "empty" in outcome.err


def test_other_data_in_the_place_of_the_competition_are_never_replaced(
    tandem: Tandem, workspace: Workspace, titanic: Path
) -> None:
    other = write_tree(workspace.competition_data("titanic"), {"mine.txt": "mine"})

    outcome = tandem("generate", "--competition", "titanic", "--data", titanic)

    assert outcome.code == 1
    assert "it has other files" in outcome.err
    assert (other / "mine.txt").read_text() == "mine"
    assert not workspace.pair("titanic").path.exists()


def packed(path: Path, members: dict[str, str]) -> Path:
    """An archive of these files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["titanic.zip", "titanic (1).zip"])
def test_the_archive_of_the_whole_competition_is_unpacked_into_the_workspace(
    tandem: Tandem, workspace: Workspace, tmp_path: Path, name: str
) -> None:
    archive = packed(tmp_path / "downloads" / name, {**TITANIC, "more/extra.csv.zip": "PK"})

    for _ in range(2):
        outcome = tandem("generate", "--competition", "titanic", "--data", archive.parent)
        assert outcome.code == 0, outcome.err
        assert "Unpacking" in outcome.err

    mounted = workspace.competition_data("titanic")
    assert task_of(workspace)["train_table"] == "train.csv"
    assert sorted(path.name for path in mounted.rglob("*.*")) == sorted([*TITANIC, "extra.csv.zip"])
    assert not mounted.is_symlink()
    assert [path.name for path in archive.parent.iterdir()] == [name]


def test_an_archive_in_the_place_of_the_data_moves_beside_them(tandem: Tandem, workspace: Workspace) -> None:
    mounted = workspace.competition_data("titanic")
    packed(mounted / "titanic.zip", TITANIC)
    (mounted / ".DS_Store").touch()

    outcome = tandem("generate", "--competition", "titanic")

    assert outcome.code == 0, outcome.err
    assert task_of(workspace)["train_table"] == "train.csv"
    assert {path.name for path in mounted.iterdir()} == {*TITANIC, ".DS_Store"}
    assert (mounted.parent / "titanic.zip").is_file()


def test_a_link_to_a_folder_with_the_archive_gives_way_to_the_files(
    tandem: Tandem, workspace: Workspace, tmp_path: Path
) -> None:
    archive = packed(tmp_path / "downloads" / "titanic.zip", TITANIC)
    mounted = workspace.competition_data("titanic")
    mounted.parent.mkdir(parents=True)
    mounted.symlink_to(archive.parent)

    assert tandem("generate", "--competition", "titanic").code == 0
    assert not mounted.is_symlink()
    assert {path.name for path in mounted.iterdir()} == set(TITANIC)
    assert archive.is_file()


def test_a_dry_run_looks_into_the_archive_and_unpacks_nothing_here(
    tandem: Tandem, workspace: Workspace, tmp_path: Path
) -> None:
    archive = packed(tmp_path / "downloads" / "titanic.zip", TITANIC)

    outcome = tandem("generate", "--competition", "titanic", "--data", archive.parent, "--dry-run")

    assert outcome.code == 0, outcome.err
    assert "titanic.zip/train.csv" not in outcome.out
    assert not any(workspace.root.iterdir())


@pytest.mark.slow
def test_an_archive_beside_other_files_is_a_file_of_the_competition(
    tandem: Tandem, workspace: Workspace, tmp_path: Path
) -> None:
    archive = packed(tmp_path / "downloads" / "titanic.zip", {"train.csv": TITANIC["train.csv"]})
    write_tree(archive.parent, {name: content for name, content in TITANIC.items() if name != "train.csv"})

    assert tandem("generate", "--competition", "titanic", "--data", archive.parent).code == 0
    assert task_of(workspace)["train_table"] == "titanic.zip/train.csv"


@pytest.mark.parametrize("name", ["../out.csv", "/out.csv", "train.csv/x.csv"])
def test_an_archive_that_leads_out_of_its_folder_leaves_nothing(
    tandem: Tandem, workspace: Workspace, tmp_path: Path, name: str
) -> None:
    archive = packed(tmp_path / "downloads" / "titanic.zip", {**TITANIC, name: "x"})

    outcome = tandem("generate", "--competition", "titanic", "--data", archive.parent)

    assert outcome.code == 1
    assert "cannot be unpacked" in outcome.err
    assert not list(workspace.root.rglob("*.csv"))
    assert not list(tmp_path.rglob("out.csv"))
    assert not workspace.competition_data("titanic").exists()


def test_a_damaged_archive_is_refused_in_one_sentence(tandem: Tandem, workspace: Workspace, tmp_path: Path) -> None:
    archive = packed(tmp_path / "downloads" / "titanic.zip", TITANIC)
    content = bytearray(archive.read_bytes())
    content[60:80] = bytes(20)
    archive.write_bytes(content)

    outcome = tandem("generate", "--competition", "titanic", "--data", archive.parent)

    assert outcome.code == 1
    assert "cannot be unpacked" in outcome.err
    assert not workspace.competition_data("titanic").exists()
