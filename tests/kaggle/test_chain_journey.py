"""From `generate` to a score with real notebooks: the pair of `digits`, trained on eight emulated devices."""

from collections.abc import Callable
from pathlib import Path

import pytest
from miniature import Outcome
from serving import served

from generator.local_server import ROOT_VARIABLE


@pytest.mark.slow
def test_the_pair_of_digits_is_generated_pushed_run_submitted_and_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tandem: Callable[..., Outcome]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tandem("generate", "--competition", "digits").code == 0
    with (tmp_path / "kernels" / "digits" / "pair.toml").open("a") as choices:
        choices.write("EPOCHS = 1\nFOLDS = 2\n")  # its last section is that of parameters
    assert tandem("generate", "--competition", "digits").code == 0

    with served(tmp_path / "kaggle") as kaggle:
        kaggle.record(tmp_path / "kaggle")
        monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "kaggle"))
        pushed = tandem("push", "digits", "--to", "local", "--submit")
        versions = kaggle.site.database.one("SELECT count(*) FROM kernel_versions")[0]

    assert pushed.code == 0, pushed.err
    assert "trained on 8 \N{MULTIPLICATION SIGN} cpu (emulated)" in pushed.err
    assert "digits: public score" in pushed.err
    assert versions == 2
