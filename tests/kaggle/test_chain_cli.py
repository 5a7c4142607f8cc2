"""The verbs of the chain as a user types them, against a local Kaggle that is served."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from chain_pair import edit_notebook, edited, pair_in, training_output
from fault_cells import SAMPLE, competition
from miniature import Outcome
from scripted import ScriptedRunner, writing
from serving import Served, served

from generator.kaggle.chain.inputs import prepare
from generator.kaggle.gateway import Target, connect
from generator.local_server import ROOT_VARIABLE
from generator.pair.settings import PLACEHOLDER_OWNER
from generator.pair.workspace import PairFolder, Role
from generator.sessions.sandbox import SessionOrder

Tandem = Callable[..., Outcome]
UNCHECKED = ("push", "cells", "--to", "local", "--no-verify")
"""A push that does not look into its notebooks first, which takes longer than all the rest of it."""


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A local Kaggle that the command line finds, with one small competition and scripted sessions."""
    root = tmp_path / "kaggle"
    hosted = [competition(tmp_path / "hosted", "cells-code", is_code=True)]
    with served(root, competitions=hosted, runner=ScriptedRunner(script_of(tmp_path))) as running:
        running.record(root)
        monkeypatch.setenv(ROOT_VARIABLE, str(root))
        monkeypatch.chdir(tmp_path)
        yield running


def script_of(root: Path) -> Callable[[SessionOrder], None]:
    pair = pair_in(root, slug="cells-code", name="cells")
    outputs = training_output(pair)

    def script(order: SessionOrder) -> None:
        writing(outputs if "-train" in order.title else {"submission.csv": SAMPLE})(order)

    return script


@pytest.fixture
def pair(tmp_path: Path) -> PairFolder:
    return PairFolder(tmp_path / "kernels" / "cells")


def counts(local: Served) -> tuple[int, ...]:
    """Versions and submissions that the server has."""
    tables = ("kernel_versions", "submissions")
    return tuple(local.site.database.fetch_one(f"SELECT count(*) FROM {table}")[0] for table in tables)  # noqa: S608 - as above


def test_push_carries_a_pair_to_its_score(local: Served, tandem: Tandem, tmp_path: Path) -> None:
    outcome = tandem("push", "cells", "--to", "local", "--submit")

    assert outcome.code == 0, outcome.err
    assert "chain        1 of cells, scored" in outcome.out
    assert "pushed local/cells-train as version 1" in outcome.err
    assert (tmp_path / "output" / "cells" / "receipt.html").is_file()
    (run,) = json.loads(tandem("runs", "cells", "--json").out)["runs"]
    assert (run["origin"], run["cv"], run["parent"], run["weights"]) == ("kaggle", 0.97, None, "remote")
    assert run["public_score"] is not None


@pytest.mark.slow
def test_a_pair_that_was_trained_on_colab_is_carried_from_its_output_to_its_score(
    local: Served, tandem: Tandem, pair: PairFolder, tmp_path: Path
) -> None:
    pair.settings_path.write_text(pair.settings_path.read_text().replace("[pair]", '[pair]\nplatform = "colab"'))
    trained = tmp_path / "output" / "cells" / "train"
    trained.mkdir(parents=True)
    for name, content in training_output(pair).items():
        (trained / name).write_bytes(content)

    plan = tandem("push", "cells", "--to", "local", "--dry-run")
    outcome = tandem("push", "cells", "--to", "local", "--submit")

    assert "cells-infer" in plan.out
    assert "cells-train " not in plan.out
    assert outcome.code == 0, outcome.err
    assert "local/cells-train-handover, version 1, is uploaded" in outcome.err
    assert "chain        1 of cells, scored" in outcome.out
    assert counts(local) == (1, 1)
    assert "trained elsewhere" in tandem("status", "cells").out


@pytest.mark.slow
def test_the_events_of_a_push_are_json_lines(
    local: Served, tandem: Tandem, keep_example: Callable[[str, str], None]
) -> None:
    outcome = tandem("push", "cells", "--to", "local", "--submit", "--json")
    lines = [json.loads(line) for line in outcome.out.splitlines()]

    assert {line["event"] for line in lines} >= {"step", "state", "done"}
    assert lines[-1]["outcome"] == "scored"
    assert [line["version"] for line in lines if "version" in line] == [1, 1]
    keep_example("push", outcome.out)


def test_status_submit_and_receipt_follow_a_push(
    local: Served, tandem: Tandem, keep_example: Callable[[str, str], None]
) -> None:
    tandem(*UNCHECKED)
    assert "ready" in tandem("status", "cells").out

    assert "scored" in tandem("submit", "cells", "--to", "local").out
    assert "submission 1" in tandem("status", "cells").out
    fields = json.loads(tandem("receipt", "cells", "--format", "json").out)
    assert [chain["outcome"] for chain in fields["chains"]] == ["scored"]
    assert "# cells: chain 1" in tandem("receipt", "cells", "--format", "md").out

    status, receipt = tandem("status", "cells", "--json"), tandem("receipt", "cells", "--json")
    assert json.loads(receipt.out) == fields == json.loads(status.out) | {"chains": fields["chains"]}
    assert json.loads(tandem("submit", "cells", "--to", "local", "--json").out)["event"] == "done"
    keep_example("status", status.out)
    keep_example("receipt", receipt.out)
    keep_example("submit", tandem("submit", "cells", "--to", "local", "--json").out)


@pytest.mark.slow
def test_a_step_that_failed_says_how_to_take_it_again(local: Served, tandem: Tandem) -> None:
    local.set_faults("session-fails@cells-inferx1")
    failed = tandem(*UNCHECKED, "--submit")
    assert failed.code == 1
    assert "The infer session ended: error" in failed.err
    assert "`tandem push cells --to local --from infer`" in failed.err

    again = tandem(*UNCHECKED, "--submit")
    assert "`tandem push cells --to local --from infer`" in again.err
    assert "\\n" not in again.err
    assert tandem(*UNCHECKED, "--submit", "--from", "infer").code == 0


@pytest.mark.slow
def test_a_receipt_that_cannot_be_written_does_not_hide_how_the_chain_failed(
    local: Served, tandem: Tandem, tmp_path: Path
) -> None:
    local.set_faults("session-fails@cells-inferx1")
    (tmp_path / "output").mkdir(exist_ok=True)
    (tmp_path / "output" / "cells").write_text("a file, where the receipt's folder should be")

    failed = tandem(*UNCHECKED, "--submit")

    assert failed.code == 1
    assert "The infer session ended: error" in failed.err


@pytest.mark.slow
def test_what_was_asked_for_by_a_wrong_name_is_not_replaced_by_something_else(local: Served, tandem: Tandem) -> None:
    outcome = tandem(*UNCHECKED, "--from", "infer")
    assert outcome.code == 1
    assert "There is no chain of cells on local to repeat" in outcome.err
    assert counts(local) == (0, 0)

    tandem(*UNCHECKED)
    outcome = tandem("receipt", "cells", "--chain", "2", "--format", "json")
    assert (outcome.code, outcome.out) == (1, "")
    assert "There is no chain 2 of cells. The last one is chain 1." in outcome.err


@pytest.mark.slow
def test_what_may_pass_is_told_as_part_of_its_step(local: Served, tandem: Tandem) -> None:
    local.set_faults("push-error@SaveKernelx1", "transient-404x2")
    outcome = tandem(*UNCHECKED, "--json")

    assert outcome.code == 0, outcome.err
    assert {json.loads(line).get("step") for line in outcome.out.splitlines()[:-1]} <= {"train", "infer", "quota"}


@pytest.mark.slow
def test_a_submission_by_hand_names_one_page_only(local: Served, tandem: Tandem) -> None:
    local.set_faults("submit-403")
    outcome = tandem(*UNCHECKED, "--submit")

    assert outcome.code == 1
    assert "(Permission 'competitions.submit' was denied). Open http" in outcome.err
    assert outcome.err.count("http") == 3  # the pages of both kernels, and that of the button


@pytest.mark.slow
def test_missing_credentials_are_said_before_a_first_push_is_asked_about(tandem: Tandem, tmp_path: Path) -> None:
    pair_in(tmp_path, slug="other-cells", owner="ada")

    outcome = tandem("push", "other-cells", "--workspace", tmp_path)

    assert outcome.code == 1
    assert "there are no credentials on this machine" in outcome.err


@pytest.mark.slow
def test_a_dry_run_sends_nothing(local: Served, tandem: Tandem) -> None:
    outcome = tandem("push", "cells", "--to", "local", "--dry-run", "--hours", "2")

    assert "TpuV5E8" in outcome.out
    assert "TPU v5e-8, at most 2 h" in outcome.out
    assert "train: the limit is that of --hours" in outcome.out
    assert "Nothing was sent." in outcome.out
    assert not local.local_kaggle.exchanges


@pytest.mark.slow
@pytest.mark.parametrize("options", [["--dry-run"], ["--dry-run", "--json"], ["--workflow", "github"]])
def test_a_pair_that_belongs_to_nobody_is_warned_of(tandem: Tandem, tmp_path: Path, options: list[str]) -> None:
    pair_in(tmp_path, slug="cells-code", owner=PLACEHOLDER_OWNER)
    pair_in(tmp_path, slug="other-cells", owner="ada")

    outcome = tandem("push", "cells-code", "--workspace", tmp_path, *options)
    assert outcome.code == 0
    assert "Warning: the kernels have no owner yet (your-kaggle-username)" in outcome.err
    assert "`tandem generate --competition cells-code --name cells-code --owner NAME`" in outcome.err
    assert tandem("push", "other-cells", "--workspace", tmp_path, *options).err == ""


@pytest.mark.slow
def test_a_dry_run_says_what_of_the_last_chain_stays(local: Served, tandem: Tandem) -> None:
    tandem(*UNCHECKED)

    outcome = tandem(*UNCHECKED, "--from", "infer", "--dry-run", "--json")

    plan = {kernel["role"]: kernel["is_there"] for kernel in json.loads(outcome.out)["push"]}
    assert plan == {"train": 1, "infer": None}


def plan_of(tandem: Tandem, *options: str) -> dict[str, int | None]:
    """The version of each kernel that a dry run says will stay."""
    outcome = tandem(*UNCHECKED, *options, "--dry-run", "--json")
    assert outcome.code == 0, outcome.err
    return {kernel["role"]: kernel["is_there"] for kernel in json.loads(outcome.out)["push"]}


@pytest.mark.slow
def test_a_dry_run_after_a_finished_chain_says_what_the_push_then_does(
    local: Served, tandem: Tandem, pair: PairFolder
) -> None:
    tandem(*UNCHECKED, "--submit")

    assert plan_of(tandem) == {"train": 1, "infer": 1}
    said = tandem(*UNCHECKED, "--dry-run").out
    assert "`tandem push cells --to local --restart` pushes both again." in said
    assert "the chain is complete" in tandem(*UNCHECKED).err
    assert counts(local) == (2, 1)

    edit_notebook(pair, "train")  # as the tutorial does, by a loss of one's own
    assert plan_of(tandem) == {"train": None, "infer": None}
    said = tandem(*UNCHECKED, "--dry-run").out
    assert "The training notebook was changed since chain 1. A new chain starts." in said
    assert "stays" not in said
    assert " s and 15 min, because chain 1 took " in said
    pushed = tandem(*UNCHECKED)
    assert "to be pushed: local/cells-train (TPU v5e-8, at most 0.5 h)" in pushed.err
    assert pushed.err.index("to be pushed: local/cells-infer (GPU T4 x2, at most 12 h)") < pushed.err.index(
        " as version"
    )
    assert counts(local) == (4, 1)


@pytest.mark.slow
def test_a_dry_run_refuses_what_the_push_refuses(local: Served, tandem: Tandem, pair: PairFolder) -> None:
    tandem(*UNCHECKED, "--submit")
    edit_notebook(pair, "infer")

    dry, pushed = tandem(*UNCHECKED, "--dry-run"), tandem(*UNCHECKED)
    assert dry.code == pushed.code == 1
    assert "The infer notebook of cells was changed after its push as version 1." in dry.err
    assert dry.err == pushed.err
    assert counts(local) == (2, 1)


@pytest.mark.slow
def test_a_chain_that_is_done_says_so(local: Served, tandem: Tandem) -> None:
    assert "the chain is complete" not in tandem(*UNCHECKED, "--submit").err

    again = tandem(*UNCHECKED, "--submit")

    assert again.code == 0
    assert "the chain is complete. `tandem push cells --to local --restart` starts a new one." in again.err


@pytest.mark.slow
@pytest.mark.parametrize("role", list(Role))
def test_a_version_that_another_client_saved_is_refused_with_the_cells_that_differ(
    local: Served, tandem: Tandem, pair: PairFolder, role: Role
) -> None:
    tandem(*UNCHECKED, "--submit")
    kernel = prepare(pair, role, verify=False).push
    there = connect(Target.LOCAL).kernels.find(kernel.ref)
    assert there is not None
    notebook = json.loads(there.source)
    notebook["cells"][0]["source"] = "# Edited in the browser"
    connect(Target.LOCAL).kernels.push(replace(kernel, text=json.dumps(notebook)))

    outcome = tandem(*UNCHECKED, "--submit", "--restart")
    assert outcome.code == 1
    assert f"Version 2 of local/cells-{role} on Kaggle was not pushed from this pair" in outcome.err
    assert f"cells changed: {notebook['cells'][0]['id']})" in outcome.err
    assert "`tandem push cells --to local --over-edits`" in outcome.err
    assert counts(local) == (3, 1)

    assert tandem(*UNCHECKED, "--submit", "--over-edits").code == 0
    assert counts(local) == (5, 2)


@pytest.mark.slow
def test_a_damaged_journal_is_told_with_two_ways_on_and_repaired(
    local: Served, tandem: Tandem, pair: PairFolder
) -> None:
    tandem(*UNCHECKED, "--submit")
    path = pair.state / "chains" / "0001.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]) + b"\0" * 100 + b"\n" + b"".join(lines[5:]))

    refused = tandem(*UNCHECKED, "--submit")
    assert refused.code == 1
    assert "0001.jsonl is damaged in line 5: it has no checksum." in refused.err
    assert "`tandem push cells --repair`" in refused.err
    assert "`tandem push cells --restart`" in refused.err
    assert tandem("status", "cells").code == 1
    assert tandem(*UNCHECKED, "--repair", "--restart").code == 2

    assert tandem(*UNCHECKED, "--submit", "--repair").code == 0
    assert counts(local) == (2, 1)


@pytest.mark.slow
def test_a_receipt_that_is_a_link_is_refused_before_anything_is_pushed(
    local: Served, tandem: Tandem, tmp_path: Path
) -> None:
    (tmp_path / ".bashrc").write_text("of the user\n")
    (tmp_path / "output" / "cells").mkdir(parents=True)
    (tmp_path / "output" / "cells" / "receipt.html").symlink_to(tmp_path / ".bashrc")

    outcome = tandem("push", "cells", "--to", "local")

    assert outcome.code == 1
    assert "receipt.html is a link. Writing there would change a file elsewhere" in outcome.err
    assert (tmp_path / ".bashrc").read_text() == "of the user\n"
    assert counts(local) == (0, 0)


@pytest.mark.slow
def test_the_first_push_to_the_real_kaggle_needs_a_yes(
    local: Served, tandem: Tandem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAGGLE_API_TOKEN", "KGAT_of-nobody")

    outcome = tandem("push", "cells")

    assert outcome.code == 2
    assert "This is the first push of the pair to the real Kaggle." in outcome.err
    assert "add --yes" in outcome.err


@pytest.mark.parametrize("verb", ["push", "submit"])
def test_without_a_terminal_every_push_and_submission_to_the_real_kaggle_needs_a_yes(
    local: Served, tandem: Tandem, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setenv("KAGGLE_API_TOKEN", "KGAT_of-nobody")
    monkeypatch.setattr("generator.kaggle.chain.has_pushes", lambda *_: True)
    monkeypatch.setattr("generator.cli.push.carry", lambda *_, **__: 0)

    refused = tandem(verb, "cells", "--json")

    assert refused.code == 2
    assert json.loads(refused.out)["error"]["code"] == "usage"
    assert "so no question can be asked: add --yes" in refused.err
    assert counts(local) == (0, 0)
    assert tandem(verb, "cells", "--yes").code == 0
    monkeypatch.setattr("generator.cli.terminal.is_interactive", lambda: True)
    assert tandem(verb, "cells").code == 0


def test_a_built_in_competition_is_not_pushed_to_the_real_kaggle(tandem: Tandem, tmp_path: Path) -> None:
    pair_in(tmp_path)
    for option in ("--yes", "--dry-run"):
        outcome = tandem("push", "digits", "--workspace", tmp_path, option)

        assert outcome.code == 1
        assert "tandem serve" in outcome.err


def test_a_workflow_names_its_secret_and_holds_none(tandem: Tandem, tmp_path: Path) -> None:
    pair_in(tmp_path)
    tandem("push", "digits", "--workspace", tmp_path, "--workflow", "github", "--submit")

    text = (tmp_path / ".github" / "workflows" / "tandem-digits.yml").read_text()
    assert "tandem push digits --submit --yes" in text
    assert "${{ secrets.KAGGLE_API_TOKEN }}" in text
    assert "{{" not in text.replace("${{", "")
    assert 'pip install "$TANDEM"' in text


def test_a_workflow_that_somebody_edited_is_left_as_it_is(tandem: Tandem, tmp_path: Path) -> None:
    pair_in(tmp_path)
    command = ("push", "digits", "--workspace", tmp_path, "--workflow", "github")
    path = tmp_path / ".github" / "workflows" / "tandem-digits.yml"
    assert [tandem(*command).code, tandem(*command, "--submit").code] == [0, 0]
    path.write_text(path.read_text().replace("workflow_dispatch:", "schedule: [{cron: 0 6 * * *}]"))
    edited = path.read_text()

    outcome = tandem(*command)

    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "has edits, so it was not overwritten" in outcome.err
    assert path.read_text() == edited


@pytest.mark.slow
def test_a_kernel_that_would_lose_its_tpu_is_not_pushed(local: Served, tandem: Tandem, pair: PairFolder) -> None:
    with edited(pair.metadata(Role.TRAIN)) as fields:
        fields["docker_image"] = "gcr.io/x@sha256:0"
    outcome = tandem("push", "cells", "--to", "local")

    assert outcome.code == 1
    assert "docker_image" in outcome.err


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--dry-run", "--no-verify")], ids=" ".join)
def test_notebooks_that_drifted_apart_are_not_pushed(
    local: Served, tandem: Tandem, pair: PairFolder, options: tuple[str, ...]
) -> None:
    for role in Role:
        with edited(pair.notebook(role)) as notebook:
            notebook["cells"][-1] |= {"id": "width", "source": f"# The same in both notebooks.\nTRAINS = '{role}'"}
    outcome = tandem("push", "cells", "--to", "local", *options)

    assert outcome.code == 1
    assert 'The cell "width" differs between ' in outcome.err
    assert str(pair.notebook(Role.INFER).relative_to(Path.cwd())) in outcome.err
    assert not pair.state.exists() or not list(pair.state.rglob("*.jsonl"))


@pytest.mark.slow
def test_a_notebook_with_a_key_in_it_is_refused_without_looking_whether_it_was_taken(
    local: Served, tandem: Tandem, pair: PairFolder
) -> None:
    with edited(pair.notebook(Role.TRAIN)) as notebook:
        notebook["cells"][-1]["source"] = "KEY = '-----BEGIN RSA PRIVATE KEY-----'"
    checked, outcome = (tandem("push", "cells", "--to", "local", *option) for option in ([], ["--no-verify"]))

    assert checked.code == outcome.code == 1
    assert "looks like a private key (N008)" in checked.err
    assert "what looks like a private key" in outcome.err
    assert "Looking whether" not in outcome.err
    for refusal in (checked, outcome):
        assert "--allow N008" in refusal.err


@pytest.mark.slow
def test_what_is_called_an_error_is_pushed_where_its_rule_is_allowed(
    local: Served, tandem: Tandem, pair: PairFolder
) -> None:
    with edited(pair.notebook(Role.TRAIN)) as notebook:
        notebook["cells"][-1]["source"] += "\nNOT_A_KEY = '-----BEGIN RSA PRIVATE KEY-----'\nname = lambda: input()"
    refused = tandem("push", "cells", "--to", "local", "--allow", "N008")
    outcome = tandem("push", "cells", "--to", "local", "--allow", "N008", "--allow", "waits-for-somebody")

    assert refused.code == 1
    assert "(N009)" in refused.err
    assert "To push it anyway, add --allow N009." in refused.err
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("N899", 'There is no rule "N899"'),
        ("N001", "this rule (not-a-notebook) cannot be ignored, because Kaggle needs valid files"),
    ],
)
def test_a_rule_that_cannot_be_allowed_is_said(
    local: Served, tandem: Tandem, pair: PairFolder, rule: str, said: str
) -> None:
    outcome = tandem("push", "cells", "--to", "local", "--allow", rule)

    assert outcome.code == 1
    assert said in outcome.err


def test_without_the_check_nothing_that_cannot_be_sent_is_sent(local: Served, tandem: Tandem, pair: PairFolder) -> None:
    with edited(pair.notebook(Role.TRAIN)) as notebook:
        del notebook["metadata"]
    assert tandem("push", "cells", "--to", "local", "--dry-run", "--no-verify").code == 0

    with edited(pair.metadata(Role.TRAIN)) as metadata:
        metadata["id"] = "no-owner"
    outcome = tandem("push", "cells", "--to", "local", "--dry-run", "--no-verify")
    assert outcome.code == 1
    assert "no id OWNER/SLUG" in outcome.err


@pytest.mark.slow
def test_a_push_says_what_is_doubtful_and_is_made(local: Served, tandem: Tandem, pair: PairFolder) -> None:
    with edited(pair.notebook(Role.TRAIN)) as notebook:
        notebook["cells"][-1]["source"] = "!pip install lightning"
    outcome = tandem("push", "cells", "--to", "local", "--dry-run")

    assert outcome.code == 0
    assert "Warning: " in outcome.err
    assert (
        "lightning is installed without a version: the newest one at each run. Pin it: lightning==VERSION. (N020)"
        in outcome.err
    )


@pytest.mark.slow
@pytest.mark.parametrize("lines", [4, 11])
def test_a_command_that_is_killed_goes_on_where_it_was(
    local: Served, tandem: Tandem, pair: PairFolder, lines: int
) -> None:
    """`kill -9` from outside, at whatever the process does once its journal has so many lines."""
    command = [sys.executable, "-m", "generator", *UNCHECKED, "--submit"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = pair.state / "chains" / "0001.jsonl"
    deadline = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        if journal.is_file() and journal.read_bytes().count(b"\n") >= lines:
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.001)
    process.wait(30)

    assert tandem(*UNCHECKED, "--submit").code == 0
    assert counts(local) == (2, 1)
