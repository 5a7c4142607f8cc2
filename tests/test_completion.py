"""Shells complete verbs, pairs and names, and a path that they typed is as good as a name."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from miniature import Outcome, write_tree

from generator.cli.main import main

Tandem = Callable[..., Outcome]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, a workspace with two pairs."""
    pairs = {f"kernels/{name}/pair.toml": '[pair]\ncompetition = "digits"\n' for name in ("digits", "dice")}
    monkeypatch.chdir(write_tree(tmp_path, {**pairs, "input/competitions/dishes/train.csv": ""}))
    return tmp_path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tandem s", ["specimen", "submit", "status", "serve"]),
        ("tandem run di", ["dice", "digits"]),
        ("tandem push dig", ["digits"]),
        ("tandem check dice di", ["dice", "digits"]),
        ("tandem status --workspace elsewhere d", []),
        ("tandem run kernels/di", ["kernels/di"]),
        ("tandem generate --metric auc_", ["auc_mean_columns", "auc_one_vs_rest"]),
        ("generate --family image_r", ["image_regression"]),
        ("generate --framework k", ["keras"]),
        ("generate --competition di", ["diabetes", "digits", "dishes"]),
        ("generate --target-kind l", ["labels"]),
        ("generate --frame", ["--framework"]),
        ("tandem completion f", ["fish"]),
    ],
)
def test_a_shell_is_given_what_can_stand_there(
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    words: list[str],
) -> None:
    program = line.partition(" ")[0]
    monkeypatch.setenv(f"_{program.upper()}_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))

    with pytest.raises(SystemExit):
        main([], program=program)

    answers = capsys.readouterr().out.split()
    assert [answer.partition(",")[2] for answer in answers] == words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_for_both_programs_that_it_can_read(tandem: Tandem, shell: str) -> None:
    script = tandem("completion", shell).out

    assert "_TANDEM_COMPLETE" in script
    assert "_GENERATE_COMPLETE" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_bash_completes_the_name_of_a_pair(tandem: Tandem, workspace: Path) -> None:
    script = tandem("completion", "bash").out
    script += "COMP_WORDS=(tandem run dig) COMP_CWORD=2; _tandem_completion tandem; echo ${COMPREPLY[@]}\n"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash"], input=script, text=True, capture_output=True, check=True, env={**os.environ, "PATH": path}
    )

    assert (done.stdout, done.stderr) == ("digits\n", "")


@pytest.mark.parametrize("verb", ["run", "push", "submit", "status", "receipt"])
def test_a_verb_takes_the_path_of_a_pair_for_its_name(tandem: Tandem, workspace: Path, verb: str) -> None:
    to = ["--dry-run"] if verb == "push" else []
    (workspace / "kernels/dice/pair.toml").write_text("")
    by_name, by_path = (tandem(verb, pair, *to) for pair in ("dice", f"{workspace}/kernels/dice/"))

    assert (by_name.code, by_path.code) == (1, 1)
    assert "dice" in by_name.err
    assert by_path.err == by_name.err
    assert tandem(verb, "./kernels/dice", *to).err == by_name.err
    assert '"nothing/dice" cannot be the name of a pair' in tandem(verb, "nothing/dice", *to).err


def test_a_path_into_another_workspace_is_told_with_the_option_for_it(tandem: Tandem, workspace: Path) -> None:
    (workspace / "below").mkdir()
    os.chdir("below")

    assert "is in another workspace. Add --workspace ..." in tandem("status", "../kernels/dice/").err
    assert "There is no chain of dice" in tandem("status", "../kernels/dice/", "--workspace", "..").err
    assert tandem("status", "dice").err.startswith('Error: There is no pair "dice"')
    assert "`tandem generate --competition dice --framework jax`" in tandem("status", "dice-jax").err


def test_generate_says_its_version(tandem: Tandem) -> None:
    assert tandem("--version", program="generate").out == tandem("--version").out
