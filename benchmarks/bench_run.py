"""What `tandem run` costs over plain papermill on the same two notebooks."""

import json
import os
import shutil
import tempfile
from pathlib import Path

from measuring import Bar, Row, in_pairs, is_quick, print_table, program, ratio_row, say, seconds_of


class Contest:
    """The digits pair in a workspace, to be run by `tandem` and by papermill, as often as wanted."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self.by_hand = folder / "workspace", folder / "by-hand"
        self.workspace.mkdir()
        self.pair = self.workspace / "kernels" / "digits"
        # Both sides share the index of fonts and what a kernel is told of logging; neither sees a user's settings.
        cache = folder / "cache"
        foreign = ("JUPYTER", "IPYTHON", "KAGGLE", "MPL")
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | {
            "XDG_CACHE_HOME": str(cache),
            "MPLCONFIGDIR": str(cache / "tandem" / "matplotlib"),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "PYTHONUNBUFFERED": "1",
        }
        (cache / "tandem" / "matplotlib").mkdir(parents=True)
        self._run([program("generate"), "--competition", "digits"], self.workspace)

    def by_tandem(self, *options: str) -> float:
        """Seconds of `tandem run digits`."""
        shutil.rmtree(self.workspace / "output", ignore_errors=True)
        return self._run([program("tandem"), "run", "digits", *options], self.workspace)

    def by_papermill(self, *parameters: str) -> float:
        """Seconds of the two notebooks one after the other, the output of the first mounted for the second."""
        shutil.rmtree(self.by_hand, ignore_errors=True)
        trained = self.by_hand / "working" / "train"
        train_kernel = json.loads((self.pair / "train" / "kernel-metadata.json").read_text())["id"]
        mount = self.by_hand / "input" / "notebooks" / train_kernel
        for link, target in {
            self.by_hand / "input" / "competitions": self.workspace / "input" / "competitions",
            mount: trained,
        }.items():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target, target_is_directory=True)
        training = ("-p", "ALLOW_CPU", "true", *parameters)
        return self._notebook("train", training) + self._notebook("infer", parameters)

    def _notebook(self, role: str, parameters: tuple[str, ...]) -> float:
        working = self.by_hand / "working" / role
        working.mkdir(parents=True)
        source, result = self.pair / role / f"{role}.ipynb", self.by_hand / f"{role}.ipynb"
        roots = ("-p", "INPUT_ROOT", str(self.by_hand / "input"), "-p", "WORKING_ROOT", str(working))
        papermill = [program("python"), "-m", "papermill", str(source), str(result)]
        return self._run([*papermill, "--cwd", str(working), *roots, *parameters], self.by_hand)

    def _run(self, command: list[str], cwd: Path) -> float:
        return seconds_of(command, cwd=cwd, env=self._environment)


def main() -> None:
    """Measures and prints the table."""
    quick = is_quick(__doc__)
    pairs = 1 if quick else 3
    shorter = (("-P", "EPOCHS=2"), ("-p", "EPOCHS", "2")) if quick else ((), ())
    with tempfile.TemporaryDirectory() as temporary:
        contest = Contest(Path(temporary).resolve())
        say("warming up: the fonts are indexed, the packages are read from the disk")
        contest.by_tandem("--smoke")
        contest.by_papermill("-p", "DEBUG", "true")
        smoke = [contest.by_tandem("--smoke") for _ in range(pairs)]
        ours, theirs = in_pairs(
            "tandem run, papermill",
            lambda: contest.by_tandem(*shorter[0]),
            lambda: contest.by_papermill(*shorter[1]),
            pairs=pairs,
        )
    print_table(
        [
            Row("tandem run digits --smoke", smoke, bar=Bar("<", 60)),
            Row(" ".join(("tandem run digits", *shorter[0])), ours, bar=Bar("<", 100)),
            Row("papermill train.ipynb, papermill infer.ipynb", theirs),
            ratio_row("tandem run / papermill", ours, theirs, Bar("<=", 1.05)),
        ]
    )


if __name__ == "__main__":
    main()
