"""The wheel carries everything: outside of any clone it generates the same bytes."""

import os
import shlex
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from miniature import tree_of, write_tree
from packaging.requirements import Requirement

from generator.pair.workspace import Workspace

CLONE = Path(__file__).resolve().parents[1]


def generated(program: list[str], workspace: Path, environment: dict[str, str]) -> dict[str, bytes]:
    write_tree(Workspace(workspace).competition_data("digits"), {"train.csv": ""})
    arguments = ["--competition", "digits", "--owner", "ada"]
    subprocess.run([*program, *arguments], cwd=workspace, env=environment, check=True)
    return tree_of(workspace / "kernels")


@pytest.mark.slow
def test_a_wheel_in_a_clean_environment_generates_the_same_bytes(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(CLONE)]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = (tmp_path / "dist").glob("*.whl")

    environment_folder = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment_folder)], check=True)
    python = environment_folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    # The dependencies come from where the tests run, behind what was just installed: no network is needed.
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    dependencies = environment_folder / "lib" / version / "site-packages" / "dependencies.pth"
    dependencies.write_text(sysconfig.get_paths()["purelib"] + "\n")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    where = [str(python), "-c", "import generator; print(generator.__file__)"]
    shown = subprocess.run(where, env=clean, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert Path(shown.stdout.strip()).is_relative_to(environment_folder)
    where[-1] = "from generator.kit_files import install_command; print(install_command('run'))"
    command = subprocess.run(where, env=clean, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    extras = tomllib.loads((CLONE / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = [Requirement(argument) for argument in shlex.split(command)[2:]]
    assert {str(each) for each in wanted} == {str(Requirement(each)) for each in extras["run"]}
    for arguments, file in ((["skill"], "docs/skill/SKILL.md"), (["schema", "run"], "generator/cli/schemas/run.json")):
        program = [str(environment_folder / "bin" / "tandem"), *arguments]
        printed = subprocess.run(program, env=clean, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        assert printed == (CLONE / file).read_text()
    from_wheel = generated([str(environment_folder / "bin" / "generate")], tmp_path / "a", clean)
    from_clone = generated(
        [sys.executable, "-m", "generator", "generate"], tmp_path / "b", {**clean, "PYTHONPATH": str(CLONE)}
    )

    assert from_wheel == from_clone
    assert len(from_wheel) == 10
