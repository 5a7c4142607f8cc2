"""How long the command line takes to start, and to write a pair beside cookiecutter writing the same notebooks."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from measuring import Bar, Row, in_pairs, is_quick, print_table, program, ratio_row, seconds_of

# What a cookiecutter user would be asked for: names that stand in both notebooks.
VARIABLES = {"slug": "digits", "title": "Handwritten digits", "owner": "your-kaggle-username"}
GENERATE = ("generate", "--competition", "digits")


def kernel_files(pair: Path) -> list[Path]:
    """Returns the two notebooks of a pair and their metadata."""
    return sorted(file for role in ("train", "infer") for file in (pair / role).iterdir())


def cookiecutter_template(pair: Path, folder: Path) -> Path:
    """Makes a cookiecutter template that renders the notebooks and metadata of a pair, and nothing else."""
    folder.mkdir()
    (folder / "cookiecutter.json").write_text(json.dumps(VARIABLES))
    for file in kernel_files(pair):
        copy = folder / "{{ cookiecutter.slug }}" / file.relative_to(pair)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(_as_jinja(file.read_text()))
    return folder


def _as_jinja(text: str) -> str:
    for name, value in VARIABLES.items():
        text = text.replace(value, f"{{% endraw %}}{{{{ cookiecutter.{name} }}}}{{% raw %}}")
    return f"{{% raw %}}{text}{{% endraw %}}"


def check_same(pair: Path, rendered: Path) -> None:
    """Stops if cookiecutter did not write the very same files."""
    for file in kernel_files(pair):
        if (rendered / file.relative_to(pair)).read_bytes() != file.read_bytes():
            raise SystemExit(f"cookiecutter renders {file.relative_to(pair)} differently: the comparison is not fair.")


class Contest:
    """The same two notebooks written by `generate` and by cookiecutter, each in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self.rendered = folder / "workspace", folder / "rendered"
        self.workspace.mkdir()
        self.pair = self.workspace / "kernels" / "digits"
        seconds_of([program(GENERATE[0]), *GENERATE[1:]], cwd=self.workspace)  # the data as well
        template = cookiecutter_template(self.pair, folder / "template")
        settings = folder / "cookiecutter.yaml"  # keeps its records out of the home folder
        settings.write_text(f"cookiecutters_dir: {folder / 'templates'}\nreplay_dir: {folder / 'replay'}\n")
        self._cookiecutter = [
            *(program("cookiecutter"), "--no-input", "--overwrite-if-exists", "--config-file", str(settings)),
            *("--output-dir", str(self.rendered), str(template)),
        ]
        self.by_cookiecutter()
        check_same(self.pair, self.rendered / "digits")

    def by_generate(self) -> float:
        """Seconds of `generate`."""
        return seconds_of([program(GENERATE[0]), *GENERATE[1:]], cwd=self.workspace)

    def by_cookiecutter(self) -> float:
        """Seconds of `cookiecutter`."""
        return seconds_of(self._cookiecutter, cwd=self.workspace.parent)

    def afresh(self, write: Callable[[], float]) -> float:
        """Seconds of either, after what both have written is gone."""
        shutil.rmtree(self.workspace / "kernels", ignore_errors=True)
        shutil.rmtree(self.rendered, ignore_errors=True)
        return write()


def main() -> None:
    """Measures and prints the table."""
    pairs = 3 if is_quick(__doc__) else 21
    with tempfile.TemporaryDirectory() as temporary:
        contest = Contest(Path(temporary).resolve())
        starts = [seconds_of([program("tandem"), "--help"], cwd=Path(temporary)) for _ in range(pairs)]
        new, new_there = in_pairs(
            "a new pair",
            lambda: contest.afresh(contest.by_generate),
            lambda: contest.afresh(contest.by_cookiecutter),
            pairs=pairs,
        )
        contest.afresh(contest.by_generate)
        contest.by_cookiecutter()
        again, again_there = in_pairs("nothing new", contest.by_generate, contest.by_cookiecutter, pairs=pairs)
        size = sum(file.stat().st_size for file in kernel_files(contest.pair) if file.suffix == ".ipynb")
    print(f"Two notebooks of {size:,} bytes together, on {os.cpu_count()} cores.")
    print_table(
        [
            Row("tandem --help", starts, bar=Bar("<", 0.25)),
            Row("generate, a new pair", new),
            Row("cookiecutter, the same files", new_there),
            ratio_row("a new pair: generate / cookiecutter", new, new_there, Bar("<=", 1)),
            Row("generate, nothing to write", again),
            Row("cookiecutter, over the same files", again_there),
            ratio_row("nothing to write: generate / cookiecutter", again, again_there, Bar("<=", 1)),
        ]
    )


if __name__ == "__main__":
    main()
