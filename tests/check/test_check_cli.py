"""The verb `check`: what it reads, what it says and how, what is ignored, and what hostile files do to it."""

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from check_corpus import SOUND, sound
from miniature import Outcome

from generator.check.cell_text import read_cell
from generator.check.checking import check_kernels
from generator.check.rules import RULES
from generator.check.source import read_target
from generator.cli import check as check_verb
from generator.cli import check_targets
from generator.tpu_compiler.compilation import CompileReport, CompilerProblem, NotebookTarget, StepCost

Tandem = Callable[..., Outcome]
KERNELS = Path(__file__).resolve().parents[2] / "kernels"
SEARCH = "from pathlib import Path\nfound = sorted(Path('/kaggle/input').rglob('*.csv'))"


def write_kernel(folder: Path, source: str = "x = 1", **metadata: Any) -> Path:
    """A sound kernel with a cell of its own; the path of its notebook."""
    folder.mkdir(parents=True, exist_ok=True)
    kernel = sound("titanic-with-lightgbm")
    kernel.metadata |= metadata
    kernel.cells.append({"cell_type": "code", "id": "own-cell", "metadata": {}, "outputs": [], "source": source})
    kernel.read(folder)
    return folder / "notebook.ipynb"


def test_nothing_is_found_in_the_reference_pairs() -> None:
    kernels = read_target(KERNELS)

    assert len(kernels) >= 16
    assert (
        check_kernels(kernels, [rule for rule in RULES if rule.id[0] in "MN"]) == []
    )  # test_tpu_rules.py has the others


def test_findings_say_where_what_and_what_to_do(
    tmp_path: Path, tandem: Tandem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_kernel(tmp_path / "mine", SEARCH, title="Other")
    write_kernel(tmp_path / "deeper" / "sound")
    outcome = tandem("check", ".")

    assert outcome.code == 1
    lines = outcome.out.splitlines()
    assert lines[0] == (
        'mine/kernel-metadata.json: M003 error: Its id "ada/titanic-with-lightgbm" is not the slug that Kaggle makes '
        'of its title, "other".'
    )
    assert lines[1] == ('    Write "id": "ada/other", or a title whose slug is the id. Otherwise the kernel is lost.')
    assert lines[2].startswith("mine/notebook.ipynb:own-cell:2: N042 note: The search covers all of /kaggle/input")
    assert lines[-1].startswith("1 error, 1 note in 2 notebooks.")


def test_warnings_alone_are_no_failure(tmp_path: Path, tandem: Tandem) -> None:
    assert tandem("check", write_kernel(tmp_path, SEARCH)).code == 0


def test_a_notebook_alone_is_checked_as_one_of_a_code_competition(tmp_path: Path, tandem: Tandem) -> None:
    notebook = write_kernel(tmp_path, "!pip install lightning==2.5")
    (tmp_path / "kernel-metadata.json").unlink()

    assert tandem("check", notebook).code == 0
    outcome = tandem("check", notebook, "--code-competition")
    assert outcome.code == 1
    assert ":own-cell:1: N021 error" in outcome.out


def test_a_script_is_checked_as_one_cell(tmp_path: Path, tandem: Tandem) -> None:
    write_kernel(tmp_path, code_file="train.py", kernel_type="script")
    (tmp_path / "train.py").write_text(SEARCH)
    (tmp_path / "train.r").write_text("x <- 1")

    assert tandem("check", tmp_path).out.startswith(f"{tmp_path / 'train.py'}:2: N042 note")
    assert ": M004 error: " in tandem("check", write_kernel(tmp_path, code_file="train.r", kernel_type="script")).out


def test_a_pair_is_checked_by_its_name_or_its_folder(tandem: Tandem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(KERNELS.parent)

    for target in ("digits", "kernels/digits/", "kernels/digits/infer/infer.ipynb"):
        assert tandem("check", target).out.startswith("No findings in "), target
    assert 'Did you mean "digits"?' in tandem("check", "digit").err


def test_the_inference_of_a_pair_is_held_to_what_its_competition_asks_for(tmp_path: Path, tandem: Tandem) -> None:
    folder = tmp_path / "kernels" / "mine"
    text = (KERNELS / "titanic" / "pair.toml").read_text()
    write_kernel(folder / "train")
    source = "import pandas as pd\npd.DataFrame().to_csv('submission.csv')"
    write_kernel(folder / "infer", source, enable_internet=True)
    (folder / "pair.toml").write_text(
        text.replace("code_competition = false", "code_competition = true").replace(
            "[task]", '[task]\nsubmission_file = "s.csv"'
        )
    )
    outcome = tandem("check", "mine", "--workspace", tmp_path, "--json")

    found = {(finding["rule"], Path(finding["path"]).parent.name) for finding in json.loads(outcome.out)["findings"]}
    assert found == {("M025", "infer"), ("M043", "infer"), ("N060", "infer")}


@pytest.mark.parametrize("option", ["--allow", "--ignore"])
def test_what_a_rule_finds_is_left_out_where_it_is_allowed(tmp_path: Path, tandem: Tandem, option: str) -> None:
    notebook = write_kernel(tmp_path, f"{SEARCH}\nname = input()")

    assert ": N009 error: " in tandem("check", notebook).out
    outcome = tandem("check", notebook, option, "n009", option, "unbounded-search")
    assert (outcome.code, outcome.out) == (0, "No findings in 1 notebook.\n")
    assert 'There is no rule "N0"' in tandem("check", notebook, option, "N0").err


def test_many_kernels_are_summed_up_in_one_table(
    tmp_path: Path, tandem: Tandem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_kernel(tmp_path / "sound")
    write_kernel(tmp_path / "slow", SEARCH)
    write_kernel(tmp_path / "waits", f"{SEARCH}\na = input()\nb = input()")
    lines = tandem("check", ".").out.splitlines()

    assert [line.split() for line in lines[:4]] == [
        ["kernel", "errors", "warnings", "notes", "worst"],
        ["waits/notebook.ipynb", "2", "1", "N009,", "2", "times"],
        ["slow/notebook.ipynb", "1", "N042"],
        ["1", "without", "findings"],
    ]
    assert sum(": N042 note: " in line for line in lines) == 2
    monkeypatch.setattr(check_verb, "_MOST_DETAILS", 3)
    short, long = (tandem("check", ".", *option).out for option in ([], ["--details"]))
    assert ": N042 note: " not in short
    assert "add --details" in short
    assert long.count(": N042 note: ") == 2


def test_json_has_every_field(tmp_path: Path, tandem: Tandem) -> None:
    said = json.loads(tandem("check", write_kernel(tmp_path, SEARCH), "--json").out)

    assert (said["kernels"], said["error"], said["warning"], said["note"]) == (1, 0, 0, 1)
    finding = said["findings"][0]
    assert (finding["rule"], finding["severity"], finding["cell"], finding["line"]) == (
        "N042",
        "note",
        "own-cell",
        2,
    )
    assert finding["message"]
    assert finding["remedy"]


def test_sarif_has_what_its_schema_requires(tmp_path: Path, tandem: Tandem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_kernel(tmp_path / "a b", SEARCH, title="Other")
    outcome = tandem("check", "a b", "--sarif")
    log = json.loads(outcome.out)

    assert outcome.code == 1
    assert log["version"] == "2.1.0"
    assert "sarif-schema-2.1.0" in log["$schema"]
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "tandem check"
    assert [rule["id"] for rule in rules] == [rule.id for rule in RULES]
    assert {rule["defaultConfiguration"]["level"] for rule in rules} <= {"error", "warning", "note"}
    metadata, notebook = run["results"]
    for result in run["results"]:
        assert result["message"]["text"]
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    (location,) = notebook["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "a%20b/notebook.ipynb"
    assert location["logicalLocations"][0]["name"] == "own-cell"
    assert notebook["message"]["text"].startswith("Cell own-cell, line 2: The search covers")
    assert metadata["level"] == "error"


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# tandem: ignore[N042] the dataset has three files", []),
        ("# tandem: ignore[N040, N042] the dataset has three files", []),
        ("# tandem: ignore[N042]", ["N042", "N010"]),
        ("# tandem: ignore[N040] of another rule", ["N042"]),
        ("text = '# tandem: ignore[N042] in a text'", ["N042"]),
    ],
)
def test_a_finding_is_ignored_with_a_reason(tmp_path: Path, comment: str, codes: list[str]) -> None:
    source = SEARCH.replace("\n", f"\n{comment}\n")

    assert sorted(codes) == sorted(each.rule for each in check_kernels(read_target(write_kernel(tmp_path, source))))


def test_a_comment_two_lines_above_ignores_nothing(tmp_path: Path) -> None:
    source = f"# tandem: ignore[N042] too far away\n{SEARCH}"

    assert [each.rule for each in check_kernels(read_target(write_kernel(tmp_path, source)))] == ["N042"]


def test_a_baseline_leaves_out_what_was_there_before_wherever_it_moves(tmp_path: Path, tandem: Tandem) -> None:
    notebook, baseline = write_kernel(tmp_path, SEARCH, title="Other"), tmp_path / "baseline.json"
    assert tandem("check", notebook, "--baseline", baseline, "--write-baseline").code == 0
    assert tandem("check", notebook, "--baseline", baseline).out == "No findings in 1 notebook.\n"

    write_kernel(tmp_path, f"import os\n{SEARCH}\n{SEARCH}", title="Other")
    outcome = tandem("check", notebook, "--baseline", baseline)
    assert outcome.out.splitlines()[0].startswith(str(notebook) + ":own-cell:5: N042")
    assert "1 note in 1 notebook" in outcome.out


def test_a_file_that_is_no_baseline_is_not_overwritten_by_one(tmp_path: Path, tandem: Tandem) -> None:
    notebook = write_kernel(tmp_path)
    before = notebook.read_bytes()
    outcome = tandem("check", notebook, "--baseline", notebook, "--write-baseline")

    assert outcome.code == 1
    assert "so it was not overwritten" in outcome.err
    assert notebook.read_bytes() == before


def test_a_file_that_is_no_baseline_is_said_to_be_none(tmp_path: Path, tandem: Tandem) -> None:
    for text in ("[]", "{}", "x", '{"version": 1, "findings": 3}'):
        (tmp_path / "b.json").write_text(text)
        outcome = tandem("check", write_kernel(tmp_path), "--baseline", tmp_path / "b.json")
        assert outcome.code == 1
        assert "is not a baseline" in outcome.err


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_explains_itself(rule: Any, tandem: Tandem) -> None:
    outcome = tandem("check", "--explain", rule.id)

    title, _, first, *rest = outcome.out.splitlines()
    assert title == f"{rule.id} {rule.name} ({rule.severity})"
    assert first.endswith((".", ",", ":"))
    assert len(" ".join(rest)) > 60


def test_the_ids_and_names_of_rules_are_their_own(tandem: Tandem) -> None:
    assert len({rule.id for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    assert "There is no rule" in tandem("check", "--explain", "N999").err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Name a pair, a notebook or a folder"),
        (["x", "--json", "--sarif"], "choose one"),
        (["x", "--write-baseline"], "needs a file"),
    ],
)
def test_what_does_not_go_together_is_said(tandem: Tandem, arguments: list[str], said: str) -> None:
    outcome = tandem("check", *arguments)

    assert outcome.code == 2
    assert said in outcome.err


def test_a_topology_that_does_not_exist_is_an_error_whether_it_is_compiled_for_or_not(
    tmp_path: Path, tandem: Tandem
) -> None:
    assert "There is no topology" in tandem("check", write_kernel(tmp_path), "--topology", "v9").err


def test_a_folder_without_a_notebook_has_nothing_to_check(tmp_path: Path, tandem: Tandem) -> None:
    outcome = tandem("check", tmp_path)

    assert outcome.code == 1
    assert "There is no kernel-metadata.json and no notebook" in outcome.err


def test_hostile_files_are_findings_and_nothing_of_them_reaches_the_terminal(tmp_path: Path, tandem: Tandem) -> None:
    write_kernel(tmp_path / "a", "\x1b[2J" + "(" * 5_000, title="\x1b]0;owned\x07 title\u202e")
    write_kernel(tmp_path / "b", "-" * 20_000 + "1\n", machine_shape=["TpuV5E8"], dataset_sources=[3, {}], id=7)
    write_kernel(tmp_path / "c", code_file="../../etc/passwd\n")
    write_kernel(tmp_path / "d", f"x = {'+'.join(['y'] * 3_000)}\nz = open({'/'.join(['p'] * 500)}, 'w')")
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "loop").symlink_to(tmp_path)
    (tmp_path / "e" / "x.ipynb").write_text(
        '{"cells": [{"cell_type": "code", "source": ["\\u0000", 3]}], "metadata": 3}'
    )
    outcome = tandem("check", tmp_path)

    assert outcome.code == 1
    assert outcome.out.replace("\n", "").isprintable()
    assert "in 5 notebooks" in outcome.out


def test_what_cannot_be_read_is_a_finding_and_keeps_nothing_else_from_being_checked(
    tmp_path: Path, tandem: Tandem
) -> None:
    os.mkfifo(tmp_path / "a pipe.ipynb")
    (tmp_path / "bytes.ipynb").write_bytes(b'{"cells": [], "metadata": {}, "x": "\xff"}')
    (tmp_path / "link.ipynb").symlink_to(tmp_path / "nowhere")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.ipynb")).write_text("{}")
    write_kernel(tmp_path / "sound")
    outcome = tandem("check", tmp_path)

    assert outcome.code == 1
    assert outcome.out.count(": N001 error: ") == 4
    assert all(word in outcome.out for word in ("a pipe or a device", "not UTF-8", "a link to nothing"))
    assert "in 5 notebooks" in outcome.out
    log = json.loads(tandem("check", tmp_path, "--sarif").out)
    uris = [each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in log["runs"][0]["results"]]
    assert uris[3].endswith("/%FF.ipynb")


@pytest.mark.parametrize(
    "said", [{"kernelspec": {"name": "ir", "display_name": "R"}}, {"language_info": {"name": "R"}}]
)
def test_code_in_another_language_is_said_not_to_be_read(tmp_path: Path, tandem: Tandem, said: dict[str, Any]) -> None:
    path = write_kernel(tmp_path, "x <- c(1, 2")
    path.write_text(json.dumps({**json.loads(path.read_text()), "metadata": said}))

    lines = tandem("check", path).out.splitlines()

    assert "N003" not in "".join(lines)
    assert lines[-2].startswith("Only Python code is checked. Of these kernels, only files and metadata were checked: ")
    assert lines[-2].endswith("notebook.ipynb.")


def test_no_more_is_held_at_once_than_a_folder_of_kernels_has(
    tmp_path: Path, tandem: Tandem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("generator.check.source._MOST_CHARACTERS", 10_000)
    write_kernel(tmp_path, "#" * 10_000)

    outcome = tandem("check", tmp_path)
    assert outcome.code == 1
    assert "name a folder further down" in outcome.err


@pytest.mark.parametrize(
    ("source", "rules"),
    [
        ('d = {"a": 1}\nprint(f"{d["a"]}")', []),  # Python 3.12, as on Kaggle
        ("def first[T](values: list[T]) -> T:\n    return values[0]", []),
        ("f(x y)", ["N003"]),
        ("pip install -q lightning==2.5", ["N021"]),
        ("cd /kaggle/working", []),
        ('get_ipython().system("pip install lightning==2.5")', ["N021"]),
        ("!curl http://localhost:8000/health", []),
        ("!curl https://example.org", ["N022"]),
        ('import pandas as pd\npd.read_csv("https://example.org/a.csv")', ["N022"]),
        ('from torchvision.models import resnet18\nresnet18(weights="DEFAULT")', ["N022"]),
        ("from torchvision import models as m\nm.resnet18(weights=m.ResNet18_Weights.IMAGENET1K_V1)", ["N022"]),
        ("from torchvision.models import resnet18\nresnet18(weights=None)", []),
        ('import timm\ntimm.create_model("a", True)', ["N022"]),
        ('import timm\ntimm.create_model("a", pretrained=True, pretrained_cfg_overlay={"file": path})', []),
        ("from google.colab import files\nfiles.upload()", ["N014", "N009"]),
        ("def input(name): return name\ninput('x')", []),
        ("from sklearn import datasets\ndatasets.fetch_openml('a')", ["N022"]),
        ('from transformers import pipeline\npipeline("text-classification")', ["N022"]),
        ('import transformers\ntransformers.pipeline("ner", model="dslim/bert-base-NER")', ["N022"]),
        ('from transformers import pipeline\npipeline("ner", "./ner")', []),
        ('from transformers import pipeline\npipeline("ner", model=model, tokenizer=tokenizer)', []),
        ('model.save_pretrained("own/best")\nAutoModel.from_pretrained("own/best")', []),
        ('args = TrainingArguments(output_dir="own")\nAutoModel.from_pretrained("own/checkpoint-9")', []),
        ('model.save_pretrained("own")\nAutoModel.from_pretrained("owned")', ["N022"]),
    ],
)
def test_what_would_fail_there_is_told_from_what_looks_like_it(tmp_path: Path, source: str, rules: list[str]) -> None:
    found = check_kernels(read_target(write_kernel(tmp_path, source, enable_internet=False)))

    # Names that the fragment does not define are not its point.
    assert [each.rule for each in found if each.rule != "N030"] == rules


@pytest.mark.parametrize(
    ("source", "commands"),
    [
        ("!pip install x\nimport a", {1: "pip install x"}),
        ("if x:\n    !ls -l \\\n      /tmp\ny = 1", {2: "ls -l        /tmp"}),
        ("files = !ls it's\n%cd /tmp\ny = 1", {1: "ls it's", 2: "cd /tmp"}),
        ('text = """\n!no\n%no\n"""\nz = (1\n% 2)\n!yes', {7: "yes"}),
        ("%%time\n%%capture out\n!ls\nz = 1", {1: "time", 2: "capture out", 3: "ls"}),
        ("%time z = sorted(x)\ndf?\n?df", {1: "time z = sorted(x)"}),
        ("%%bash\n# a comment\npip install a \\\n  b", {1: "bash", 3: "pip install a    b"}),
        ("%%writefile a.R\nx <- 1", {1: "writefile a.R"}),
        ("z = 3 % 2\nprint('''!no''')", {}),
    ],
)
def test_commands_are_taken_out_of_cells(source: str, commands: dict[int, str]) -> None:
    cell = read_cell("x", source)

    assert cell.syntax_error is None
    assert cell.commands == commands


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> list[NotebookTarget]:
    """A compiler that finds every notebook's step too large; the notebooks that it was asked about."""
    asked: list[NotebookTarget] = []
    step = StepCost("train", "keras", "v5e:2x4", 8, 512, 3e12, 1e9, 20 << 30, 16 << 30, 1.5, 0.1, {}, 1_000, 4_096, 2.0)
    steps = [step, replace(step, what="predict", parameters=0)]
    words = [CompilerProblem("memory", "It does not fit.", "Use a smaller batch per core.", "own-cell", 2)]

    def compile_steps(target: NotebookTarget, options: Any, *, progress: Callable[[str], None]) -> CompileReport:
        asked.append(target)
        progress(f"compiling for {options.topology}")
        return CompileReport(options.topology, "libtpu 0", steps, words, ["Not everything is known."], None, 2.5)

    monkeypatch.setattr(check_targets, "compile_steps", compile_steps)
    return asked


def test_what_the_compiler_says_is_a_finding_like_others(
    tmp_path: Path, tandem: Tandem, compiler: list[NotebookTarget]
) -> None:
    (tmp_path / "input" / "competitions" / "titanic").mkdir(parents=True)
    notebook = write_kernel(tmp_path / "mine")
    outcome = tandem("check", notebook, "--compile", "--workspace", tmp_path)

    assert outcome.code == 1
    assert f"{notebook}:own-cell:2: C003 error: It does not fit.\n    Use a smaller batch per core." in outcome.out
    assert "train of 512 examples on each of 8 cores: 3,000.0 GFLOP, 20.00 of 16.0 GiB, padding 1.50" in outcome.out
    assert "padding 1.50, 1,000 parameters\n" in outcome.out
    assert re.search(r"predict of 512 examples .*, padding 1\.50\n", outcome.out)
    assert "Not everything is known." in outcome.out
    assert "compiling for v5e:2x4" in outcome.err
    assert [str(mount.at) for mount in compiler[0].inputs] == ["competitions/titanic"]
    said = json.loads(tandem("check", notebook, "--compile", "--json", "--workspace", tmp_path).out)
    assert said["compiled"][0]["steps"][0]["batch_per_core"] == 512


def test_notebooks_of_others_are_not_executed_unasked(
    tmp_path: Path, tandem: Tandem, compiler: list[NotebookTarget], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_targets, "find_spec", lambda _: object())  # libtpu is installed
    write_kernel(tmp_path / "mine")
    shutil.copytree(KERNELS / "titanic", tmp_path / "kernels" / "titanic")

    assert tandem("check", tmp_path / "mine").code == 0
    outcome = tandem("check", "titanic", "--workspace", tmp_path)
    assert outcome.code == 0
    assert "The training was not compiled for a TPU: " in outcome.err
    assert tandem("check", "titanic", "--workspace", tmp_path, "--compile").code == 1
    assert compiler == []

    (tmp_path / "input" / "competitions" / "titanic").mkdir(parents=True)
    assert tandem("check", "titanic", "--workspace", tmp_path).code == 1  # what the compiler says
    assert len(compiler) == 1
    notebook = tmp_path / "kernels" / "titanic" / "train" / "train.ipynb"
    fields = json.loads(notebook.read_text())
    fields["cells"][-1]["source"] = "raise SystemExit"
    notebook.write_text(json.dumps(fields))
    own = tandem("check", "titanic", "--workspace", tmp_path)
    assert own.code == 0
    assert "--compile executes them" in own.err
    assert len(compiler) == 1
    assert tandem("check", "titanic", "--workspace", tmp_path, "--compile").code == 1
    assert len(compiler) == 2


def test_the_corpus_has_what_it_promises() -> None:
    assert len(SOUND) >= 10


def test_a_cell_that_both_notebooks_share_is_found_where_it_was_changed(
    tmp_path: Path, tandem: Tandem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(KERNELS / "titanic", tmp_path / "kernels" / "titanic")
    notebook = tmp_path / "kernels" / "titanic" / "infer" / "infer.ipynb"
    fields = json.loads(notebook.read_text())
    cell = next(each for each in fields["cells"] if "# The same in both notebooks." in "".join(each["source"]))
    cell["source"] = ["# The same in both notebooks.\n", "pass"]
    notebook.write_text(json.dumps(fields))

    outcome = tandem("check", "titanic", "--no-compile")

    assert outcome.code == 1
    assert f'infer/infer.ipynb:{cell["id"]}: N064 error: The cell "{cell["id"]}" differs between ' in outcome.out
