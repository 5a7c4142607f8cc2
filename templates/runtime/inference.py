"""What training saved is verified, and predictions end in time."""

import json
import time
from pathlib import Path

import numpy as np
from runtime.session import Session, sha256


class Inference(Session):
    """Predictions with the weights of training, which are verified first."""

    def demand(self, what, found, expected, remedy=""):
        """Stop if the two differ."""
        if found != expected:
            again = f"Run {self.settings['TRAIN_KERNEL']} again, or attach its output afresh."
            problem = f"{what}: {found} here, and it should be {expected}."
            raise ValueError(f"{problem} {remedy or again}")

    def read_handoff(self):
        """Return handoff.json of training; stop at the first mismatch."""
        kernel, settings = self.settings["TRAIN_KERNEL"], self.settings
        mounts = [*settings["HANDOFF_MOUNTS"], f"notebooks/{kernel}", Path(kernel).name]
        beside = self.output.parent / "train"  # where a run on a laptop left it
        self.folder = self.find_folder([*mounts, beside], "handoff.json")
        try:
            handoff = dict(json.loads((self.folder / "handoff.json").read_text()))
        except (ValueError, TypeError):
            handoff = {}  # whose hash is another
        expected = handoff.pop("sha256", None)
        text = json.dumps(handoff, sort_keys=True)
        self.demand("SHA-256 of handoff.json", sha256(text), expected)
        self.demand("Its schema_version", handoff["schema_version"], 2)
        self.demand("Its pair_id", handoff["pair_id"], settings["PAIR_ID"])
        resume = f"Attach the output of {kernel} to itself and run that again, or set "
        resume += "ACCEPT_INCOMPLETE = True."
        is_complete = handoff["complete"] or settings["ACCEPT_INCOMPLETE"]
        self.demand("Training is complete", is_complete, True, resume)
        made_up = handoff["specimen"] and not (self.competition / "SPECIMEN.json").is_file()
        self.demand("Trained on a specimen, made-up data", made_up, False)
        is_smoke = handoff["settings"]["DEBUG"] and not settings["DEBUG"]
        self.demand("Trained as a smoke test", is_smoke, False)
        for entry in [*handoff["folds"], *handoff["out_of_fold"].values(), *handoff.values()]:
            if isinstance(entry, dict) and "file" in entry:
                path = self.folder / Path(entry["file"]).name
                found = sha256(path.read_bytes()) if path.is_file() else "no such file"
                self.demand(f"SHA-256 of {path}", found, entry["sha256"])
        for name, found in self.shared_code().items():
            remedy = f"Make the cell of {name} the same in both notebooks."
            self.demand(f"SHA-256 of the code of {name}", found, handoff["code"].get(name), remedy)
        self.handoff = handoff
        score = handoff["out_of_fold"]
        print(f"{self.folder}: out-of-fold {score['metric']} {score['score']:.4f}")
        return handoff

    def file(self, entry):
        """Return the path of a file that handoff.json describes."""
        return self.folder / Path(entry["file"]).name

    def check_predictions(self, pairs):
        """Stop if predictions of training, as (found, expected) of each fold, are not repeated."""
        gaps = [np.abs(found - known).max() / max(1, np.abs(known).max()) for found, known in pairs]
        difference, tolerance = np.max(gaps), self.handoff["check"]["tolerance"]
        if not difference <= tolerance:
            problem = "The model loads but computes something else: its predictions are up to"
            problem += f" {difference:.3g} from those of training, and {tolerance:g} is allowed."
            raise ValueError(f"{problem} Compare the versions above.")
        within = f"{difference:.2g} ({tolerance:g} is allowed)"
        print(f"Training's predictions are repeated within {within}")

    def in_time(self, passes):
        """Yield passes over the test data, but none that would not end in time."""
        self.seconds = []
        for one in passes:
            start = time.monotonic()
            if self.seconds and self.seconds_left() < 1.5 * max(self.seconds):
                print(f"No time for {len(passes) - len(self.seconds)} of {len(passes)} passes.")
                break
            yield one
            self.seconds.append(time.monotonic() - start)
        print(f"{len(self.seconds)} passes, {sum(self.seconds):.1f} s")
