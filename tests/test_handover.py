"""What training says of itself."""

import json
from pathlib import Path

import pytest

from generator.pair.handover import HandOverError, Score, read_handover


def test_a_handover_is_read(tmp_path: Path) -> None:
    (tmp_path / "handoff.json").write_text(
        json.dumps(
            {
                "complete": False,
                "framework": "keras",
                "out_of_fold": {"metric": "accuracy", "score": 1},
                "accelerator": {"platform": "tpu", "device_count": 8, "device_kind": "TPU v5 lite"},
            }
        )
    )

    handover = read_handover(tmp_path)

    assert not handover.is_complete
    assert handover.out_of_fold == Score("accuracy", 1.0)
    assert handover.accelerator == "8 \N{MULTIPLICATION SIGN} TPU v5 lite"


def test_fields_of_the_wrong_type_count_as_left_out(tmp_path: Path) -> None:
    fields = {"versions": [], "out_of_fold": {"score": "best"}, "accelerator": 8, "framework": None}
    (tmp_path / "handoff.json").write_text(json.dumps(fields))

    handover = read_handover(tmp_path)

    assert handover.out_of_fold is None
    assert (handover.framework, handover.accelerator, handover.versions) == ("", "", {})


def test_a_missing_handover_names_the_way_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(HandOverError, match="--only train"):
        read_handover(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"a": ' * 900 + b"1" + b"}" * 900])
def test_a_damaged_handover_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "handoff.json").write_bytes(content)

    with pytest.raises(HandOverError, match="damaged"):
        read_handover(tmp_path)
