"""The members of a blend: their outputs are verified, and their inference runs in processes."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from runtime.session import sha256

# Runs the cells of a notebook. Its parameters keep the job's values, whatever a later cell assigns,
# such as one of papermill. It ends, with the processes that it starts, if the notebook ends.
DRIVER = """
import json, os, sys, threading
def end_with_parent():
    os.read(0, 1)
    os.killpg(0, 9) if hasattr(os, "killpg") else os._exit(1)
threading.Thread(target=end_with_parent, daemon=True).start()
job = json.load(open(sys.argv[1]))
sys.path[:] = job["path"]
names = {"__name__": "__main__", "In": [""], "display": lambda *_: None}
for number, cell in enumerate(job["cells"], 1):
    names["In"].append(cell)
    exec(compile(cell, f"<cell {number} of {job['name']}>", "exec"), names)
    names |= {name: value for name, value in job["parameters"].items() if name in names}
"""


def member_folder(run, kernel):
    """Return the attached output of a member's training."""
    slug = kernel.partition("/")[2]
    mounts = [f"notebooks/{kernel}", slug, *sorted(run.input.glob(f"notebooks/*/{slug}"))]
    for folder in (run.input / mount for mount in mounts):
        if (folder / "handoff.json").is_file():
            return folder
    problem = f"The output of {kernel}, a member of the blend, is not attached"
    raise FileNotFoundError(f"{problem}: attach it with Add Input, and run again.")


def read_member(run, kernel, run_id=""):
    """Return handoff.json and the out-of-fold predictions of a member; stop if they are no good."""
    folder = member_folder(run, kernel)
    again = f"Run {kernel} again, or leave it out of the blend."
    try:
        handoff = dict(json.loads((folder / "handoff.json").read_text()))
    except (ValueError, TypeError):
        handoff = {}
    expected = handoff.pop("sha256", None)
    if sha256(json.dumps(handoff, sort_keys=True)) != expected:
        raise ValueError(f"{folder / 'handoff.json'} is damaged. {again}")
    if run_id and handoff["run_id"] != run_id:
        problem = f"The output of {kernel} is of the run {handoff['run_id']}, expected {run_id}."
        raise ValueError(f"{problem} Attach that run, or blend the newest one.")
    if "data_sha256" not in handoff or "folds_sha256" not in handoff:
        raise ValueError(f"{kernel} was trained by an older notebook. Generate and run it again.")
    if not handoff["complete"]:
        raise ValueError(f"The training of {kernel} was interrupted. {again}")
    is_smoke = handoff["settings"]["DEBUG"] and not run.settings["DEBUG"]
    if is_smoke or handoff["specimen"]:
        raise ValueError(f"The training of {kernel} was a smoke test or on a specimen. {again}")
    entry = handoff["out_of_fold"]["predictions"]
    content = (folder / Path(entry["file"]).name).read_bytes()
    if sha256(content) != entry["sha256"]:
        raise ValueError(f"{folder / entry['file']} differs from its handoff.json. {again}")
    with np.load(folder / Path(entry["file"]).name, allow_pickle=False) as saved:
        oof = dict(saved)
    return handoff | {"sha256": expected}, oof


def check_members(names, families, handoffs, oofs):
    """Stop unless all members have the classes, data, ids and folds of the first."""
    first, oof = handoffs[0], oofs[0]
    again = "Train both on the same data, or leave one of them out of the blend."
    for name, family, handoff, other in zip(names, families, handoffs, oofs, strict=True):
        pair = f"{names[0]} and {name}"
        if handoff["classes"] != first["classes"]:
            raise ValueError(f"{pair} predict different classes, or in another order. {again}")
        is_same = handoff["data_sha256"] == first["data_sha256"] or family != families[0]
        if {*other["ids"]} != {*oof["ids"]}:
            raise ValueError(f"{pair} were trained on different ids. {again}")
        if not np.array_equal(other["ids"], oof["ids"]) and not is_unique(other["ids"]):
            problem = f"{pair} have ids that several rows share, and the rows in another order"
            raise ValueError(f"{problem}, so that their predictions cannot be joined. {again}")
        truths = [each["truth"][np.argsort(each["ids"], kind="stable")] for each in (oof, other)]
        if not is_same or not np.array_equal(*truths):
            raise ValueError(f"{pair} were trained on different data. {again}")
        if handoff["folds_sha256"] != first["folds_sha256"]:
            raise ValueError(f"{pair} have different folds. Train both with the same N_FOLDS.")
        if set(other["ids"][other["rows"]]) != set(oof["ids"][oof["rows"]]):
            raise ValueError(f"{pair} trained different folds. Train both with the same N_FOLDS.")


def is_unique(ids):
    """Return whether no id is there twice."""
    return len(np.unique(ids)) == len(ids)


def align_rows(oof, first):
    """Return the out-of-fold predictions of a member in the order of the first one's rows."""
    keys, order = oof["rows"], first["rows"]  # by position: several rows may share an id
    if not np.array_equal(oof["ids"], first["ids"]):
        keys, order = oof["ids"][keys], first["ids"][order]
    place = {key: row for row, key in enumerate(keys.tolist())}
    return oof["predictions"].reshape(len(keys), -1)[[place[key] for key in order.tolist()]]


def read_files(run, name, dataset):
    """Return the out-of-fold and the test file of a member from elsewhere, and their SHA-256."""
    mounts = [f"datasets/{dataset}", dataset.partition("/")[2]]
    folder = run.find_folder(mounts, f"{name}.oof.csv")
    contents = [(folder / f"{name}.{part}.csv").read_bytes() for part in ("oof", "test")]
    return *contents, sha256(b"".join(contents))


def predictions_in(content, name, columns):
    """Return the ids in a file of a member from elsewhere, and the predictions [ids, columns]."""
    options = {"header": None, "dtype": str, "keep_default_na": False}
    header, *rows = pd.read_csv(io.BytesIO(content), **options).to_numpy().tolist()
    if header[1:] != list(columns):
        raise ValueError(f"The files of {name} have the columns {header[1:]}, expected {columns}.")
    return [row[0] for row in rows], np.array([row[1:] for row in rows], dtype="float64")


def require_unique(ids, name):
    """Stop if several rows share an id: a file has one prediction for each."""
    if not is_unique(ids):
        problem = f"Several rows share an id, and {name} is files with one prediction for each id"
        raise ValueError(f"{problem}: write the blend again without it.")


def out_of_fold_in(run, content, name, columns, ids):
    """Return the out-of-fold predictions in a file, in the order of these ids; stop if it has others."""
    require_unique(ids, name)
    keys, predictions = predictions_in(content, name, columns)
    place = {key: row for row, key in enumerate(keys)}
    is_same = place.keys() >= {*ids} if run.settings["DEBUG"] else place.keys() == {*ids}
    if len(place) != len(keys) or not is_same:
        problem = f"{name} has out-of-fold predictions of other ids than the other members."
        raise ValueError(f"{problem} Write the blend again with a file for the same rows.")
    return predictions[[place[key] for key in ids]]


def test_in(content, name, columns, ids):
    """Return the test predictions in a file, in the order of these ids; stop if it lacks one."""
    require_unique(ids, name)
    keys, predictions = predictions_in(content, name, columns)
    place = {key: row for row, key in enumerate(keys)}
    if lacking := [key for key in ids if key not in place]:
        problem = f"{name} is files, without predictions for {len(lacking):,} ids of this test"
        raise ValueError(f"{problem}, such as {lacking[0]!r}: write the blend again without it.")
    return predictions[[place[key] for key in ids]]


def end_process(process):
    """End a process and those that it started, as far as the system can."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
    process.stdin.close()
    process.wait()


def predict_member(run, name, kernel, cells):
    """Run a member's own inference in a process; return its ids and predictions."""
    with tempfile.TemporaryDirectory(dir=run.output, prefix=".member-") as temporary:
        root, working = Path(temporary, "input"), Path(temporary, "working")
        attached = root / "notebooks" / kernel  # and no other member's output
        attached.parent.mkdir(parents=True)
        attached.symlink_to(member_folder(run, kernel).resolve())
        working.mkdir()
        for entry in run.input.iterdir():
            if entry.name != "notebooks" and not (entry / "handoff.json").is_file():
                (root / entry.name).symlink_to(entry.resolve())
        seconds = run.seconds_left()
        parameters = {"TRAIN_KERNEL": kernel, "HANDOFF_MOUNTS": [], "DEBUG": run.settings["DEBUG"]}
        parameters |= {"INPUT_ROOT": str(root), "WORKING_ROOT": str(working)}
        parameters |= {"SESSION_HOURS": seconds / 3600, "RESERVE_MINUTES": 0.0}
        job = Path(temporary, "job.json")
        content = {"name": name, "cells": cells, "parameters": parameters, "path": sys.path}
        job.write_text(json.dumps(content))
        command = [sys.executable, "-c", DRIVER, str(job)]
        environment = os.environ | {"MPLBACKEND": "Agg", "PYTHONUNBUFFERED": "1"}
        with open(Path(temporary, "log"), "w+") as log:
            process = subprocess.Popen(
                command,
                env=environment,
                cwd=working,
                stdin=subprocess.PIPE,  # open as long as this process lives
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                process.wait(timeout=max(1, seconds))
            except subprocess.TimeoutExpired:
                problem = f"{name} did not finish its predictions before the time limit."
                raise TimeoutError(f"{problem} {LEAVE_OUT}") from None
            finally:
                end_process(process)
            log.seek(0)
            lines = log.read()[-20_000:].splitlines()
        if process.returncode:
            problem = f"The inference of {name} failed (exit code {process.returncode}): "
            raise RuntimeError(problem + "\n".join(lines[-15:]))
        print(*(f"{name}: {line}" for line in lines[-3:]), sep="\n", flush=True)
        if not (working / "predictions.npz").is_file():
            raise FileNotFoundError(f"{name} wrote no predictions.npz: generate it again.")
        with np.load(working / "predictions.npz", allow_pickle=False) as saved:
            return saved["ids"], saved["predictions"].reshape(len(saved["ids"]), -1)


LEAVE_OUT = (
    "Leave a member out with `tandem blend`, or set SKIP_LATE = True to skip those of least weight."
)


def predict_members(run, names, kernels, codes, weights, datasets=(), columns=()):
    """Return the ids and the predictions [members, ids, outputs], NaN for members that are skipped.

    The largest weight comes first; members without weight do not run. Those with a dataset
    come last among the names: their predictions [ids, columns] are read.
    """
    ids, outputs, slowest = np.array([]), {}, 0.0
    for place in np.argsort(-np.abs(weights[: len(kernels)]), kind="stable").tolist():
        left = run.seconds_left()
        if weights[place] == 0:
            print(f"{names[place]}: skipped, its weight is 0")
            continue
        try:
            if outputs and left < 1.5 * slowest:
                problem = f"There is no time left for {names[place]} ({left:.0f} s)."
                raise TimeoutError(f"{problem} {LEAVE_OUT}")
            code = codes[names[place]]
            keys, predictions = predict_member(run, names[place], kernels[place], code)
        except TimeoutError:
            if not outputs or not run.settings["SKIP_LATE"]:
                raise
            print(f"{names[place]}: skipped, out of time")
            continue
        slowest = max(slowest, left - run.seconds_left())
        ids = ids if outputs else keys
        if not np.array_equal(keys, ids):  # where they are equal, several rows may share an id
            rows = {key: row for row, key in enumerate(keys.tolist())}
            if rows.keys() != {*ids.tolist()} or len(rows) != len(keys):
                raise ValueError(f"{names[place]} predicted other ids than the members before it.")
            predictions = predictions[[rows[key] for key in ids.tolist()]]
        outputs[place] = predictions
    for name, dataset in zip(names[len(kernels) :], datasets, strict=True):
        _, content, _ = read_files(run, name, dataset)
        ids = ids if outputs else np.array(predictions_in(content, name, columns)[0])
        outputs[names.index(name)] = test_in(content, name, columns, ids.tolist())
    missing = np.full(next(iter(outputs.values())).shape, np.nan)
    return ids.tolist(), np.stack([outputs.get(place, missing) for place in range(len(names))])


def without_skipped(blend, members):
    """Return the blend and the members without those that were skipped, weights again a sum of 1."""
    is_there = ~np.isnan(members).all(axis=(1, 2))
    if is_there.all():
        return blend, members
    weights = np.asarray(blend["weights"])
    lost = np.abs(weights[~is_there]).sum()
    if lost and blend["method"] == "stacking":
        raise ValueError(f"A stacking needs all of its members. {LEAVE_OUT}")
    kept = weights[is_there]
    blend = blend | {"weights": (kept / kept.sum() if lost else kept).tolist()}
    if "quantiles" in blend:
        blend["quantiles"] = [q for q, is_kept in zip(blend["quantiles"], is_there) if is_kept]
    return blend, members[is_there]
