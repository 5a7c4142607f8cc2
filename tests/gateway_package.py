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
    "files": """
        super().__init__(data_paths, file_share_dir=file_share_dir, row_id_column_name="id")
        self.test_path, self.folder = "/kaggle/input/heights/test.csv", "/kaggle/input/heights/test"
        self.share_files([f"{self.folder}/{name}.png"])
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
DATA = Path(__file__).parent.parent


class HeightsInferenceServer:
    def __init__(self, *listeners):
        self.listeners = {each.__name__: each for each in listeners}
        self.share_folder = None

    def serve(self):
        print("listening")
        self.ask(DATA / "test.csv")

    def run_local_gateway(self, data_paths=None, file_share_dir=None):
        print("told of", [os.path.basename(path) for path in data_paths or ()])
        self.share_folder = file_share_dir
        self.ask(Path(data_paths[0]) if data_paths else DATA / "test.csv")

    def ask(self, path):
        batches = self.batches_of_files() if FACTS["files"] else self.batches_of_rows(path)
        tables = [self.as_table(ids, self.answer_in_a_thread(batch)) for ids, batch in batches]
        pl.concat(tables, how="vertical_relaxed").write_parquet("submission.parquet")

    def batches_of_rows(self, path):
        test = pl.read_csv(path / "test.csv" if path.is_dir() else path)[::-1]
        for start in range(0, len(test), FACTS["size"]):
            rows = test[start : start + FACTS["size"]]
            yield rows["id"], tuple(rows) if FACTS["columns"] else (rows, self.sample_of(rows))

    def sample_of(self, rows):
        if not FACTS["context"]:
            return None
        return rows.select("id").join(pl.read_csv(DATA / "sample_submission.csv"), on="id", how="left")

    def batches_of_files(self):
        files = sorted((DATA / "test").iterdir())[::-1]
        for start in range(0, len(files), FACTS["size"]):
            found = files[start : start + FACTS["size"]]
            ids = pl.Series("id", [file.stem for file in found])
            shared = [] if FACTS["files"] == "ids" else self.share_files(found, f"batch{start}")
            yield ids, {
                "path": lambda: tuple(shared),
                "list": lambda: (ids, shared),
                "column": lambda: (pl.DataFrame({"id": ids, "where": shared}),),
                "folder": lambda: (os.path.dirname(shared[0]), pl.DataFrame({"id": ids})),
                "ids": lambda: (pl.DataFrame({"id": ids}),),
            }[FACTS["files"]]()

    def share_files(self, files, batch):
        """As Kaggle does it: under the shared folder, which has to be empty at first, as links to the files."""
        if batch == "batch0" and (self.share_folder is None or os.listdir(self.share_folder)):
            raise RuntimeError("`file_share_dir` must be an empty directory.")
        shared = [Path(f"{self.share_folder}/{batch}{file.absolute()}") for file in files]
        for file, link in zip(files, shared):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file.absolute())
        return [str(link) for link in shared]

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
        if FACTS["files"] == "path":  # there was nothing of polars'
            answer = pl.from_pandas(answer)
        assert isinstance(answer, pl.DataFrame), type(answer)
        assert ("id" in answer.columns) == (FACTS["answer"] == "table"), answer.columns
        assert len(answer) == len(ids)
        if "id" in answer.columns:
            assert answer["id"].to_list() == ids.to_list()
        return answer.with_columns(id=ids).select("id", *FACTS["context"], FACTS["target"])
'''


def write_gateway(
    folder: Path,
    answer: str,
    *,
    target: str = "height",
    asks_for: str = "",
    as_columns: bool = False,
    files: str = "",
    context: tuple[str, ...] = (),
) -> None:
    """Writes the package beside a competition's data.

    Args:
        folder: The competition's data.
        answer: What the gateway wants: "table", "targets" or "value".
        target: The column of the answers.
        asks_for: The column whose values it asks for, one by one; nothing in its text says so by default.
        as_columns: Whether a batch is handed over column by column.
        files: How the files of the folder `test` are handed over: each as a "path", as a "list" beside the ids, in a
            "column" of a table, as a "folder" beside a table, or by their "ids" alone; as rows of a table by default.
        context: The columns between id and answer that a submission has; the rows of the sample come with a batch then.
    """
    package = folder / "kaggle_evaluation"
    asked = f'        test.filter(pl.col("{asks_for}") == each)\n' if asks_for else ""
    (package / "core").mkdir(parents=True, exist_ok=True)
    (package / "core" / "relay.py").write_text("")
    (package / "heights_inference_server.py").write_text(_SERVER)
    (package / "heights_gateway.py").write_text(GATEWAYS[answer] + asked)
    size = 1 if answer == "value" else 7
    facts = {
        "answer": answer,
        "size": size,
        "target": target,
        "columns": as_columns,
        "files": files,
        "context": context,
    }
    (package / "facts.json").write_text(json.dumps(facts))
