"""A competition's `kaggle_evaluation`, as far as a notebook meets it: gateways in the styles that hosts have used."""

import json
from pathlib import Path

# What the gateways of real competitions say of themselves, in our words: paths of the mount of their time, and names.
GATEWAYS = {
    "table": """
        if not self.data_paths:
            self.test_path = "/kaggle/input/heights/test.csv"
            self.sample_path = "/kaggle/input/heights/sample_submission.csv"
    """,
    "targets": """
        super().__init__(data_paths, row_id_column_name="id")
        self.data = self.data_paths[0] if self.data_paths else "/kaggle/input/heights/"
    """,
    "value": """
        self.row_id_column_name = "batch_id"
        self.target_column_name = "its name"
        self.data = Path(__file__).parent.parent
    """,
}

_SERVER = '''
import json
import os
import threading
from pathlib import Path

import polars as pl

FACTS = json.loads(Path(__file__).with_name("facts.json").read_text())


class HeightsInferenceServer:
    def __init__(self, *listeners):
        self.listeners = {each.__name__: each for each in listeners}

    def serve(self):
        print("listening")
        self.ask(Path(__file__).parent.parent / "test.csv")

    def run_local_gateway(self, data_paths=None, file_share_dir=None):
        print("told of", [os.path.basename(path) for path in data_paths or ()])
        self.ask(Path(data_paths[0]) if data_paths else Path(__file__).parent.parent / "test.csv")

    def ask(self, path):
        test = pl.read_csv(path / "test.csv" if path.is_dir() else path)[::-1]
        found = []
        for start in range(0, len(test), FACTS["size"]):
            rows = test[start : start + FACTS["size"]]
            batch = tuple(rows) if FACTS["columns"] else (rows, None)
            found.append((rows["id"], self.answer_in_a_thread(batch)))
        tables = [self.as_table(ids, answer) for ids, answer in found]
        pl.concat(tables, how="vertical_relaxed").write_parquet("submission.parquet")

    def answer_in_a_thread(self, batch):
        """As gRPC does it; what goes wrong in there is what the gateway says."""
        said = {}

        def call():
            try:
                said["answer"] = self.listeners["predict"](*batch)
            except Exception as error:
                said["error"] = error

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        if "error" in said:
            raise RuntimeError(f"SERVER_RAISED_EXCEPTION: {said['error']}")
        return said["answer"]

    def as_table(self, ids, answer):
        if FACTS["answer"] == "value":
            assert type(answer) in (str, int, float), type(answer)
            return pl.DataFrame({"id": ids, FACTS["target"]: [answer]})
        assert isinstance(answer, pl.DataFrame), type(answer)
        assert ("id" in answer.columns) == (FACTS["answer"] == "table"), answer.columns
        assert len(answer) == len(ids)
        return answer.with_columns(id=ids).select("id", FACTS["target"])
'''


def write_gateway(
    folder: Path, answer: str, *, target: str = "height", asks_for: str = "", as_columns: bool = False
) -> None:
    """Writes the package beside a competition's data.

    Args:
        folder: The competition's data.
        answer: What the gateway wants: "table", "targets" or "value".
        target: The column of the answers.
        asks_for: The column whose values it asks for, one by one; nothing in its text says so by default.
        as_columns: Whether a batch is handed over column by column.
    """
    package = folder / "kaggle_evaluation"
    asked = f'        test.filter(pl.col("{asks_for}") == each)\n' if asks_for else ""
    (package / "core").mkdir(parents=True, exist_ok=True)
    (package / "core" / "relay.py").write_text("")
    (package / "heights_inference_server.py").write_text(_SERVER)
    (package / "heights_gateway.py").write_text(GATEWAYS[answer] + asked)
    facts = {"answer": answer, "size": 1 if answer == "value" else 7, "target": target, "columns": as_columns}
    (package / "facts.json").write_text(json.dumps(facts))
