"""What `tandem plan` predicts of a training step on this machine, beside what the step takes."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measuring import Bar, Row, is_quick, print_table, program, say

from generator.accelerators import predict
from generator.pair.workspace import Workspace
from generator.plan import Measurement, PlanOptions, measure, this_machine, workload_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from layouts import LAYOUTS

BUILT_IN = {
    "digits": ("digits", ()),
    "digits, 128 at once": ("digits", ("BATCH_SIZE=128",)),
    "digits of 32 x 32 pixels": ("digits", ("IMAGE_SIZE=32", "BATCH_SIZE=64")),
    "tumours": ("tumours", ()),
    "diabetes": ("diabetes", ()),
    "docstrings": ("docstrings", ()),
}
FAMILIES = ("image_classification", "image_regression", "image_to_image", "segmentation", "audio", "sequence")
STEPS = 8


def ratio(workspace: Path, pair: str, assignments: tuple[str, ...], *, specimen: bool) -> float:
    """The predicted time of a step over the measured one."""
    asked = PlanOptions(Workspace(workspace), pair, assignments, specimen, timed_steps=STEPS)
    measured: Measurement = measure(asked, lambda _event: None)
    predicted = predict(workload_of(measured), this_machine(measured), measured.batch)
    assert predicted is not None
    assert measured.step_seconds
    # The batches of the steps that are timed are there already.
    step = predicted.device + predicted.loop
    say(f"{pair} {' '.join(assignments)}: {step * 1e3:.2f} ms predicted, {measured.step_seconds * 1e3:.2f} ms measured")
    return step / measured.step_seconds


def generated(workspace: Path, name: str, *options: str) -> None:
    """Renders a pair, with a specimen where it is not a built-in one."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("KAGGLE")}
    commands = [[program("generate"), "--competition", name, "--owner", "ada", *options]]
    commands += [[program("tandem"), "specimen", name]] if options else []
    for command in commands:
        subprocess.run(command, cwd=workspace, env=environment, check=True, capture_output=True)


def main() -> None:
    """Measures and prints the table."""
    quick = is_quick(__doc__)
    bar, rows = Bar("<=", 1.5), []
    with tempfile.TemporaryDirectory() as temporary:
        workspace = Path(temporary).resolve()
        for what, (pair, assignments) in list(BUILT_IN.items())[: 1 if quick else None]:
            generated(workspace, pair)
            rows.append((what, ratio(workspace, pair, assignments, specimen=False)))
        for family in () if quick else FAMILIES:
            layout = next(each for each in LAYOUTS if each.task.get("family") == family)
            data, name = workspace / "data" / family, family.replace("_", "-")
            data.mkdir(parents=True)
            layout.write(data)
            generated(workspace, name, "--data", str(data))
            rows.append((f"{name}, a specimen", ratio(workspace, name, (), specimen=True)))
    table = [Row(f"{what}: predicted / measured", [found]) for what, found in rows]
    off = [max(found, 1 / found) for _, found in rows]
    print_table([*table, Row("how far off, either way", off, bar=bar)])
    sys.stdout.write(json.dumps({what: round(found, 3) for what, found in rows}) + "\n")


if __name__ == "__main__":
    main()
