"""The checks of what a training session left: the accelerator that it had, and whether inference can use the rest."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from generator.accelerators.catalog import AcceleratorKind, catalog
from generator.kaggle.api_types import RemoteFile
from generator.kaggle.chain.errors import HandOverUnfitError, UnfinishedError, WrongAcceleratorError, to_target
from generator.kaggle.chain.options import PushOptions
from generator.pair.handover import DamagedError, HandOver, accelerator_in_words, json_object
from generator.untrusted import JsonObject, printable

MARKER = "accelerator.json"
_TRAIN_AGAIN = "Train again."
_SCHEMA = 2
_OF_THIS_PAIR = "Render both notebooks together, and train again."


def whole_handover(path: Path) -> HandOver:
    """Reads `handoff.json`, and makes sure by its own hash that it is whole; what it says is not checked yet.

    Raises:
        DamagedError: It is no JSON object, or not as training wrote it.
    """
    handover = HandOver(json_object(path))
    if not handover.is_whole:
        raise DamagedError("its hash is not the one that stands in it")
    return handover


def summary(handover: HandOver) -> dict[str, Any]:
    """The parts of a hand-over that the journal keeps, as JSON."""
    fold, score = handover.fields.section("out_of_fold"), handover.out_of_fold
    return {
        "pair_id": handover.fields.text("pair_id"),
        "framework": handover.framework,
        "backend": handover.backend,
        "versions": dict(handover.versions),
        "out_of_fold": {"metric": fold.text("metric") or "score", "score": score.value if score else None},
        "sha256": handover.fields.text("sha256"),
        "files": [{"file": each.file, "bytes": each.size, "sha256": each.sha256} for each in handover.files],
    }


def check_accelerator(marker: JsonObject, *, wanted: str, is_local: bool, url: str) -> None:
    """Makes sure that training ran on what it asked for; a local Kaggle may emulate it.

    Raises:
        WrongAcceleratorError: It ran on something else.
    """
    if not marker.flag("emulated") and marker.get("platform") == wanted:
        return
    if is_local and _is_emulation(marker, wanted):
        return
    raise WrongAcceleratorError(wanted=wanted, obtained=described(marker), url=url)


def check_failed_session(marker: JsonObject, *, wanted: str, url: str) -> WrongAcceleratorError | None:
    """The error of a training session that failed for want of its accelerator; None if it had that."""
    if marker.get("platform") == wanted or _is_emulation(marker, wanted):
        return None
    # The notebook calls everything emulated that it did not ask for; here nobody meant to.
    obtained = described(JsonObject(marker, emulated=False))
    return WrongAcceleratorError(wanted=wanted, obtained=obtained, url=url)


def described(marker: JsonObject) -> str:
    """An accelerator in words: how many of what, and whether it was emulated."""
    words = printable(accelerator_in_words(marker)) or "something unknown"
    return f"{words} (emulated)" if marker.flag("emulated") else words


def way_to_continue(options: PushOptions, *, target: str) -> str:
    """The lines and commands that let training go on in another session on Kaggle, from where the last one ended."""
    pair = printable(options.pair)
    push = f"tandem push {pair}{to_target(target)}"
    if options.spec.continues:
        return f"`{push} --from train` goes on in another session; the training kernel has its own output attached."
    generate = f"tandem generate --competition {printable(options.spec.competition.slug)} --name {pair}"
    return (
        f"To go on in another session, write `continues = true` below `[pair]` in kernels/{pair}/pair.toml, which "
        f"attaches this output to the training kernel, and run `{generate}`, then `{push}`."
    )


def check_handover(handover: HandOver, *, pair_id: str, listing: Mapping[str, RemoteFile], if_interrupted: str) -> None:
    """Makes sure that inference can use a hand-over: of this pair, complete, of real data, and all its files there.

    Args:
        handover: The hand-over.
        pair_id: The pair.
        listing: The files of the output, by name.
        if_interrupted: What the user does where training was interrupted.

    Raises:
        HandOverUnfitError: The first thing that is not so.
    """
    fields = handover.fields
    schema, pair, epochs = fields.get("schema_version"), fields.get("pair_id"), fields.get("epochs_done")
    is_smoke, is_interrupted = fields.section("settings").flag("DEBUG"), not fields.flag("complete")
    for is_unfit, problem, remedy in (
        (schema != _SCHEMA, f"its schema version is {schema!r}, and this kit knows {_SCHEMA}", _OF_THIS_PAIR),
        (pair != pair_id, f"it is of the pair {pair!r}, and not of {pair_id!r}", _OF_THIS_PAIR),
        (is_interrupted, f"training was interrupted, its folds have done {epochs} epochs", if_interrupted),
        (fields.flag("specimen"), "training ran on a specimen, made-up data", _TRAIN_AGAIN),
        (is_smoke, "training was a smoke test, on a few rows", "Set DEBUG = False, and train again."),
        (not handover.is_scored, "its score is no number", "Look at the losses, lower LEARNING_RATE, and train again."),
    ):
        if is_unfit:
            error = UnfinishedError if remedy is if_interrupted else HandOverUnfitError
            raise error(problem=problem, remedy=remedy)
    for promise in handover.files:
        found = listing.get(promise.file)
        if found is None:
            raise HandOverUnfitError(problem=f"{promise.file} is not in the output", remedy=_TRAIN_AGAIN)
        # A listing that does not say the size says 0.
        if promise.size and found.size and found.size != promise.size:
            problem = f"{promise.file} has {found.size:,} bytes, and training wrote {promise.size:,}"
            raise HandOverUnfitError(problem=problem, remedy=_TRAIN_AGAIN)


def _is_emulation(marker: JsonObject, wanted: str) -> bool:
    """True if a local Kaggle stood in for the accelerator: a TPU has as many devices then as it really has."""
    devices = catalog().training.devices if wanted == AcceleratorKind.TPU else 1
    return marker.flag("emulated") and marker.get("device_count") == devices
