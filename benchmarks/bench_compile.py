"""What Google's TPU compiler says of the training steps of all families and of two backbones: memory, traffic, padding.

It takes the extra `tpu`, and minutes for each large model: `--only ResNet50` measures a part.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench_first_step import FOLDER
from measuring import program, say

from generator.pair.workspace import Workspace
from generator.tpu_compiler.compilation import CompileOptions, compile_steps
from generator.tpu_compiler.report import CompileReport
from generator.tpu_compiler.step_cost import StepCost
from generator.tpu_compiler.targets import pair_notebook

# The layouts of competitions that the tests have: the first of each family is taken.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from layouts import LAYOUTS, Layout

_CLONE = Path(__file__).resolve().parents[1]

_HEAD = ("pair", "topology", "batch", "peak GB", "GFLOP", "GB moved", "roof ms", "cycles ms", "/ roof", "padding", "s")
_FLOPS_A_SECOND = {"v5e": 197e12, "v3": 61e12}  # of a core, in bfloat16
_BYTES_A_SECOND = {"v5e": 819e9, "v3": 450e9}


@dataclass(frozen=True)
class Case:
    """A pair to compile: of a family, on made-up files in the layout of a competition of it; or the flagship."""

    name: str
    family: str
    batch: int
    assignments: tuple[str, ...] = ()
    topologies: tuple[str, ...] = ("v5e:2x4",)


_MADE_UP = "made-up"
_FLAGSHIP = "tpu-getting-started"
_TPUS = ("v5e:2x4", "v3:2x2")


def backbone(name: str, batch: int = 128, *more: str, topologies: tuple[str, ...] = _TPUS) -> Case:
    """A case of the flagship, which classifies photographs of 224 pixels."""
    return Case(f"{name}{' in float32' if more else ''}", "", batch, (f"BACKBONE={name}", *more), topologies)


CASES = (
    Case("tabular", "tabular", 8),
    Case("text", "text", 32),
    Case("sequence", "sequence", 128),
    Case("audio", "audio", 128),
    Case("segmentation", "segmentation", 128, ("IMAGE_SIZE=224",)),
    Case("image_to_image", "image_to_image", 128, ("IMAGE_SIZE=64",)),
    backbone("EfficientNetV2B0"),
    backbone("ResNet50"),
    backbone("ResNet50", 1024, "PRECISION=float32", topologies=("v5e:2x4",)),
)


@contextmanager
def workspace_of(case: Case) -> Iterator[tuple[Workspace, str]]:
    """A workspace with the pair of a case, and the pair's name."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        if case.family:
            _generate(folder, next(each for each in LAYOUTS if each.task.get("family") == case.family))
            yield Workspace(folder), _MADE_UP
        else:
            shutil.copytree(_CLONE / "kernels" / _FLAGSHIP, folder / "kernels" / _FLAGSHIP)
            _write_records(folder / "input" / "competitions" / _FLAGSHIP / FOLDER)
            yield Workspace(folder), _FLAGSHIP


def _generate(folder: Path, layout: Layout) -> None:
    (folder / "data").mkdir()
    layout.write(folder / "data")
    made = ["--competition", _MADE_UP, "--data", str(folder / "data"), "--owner", "ada"]
    for command in ([program("generate"), *made], [program("tandem"), "specimen", _MADE_UP]):
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def _write_records(folder: Path) -> None:
    """TensorFlow writes them, which does not go with all that is imported here."""
    code = "import sys, pathlib, bench_first_step as b; b.write_records(pathlib.Path(sys.argv[1]), rows=1_000)"
    subprocess.run([sys.executable, "-c", code, str(folder)], cwd=_CLONE / "benchmarks", check=True)


def line(case: Case, topology: str, report: CompileReport) -> str:
    """A row of the table."""
    row = f"| {case.name} | {topology} | {case.batch} "
    for step in report.steps:
        return f"{row}| {figures(step)} |"
    if report.largest_batch is not None:
        return f"{row}| does not fit; {report.largest_batch.batch_per_core} do | | | | | | | |"
    return f"{row}| {'; '.join(problem.sentence for problem in report.problems)} | | | | | | | |"


def figures(step: StepCost) -> str:
    """The cells of a step."""
    chip = step.topology.partition(":")[0]
    roof = 1e3 * max(step.flops / _FLOPS_A_SECOND[chip], step.bytes_moved / _BYTES_A_SECOND[chip])
    cycles = 1e3 * (step.cycles_seconds or 0.0)
    values = ((step.peak_memory or 0) / 1e9, step.flops / 1e9, step.bytes_moved / 1e9, roof, cycles, cycles / roof)
    return " | ".join((*(f"{value:.3g}" for value in values), f"{step.padding}", f"{step.compile_seconds:.0f}"))


def main() -> None:
    """Compiles and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[case.name for case in CASES])
    wanted = parser.parse_args().only
    print(f"| {' | '.join(_HEAD)} |\n|{'---|' * len(_HEAD)}")
    for case in (each for each in CASES if each.name in wanted):
        with workspace_of(case) as (workspace, pair):
            for topology in case.topologies:
                options = CompileOptions(topology, batch_per_core=case.batch, predict=False)
                report = compile_steps(pair_notebook(workspace, pair, case.assignments), options, progress=say)
                print(line(case, topology, report), flush=True)


if __name__ == "__main__":
    main()
