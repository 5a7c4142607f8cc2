"""What a receipt has on record, as JSON, as Markdown and as a page."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from chain_table import Table
from fake_kaggle import COMPLETE, ERROR, QUEUED, RUNNING

from generator.files import WorkspaceFiles
from generator.kaggle.chain.errors import SessionFailedError
from generator.kaggle.chain.journal import ChainStep, EntryKind, Journal, Outcome
from generator.kaggle.receipt import ChainReceipt, as_html, as_markdown, receipt_of

BEGAN = datetime(2026, 11, 21, 12, tzinfo=UTC)


def scored(root: Path) -> ChainReceipt:
    """The receipt of a chain that went well."""
    table = Table(root)
    queued = [QUEUED] * 30
    table.kaggle.states["train"] = [*queued, RUNNING, COMPLETE]
    return receipt_of(table.push().journal)


def journal_with(path: Path, *lines: tuple[EntryKind, dict[str, object]]) -> Journal:
    journal = Journal(path / "0001.jsonl", WorkspaceFiles(path))
    for number, (kind, fields) in enumerate(lines):
        journal.append(kind, at=BEGAN + timedelta(minutes=number), **fields)
    return journal


def begun(**changes: object) -> tuple[EntryKind, dict[str, object]]:
    names = ("pair", "pair_id", "target", "address", "account", "competition", "title", "handoff", "submission_file")
    return EntryKind.BEGUN, {**dict.fromkeys(names, "x"), "is_code_competition": True, **changes}


def test_everything_that_a_chain_did_is_on_record(tmp_path: Path) -> None:
    receipt = scored(tmp_path)

    assert receipt.outcome is Outcome.SCORED
    assert [kernel.version for kernel in receipt.kernels] == [1, 1]
    assert [kernel.asked_for for kernel in receipt.kernels] == ["TPU v5e-8", "GPU T4 x2"]
    assert receipt.kernels[0].queued_minutes is not None
    assert receipt.kernels[0].queued_minutes > 10
    assert receipt.accelerator == "8 \N{MULTIPLICATION SIGN} cpu (emulated)"
    assert (receipt.out_of_fold, receipt.public, receipt.private) == (0.97, 0.96, 0.95)
    assert receipt.files[0].file == "fold0.weights.h5"
    assert len(receipt.submission_sha256) == 64
    assert receipt.parameters["train"]["COMPETITION"] == "digits"


def test_the_json_of_a_receipt_is_plain(tmp_path: Path) -> None:
    fields = json.loads(json.dumps(scored(tmp_path).as_json()))

    assert fields["outcome"] == "scored"
    assert fields["kernels"][1]["ref"] == "local/digits-keras-infer"
    assert fields["minutes"] > 10


def test_versions_that_were_replaced_stay_on_record(table: Table) -> None:
    table.kaggle.states["infer"] = [ERROR]
    table.stops(SessionFailedError)
    table.kaggle.states.clear()
    journal = table.push(back_to=ChainStep.INFER).journal

    kernels = receipt_of(journal).kernels
    assert [(kernel.role, kernel.version, kernel.replaced) for kernel in kernels] == [
        ("infer", 1, True),
        ("train", 1, False),
        ("infer", 2, False),
    ]


@pytest.mark.parametrize(
    ("first", "last", "hours"),
    [
        pytest.param((3600.0, 0.0), (5400.0, 36000.0), (0.5, 10.0), id="the difference between two looks"),
        pytest.param((3600.0, 7200.0), (3600.0, 60.0), (0.0, None), id="a week that began anew in between"),
    ],
)
def test_hours_of_quota_are_the_difference_between_two_looks_of_one_week(
    tmp_path: Path, first: tuple[float, float], last: tuple[float, float], hours: tuple[float, float | None]
) -> None:
    quotas = [(EntryKind.QUOTA, {"gpu": gpu, "tpu": tpu}) for gpu, tpu in (first, last)]
    receipt = receipt_of(journal_with(tmp_path, begun(), *quotas))

    assert (receipt.gpu_hours, receipt.tpu_hours) == hours


def test_a_submission_by_hand_names_the_page_and_the_button(tmp_path: Path) -> None:
    page = "https://www.kaggle.com/code/me/x"
    button = "Submit to competition (version 3, submission.csv)"
    by_hand = (EntryKind.BY_HAND, {"page": page, "button": button, "why": "403"})
    receipt = receipt_of(journal_with(tmp_path, begun(), by_hand))

    html, text = as_html(receipt, [receipt]), as_markdown(receipt, [receipt])
    assert receipt.outcome is Outcome.BY_HAND
    assert f'<a href="{page}"' in html
    assert button in html
    assert button in text


def test_what_others_wrote_is_text_on_the_page_and_in_markdown(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script> | `x` [a](javascript:alert(1))"
    push = {"role": "train", "ref": hostile, "source": "", "sent": "", "baseline": 0, "machine_shape": hostile}
    made = {"role": "train", "ref": hostile, "version": 1, "url": "javascript:alert(1)"}
    failed = (EntryKind.FAILED, {"step": "train", "message": hostile, "error": "SessionFailedError"})
    lines = [
        begun(title=hostile, competition=hostile, account=hostile),
        (EntryKind.PUSHING, push),
        (EntryKind.PUSHED, made),
    ]
    receipt = receipt_of(journal_with(tmp_path, *lines, failed))

    html, text = as_html(receipt, [receipt]), as_markdown(receipt, [receipt])
    assert "<script>" not in html
    assert 'href="javascript' not in html
    assert "**Failed.** \\<script\\>alert(1)" in text


def test_a_page_needs_nothing_from_anywhere(tmp_path: Path) -> None:
    receipt = scored(tmp_path)
    html = as_html(receipt, [receipt])

    assert "default-src 'none'" in html
    assert "<script" not in html
    assert "src=" not in html
    assert "<link" not in html


def test_all_chains_of_a_pair_stand_in_one_table(tmp_path: Path) -> None:
    first = receipt_of(journal_with(tmp_path, begun()))
    alone, together = as_html(first, [first]), as_html(first, [first, first, first])

    assert together.count("<td>unfinished</td>") - alone.count("<td>unfinished</td>") == 2
