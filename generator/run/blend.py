"""Blends: their members are compared, and the pair is written that joins their predictions.

plan_blend      checks the members and renders the pair; nothing is written
write_blend     writes it
read_results    what the training of a blend found: weights, gains, correlations
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from generator.competition.facts import TargetKind
from generator.pair.blend import FRAMEWORK, METHODS, BlendError, Member, code_text, files_dataset, parse_members
from generator.pair.folder import (
    WritePlan,
    complete_settings,
    existing_pair,
    pair_folder,
    plan_write,
    read_settings,
    settings_content,
    write_pair,
)
from generator.pair.handover import read_handover
from generator.pair.notebook import MEMBER_CODE_FILE
from generator.pair.rendering import kernel_files, rendered_cells
from generator.pair.settings import Origin, Settings, SettingValue
from generator.pair.spec import PairSpec, spec_of
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.run.blend_members import MemberOutput, read_member
from generator.run.file_members import FileMember, PredictionColumns, dataset_metadata, name_files, read_file_member
from generator.run.ledger import (
    OUT_OF_FOLD,
    PREDICTIONS,
    RunRecord,
    hash_training_table,
    read_runs,
    recorded_pairs,
)
from generator.text import JsonObject, Value, printable, quote_text

_KINDS = (TargetKind.CLASS, TargetKind.LABELS, TargetKind.NUMBER)
_OF_MEMBERS = ("pretrained", "inference_backend", "several_hosts")


@dataclass(frozen=True)
class BlendPlan:
    """A blend that can be written.

    Attributes:
        folder: Where it belongs.
        candidates: Its members that are pairs.
        file_members: Those that are files.
        dataset: The folder of the workspace with these, as the dataset of Kaggle; None where there are none.
        files: The files of the pair.
        code: The text of the file with the members' code.
        warnings: Sentences for the user.
    """

    folder: PairFolder
    candidates: Sequence[MemberOutput]
    file_members: Sequence[FileMember]
    dataset: Path | None
    files: WritePlan
    code: str
    warnings: Sequence[str]

    @property
    def dataset_ref(self) -> str:
        """The name of that dataset on Kaggle; "" where there is none."""
        return "/".join(self.dataset.parts[-2:]) if self.dataset is not None else ""


def plan_blend(  # noqa: PLR0913 - as the command line has them
    workspace: Workspace,
    name: str,
    references: Sequence[str],
    *,
    oof_files: Sequence[str] = (),
    test_files: Sequence[str] = (),
    methods: Sequence[str] = (),
    force: bool = False,
) -> BlendPlan:
    """Check the members of a blend, and render its pair.

    Args:
        workspace: The workspace.
        name: The name of the blend.
        references: The members: `X` for what is in `output/X`, `X@7` for a run of the ledger.
        oof_files: The out-of-fold predictions of other models, each `FILE` or `NAME=FILE`.
        test_files: Their predictions for the test, in the same order.
        methods: The methods to choose from; all that suit the metric if empty.
        force: Whether edits of a blend of this name may be overwritten.

    Raises:
        BlendError: The members cannot be blended, and which of them is in the way.
        TandemError: A member cannot be read.
    """
    if unknown := [method for method in methods if method not in METHODS]:
        raise BlendError(f'There is no method "{quote_text(unknown[0])}". The methods are {", ".join(METHODS)}.')
    folder = pair_folder(workspace, name)
    current = read_settings(folder)
    if current.pair and current.get("framework") != FRAMEWORK:
        raise BlendError(f"{printable(name)} is a pair already. Choose another name for the blend.")
    candidates = [read_member(workspace, reference) for reference in references]
    first = candidates[0]
    ref = files_dataset(first.spec.train.owner, name)
    named_files = name_files(oof_files, test_files)
    file_texts = [str(Member(pair=member_name, dataset=ref)) for member_name, _, _ in named_files]
    members = parse_members([*(str(candidate.member) for candidate in candidates), *file_texts])
    _check_task(first, first.spec)
    for candidate in candidates[1:]:
        _check_task(candidate, first.spec)
        _check_alike(first, candidate)
    _check_tables(workspace, candidates)
    if "rank" in methods and not first.spec.is_ranked:
        raise BlendError(
            f"Ranks suit areas under curves and Gini coefficients, and the metric is {first.spec.metric.title}: choose "
            "another --method."
        )
    file_members = [_file_member(workspace, first, *files) for files in named_files]
    settings = _settings(complete_settings(existing_pair(workspace, first.member.pair)), name, members, methods)
    code = code_text({candidate.member.name: candidate.notebook for candidate in candidates})
    cells = rendered_cells(settings, user_files={folder.path / MEMBER_CODE_FILE: code.strip()})
    files = {
        Path(folder.settings_path.name): settings_content(folder, settings, may_leave_open=False),
        **kernel_files(settings, cells),
    }
    plan = plan_write(folder, files, force=force)
    notes = [*(note for member in file_members for note in member.notes), *_warnings(candidates, spec_of(settings))]
    notes += _stale_members(workspace, candidates)
    dataset = workspace.input / "datasets" / ref if file_members else None
    return BlendPlan(folder, candidates, file_members, dataset, plan, code, notes)


def write_blend(workspace: Workspace, plan: BlendPlan) -> None:
    """Write a blend as a whole or not at all, then the dataset with those of its members that are files.

    Raises:
        FileWriteError: It cannot be written.
    """
    write_pair(plan.folder, plan.files, member_code=plan.code)
    if plan.dataset is not None:
        contents = {"dataset-metadata.json": dataset_metadata(plan.dataset_ref)}
        for member in plan.file_members:
            contents |= member.contents
        for file, content in contents.items():
            workspace.files.write(plan.dataset / file, content)


def read_results(workspace: Workspace, name: str) -> JsonObject:
    """Return the hand-over of a blend's training, with its `report`, `correlations`, `method` and score."""
    return read_handover(workspace.output(name) / Role.TRAIN).fields


def _file_member(workspace: Workspace, first: MemberOutput, name: str, oof: Path, test: Path) -> FileMember:
    if first.spec.competition.is_code_competition:
        raise BlendError(
            f"{name} is files, which have no predictions for the hidden test of a code competition: leave it out, or "
            "make a pair of the model."
        )
    classes = first.handover.fields.get("classes")
    columns = PredictionColumns(
        task=first.spec.task,
        id_columns=tuple(dict.fromkeys([first.spec.training_id, first.spec.task.id_column])),
        names=tuple(map(str, classes)) if isinstance(classes, list) else (),
    )
    member = first.member
    of_run = first.folder if member.number is not None else workspace.output(member.pair) / Role.INFER
    return read_file_member(
        name, oof, test, columns=columns, held_out=first.folder / OUT_OF_FOLD, predictions=of_run / PREDICTIONS
    )


def _check_task(candidate: MemberOutput, first: PairSpec) -> None:
    name, spec = candidate.member.name, candidate.spec
    if spec.competition.slug != first.competition.slug:
        raise BlendError(
            f"{name} is for the competition {printable(spec.competition.slug)}, and the first member for "
            f"{printable(first.competition.slug)}: blend pairs of one competition."
        )
    if spec.task.target_kind not in _KINDS or spec.is_served:
        purpose = "answers an inference server" if spec.is_served else f"predicts {spec.task.target_kind}s"
        raise BlendError(f"{name} {purpose}: only classes, labels and numbers of a file of predictions are blended.")
    for key in ("target_kind", "targets", "submission", "metric", "id_column"):
        expected, actual = (getattr(task, key) for task in (first.task, spec.task))
        if actual != expected:
            raise BlendError(
                f"{name} has {key} = {quote_text(str(actual))}, and the first member {quote_text(str(expected))}: "
                "generate both with the same."
            )


def _check_alike(first: MemberOutput, second: MemberOutput) -> None:
    names = f"{first.member.name} and {second.member.name}"
    first_fields, second_fields = first.handover.fields, second.handover.fields
    if first_fields.get("classes") != second_fields.get("classes"):
        raise BlendError(f"{names} predict different classes, or in another order. Train both on the same data.")
    for key in ("data_sha256", "folds_sha256"):
        for candidate, fields in ((first, first_fields), (second, second_fields)):
            if not fields.text(key):
                raise BlendError(
                    f"{candidate.member.name} was trained by an older notebook, which does not save {key}. Generate it "
                    "again and run it."
                )
    is_one_family = first.spec.family == second.spec.family
    if is_one_family and first_fields.text("data_sha256") != second_fields.text("data_sha256"):
        raise BlendError(f"{names} were trained on different data. Run again the one that is older than the data.")
    if first_fields.text("folds_sha256") != second_fields.text("folds_sha256"):
        raise BlendError(f"{names} have different ids or folds. Train both on the same data with the same N_FOLDS.")


def _check_tables(workspace: Workspace, candidates: Sequence[MemberOutput]) -> None:
    """Refuse a member that was trained on another training table than the one in the workspace."""
    digests: dict[str, str | None] = {}
    for candidate in candidates:
        table = candidate.spec.task.train_table or candidate.spec.task.labels_table
        if candidate.table_sha256 and table not in digests:
            digests[table] = hash_training_table(workspace, candidate.spec)
        if candidate.table_sha256 and digests[table] not in (None, candidate.table_sha256):
            path = workspace.competition_data(candidate.spec.competition.slug) / table
            raise BlendError(
                f"{candidate.member.name} was trained on another version of {printable(str(path))}. Run "
                f"{candidate.member.pair} again, and blend the new run."
            )


def _stale_members(workspace: Workspace, candidates: Sequence[MemberOutput]) -> list[str]:
    """Return a sentence for the members of each family that were trained on other data than its newest run."""
    newest: dict[str, RunRecord] = {}
    for pair in recorded_pairs(workspace):
        for record in read_runs(workspace, pair):
            is_of_task = record.competition == candidates[0].spec.competition.slug and record.framework != FRAMEWORK
            is_newer = record.family not in newest or record.created > newest[record.family].created
            if is_of_task and record.data_sha256 and is_newer:
                newest[record.family] = record
    names: dict[str, list[str]] = {}
    for candidate in candidates:
        newest_run = newest.get(candidate.spec.family)
        if newest_run and newest_run.data_sha256 != candidate.handover.fields.text("data_sha256"):
            names.setdefault(newest_run.name, []).append(candidate.member.name)
    return [
        f"{name}, the newest run, was trained on other data than {_join_names(members)}. If the competition's data "
        "have changed, run the members again."
        for name, members in names.items()
    ]


def _settings(base: Settings, name: str, members: Sequence[Member], methods: Sequence[str]) -> Settings:
    """The settings of a blend: those of its first member, without what is that model's own."""
    values: dict[str, Value] = {"framework": FRAMEWORK, "name": name, "members": [*map(str, members)]}
    if methods:
        values["blend_methods"] = [*methods]
    pair = {key: entry for key, entry in base.pair.items() if key not in ("continues", "platform")}
    pair |= {key: SettingValue(value, Origin.FLAG) for key, value in values.items()}
    task = {key: entry for key, entry in base.task.items() if key not in _OF_MEMBERS}
    return replace(base, pair=pair, task=task, parameters={})


def _warnings(candidates: Sequence[MemberOutput], spec: PairSpec) -> list[str]:
    warnings = [
        f"The weights of {candidate.member.name} are not on this machine: its inference runs on Kaggle only."
        for candidate in candidates
        if not candidate.can_infer
    ]
    unknown = [candidate.member.name for candidate in candidates if candidate.seconds is None]
    total = sum(candidate.seconds or 0.0 for candidate in candidates)
    if total > spec.inference_hours * 3600:
        warnings.append(
            f"The inference of all members took {total / 3600:.1f} h on this machine, and the notebook may run "
            f"{spec.inference_hours:g} h. Leave a member out, or set SKIP_LATE to skip those of least weight."
        )
    if unknown:
        subject, pronoun = ("time is", "it") if len(unknown) == 1 else ("times are", "them")
        commands = _join_names([f"`tandem run {name.partition('@')[0]}`" for name in unknown])
        warnings.append(
            f"The inference {subject} unknown for {_join_names(unknown)}. Run {commands} without --smoke first to "
            f"measure {pronoun}."
        )
    return warnings


def _join_names(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
