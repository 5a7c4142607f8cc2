"""What Google's TPU compiler says of the training steps of all families and of two backbones: memory, traffic, padding.

It takes the extra `tpu`, for PyTorch torch_xla, torchvision and timm beside it, and minutes for each large model:
`--only ResNet50 --frameworks jax` measures a part.
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
from generator.tpu_compiler.compilation import CompileOptions, CompileReport, StepCost, compile_steps, pair_notebook

# The layouts of competitions that the tests have: the first of each family is taken.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from layouts import LAYOUTS, Layout

_CLONE = Path(__file__).resolve().parents[1]

_HEAD = (
    *("pair", "framework", "topology", "batch", "peak GB", "GFLOP", "GB moved", "roof ms", "cycles ms", "/ roof"),
    *("padding", "collectives", "s"),
)
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
    frameworks: tuple[str, ...] = ("keras", "jax", "torch")

    def of(self, framework: str) -> tuple[str, ...]:
        """The assignments in a framework."""
        return tuple(each.replace(*_NAMES.get(framework, ("", ""))) for each in self.assignments)


_MADE_UP = "made-up"
_FLAGSHIP = "tpu-getting-started"
_TPUS = ("v5e:2x4", "v3:2x2")
_NAMES = {"jax": ("ResNet50", "resnet50"), "torch": ("ResNet50", "resnet50")}


def backbone(name: str, batch: int = 128, *more: str, **options: tuple[str, ...]) -> Case:
    """A case of the flagship with photographs of 224 pixels."""
    assignments = ("IMAGE_SIZE=224", f"BACKBONE={name}", *more)
    return Case(f"{name}{' in float32' if more else ''}", "", batch, assignments, **options)


CASES = (
    Case("tabular", "tabular", 8),
    Case("text", "text", 32),
    Case("sequence", "sequence", 128),
    Case("audio", "audio", 128),
    Case("segmentation", "segmentation", 128, ("IMAGE_SIZE=224",)),
    Case("image_to_image", "image_to_image", 128, ("IMAGE_SIZE=64",)),
    Case("image_classification", "image_classification", 128),
    Case("image_regression", "image_regression", 128),
    Case(_FLAGSHIP, "", 16),  # as it is, with photographs of 512 pixels
    backbone("EfficientNetV2B0", topologies=_TPUS, frameworks=("keras",)),
    backbone("tf_efficientnetv2_b0", frameworks=("torch",)),
    backbone("ResNet50"),
    backbone("ResNet50", topologies=("v3:2x2",), frameworks=("keras",)),
    backbone("ResNet50", 1024, "PRECISION=float32", frameworks=("keras",)),
)


@contextmanager
def workspace_of(case: Case, framework: str) -> Iterator[tuple[Workspace, str]]:
    """A workspace with the pair of a case in a framework, and the pair's name."""
    ending = "" if framework == "keras" else f"-{framework}"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        if case.family:
            _generate(folder, next(each for each in LAYOUTS if each.task.get("family") == case.family), framework)
            yield Workspace(folder), _MADE_UP + ending
        else:
            shutil.copytree(_CLONE / "kernels" / (_FLAGSHIP + ending), folder / "kernels" / (_FLAGSHIP + ending))
            _write_records(folder / "input" / "competitions" / _FLAGSHIP / FOLDER)
            yield Workspace(folder), _FLAGSHIP + ending


def _generate(folder: Path, layout: Layout, framework: str) -> None:
    (folder / "data").mkdir()
    layout.write(folder / "data")
    made = ["--competition", _MADE_UP, "--data", str(folder / "data"), "--owner", "ada"]
    made += [
        "--framework",
        framework,
        *(["--set", "pretrained="] if layout.record["choices"]["family"][0] == "text" else []),
    ]
    for command in ([program("generate"), *made], [program("tandem"), "specimen", _MADE_UP]):
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def _write_records(folder: Path) -> None:
    """TensorFlow writes them, which does not go with all that is imported here."""
    code = "import sys, pathlib, bench_first_step as b; b.write_records(pathlib.Path(sys.argv[1]), rows=1_000)"
    subprocess.run([sys.executable, "-c", code, str(folder)], cwd=_CLONE / "benchmarks", check=True)


def line(case: Case, framework: str, topology: str, report: CompileReport) -> str:
    """A row of the table."""
    row = f"| {case.name} | {framework} | {topology} | {case.batch} "
    for step in report.steps:
        return f"{row}| {figures(step)} |"
    if report.largest_batch is not None:
        return f"{row}| does not fit; {report.largest_batch.batch_per_core} do | | | | | | | | |"
    said = "; ".join((*(problem.sentence for problem in report.problems), *report.unknown))
    return f"{row}| {said} | | | | | | | | |"


def figures(step: StepCost) -> str:
    """The cells of a step."""
    chip = step.topology.partition(":")[0]
    roof = 1e3 * max(step.flops / _FLOPS_A_SECOND[chip], step.bytes_moved / _BYTES_A_SECOND[chip])
    cycles = 1e3 * (step.cycles_seconds or 0.0)
    values = ((step.peak_memory or 0) / 1e9, step.flops / 1e9, step.bytes_moved / 1e9, roof, cycles, cycles / roof)
    collectives = ", ".join(f"{count} {name}" for name, count in step.collectives.items())
    seconds = f"{step.compile_seconds:.0f}"
    return " | ".join((*(f"{value:.3g}" for value in values), f"{step.padding}", collectives, seconds))


def main() -> None:
    """Compiles and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[case.name for case in CASES])
    parser.add_argument("--frameworks", nargs="*", default=["keras", "jax", "torch"])
    parser.add_argument("--minutes", type=float, default=30, help="for a step; what takes longer is said to")
    arguments = parser.parse_args()
    print(f"| {' | '.join(_HEAD)} |\n|{'---|' * len(_HEAD)}")
    for case in (each for each in CASES if each.name in arguments.only):
        for framework in (each for each in case.frameworks if each in arguments.frameworks):
            with workspace_of(case, framework) as (workspace, pair):
                target = pair_notebook(workspace, pair, case.of(framework))
                for topology in case.topologies:
                    limit = 60 * arguments.minutes
                    options = CompileOptions(topology, case.batch, predict=False, time_limit=limit)
                    print(line(case, framework, topology, compile_steps(target, options, progress=say)), flush=True)


if __name__ == "__main__":
    main()
