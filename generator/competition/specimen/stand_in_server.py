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
_MOST_FILES = 40  # where nothing but the files themselves says what to ask


class SpecimenInferenceServer:
    """Hands out the made-up test rows around it; the answers come from the function that is called `predict`."""

    def __init__(self, *listeners: Callable[..., Any]) -> None:
        """Takes functions, and knows each by its name."""
        self._listeners = {listener.__name__: listener for listener in listeners}
        self._facts = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

    def serve(self) -> None:
        """Does with the test that is here what Kaggle's gateway does with the hidden one."""
        self.run_local_gateway()

    def run_local_gateway(self, data_paths: tuple[str, ...] | None = None, file_share_dir: str | None = None) -> None:  # noqa: ARG002 - as Kaggle's is called
        """Asks for all answers, and writes the submission to the current folder."""
        test, together = self._test(), self._facts["batch_by"]
        parts = test[together].drop_duplicates().tolist()
        random.Random(7).shuffle(parts)  # noqa: S311 - an order like any other
        size = 1 if self._facts["answer"] == "value" else _PARTS_OF_A_BATCH
        answers = []
        for start in range(0, len(parts), size):
            batch = test[test[together].isin(parts[start : start + size])].reset_index(drop=True)
            answers.append(
                self._check_answers(self._listeners["predict"](self._with_paths(batch)), self._submission_ids(batch))
            )
        self._write(pd.concat(answers, ignore_index=True))

    def _test(self) -> pd.DataFrame:
        """The test examples: a table's, or those that the sample asks for, or else the files'."""
        name = self._facts["id_column"]
        if self._facts["test_table"]:
            test = self._table("test_table")
            if name not in test:  # rows count, in the order of the sample
                test.insert(0, name, self._table("sample")[name] if self._facts["sample"] else range(len(test)))
            return test
        if self._facts["sample"]:
            return pd.DataFrame({name: self._examples(self._table("sample")[name]).unique()})
        files = sorted(path for path in self._folder().rglob("*") if path.is_file())
        return pd.DataFrame({name: [path.stem for path in files[:_MOST_FILES]]})

    def _submission_ids(self, batch: pd.DataFrame) -> pd.DataFrame:
        """The rows of the submission that a batch is about: their ids."""
        name = self._facts["id_column"]
        ids = batch[name].drop_duplicates().tolist()
        if not self._facts["has_parts"]:
            return pd.DataFrame({name: ids})
        rows = self._table("sample")[name]
        of_example = {str(example): list(group) for example, group in rows.groupby(self._examples(rows), sort=False)}
        return pd.DataFrame({name: [row for example in ids for row in of_example[str(example)]]})

    def _examples(self, rows: pd.Series) -> pd.Series:
        """The example that each row of the submission is about: `a` for the part `a_1`, or for the pixel `a_1_1`."""
        if self._facts["has_pixels_in_ids"]:
            return rows.str.rsplit("_", n=2).str[0]
        parts = self._facts["parts_in_ids"]
        return rows.astype(str).map(lambda row: _without_part(row, parts)) if parts else rows

    def _with_paths(self, batch: pd.DataFrame) -> pd.DataFrame:
        """A batch with the path of every example's file, where each has one that is called as the table says."""
        name = self._facts["file_column"] if self._facts["file_column"] in batch else self._facts["id_column"]
        if not self._facts["test_folder"]:
            return batch
        files: dict[str, str] = {}
        for path in sorted(self._folder().rglob("*")):
            inside = path.relative_to(self._folder())
            for key in (inside.as_posix(), inside.with_suffix("").as_posix(), path.name, path.stem):
                files.setdefault(key, str(path))
        paths = [files.get(str(example), "") for example in batch[name]]
        return batch.assign(path=paths) if all(paths) else batch

    def _folder(self) -> Path:
        return Path(__file__).absolute().parent.parent / str(self._facts["test_folder"])

    def _table(self, key: str) -> pd.DataFrame:
        table_facts, name = self._facts[key], self._facts["id_column"]
        path = Path(__file__).parent.parent / table_facts["path"]
        if ".parquet" in path.name:
            return pd.read_parquet(path)
        if ".json" in path.name:
            return pd.read_json(path, lines=".jsonl" in path.name)
        kinds = {name: str} if self._facts["test_folder"] else None  # the name of a file is no number
        return pd.read_csv(path, sep=table_facts["separator"], encoding=table_facts["encoding"], dtype=kinds)

    def _check_answers(self, answers: Any, ids: pd.DataFrame) -> pd.DataFrame:
        """The answers to one batch with the ids, once they are what the competition's gateway would take."""
        name, columns = self._facts["id_column"], self._facts["columns"]
        if self._facts["answer"] == "value":
            if not isinstance(answers, (str, int, float)):
                raise TypeError(f"predict returned {type(answers).__name__}, and the gateway takes a plain value.")
            return ids.assign(**{columns[0]: [answers]})
        expected = columns if self._facts["answer"] == "targets" else [name, *columns]
        is_table = isinstance(answers, pd.DataFrame) and list(answers.columns) == expected
        if not is_table or not (self._facts["any_rows"] or len(answers) == len(ids)):
            raise ValueError(f"predict returned no table of {len(ids)} rows with the columns {expected}.")
        return answers if name in answers else pd.concat([ids, answers], axis=1)

    def _write(self, submission: pd.DataFrame) -> None:
        if self._facts["submission_file"].endswith(".parquet"):
            submission.to_parquet(self._facts["submission_file"], index=False)
        else:
            submission.to_csv(self._facts["submission_file"], index=False)


def _without_part(row: str, parts: list[str]) -> str:
    ending = max((part for part in parts if row.endswith(f"_{part}")), key=len, default="")
    return row[: -len(ending) - 1] if ending else row.rpartition("_")[0]
