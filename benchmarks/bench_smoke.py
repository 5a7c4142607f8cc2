"""How long the whole pair takes in a smoke run on a specimen, for every family in every framework."""

import os
import sys
import tempfile
from pathlib import Path

from measuring import Bar, Row, is_quick, print_table, program, say, seconds_of

from generator.competition.schema import families

# The layouts of competitions that the tests have: the first of each family is taken.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from layouts import LAYOUTS, Layout


class Rehearsal:
    """A competition of a family in a workspace, with a specimen of it."""

    def __init__(self, folder: Path, layout: Layout, framework: str) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir(parents=True)
        (folder / "data").mkdir()
        layout.write(folder / "data")
        foreign = ("JUPYTER", "IPYTHON", "KAGGLE", "MPL")
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        choices = ["--data", str(folder / "data"), "--framework", framework, "--owner", "ada"]
        self._run(program("generate"), "--competition", "rehearsed", *choices)
        self._run(program("tandem"), "specimen", "rehearsed")

    def seconds(self) -> float:
        """Seconds of `tandem run rehearsed --specimen --smoke`."""
        return self._run(program("tandem"), "run", "rehearsed", "--specimen", "--smoke")

    def _run(self, *command: str) -> float:
        return seconds_of(list(command), cwd=self.workspace, env=self._environment)


def main() -> None:
    """Measures and prints the table."""
    frameworks = ("keras",) if is_quick(__doc__) else ("keras", "tensorflow")
    rows = []
    for family in families().values():
        layout = next(each for each in LAYOUTS if each.task["family"] == family.name)
        for framework in (each for each in frameworks if each in family.frameworks):
            with tempfile.TemporaryDirectory() as temporary:
                rehearsal = Rehearsal(Path(temporary).resolve(), layout, framework)
                samples = [rehearsal.seconds()]
            say(f"{family.name}, {framework}: {samples[0]:.0f} s")
            rows.append(Row(f"{family.name}, {framework}", samples, bar=Bar("<=", 60)))
    print_table(rows)


if __name__ == "__main__":
    main()
