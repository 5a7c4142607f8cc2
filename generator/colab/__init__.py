"""Train a pair on Colab with Google's command line, `colab` of the package google-colab-cli.

Input: a pair rendered for Colab, and the type of machine. Output: the results of training in the pair's output folder,
with the layout of `tandem run`, and a receipt:

    options          the options of the command, with local checks
    rental           one machine: Google's program as a child process, the receipt, and the transfer of folders
    remote           programs that run there

This module has all steps: rent, inspect, send, execute, fetch, release. Only `cli` imports it. It does not call Kaggle:
it receives a `KaggleLogin`, and `tandem push` uploads the trained model.
"""

import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from generator.colab.options import INPUT, MOST_SENT, WORKING, KaggleLogin, PlannedTraining
from generator.colab.rental import (
    FOLDER,
    ColabError,
    ColabReceipt,
    CommandLine,
    NoReceiptError,
    ReceiptFile,
    Rental,
    RentalStage,
    StillRentedError,
    TransferError,
    check_device,
    check_sendable,
    facts_of,
    fetch_folder,
    give_back,
    now,
    read_receipt,
    rent_machine,
    send_folder,
)
from generator.errors import TandemError
from generator.files import read_bytes, read_json, read_text
from generator.pair.handover import FILE_NAME, HandOver, read_handover
from generator.pair.notebook import NotebookReadError, with_first_cell, with_parameters
from generator.pair.workspace import Role, Workspace
from generator.run.execution import parse_notebook
from generator.run.ledger import RunOrigin, RunOutputs, record_run, training_key
from generator.text import Value, printable, quote_text

GUARD = '''
# Google's command line goes on after a cell that failed.
import ast

from IPython import get_ipython
from IPython.core.error import InputRejected


class Refused(ast.NodeTransformer):
    """Refuse every cell."""

    def visit(self, node):
        raise InputRejected("a cell before this one failed")


def refuse_the_rest(result):
    """Refuse every further cell once one has failed."""
    if not result.success:
        get_ipython().ast_transformers.append(Refused())


get_ipython().events.register("post_run_cell", refuse_the_rest)
'''.strip()


@dataclass(frozen=True)
class CellFailure:
    """The first cell that failed, and how."""

    cell: str
    problem: str


def notebook_to_send(notebook: Path, values: Mapping[str, Value]) -> str:
    """The text of a notebook with these parameters, which ends with the first cell that fails."""
    return with_first_cell(with_parameters(read_text(notebook), values), name="stop-at-failure", source=GUARD)


def first_failure(notebook: Path) -> CellFailure | None:
    """The first cell that failed in a notebook that came back; None if all of them were executed and none did."""
    try:
        cells = parse_notebook(read_bytes(notebook), path=notebook).cells
    except (OSError, NotebookReadError) as error:
        return CellFailure("", f"the result cannot be read ({error})")
    for number, cell in enumerate(cells, start=1):
        outputs = cell.get("outputs", []) if cell.cell_type == "code" else []
        failure = next((output for output in outputs if output["output_type"] == "error"), None)
        if failure is not None:
            problem = f"{failure.get('ename', 'Error')}: {failure.get('evalue', '')}"
            return CellFailure(str(cell.get("id") or f"cell {number}"), problem)
    return None


def without_secrets(content: bytes, secrets: Sequence[str]) -> bytes:
    """The bytes of a notebook with secrets taken out of what its cells printed."""
    for secret in secrets:
        content = content.replace(secret.encode(), b"[hidden]")
    return content


MARKER, CHECKPOINTS = "accelerator.json", "checkpoints"


@dataclass(frozen=True)
class ColabResult:
    """A training on Colab that came to its end."""

    receipt: ColabReceipt
    folder: Path
    handover: HandOver


def train_on_colab(
    planned_training: PlannedTraining,
    command_line: CommandLine,
    *,
    login: KaggleLogin | None,
    tell: Callable[[str], None],
) -> ColabResult:
    """Trains a pair on a machine of Colab; whatever comes of it, the machine is given back and the receipt says so.

    Args:
        planned_training: What to train.
        command_line: Google's.
        login: What signs in at Kaggle there, if anything does.
        tell: Hears of each step, and each line that the notebook prints.

    Raises:
        ColabError: What went wrong, in a sentence.
        KeyboardInterrupt: A signal asked for the end.
    """
    planned_training.ensure_built_in()
    planned_training.check_data()
    if login is None and not planned_training.sends_data:
        raise ColabError(
            f"The machine cannot get the files of {printable(planned_training.slug)}: "
            f"{printable(str(planned_training.data))} does not have them, or has more than "
            f"{MOST_SENT >> 20} MiB, and there is "
            "no Kaggle token to download them there.",
            remedy="Create one at https://www.kaggle.com/settings/api, and save it as ~/.kaggle/access_token.",
            code="credentials",
        )
    command_line.check_installed()
    with planned_training.output.reserve([Role.TRAIN]) as private:
        command_line = replace(command_line, temporary=private, secrets=login.secrets if login else ())
        _check_nothing_is_rented(planned_training, command_line)
        session = (
            f"tandem-{re.sub('[^a-z0-9]+', '-', planned_training.options.pair.lower())[:24]}-{uuid.uuid4().hex[:6]}"
        )
        receipt = ColabReceipt(
            planned_training.options.pair,
            session,
            planned_training.machine.name,
            planned_training.options.high_memory,
            planned_training.hours,
        )
        file = ReceiptFile(planned_training.options.workspace, replace(receipt, began=now()))
        file.note(units=(command_line.units(), None))
        training = _Training(planned_training, command_line, login, file, private, tell)
        try:
            return training.carry()
        except BaseException as error:
            file.note(failure=error.message if isinstance(error, TandemError) else type(error).__name__)
            raise
        finally:
            file.note(ended=now())


def stop_on_colab(
    workspace: Workspace, pair: str, command_line: CommandLine, *, tell: Callable[[str], None]
) -> ColabReceipt:
    """Gives back the machine of a pair's last training, and returns the receipt.

    Raises:
        NoReceiptError: There was none.
        StillRentedError: It may still be there.
    """
    command_line.check_installed()
    file = ReceiptFile(workspace, read_receipt(workspace, pair))
    if not give_back(command_line, file, tell):
        raise StillRentedError(pair=pair, session=file.receipt.session)
    return file.receipt


@dataclass(frozen=True)
class _Training:
    planned_training: PlannedTraining
    command_line: CommandLine
    login: KaggleLogin | None
    file: ReceiptFile
    private: Path
    tell: Callable[[str], None]

    def carry(self) -> ColabResult:
        output = self.planned_training.output
        # The last training here, if it is to be gone on from, is moved out of the way of this one.
        earlier = output.set_aside() if self.planned_training.options.resume else None
        if earlier is not None and (earlier / CHECKPOINTS).is_dir():
            output.files.check(earlier / CHECKPOINTS)
            check_sendable(earlier / CHECKPOINTS)
        with output.files.beside(output.working(Role.TRAIN)) as results:
            return self._carry(earlier, results)

    def _carry(self, earlier: Path | None, results: Path) -> ColabResult:
        planned_training, name = self.planned_training, self.planned_training.machine.name
        self.tell(f"asking Colab for {name}, as {self.file.receipt.session}")
        try:
            with rent_machine(
                self.command_line, planned_training.machine, self.file, private=self.private, tell=self.tell
            ) as rental:
                self.tell(f"Colab gave {self._describe_machine()}")
                self._send(rental, earlier)
                start_time = time.monotonic()
                failure = self._execute(rental)
                seconds = time.monotonic() - start_time
                self._fetch(rental, results, restart=failure is not None)
                self.file.note(units=(self.file.receipt.units[0], self.command_line.units()))
        finally:
            stage, pair = self.file.receipt.stage, printable(self.file.receipt.pair)
            status = f"the machine is {stage}"
            costs = f"{status}, and uses compute units until its release: `tandem colab stop {pair}`"
            self.tell(status if stage is RentalStage.RETURNED else costs)
        if failure is not None:
            if (results / CHECKPOINTS).is_dir():
                self._place(results)  # for --resume
            cell = f'The cell "{quote_text(failure.cell)}" failed' if failure.cell else "The notebook did not finish"
            raise ColabError(
                f"{cell} on Colab: {quote_text(failure.problem)}. The executed cells are in "
                f"{printable(str(self._executed_notebook))}."
            )
        result = self._accept_results(results)
        if planned_training.is_measure and result.handover.is_complete:
            self._record(result, seconds)
        return result

    def _send(self, rental: Rental, earlier: Path | None) -> None:
        planned_training = self.planned_training
        slug = planned_training.slug
        if planned_training.sends_data:
            self.tell(f"sending the files of {slug}")
            send_folder(rental, planned_training.data, f"{INPUT}/competitions/{slug}")
        elif self.login is not None:
            file = self.private / "login"
            file.touch(mode=0o600)
            file.write_text(self.login.text)
            rental.upload(file, f"{FOLDER}/{self.login.file}")
            file.unlink()
        if earlier is not None and (earlier / CHECKPOINTS).is_dir():
            self.tell("sending the checkpoints of the last training")
            send_folder(rental, earlier / CHECKPOINTS, f"{INPUT}/earlier/{CHECKPOINTS}")

    def _execute(self, rental: Rental) -> CellFailure | None:
        """Executes the notebook, and returns what failed in it; it is saved either way."""
        notebook = self.private / f"{Role.TRAIN}.ipynb"
        notebook.write_text(
            notebook_to_send(self.planned_training.folder.notebook(Role.TRAIN), self.planned_training.values),
            encoding="utf-8",
        )
        seconds = self.planned_training.hours * 3600
        variables = (
            {self.login.variable: self.login.value} if self.login and not self.planned_training.sends_data else {}
        )
        answer = rental.execute(notebook, seconds=seconds, tell=self.tell, **variables)
        output_notebook = notebook.with_name(f"{notebook.stem}_output.ipynb")
        reason = (
            f"{self.planned_training.hours:g} hours have passed" if answer.is_late else " / ".join(answer.lines[-3:])
        )
        if not output_notebook.is_file():
            return CellFailure("", reason or "the command line printed nothing")
        try:
            content = without_secrets(read_bytes(output_notebook), self.command_line.secrets)
            self.planned_training.options.workspace.files.write(self._executed_notebook, content)
            failure = first_failure(self._executed_notebook)
        except OSError as error:
            return CellFailure("", f"the result cannot be read ({error})")
        return CellFailure("", reason) if failure is None and (answer.code or answer.is_late) else failure

    def _fetch(self, rental: Rental, results: Path, *, restart: bool) -> None:
        """Fetches what the notebook wrote; after a failure as far as there is anything to be had."""
        self.tell("fetching the results")
        try:
            if restart:
                rental.restart()
            fetch_folder(rental, WORKING, results)
        except ColabError as error:
            if not restart:
                raise
            self.tell(f"nothing of it is kept: {error.message}")
            self.planned_training.output.files.empty(results)  # half of it may have been unpacked
        self.file.note(accelerator=facts_of(read_json(results / MARKER)))

    def _accept_results(self, results: Path) -> ColabResult:
        """The result, once it is made sure that it is whole and of the machine that was asked for."""
        handover = read_handover(results)
        if not handover.is_whole:
            raise TransferError(item=FILE_NAME, problem="its hash is not the one that stands in it")
        check_device(read_json(results / MARKER), self.planned_training.machine)
        output = self._place(results)
        score = handover.out_of_fold
        score_fields = {"metric": score.metric, "score": score.value} if score else {}
        self.file.note(out_of_fold=score_fields, handover=handover.fields.text("sha256"))
        return ColabResult(self.file.receipt, output, handover)

    def _record(self, result: ColabResult, seconds: float) -> None:
        """Keeps the training in the ledger of runs, where an inference completes it; tells of what cannot be kept."""
        outputs = RunOutputs(
            workspace=self.planned_training.options.workspace,
            folder=self.planned_training.folder,
            spec=self.planned_training.spec,
            origin=RunOrigin.COLAB,
            handover=result.handover,
            keys={Role.TRAIN: training_key(result.handover)},
            folders={Role.TRAIN: result.folder},
            notebooks={Role.TRAIN: result.folder / f"{Role.TRAIN}.ipynb"},
            seconds={Role.TRAIN: seconds},
        )
        try:
            recording = record_run(outputs)
        except (TandemError, OSError) as error:
            self.tell(f"this training is not kept in the ledger of runs: {error}")
            return
        for sentence in (f"kept as run {recording.record.name}", *recording.notes, *recording.warnings):
            self.tell(sentence)

    def _place(self, results: Path) -> Path:
        """Puts results where `tandem run` leaves them, with the notebook; what they replace is kept."""
        output = self.planned_training.output
        output.keep(Role.TRAIN)
        output.empty(Role.TRAIN)
        for path in sorted(results.iterdir()):
            output.files.move(path, output.working(Role.TRAIN) / path.name)
        output.files.write(output.notebook(Role.TRAIN), read_bytes(self._executed_notebook))
        return output.working(Role.TRAIN)

    @property
    def _executed_notebook(self) -> Path:
        return self.file.path.with_name(f"{Role.TRAIN}.ipynb")

    def _describe_machine(self) -> str:
        machine = self.file.receipt.machine
        return f"{machine.get('device_count')} x {machine.get('device_kind')}, {machine.get('cores')} cores"


def _check_nothing_is_rented(planned_training: PlannedTraining, command_line: CommandLine) -> None:
    try:
        last = read_receipt(planned_training.options.workspace, planned_training.options.pair)
    except NoReceiptError:
        return
    if last.stage is not RentalStage.RETURNED and any(
        session.name == last.session for session in command_line.sessions()
    ):
        raise StillRentedError(pair=planned_training.options.pair, session=last.session)
