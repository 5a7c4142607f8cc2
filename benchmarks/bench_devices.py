"""Losses of one device and of eight, parts of this CPU, for every family: as `tandem rehearse` compares them.

At a learning rate at which rounding does not grow: at the usual ones the last bits of a float32 grow to a
thousandth in 20 steps, whatever computes them.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from measuring import Bar, Row, print_table, program, say

from generator.competition.schema import families

# The layouts of competitions that the tests have: the first of each family is taken.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from layouts import LAYOUTS, Layout

_PAIR = "made-up"
_EPOCHS = 20  # of one step at least, as large as a specimen is


def trials(layout: Layout, framework: str) -> dict[str, str]:
    """What a rehearsal finds of a pair for made-up files in a layout, by the name of the trial."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        (folder / "data").mkdir()
        layout.write(folder / "data")
        made = ("--competition", _PAIR, "--name", _PAIR, "--data", "data", "--framework", framework)
        _run(folder, "generate", *made)
        _run(folder, "tandem", "specimen", _PAIR)
        usual = ("LEARNING_RATE=1e-5", "BATCH_SIZE=2", f"EPOCHS={_EPOCHS}", "N_FOLDS=1")
        parameters = [word for each in usual for word in ("-P", each)]
        report = _run(folder, "tandem", "rehearse", _PAIR, "--specimen", "--examples", "8", "--json", *parameters)
    return {trial["name"]: trial["found"] for trial in json.loads(report)["training"]}


def _run(folder: Path, name: str, *arguments: str) -> str:
    done = subprocess.run([program(name), *arguments], cwd=folder, text=True, stdout=subprocess.PIPE, check=False)
    return done.stdout


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", default="jax")
    parser.add_argument("--only", nargs="*", default=sorted(families()))
    arguments = parser.parse_args()
    rows = []
    for family in arguments.only:
        layout = next(each for each in LAYOUTS if each.task.get("family") == family)
        found = trials(layout, arguments.framework)
        say(f"{family}: {found['8 devices']} {found['compilations']} {found['the loss']}")
        apart = float(re.findall(r"up to (\S+) apart", found["the loss"])[0])
        rows.append(Row(f"{family}: losses of 8 devices and of 1, apart", [apart], "relative", Bar("<=", 1e-5)))
    print_table(rows)


if __name__ == "__main__":
    main()
