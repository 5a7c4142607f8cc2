"""A training resumes, ends in time, and saves what inference needs."""

import ast
import json
import math
import os
import re
import shutil
import symtable
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
from runtime.session import Session, as_lists, sha256


def write_json(path, value):
    """Write a JSON file atomically."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(value, indent=2) + "\n")
    os.replace(partial, path)


def statements_of(cell):
    """Return the statements of a cell without imports, also those below %%time."""
    nodes = ast.parse(cell).body
    call = getattr(nodes[0], "value", None) if nodes else None
    if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "run_cell_magic":
        return statements_of(ast.literal_eval(call.args[2]))
    return [node for node in nodes if not isinstance(node, ast.Import | ast.ImportFrom)]


def globals_read(node):
    """Return the global names that a statement reads, inside of its functions as well."""
    tables, names = [symtable.symtable(ast.unparse(node), "cell", "exec")], set()
    for table in tables:  # the list grows by the functions and classes inside
        tables += table.get_children()
        symbols = [one for one in table.get_symbols() if one.is_global() or table is tables[0]]
        names |= {one.get_name() for one in symbols if one.is_referenced()}
    return names


def globals_set(node):
    """Return the names that a statement defines or assigns, also by item or attribute."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    stored = [part for part in ast.walk(node) if isinstance(getattr(part, "ctx", None), ast.Store)]
    return {name for part in stored for name in re.findall(r"^\w+", ast.unparse(part))}


def code_behind(cells, without=()):
    """Return {name: SHA-256} of the last cell's code, and of all that it depends on.

    A value depends on what names were when it was computed, a function on what they are now.
    """
    nodes = [node for cell in cells[:-1] for node in statements_of(cell)]
    loop = statements_of(cells[-1])
    reads, sets = [globals_read(node) - {*without} for node in nodes], [*map(globals_set, nodes)]
    needed = set().union(*map(globals_read, loop)) - set().union(*map(globals_set, loop), without)
    found, places = set(), [(name, len(nodes), len(nodes)) for name in needed]
    for name, end, now in places:  # the list grows by what the last statement before `end` reads
        place = max((place for place in range(end) if name in sets[place]), default=None)
        if place is not None:
            found.add((place, name))
            node = nodes[place]
            is_function = isinstance(node, ast.FunctionDef | ast.ClassDef)
            is_new = is_function or (isinstance(node, ast.Assign) and name not in reads[place])
            old = set() if is_new else {(name, place, now)}
            then = now if is_function else place
            places += {(read, then, then) for read in reads[place]}.union(old) - {*places}
    parts = {"the training loop": [as_lists(loop)]}
    for place, name in sorted(found):
        statement = as_lists(nodes[place])
        if statement not in parts.setdefault(name, []):  # a cell that ran twice
            parts[name].append(statement)
    return {name: sha256(json.dumps(statements))[:16] for name, statements in parts.items()}


def write_epoch_files(save, folder, history, predictions, arguments):
    """Write the files of an epoch, then remove those of the epoch before."""
    name = f"epoch{len(history)}"
    save(folder / name)
    np.save(folder / f"{name}.npy", predictions)
    write_json(folder / f"{name}.json", arguments)
    write_json(folder / "history.json", history)
    for file in folder.glob("epoch*"):
        if file.stem != name:
            (shutil.rmtree if file.is_dir() else os.unlink)(file)


class Run(Session):
    """A training run; it resumes if its code, settings and data are unchanged."""

    def check_accelerator(self, platform, count, kind, memory=None, remedy=""):
        """Write accelerator.json; stop if it is not the accelerator that was asked for."""
        wanted, is_cpu = self.settings["ACCELERATOR"], platform == "cpu"
        found = f"{count} x {kind} ({platform}), {os.cpu_count()} cores"
        self.accelerator = {"platform": platform, "device_count": count, "device_kind": kind}
        self.accelerator |= {"device_memory_bytes": memory, "pair_id": self.settings["PAIR_ID"]}
        self.accelerator |= {"emulated": platform != wanted, "cores": os.cpu_count()}
        write_json(self.output / "accelerator.json", self.accelerator)
        is_fine = self.settings["DEBUG"] or (self.settings["ALLOW_CPU"] and is_cpu)
        if platform != wanted and not is_fine:
            problem = f"This notebook needs a {wanted.upper()}, and the session has {found}."
            remedy = remedy or (
                "In the editor choose TPU v5e-8 under Settings > Accelerator, and Save & Run All. "
                "If it is greyed out, verify your identity (in Settings). After a push, remove "
                "a docker_image pinned in kernel-metadata.json."
            )
            knob = "ALLOW_CPU = True" if is_cpu else f'ACCELERATOR = "{platform}"'
            raise RuntimeError(f"{problem} {remedy} To train on it anyway, set {knob}.")
        return found

    def folds(self, count, train, truth):
        """Yield the folds left to train, in time; code, settings, data, devices identify a run."""
        session = ["INPUT_ROOT", "WORKING_ROOT", "ALLOW_CPU", "SESSION_HOURS", "RESERVE_MINUTES"]
        session += ["RESULTS", "RELEASE_RUNTIME"]  # of Colab
        settings = {name: self.settings[name] for name in {*self.settings} - {*session}}
        rows = pd.util.hash_pandas_object(train.astype(str).fillna("nan"), index=False).to_numpy()
        identity = {"settings": settings, "devices": self.accelerator["device_count"]}
        identity["data"] = sha256(rows.tobytes() + np.asarray(truth).tobytes())
        identity["code"] = code_behind(self.cells() or [""], {*self.settings, "run", "Run"})
        self.run_id = sha256(json.dumps(identity, sort_keys=True))[:16]
        self.checkpoints = self.output / "checkpoints" / self.run_id
        self.copy_checkpoints(identity)
        folders = [self.checkpoints / f"fold{fold}" for fold in range(count)]
        files = [folder / "history.json" for folder in folders]
        self.histories = [json.loads(file.read_text()) if file.is_file() else [] for file in files]
        self.done = [fold for fold in range(count) if (folders[fold] / "finished").is_file()]
        self.data_sha256, self.saver = identity["data"], ThreadPoolExecutor(1)
        self.slowest, self.is_late, self.entries = 0.0, False, []
        for fold, folder, history in zip(range(count), folders, self.histories, strict=True):
            self.is_late |= self.slowest > 0 and self.seconds_left() < 3 * self.slowest
            if fold in self.done or self.is_late:
                why = "out of time" if self.is_late else "finished"
                print(f"fold {fold}: skipped, {why} ({len(history)} epochs)")
                continue
            folder.mkdir(parents=True, exist_ok=True)
            self.fold, self.history, self.folder = fold, history, folder
            self.saved = self.saver.submit(int)  # nothing yet
            yield fold
            self.saved.result()
            if not self.is_late:  # also after early stopping
                (folder / "finished").touch()
                self.done.append(fold)

    def copy_checkpoints(self, identity):
        """Copy the checkpoints of this run from an attached output, or say what has changed."""
        outputs = [self.output, *self.input.glob("notebooks/*/*"), *self.input.glob("*")]
        runs = [file.parent for folder in outputs for file in folder.glob("checkpoints/*/run.json")]
        same = [folder for folder in runs if folder.name == self.run_id]
        afresh = "No matching checkpoint: training from scratch"
        print(f"Resuming from {same[0]}" if same else afresh)
        if same and same[0] != self.checkpoints:
            shutil.copytree(same[0], self.checkpoints)
        for folder in [] if same else runs:
            try:
                then, now = json.loads((folder / "run.json").read_text()), identity["settings"]
                old = then["settings"]
                names = [name for name in sorted(old) if old[name] != now.get(name)]
                changed = [f"{name} = {old[name]!r}, now {now.get(name)!r}" for name in names]
                code = dict(then["code"].items() ^ identity["code"].items())
                changed += [f"code of {name}" for name in sorted(code)]
            except (ValueError, TypeError, KeyError, AttributeError):
                changed = ["its run.json is damaged"]
            changes = "; ".join(changed) or "data or devices"
            print(f"{folder} is of another run; changed: {changes}")
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        write_json(self.checkpoints / "run.json", identity)

    def resume(self, restore):
        """Restore the last epoch of the fold by `restore(path)`, if there is one."""
        if self.history:
            restore(self.folder / f"epoch{len(self.history)}")

    def epochs(self, count):
        """Yield the epochs of the fold that are still to be trained, while there is time."""
        self.epoch_count = count
        while len(self.history) < count and not self.is_late:
            self.clock = time.monotonic()
            yield len(self.history)

    def save_epoch(self, save, predictions, arguments, loss, val_loss, score):
        """Save the state after an epoch by `save(path)`, while the next one trains."""
        if not math.isfinite(loss):
            raise FloatingPointError(f"The loss is {loss}. Try a lower LEARNING_RATE.")
        seconds, count = time.monotonic() - self.clock, self.epoch_count
        self.saved.result()  # raises the error of the saving thread, such as a full disk
        self.history.append(
            {"loss": loss, "val_loss": val_loss, "score": score, "seconds": seconds}
        )
        files = (save, self.folder, [*self.history], predictions, arguments)
        self.saved = self.saver.submit(write_epoch_files, *files)
        compiles, done = not self.slowest, len(self.history)
        self.slowest = max(self.slowest, seconds)
        self.is_late = done < count and self.seconds_left() < 1.5 * self.slowest
        metric = f"val_{self.settings['METRIC']} {score:.4f}"
        todo = count * len(self.histories) - sum(map(len, self.histories))
        to_go = "" if compiles else f"about {math.ceil(seconds * todo / 60)} min to go, "
        said = f"loss {loss:.4f}, val_loss {val_loss:.4f}, {metric}, {seconds:.1f} s, {to_go}"
        ends = f"{self.seconds_left() / 60:.0f} min left in the session"
        print(f"fold {self.fold}, epoch {done:2d}/{count}: {said}{ends}", flush=True)

    def trained(self):
        """Return the folds that are finished, or the first one if none is."""
        if not (self.done or self.histories[0]):
            raise RuntimeError("No epoch was finished in time: the session needs more hours.")
        return sorted(self.done) or [0]

    def last_epoch(self, fold):
        """Return the path of the last epoch's state, without suffix, and the model's arguments."""
        path = self.checkpoints / f"fold{fold}/epoch{len(self.histories[fold])}"
        return path, json.loads(path.with_suffix(".json").read_text())

    def predictions(self):
        """Return the out-of-fold predictions of the trained folds, one fold after the other."""
        if not self.entries:
            paths = [self.last_epoch(fold)[0].with_suffix(".npy") for fold in self.trained()]
            self.out_of_fold = np.concatenate([np.load(path) for path in paths])
        return self.out_of_fold

    def describe(self, name):
        """Return the entry of a file that was written: its name, size and SHA-256."""
        content = (self.output / name).read_bytes()
        return {"file": name, "bytes": len(content), "sha256": sha256(content)}

    def hand_over(self, save_weights, oof_table, oof, score, fold_facts=(), **facts):
        """Write what inference needs: the weights of the folds, out-of-fold files, handoff.json."""
        oof_table.to_csv(self.output / "oof.csv", index=False)
        np.savez_compressed(self.output / "oof.npz", **oof)
        for fold in [] if self.entries else self.trained():
            path, arguments = self.last_epoch(fold)
            entry = {"fold": fold, "history": self.histories[fold], "arguments": arguments}
            file = save_weights(path, arguments, self.output / f"fold{fold}")
            self.entries.append(entry | self.histories[fold][-1] | self.describe(file.name))
        for entry, more in zip(self.entries, fold_facts, strict=False):
            entry |= more
        handoff = facts | {"schema_version": 2, "pair_id": self.settings["PAIR_ID"]}
        is_complete = len(self.done) == len(self.histories)
        handoff |= {"code": self.shared_code(), "folds": self.entries, "complete": is_complete}
        handoff["out_of_fold"] = {"metric": self.settings["METRIC"], "score": score}
        handoff["out_of_fold"] |= {"rows": len(oof["rows"]), "table": self.describe("oof.csv")}
        handoff["out_of_fold"]["predictions"] = self.describe("oof.npz")
        handoff |= {"accelerator": self.accelerator, "run_id": self.run_id}
        pairs = sorted(zip(oof["ids"].tolist(), oof["fold"].tolist(), strict=True))
        handoff |= {"data_sha256": self.data_sha256, "folds_sha256": sha256(json.dumps(pairs))}
        handoff["specimen"] = (self.competition / "SPECIMEN.json").is_file()
        handoff |= {"settings": self.settings, "epochs_done": [*map(len, self.histories)]}
        handoff["sha256"] = sha256(json.dumps(handoff, sort_keys=True))
        write_json(self.output / "handoff.json", handoff)
        if is_complete:
            shutil.rmtree(self.checkpoints, ignore_errors=True)  # there is nothing left to resume
        else:
            print("Interrupted: attach this output to this notebook and run it again to resume.")
        for file in sorted(file for file in self.output.iterdir() if file.is_file()):
            print(f"{file.stat().st_size:>12,} bytes  {file.name}")
