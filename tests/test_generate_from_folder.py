"""`generate` for a competition that the kit has only the files of."""

import json
import tomllib
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
    choices = tomllib.loads(workspace.pair(pair).choices.read_text())
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
    assert f"is a link to {titanic}" in outcome.err
    assert "Warning" not in outcome.err


def test_files_in_their_place_need_no_flag(tandem: Tandem, workspace: Workspace) -> None:
    write_tree(workspace.competition_data("titanic"), TITANIC)

    assert tandem("generate", "--competition", "titanic").code == 0
    assert task_of(workspace)["test_table"] == "test.csv"


def test_what_is_hardly_more_than_a_guess_is_said_with_the_flag_that_settles_it(
    tandem: Tandem, workspace: Workspace, titanic: Path
) -> None:
    outcome = tandem("generate", "--competition", "titanic", "--data", titanic)

    assert "Warning: The metric is a guess, accuracy" in outcome.err
    assert "--metric settles it" in outcome.err


def test_a_flag_overrules_is_written_down_and_stays(tandem: Tandem, workspace: Workspace, titanic: Path) -> None:
    tandem("generate", "--competition", "titanic", "--data", titanic, "--metric", "auc", "--set", "epochs=3")
    again = tandem("generate", "--competition", "titanic")

    assert again.code == 0, again.err
    choices = tomllib.loads(workspace.pair("titanic").choices.read_text())["task"]
    assert choices["metric"] == {"value": "auc", "by": "flag"}
    assert choices["epochs"] == {"value": 3, "by": "flag"}
    assert "guess" not in again.err


def test_a_value_edited_by_hand_is_what_the_rest_is_inferred_from(
    tandem: Tandem, workspace: Workspace, titanic: Path
) -> None:
    tandem("generate", "--competition", "titanic", "--data", titanic)
    choices = workspace.pair("titanic").choices
    text = choices.read_text()
    start = text.index("target_kind = ")
    choices.write_text(text[:start] + 'target_kind = "number"\n' + text[text.index("\n", start) + 1 :])

    outcome = tandem("generate", "--competition", "titanic", "--force")

    assert outcome.code == 0, outcome.err
    assert task_of_hand(workspace)["submission"] == "numbers"


def task_of_hand(workspace: Workspace) -> dict[str, object]:
    entries = tomllib.loads(workspace.pair("titanic").choices.read_text())["task"]
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


def test_the_json_has_warnings_and_candidates(tandem: Tandem, workspace: Workspace, titanic: Path) -> None:
    outcome = tandem("generate", "--competition", "titanic", "--data", titanic, "--explain", "--json")

    report = json.loads(outcome.out)
    assert len(report["warnings"]) == 1
    assert report["weighed"]["targets"][0]["value"] == ["Survived"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "There are no files of a competition"),
        (("--metric", "acuracy"), 'There is no metric "acuracy"'),
        (("--set", "epoch=3"), 'Did you mean "epochs"?'),
        (("--set", "epochs=many"), "epochs must be a whole number"),
        (("--set", "epochs=0"), "epochs must be 1 or more"),
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
    assert "other files stand there" in outcome.err
    assert (other / "mine.txt").read_text() == "mine"
    assert not workspace.pair("titanic").path.exists()
