"""What training saved is verified, and predictions end in time."""

import json
import time
from pathlib import Path

import numpy as np
from runtime.session import Session, sha256


class Inference(Session):
    """Predictions with the weights of training, which are verified first."""

    def demand(self, is_fine, problem, remedy=""):
        """Stop with the problem and its remedy, unless it is fine."""
        if not is_fine:
            again = f"Run {self.settings['TRAIN_KERNEL']} again, or attach its output again."
            raise ValueError(f"{problem} {remedy or again}")

    def compare(self, what, found, expected):
        """Stop unless a value is the expected one."""
        self.demand(found == expected, f"{what} {found}, expected {expected}.")

    def read_handoff(self):
        """Return handoff.json of training; stop at the first mismatch."""
        kernel, settings = self.settings["TRAIN_KERNEL"], self.settings
        mounts = [*settings["HANDOFF_MOUNTS"], f"notebooks/{kernel}", Path(kernel).name]
        beside = self.output.parent / "train"  # the output of a local run
        self.folder = self.find_folder([*mounts, beside], "handoff.json")
        try:
            handoff = dict(json.loads((self.folder / "handoff.json").read_text()))
        except (ValueError, TypeError):
            handoff = {}  # it fails the check of its hash
        expected = handoff.pop("sha256", None)
        found = sha256(json.dumps(handoff, sort_keys=True))
        self.compare("handoff.json has SHA-256", found, expected)
        self.compare("handoff.json has schema_version", handoff["schema_version"], 2)
        self.compare("handoff.json has pair_id", handoff["pair_id"], settings["PAIR_ID"])
        resume = f"Attach the output of {kernel} to itself and run that again, or set "
        resume += "ACCEPT_INCOMPLETE = True."
        is_complete = handoff["complete"] or settings["ACCEPT_INCOMPLETE"]
        self.demand(is_complete, "Training was interrupted.", resume)
        is_fine = not handoff["specimen"] or (self.competition / "SPECIMEN.json").is_file()
        self.demand(is_fine, "The model was trained on a specimen, synthetic data.")
        is_fine = settings["DEBUG"] or not handoff["settings"]["DEBUG"]
        self.demand(is_fine, "The model was trained with DEBUG = True.")
        for entry in [*handoff["folds"], *handoff["out_of_fold"].values(), *handoff.values()]:
            if isinstance(entry, dict) and "file" in entry:
                path = self.file(entry)
                self.demand(path.is_file(), f"{path} is missing.")
                self.compare(f"{path} has SHA-256", sha256(path.read_bytes()), entry["sha256"])
        for name, found in self.shared_code().items():
            is_same, remedy = found == handoff["code"].get(name), "Copy its cell from there."
            self.demand(is_same, f"{name} differs from the training notebook.", remedy)
        others = {*self.input.glob("notebooks/*/*/handoff.json")} - {self.folder / "handoff.json"}
        for other in sorted(others if "MEMBERS" not in settings else []):
            print(f"Not used: {other}. To use it, set TRAIN_KERNEL, or detach {self.folder}.")
        self.handoff = handoff
        score = handoff["out_of_fold"]
        print(f"{self.folder}: out-of-fold {score['metric']} {score['score']:.4f}")
        return handoff

    def file(self, entry):
        """Return the path of a file that handoff.json describes."""
        return self.folder / Path(entry["file"]).name

    def check_predictions(self, pairs):
        """Stop unless (found, expected) predictions of each fold are close to one another."""
        gaps = [np.abs(found - known).max() / max(1, np.abs(known).max()) for found, known in pairs]
        tolerance = self.handoff["check"]["tolerance"]
        gap = f"{np.max(gaps):.3g} (tolerance {tolerance:g})"
        problem = f"The weights load, but predictions differ from training by up to {gap}."
        self.demand(np.max(gaps) <= tolerance, problem, "Compare the versions above.")
        print(f"Predictions of training reproduced within {gap}")

    def in_time(self, passes):
        """Yield prediction passes until the next one would exceed the time limit."""
        self.seconds = []
        for one in passes:
            start = time.monotonic()
            if self.seconds and self.seconds_left() < 1.5 * max(self.seconds):
                left = len(passes) - len(self.seconds)
                print(f"Out of time: {left} of {len(passes)} passes are skipped.")
                break
            yield one
            self.seconds.append(time.monotonic() - start)
        print(f"{len(self.seconds)} passes over the test data in {sum(self.seconds):.1f} s")
