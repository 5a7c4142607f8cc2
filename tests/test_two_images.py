"""A model that is trained on Kaggle's TPU image gives the same answers on its GPU image.

The environment of these tests has the versions of the TPU image (`constraints.txt`), and `.venv-gpu` those of the GPU
image (`constraints-gpu-image.txt`): another Keras, JAX, NumPy, pandas, scikit-learn, SciPy, Matplotlib, Pillow and
PyArrow. Each stands for its image and is not it: one Python runs both, there is neither a TPU nor a GPU, and nothing is
there that notebooks do not import. Kaggle's own images are not to be had for a test.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from miniature import Outcome
from notebook_frameworks import Ended
from notebook_session import Sessions, Written, read_table
from small_competitions import SMALL_COMPETITIONS
from test_pretrained_text import HANDLE, MAKE_PRESET

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

REPOSITORY = Path(__file__).resolve().parents[1]
GPU_IMAGE = REPOSITORY / ".venv-gpu"
GPU_PYTHON = GPU_IMAGE / "bin" / "python"
SLUG = "two-images"
PINS = {"tpu": REPOSITORY / "constraints.txt", "gpu": REPOSITORY / "constraints-gpu-image.txt"}
MODULES = ("keras", "jax", "numpy", "pandas", "tensorflow")
MODULES_OF_TREES = ("catboost", "lightgbm", "numpy", "pandas")
TOLERANCE = 0.01  # of how far answers lie apart; the last bits of a float32 are 10,000 times less


Images = Mapping[str, Sessions]
"""Where notebooks are started, by the image that they are to find."""


@pytest.fixture(scope="module")
def images(sessions: Sessions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Images]:
    """Both images. Under make they are there; without it, the second one need not be."""
    if not (GPU_IMAGE / "image.stamp").is_file():
        assert "MAKELEVEL" not in os.environ, "make sets up .venv-gpu before it runs these tests"
        pytest.skip("there is no .venv-gpu with the versions of Kaggle's GPU image; `make test` sets it up")
    gpu = Sessions(tmp_path_factory.mktemp("gpu-image"), python=GPU_PYTHON)
    yield {"tpu": sessions, "gpu": gpu}
    gpu.close()


@dataclass(frozen=True)
class Answers:
    """A submission.

    Attributes:
        header: Its columns, the first of which is the id.
        ids: The ids, in their order.
        cells: What stands behind them [ids, columns].
    """

    header: list[str]
    ids: list[str]
    cells: list[list[str]]

    @classmethod
    def read(cls, path: Path) -> "Answers":
        header, *rows = read_table(path)
        return cls(header, [row[0] for row in rows], [row[1:] for row in rows])

    @property
    def are_codes(self) -> bool:
        """True if they are run-length codes."""
        return all(re.fullmatch(r"(\d+ \d+( |$))*", cell) for row in self.cells for cell in row)

    def numbers(self) -> np.ndarray:
        """The answers as numbers; of codes, which pixels they have [ids, pixels]."""
        if not self.are_codes:
            return np.array(self.cells, dtype=float)
        runs = [np.array(cell.split(), dtype=int).reshape(-1, 2) for (cell,) in self.cells]
        found = np.zeros((len(runs), max(int(run.sum(axis=1).max(initial=1)) for run in runs)))
        for row, run in zip(found, runs, strict=True):
            for start, length in run:
                row[start : start + length] = 1
        return found


def pinned(image: str) -> dict[str, str]:
    """The versions that an image is said to have here."""
    lines = [line.partition(";") for line in PINS[image].read_text().splitlines() if "==" in line]
    newest = sys.version_info >= (3, 13)
    kept = [pin for pin, _, marker in lines if not marker or (">=" in marker) == newest]
    return dict(pin.strip().split("==") for pin in kept)


def versions_for(backend: str) -> str:
    """An expression for the versions of what a notebook imports."""
    modules = MODULES_OF_TREES if backend == "trees" else MODULES
    return f"{{name: __import__(name).__version__ for name in {modules}}}"


def check_done(ended: Ended, image: str) -> None:
    """Fails if a notebook stopped, or ran with other versions than those of the image."""
    assert ended.is_done, f"on the {image} image: {ended.error}\n{ended.printed.get(str(ended.cell), '')}"
    assert ended.seen == {name: pinned(image)[name] for name in ended.seen}


@dataclass(frozen=True)
class Pair:
    """A rendered pair, and a mirror of Kaggle's file tree with its competition."""

    kernels: Path
    mirror: Path

    def parameters(self, output: str, **others: Any) -> dict[str, Any]:
        roots = {"INPUT_ROOT": str(self.mirror / "input"), "WORKING_ROOT": str(self.mirror / output)}
        return {**roots, "DEBUG": True, **others}

    def train(self, images: Images, backend: str, **others: Any) -> None:
        """Trains on the TPU image, and mounts the output as the input that inference has."""
        notebook = Written(self.kernels / "train" / "train.ipynb", backend)
        parameters = self.parameters("trained", ALLOW_CPU=True, **others)
        check_done(images["tpu"].run(notebook, parameters, look=versions_for(backend)), "tpu")
        mount = self.mirror / "input" / "notebooks" / "ada" / f"{SLUG}-train"
        mount.parent.mkdir(parents=True)
        (self.mirror / "trained").rename(mount)

    def infer(self, images: Images, backend: str, **others: str) -> dict[str, Answers]:
        """Infers on both images at the same time; their answers."""
        notebook = Written(self.kernels / "infer" / "infer.ipynb", backend)
        started = {
            image: images[image].start(
                notebook, self.parameters(f"{image}-{backend}", **others), look=versions_for(backend)
            )
            for image in PINS
        }
        ended: dict[str, Ended] = {}
        with ExitStack() as each:  # also if one breaks, or what the other tells would be left to the next test
            for image, session in started.items():
                each.callback(lambda image, session: ended.update({image: session.ended()}), image, session)
        for image in PINS:
            check_done(ended[image], image)
        return {image: Answers.read(self.mirror / f"{image}-{backend}" / "submission.csv") for image in PINS}


def written_pair(tandem: Callable[..., Outcome], folder: Path, family: str, framework: str) -> Pair:
    """Writes a small competition, and the pair that the command line makes of it."""
    small = SMALL_COMPETITIONS[family]
    small.write(folder / "input" / "competitions" / SLUG)
    values = {**small.settings, **({"pretrained": ""} if family == "text" else {})}
    settings = [argument for key, value in values.items() for argument in ("--set", f"{key}={value}")]
    done = tandem(
        *("generate", "--competition", SLUG, "--metric", small.metric, "--framework", framework, "--owner", "ada"),
        *("--name", SLUG),
        *("--workspace", folder, "--json", *settings),
    )
    assert done.code == 0, done.err
    choices = (folder / "kernels" / SLUG / "pair.toml").read_text()
    assert re.search(rf'^family\b.*"{family}"', choices, re.MULTILINE)
    return Pair(folder / "kernels" / SLUG, folder)


def check_equal(answers: dict[str, Answers], sample: Path) -> None:
    """Fails unless every id has the same answer on both images, and one that says something."""
    tpu, gpu = answers["tpu"], answers["gpu"]
    header, *rows = read_table(sample)
    assert tpu.header == gpu.header == header
    assert tpu.ids == gpu.ids == [row[0] for row in rows]
    expected, found = tpu.numbers(), gpu.numbers()
    spread = np.ptp(expected, axis=0).max()
    assert spread > 0, "all ids have the same answer: nothing is compared"
    assert (np.array([row[1:] for row in rows]) != np.array(tpu.cells)).any(axis=1).mean() > 0.9
    if tpu.are_codes:
        assert expected.shape == found.shape
        assert (expected != found).mean() < 0.001  # a pixel may be just at the threshold
    else:
        assert np.abs(expected - found).max() <= TOLERANCE * spread


def sample_of(folder: Path) -> Path:
    """The sample submission of the competition in a mirror."""
    return next(path for path in (folder / "input" / "competitions" / SLUG).iterdir() if "sample" in path.name)


@dataclass(frozen=True)
class Crossing:
    """A model trained on the TPU image and applied on both: its family, framework, and the backends of each half."""

    framework: str
    family: str
    training: str = "jax"
    inference: tuple[str, ...] = ("tensorflow",)
    choices: Mapping[str, Any] = field(default_factory=dict)


BACKBONE = {"BACKBONE": "MobileNetV2", "LEARNING_RATE": 0.001}
CROSSINGS = {
    "a table, and JAX on both images": Crossing("keras", "tabular", inference=("tensorflow", "jax")),
    "masks by a backbone of Keras": Crossing("keras", "segmentation", choices=BACKBONE),
    **{family: Crossing("keras", family) for family in ("audio", "sequence", "text")},
    "images in TensorFlow": Crossing("tensorflow", "image_classification", training="tensorflow"),
    **{
        f"boosted trees of {framework}": Crossing(framework, "tabular", training="trees", inference=("trees",))
        for framework in ("catboost", "lightgbm", "xgboost")
    },
}
"""One for each kind of layers; families that share theirs, such as those of images, share a crossing."""


@pytest.mark.parametrize("crossing", CROSSINGS.values(), ids=CROSSINGS)
def test_what_the_tpu_image_trains_gives_the_same_answers_on_the_gpu_image(
    images: Images, tandem: Callable[..., Outcome], tmp_path: Path, crossing: Crossing
) -> None:
    pair = written_pair(tandem, tmp_path, crossing.family, crossing.framework)

    pair.train(images, crossing.training, **crossing.choices)
    for backend in crossing.inference:
        choices = {"BACKEND": "jax"} if backend == "jax" else {}
        check_equal(pair.infer(images, backend, **choices), sample_of(tmp_path))


def test_a_pretrained_text_model_is_read_alike_by_the_kerashub_of_both_images(
    images: Images, tandem: Callable[..., Outcome], tmp_path: Path
) -> None:
    preset = tmp_path / "input" / "models" / HANDLE
    preset.parent.mkdir(parents=True)
    words = "the storm took all roofs of our small town while people slept idiots thanks"
    environment = os.environ | {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    # Those on Kaggle Models are older than both images.
    subprocess.run([GPU_PYTHON, "-c", MAKE_PRESET, preset, words], check=True, env=environment)
    pair = written_pair(tandem, tmp_path, "text", "keras")
    choices = pair.kernels / "pair.toml"
    choices.write_text(
        re.sub(r"^pretrained = .*$", f'pretrained = "{HANDLE}"', choices.read_text(), flags=re.MULTILINE)
    )
    assert tandem("generate", "--all", "--workspace", tmp_path).code == 0
    assert HANDLE in (pair.kernels / "infer" / "kernel-metadata.json").read_text()

    pair.train(images, "jax")
    answers = pair.infer(images, "tensorflow")

    check_equal(answers, sample_of(tmp_path))
