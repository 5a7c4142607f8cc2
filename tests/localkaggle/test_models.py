"""Models of a local Kaggle, asked without HTTP."""

import tarfile
from typing import Any

import pytest
from desk import Desk, zipped
from miniature import tree_of

MODEL = {"ownerSlug": "tester", "modelSlug": "my-model"}
MAIN = {**MODEL, "framework": "MODEL_FRAMEWORK_PY_TORCH", "instanceSlug": "main"}
HANDLE = "tester/my-model/pyTorch/main"


def create(desk: Desk, **fields: Any) -> Any:
    return desk.ask("CreateModel", **{"ownerSlug": "tester", "slug": "my-model", "title": "My Model", **fields})


def create_variation(desk: Desk, tree: dict[str, bytes], **body: Any) -> Any:
    facts = {"instanceSlug": "main", "framework": MAIN["framework"], "licenseName": "Apache 2.0", **desk.files(tree)}
    return desk.ask("CreateModelInstance", **MODEL, body={**facts, **body})


def add_version(desk: Desk, tree: dict[str, bytes]) -> Any:
    return desk.ask("CreateModelInstanceVersion", **MAIN, body={"versionNotes": "more", **desk.files(tree)})


def mounted(desk: Desk, handle: str = HANDLE) -> dict[str, bytes] | None:
    folder = desk.kaggle.models.model_folder(handle)
    return None if folder is None else tree_of(folder)


def test_a_model_grows_variations_and_versions(desk: Desk) -> None:
    made = create(desk)
    variation = create_variation(desk, {"fold-0.weights.h5": b"one", "extra/notes.txt": b"n"})
    version = add_version(desk, {"fold-0.weights.h5": b"two"})

    assert (made["ref"], made["error"]) == ("tester/my-model", "")
    assert variation["url"] == "https://www.kaggle.com/models/tester/my-model/pyTorch/main/1"
    assert version["ref"] == "tester/my-model/pyTorch/main/2"
    assert mounted(desk) == {"fold-0.weights.h5": b"two"}
    assert mounted(desk, f"{HANDLE}/1") == {"fold-0.weights.h5": b"one", "extra/notes.txt": b"n"}


@pytest.mark.parametrize("framework", ["pyTorch", "PyTorch", "pytorch", "PY_TORCH", "MODEL_FRAMEWORK_PY_TORCH"])
def test_frameworks_are_read_without_regard_to_case(desk: Desk, framework: str) -> None:
    create(desk)
    create_variation(desk, {"a": b"1"})

    folder = desk.kaggle.models.model_folder(f"tester/my-model/{framework}/main")

    assert folder is not None
    assert folder.name == "1"


@pytest.mark.parametrize(
    "handle",
    ["", "tester", "tester/my-model", "tester/my-model/pyTorch", "tester/my-model/keras/main", f"{HANDLE}/2",
     f"{HANDLE}/1/..", "tester/my-model/../main", "//../"],
)  # fmt: skip
def test_handles_of_what_is_not_there_have_no_folder(desk: Desk, handle: str) -> None:
    create(desk)
    create_variation(desk, {"a": b"1"})

    assert desk.kaggle.models.model_folder(handle) is None


def test_what_exists_already_is_200_with_the_code_409(desk: Desk) -> None:
    create(desk)
    create_variation(desk, {"a": b"1"})

    assert create(desk)["errorCode"] == 409
    again = create_variation(desk, {"a": b"2"})
    assert (again["errorCode"], again["id"]) == (409, 0)
    assert "already exists" in again["error"]
    assert mounted(desk) == {"a": b"1"}


def test_what_is_not_there_is_404(desk: Desk) -> None:
    assert desk.refused("GetModel", **MODEL) == (404, "There is no model tester/my-model.")
    assert desk.refused("CreateModelInstance", **MODEL, body={})[0] == 404
    create(desk)
    assert desk.refused("GetModelInstance", **MAIN)[0] == 404
    assert desk.refused("CreateModelInstanceVersion", **MAIN, body={})[0] == 404
    create_variation(desk, {"a": b"1"})
    assert desk.refused("DownloadModelInstanceVersion", **MAIN, versionNumber=9)[0] == 404
    assert desk.refused("DownloadModelInstanceVersion", **MAIN, versionNumber=1, path="../1.tar.gz")[0] == 404
    assert desk.refused("DownloadModelInstanceVersion", **MAIN, versionNumber=1, path="b")[0] == 404


def test_descriptions_come_back_as_they_were_given(desk: Desk) -> None:
    create(desk, isPrivate=True, subtitle="sub", description="# About")
    create_variation(desk, {"a": b"123"}, fineTunable=True, trainingData=["digits"], overview="over")

    model = desk.ask("GetModel", **MODEL)
    variation = desk.ask("GetModelInstance", **MAIN)

    assert (model["title"], model["subtitle"], model["description"], model["isPrivate"]) == (
        "My Model", "sub", "# About", True,
    )  # fmt: skip
    assert model["instances"] == [variation]
    assert (variation["framework"], variation["versionNumber"]) == (MAIN["framework"], 1)
    assert (variation["fineTunable"], variation["trainingData"], variation["overview"]) == (True, ["digits"], "over")
    assert (variation["licenseName"], variation["totalUncompressedBytes"]) == ("Apache 2.0", 3)


def test_an_update_changes_only_what_its_mask_names(desk: Desk) -> None:
    create(desk, subtitle="old", description="old")
    create_variation(desk, {"a": b"1"}, overview="old", usage="old")

    desk.ask("UpdateModel", **MODEL, subtitle="new", description="new", updateMask="subtitle,isPrivate")
    desk.ask("UpdateModelInstance", **MAIN, usage="new", overview="new", updateMask="usage,licenseName")

    model, variation = desk.ask("GetModel", **MODEL), desk.ask("GetModelInstance", **MAIN)
    assert (model["title"], model["subtitle"], model["description"]) == ("My Model", "new", "old")
    assert (variation["usage"], variation["overview"]) == ("new", "old")


def test_a_kind_of_variation_that_clients_do_not_know_is_not_stored(desk: Desk) -> None:
    create(desk)
    status, _ = desk.refused(
        "CreateModelInstance",
        **MODEL,
        body={"framework": "JAX", "instanceSlug": "x", "modelInstanceType": "NONSENSE", **desk.files({"a": b"1"})},
    )

    assert status == 400


def test_lists_tell_of_models_variations_versions_and_files(desk: Desk) -> None:
    create(desk, isPrivate=True)
    create(desk, slug="other", title="Other")
    create_variation(desk, {"a": b"1"})
    create_variation(desk, {"a": b"22", "b/c": b""}, framework="MODEL_FRAMEWORK_JAX")
    add_version(desk, {"a": b"333"})

    models = desk.ask("ListModels", search="MY", owner="tester", pageSize=20, pageToken="")
    variations = desk.ask("ListModelInstances", **MODEL)["instances"]
    versions = desk.ask("ListModelInstanceVersions", **MAIN, pageSize=1)
    files = desk.ask("ListModelInstanceVersionFiles", **{**MAIN, "framework": "MODEL_FRAMEWORK_JAX"}, versionNumber=1)

    assert [model["ref"] for model in models["models"]] == ["tester/my-model"]
    assert models["totalResults"] == 1
    assert [(item["framework"][16:], item["versionNumber"], item["totalUncompressedBytes"]) for item in variations] == [
        ("PY_TORCH", 2, 3),
        ("JAX", 1, 2),
    ]
    assert [item["versionNumber"] for item in versions["versionList"]["versions"]] == [2]
    assert versions["nextPageToken"] == "1"
    assert [(file["name"], file["size"]) for file in files["files"]] == [("a", 2), ("b/c", 0)]


def test_a_version_downloads_whole_or_file_by_file(desk: Desk) -> None:
    create(desk)
    create_variation(desk, {"a.bin": b"one", "x/b.bin": b"\0"})

    whole = desk.fetched(desk.ask("DownloadModelInstanceVersion", **MAIN, versionNumber=1))
    one = desk.fetched(desk.ask("DownloadModelInstanceVersion", **MAIN, versionNumber=1, path="x/b.bin"))

    with tarfile.open(whole.path, "r:gz") as packed:
        assert packed.getnames() == ["a.bin", "x/b.bin"]
        content = packed.extractfile("a.bin")
        assert content is not None
        assert content.read() == b"one"
    assert whole.name.endswith(".tar.gz")
    assert (one.name, one.path.read_bytes()) == ("b.bin", b"\0")


def test_deleting_versions_variations_and_models(desk: Desk) -> None:
    create(desk)
    create_variation(desk, {"a": b"1"})
    add_version(desk, {"a": b"2"})

    assert desk.ask("DeleteModelInstanceVersion", **MAIN, versionNumber=2) == {"error": ""}
    assert mounted(desk) == {"a": b"1"}
    assert add_version(desk, {"a": b"3"})["ref"].endswith("/3"), "the number of a deleted version stays its own"
    desk.ask("DeleteModelInstance", **MAIN)
    assert mounted(desk) is None
    assert desk.ask("GetModel", **MODEL)["instances"] == []
    create_variation(desk, {"a": b"4"})
    assert mounted(desk) == {"a": b"4"}
    desk.ask("DeleteModel", **MODEL)
    assert desk.refused("GetModel", **MODEL)[0] == 404


def test_a_variation_that_lost_its_versions_can_be_shown_and_grow_again(desk: Desk) -> None:
    create(desk)
    create_variation(desk, {"a": b"1"})
    desk.ask("DeleteModelInstanceVersion", **MAIN, versionNumber=1)

    assert desk.ask("GetModelInstance", **MAIN)["versionNumber"] == 0
    assert desk.ask("ListModelInstances", **MODEL)["instances"][0]["versionNumber"] == 0
    assert mounted(desk) is None
    add_version(desk, {"a": b"2"})
    assert mounted(desk) == {"a": b"2"}


def test_a_restart_keeps_models(desk: Desk) -> None:
    create(desk)
    create_variation(desk, {"a": b"1"})

    restarted = desk.restarted()
    add_version(restarted, {"a": b"2"})

    assert mounted(restarted) == {"a": b"2"}
    assert mounted(restarted, f"{HANDLE}/1") == {"a": b"1"}


@pytest.mark.parametrize(
    ("fields", "word"),
    [({"slug": ""}, "slug"), ({"slug": "a/b"}, "slug"), ({"slug": ".."}, "slug"), ({"title": ""}, "title")],
)
def test_names_that_kaggle_would_not_take_are_refused(desk: Desk, fields: dict[str, str], word: str) -> None:
    answer = create(desk, **fields)

    assert word in answer["error"]
    assert answer["id"] == 0


@pytest.mark.parametrize(
    ("body", "word"),
    [({"framework": "COBOL"}, "framework"), ({"instanceSlug": "a/b"}, "slug"), ({"instanceSlug": ".."}, "slug")],
)
def test_variations_that_kaggle_would_not_take_are_refused(desk: Desk, body: dict[str, str], word: str) -> None:
    create(desk)

    assert word in create_variation(desk, {"a": b"1"}, **body)["error"]


def test_hostile_archives_make_no_version(desk: Desk) -> None:
    create(desk)

    answer = create_variation(desk, {"up.zip": zipped({"../../outside": b"!"})})

    assert "no name for a file" in answer["error"]
    assert mounted(desk) is None
    assert list((desk.root / "model-versions").glob("*")) == []


def test_nobody_writes_into_the_models_of_another_account(desk: Desk) -> None:
    create(desk)
    create_variation(desk, {"a": b"1"})

    assert desk.refused("CreateModel", ownerSlug="other", slug="model", title="Model")[0] == 403
    for method in ("DeleteModel", "UpdateModel"):
        assert desk.refused(method, caller="other", **MODEL)[0] == 403
    assert desk.refused("CreateModelInstance", caller="other", **MODEL, body={})[0] == 403
    for method in ("DeleteModelInstance", "UpdateModelInstance", "CreateModelInstanceVersion"):
        assert desk.refused(method, caller="other", **MAIN)[0] == 403
    assert desk.refused("DeleteModelInstanceVersion", caller="other", **MAIN, versionNumber=1)[0] == 403
