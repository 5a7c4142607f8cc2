"""Stands in for a competition's `kaggle_evaluation`, in a specimen: this file is copied there, beside its facts.

It asks an inference notebook as a gateway of Kaggle's would, in one process and without a network: batch by batch, in
another order than that of the test table, and it writes the submission from the answers.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]  # pandas brings no types

_PARTS_OF_A_BATCH = 8


class SpecimenInferenceServer:
    """Hands out the made-up test rows around it; the answers come from the function that is called `predict`."""

    def __init__(self, *listeners: Callable[..., Any]) -> None:
        """Takes functions, and knows each by its name."""
        self._listeners = {listener.__name__: listener for listener in listeners}
        self._facts = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

    def serve(self) -> None:
        """What Kaggle's gateway does with the hidden test, done with the test that is here."""
        self.run_local_gateway()

    def run_local_gateway(self, data_paths: tuple[str, ...] | None = None, file_share_dir: str | None = None) -> None:  # noqa: ARG002 - as Kaggle's is called
        """Asks for all answers, and writes the submission to the current folder."""
        test, name, together = self._test(), self._facts["id_column"], self._facts["batch_by"]
        parts = test[together].drop_duplicates().tolist()
        random.Random(7).shuffle(parts)  # noqa: S311 - an order like any other
        size = 1 if self._facts["answer"] == "value" else _PARTS_OF_A_BATCH
        found = []
        for start in range(0, len(parts), size):
            batch = test[test[together].isin(parts[start : start + size])].reset_index(drop=True)
            asked = pd.DataFrame({name: batch[name].drop_duplicates().tolist()})
            found.append(self._checked(self._listeners["predict"](batch), asked))
        self._write(pd.concat(found, ignore_index=True))

    def _test(self) -> pd.DataFrame:
        facts, path = self._facts, Path(__file__).parent.parent / self._facts["test_table"]
        if ".parquet" in path.name:
            return pd.read_parquet(path)
        if ".json" in path.name:
            return pd.read_json(path, lines=".jsonl" in path.name)
        return pd.read_csv(path, sep=facts["separator"], encoding=facts["encoding"])

    def _checked(self, answers: Any, asked: pd.DataFrame) -> pd.DataFrame:
        """The answers to one batch with the ids, once they are what the competition's gateway would take."""
        name, columns = self._facts["id_column"], self._facts["columns"]
        if self._facts["answer"] == "value":
            if not isinstance(answers, (str, int, float)):
                raise TypeError(f"predict returned {type(answers).__name__}, and the gateway takes a plain value.")
            return asked.assign(**{columns[0]: [answers]})
        expected = columns if self._facts["answer"] == "targets" else [name, *columns]
        if not isinstance(answers, pd.DataFrame) or list(answers.columns) != expected or len(answers) != len(asked):
            raise ValueError(f"predict returned no table of {len(asked)} rows with the columns {expected}.")
        return answers if name in answers else pd.concat([asked, answers], axis=1)

    def _write(self, submission: pd.DataFrame) -> None:
        if self._facts["submission_file"].endswith(".parquet"):
            submission.to_parquet(self._facts["submission_file"], index=False)
        else:
            submission.to_csv(self._facts["submission_file"], index=False)
