"""Kaggle's file tree on this machine."""

import json
import os
from pathlib import Path

import pytest

from generator.pair.workspace import PairFolder, Role, Workspace, link_data
from generator.run.input_mounts import (
    InputMissingError,
    KernelMetadataError,
    LinkedInputError,
    Mount,
    lay_out,
    mounts,
    read_sources,
)


def pair_with(folder: Path, **fields: object) -> PairFolder:
    metadata = folder / "infer" / "kernel-metadata.json"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(json.dumps({"id": "someone/x-infer", **fields}))
    return PairFolder(folder)


def mounted(tmp_path: Path, **fields: object) -> list[Mount]:
    sources = read_sources(pair_with(tmp_path / "x", **fields), Role.INFER)
    return mounts(sources, Workspace(tmp_path), outputs={"someone/x-train": tmp_path / "output"})


def test_sources_appear_where_kaggle_mounts_them(tmp_path: Path) -> None:
    for folder in ("output", "input/competitions/c", "input/datasets/a/d", "input/models/a/m/keras/base/2"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "output" / "handoff.json").touch()

    wanted = mounted(
        tmp_path,
        competition_sources=["c"],
        dataset_sources=["a/d/7"],
        kernel_sources=["someone/x-train"],
        model_sources=["a/m/keras/base/2"],
    )
    lay_out(wanted, tmp_path / "mirror")

    links = [Path(root, name) for root, names, _ in os.walk(tmp_path / "mirror") for name in names]
    assert sorted(str(link.relative_to(tmp_path / "mirror")) for link in links if link.is_symlink()) == [
        "competitions/c",
        "datasets/a/d",
        "models/a/m/keras/base/2",
        "notebooks/someone/x-train",
    ]
    assert (tmp_path / "mirror/notebooks/someone/x-train/handoff.json").is_file()


def test_a_missing_source_is_named_with_the_place_it_belongs(tmp_path: Path) -> None:
    with pytest.raises(InputMissingError, match=r'the dataset "a/d".*input/datasets/a/d does not exist'):
        mounted(tmp_path, dataset_sources=["a/d"])


@pytest.mark.parametrize("source", ["../../etc", "a/..", "/etc/passwd", "a/b/c/d/e/f", "", 7, "a/\x1b[2J"])
def test_a_source_cannot_lead_out_of_the_inputs(tmp_path: Path, source: object) -> None:
    with pytest.raises(KernelMetadataError, match="cannot be one of dataset_sources") as caught:
        mounted(tmp_path, dataset_sources=[source])
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("content", ["", "[]", '{"id": "x"}', '{"id": "a/b", "dataset_sources": "a/b"}'])
def test_damaged_metadata_is_named(tmp_path: Path, content: str) -> None:
    pair = pair_with(tmp_path)
    pair.metadata(Role.INFER).write_text(content)

    with pytest.raises(KernelMetadataError, match=r"kernel-metadata\.json"):
        read_sources(pair, Role.INFER)


SOURCES = {
    "competition_sources": ("c", "competitions/c"),
    "dataset_sources": ("a/d", "datasets/a/d"),
    "kernel_sources": ("a/k", "notebooks/a/k"),
    "model_sources": ("a/m/keras/base/2", "models/a/m/keras/base/2"),
}


@pytest.mark.parametrize("specimen", [False, True])
@pytest.mark.parametrize("depth", range(6))
@pytest.mark.parametrize("key", list(SOURCES))
def test_a_sandbox_is_not_given_what_a_link_of_the_workspace_leads_to(
    tmp_path: Path, key: str, depth: int, *, specimen: bool
) -> None:
    source, place = SOURCES[key]
    if specimen and key == "competition_sources":
        place = "specimens/c"
    workspace, home = tmp_path / "workspace", tmp_path / "home"
    parts = ["input", *place.split("/")]
    if depth >= len(parts):
        pytest.skip("is not that deep")
    link = workspace.joinpath(*parts[: depth + 1])
    link.parent.mkdir(parents=True)
    home.joinpath(*parts[depth + 1 :]).mkdir(parents=True)
    link.symlink_to(home)
    sources = read_sources(pair_with(tmp_path / "x", **{key: [source]}), Role.INFER)

    with pytest.raises(LinkedInputError, match="is a link, or is inside a linked folder"):
        mounts(sources, Workspace(workspace), outputs={}, specimen=specimen, through_links=False)
    assert mounts(sources, Workspace(workspace), outputs={}, specimen=specimen)


def test_the_users_own_link_to_the_data_is_followed_and_a_copy_of_it_is_not(tmp_path: Path) -> None:
    workspace, data = Workspace(tmp_path / "workspace"), tmp_path / "data"
    workspace.root.mkdir()
    data.mkdir()
    link = workspace.competition_data("c")
    assert link_data(data, link, workspace.files)
    sources = read_sources(pair_with(tmp_path / "x", competition_sources=["c"]), Role.INFER)

    assert mounts(sources, workspace, outputs={}, through_links=False)[0].source == data.resolve()
    link.rename(tmp_path / "aside")
    link.symlink_to(data)
    with pytest.raises(LinkedInputError, match="or name their folder with --data"):
        mounts(sources, workspace, outputs={}, through_links=False)
    assert mounts(sources, workspace, outputs={"c": data}, through_links=False)[0].source == data.resolve()
