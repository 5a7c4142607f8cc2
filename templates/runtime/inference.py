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
        text = json.dumps(handoff, sort_keys=True)
        found = sha256(text)
        self.demand(found == expected, f"handoff.json has SHA-256 {found}, expected {expected}.")
        found = handoff["schema_version"]
        self.demand(found == 2, f"handoff.json has schema_version {found}, expected 2.")
        found, expected = handoff["pair_id"], settings["PAIR_ID"]
        self.demand(found == expected, f"handoff.json has pair_id {found}, expected {expected}.")
        resume = f"Attach the output of {kernel} to itself and run that again, or set "
        resume += "ACCEPT_INCOMPLETE = True."
        is_complete = handoff["complete"] or settings["ACCEPT_INCOMPLETE"]
        self.demand(is_complete, "Training was interrupted.", resume)
        is_specimen = (self.competition / "SPECIMEN.json").is_file()
        is_fine = is_specimen or not handoff["specimen"]
        self.demand(is_fine, "The model was trained on a specimen, synthetic data.")
        is_fine = settings["DEBUG"] or not handoff["settings"]["DEBUG"]
        self.demand(is_fine, "The model was trained with DEBUG = True.")
        for entry in [*handoff["folds"], *handoff["out_of_fold"].values(), *handoff.values()]:
            if isinstance(entry, dict) and "file" in entry:
                path, expected = self.folder / Path(entry["file"]).name, entry["sha256"]
                self.demand(path.is_file(), f"{path} is missing.")
                found = sha256(path.read_bytes())
                self.demand(found == expected, f"{path} has SHA-256 {found}, expected {expected}.")
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
        difference = np.max(gaps)
        tolerance = self.handoff["check"]["tolerance"]
        problem = "The weights load, but predictions differ from training by up to "
        problem += f"{difference:.3g} (tolerance {tolerance:g})."
        self.demand(difference <= tolerance, problem, "Compare the versions above.")
        within = f"{difference:.2g} (tolerance {tolerance:g})"
        print(f"Predictions of training reproduced within {within}")

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
