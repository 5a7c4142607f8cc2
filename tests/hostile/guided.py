"""Looks for hostile inputs by the code that they reach, with atheris: `python tests/hostile/guided.py [SECONDS]`.

Every test of `HARNESSES` gets a process of its own and so many seconds (60 unless told), and begins with what lies in
`corpus/`. What fails is kept there, and `test_corpus.py` replays all of it.
"""

import importlib
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
# The tests that take nothing but what is drawn, and lead into Python: nothing is seen of compiled code.
HARNESSES = (
    "test_archive_fuzz:test_any_tar_is_unpacked_inside_or_refused",
    "test_archive_fuzz:test_any_zip_is_unpacked_inside_or_refused",
    "test_data_fuzz:test_any_text_as_a_table",
    "test_data_fuzz:test_any_json_as_a_table",
    "test_data_fuzz:test_any_parquet_as_a_table",
    "test_data_fuzz:test_any_archive",
    "test_data_fuzz:test_any_image",
    "test_data_fuzz:test_any_submission_is_read_or_refused",
)


def corpus_of(harness: str) -> Path:
    """The folder of the inputs of a test."""
    return CORPUS / harness.partition(":")[2].removeprefix("test_")


def fuzzed(harness: str) -> Callable[[bytes], object]:
    """A test as a function of the bytes that everything in it is drawn from."""
    module, _, name = harness.partition(":")
    return getattr(importlib.import_module(module), name).hypothesis.fuzz_one_input


def _fuzz(harness: str, seconds: str) -> None:
    import atheris

    sys.path[:0] = [str(HERE), str(HERE.parent)]
    with atheris.instrument_imports(include=["generator"]):
        test_one_input = fuzzed(harness)
    corpus = corpus_of(harness)
    corpus.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as found:
        # hypothesis draws nothing from a few bytes, so that inputs may be long from the beginning.
        limits = ("-timeout=0", "-rss_limit_mb=1500", "-max_len=4096", "-len_control=0", f"-max_total_time={seconds}")
        atheris.Setup([harness, *limits, f"-artifact_prefix={corpus}/", found, str(corpus)], test_one_input)
        atheris.Fuzz()


def main() -> None:
    """Tries every test, and says which failed."""
    if len(sys.argv) > 2:
        _fuzz(*sys.argv[1:])
    seconds = sys.argv[1] if len(sys.argv) > 1 else "60"
    failed = []
    for harness in HARNESSES:
        with tempfile.TemporaryDirectory() as folder:
            command = (sys.executable, str(Path(__file__).resolve()), harness, seconds)
            if subprocess.run(command, cwd=folder, check=False).returncode:
                failed.append(harness)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
