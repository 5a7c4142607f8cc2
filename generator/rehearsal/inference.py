"""The inference notebook on one hidden test after the other, as Kaggle runs it again to score it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from generator.competition.submission import SubmissionError, sample_columns_of, summarize, tolerance_of, validate
from generator.competition.survey.facts import Survey
from generator.files import open_below
from generator.rehearsal.answers import Answers, difference, read_answers
from generator.rehearsal.archives import archives_of, pack_archives, require_room, unpack_archives
from generator.rehearsal.limits import size_trial
from generator.rehearsal.reading import read_test_set
from generator.rehearsal.result import Trial, Verdict
from generator.rehearsal.sessions import Session, Sessions
from generator.rehearsal.test_set import NoTestSetError, TestSet
from generator.rehearsal.variations import VARIATIONS, Variation, of_none
from generator.rehearsal.writing import write_folder
from generator.run.pair_run import CheckedPair
from generator.sessions.folder_trees import path_of, remove_tree
from generator.sessions.runner import SessionOrder
from generator.untrusted import printable

RERUN = {"KAGGLE_IS_COMPETITION_RERUN": "1"}
_NOT_SO = "There is nothing in this test that could be different so."

Listener = Callable[[Trial], None]


@dataclass(frozen=True)
class InferenceWish:
    """The inference to come.

    Attributes:
        pair: The pair.
        session: What all sessions have in common, its limits on Kaggle among it; `mounts` has the data at `place`.
        place: Where the competition is mounted.
        survey: What is in its data.
        examples: How many examples of the test are taken.
        rows: How many the real test has, None if nobody says so.
    """

    pair: CheckedPair
    session: SessionOrder
    place: PurePosixPath
    survey: Survey
    examples: int
    rows: int | None

    @property
    def data(self) -> Path:
        """The competition's files as they are."""
        return self.session.mounts[self.place]


def hidden_test_trials(sessions: Sessions, wish: InferenceWish, folder: Path, told: Listener) -> list[Trial]:
    """Tries every variation of the test, some at a time.

    Args:
        sessions: What runs the notebook.
        wish: What is to be run.
        folder: Where the varied data may be written.
        told: Is called with each verdict as soon as it is there.
    """
    archives = archives_of(wish.pair.spec.task)
    try:
        data = _unpacked(wish.data, archives, folder / "unpacked") if archives else wish.data
        test = read_test_set(data, wish.survey, wish.pair.spec.task, most=wish.examples)
        if archives:
            require_room(data, archives, test)
    except NoTestSetError as error:
        return _on_the_data_alone(sessions, wish, error.why, told)
    return _Trials(sessions, wish, folder, data, archives, test, told).run()


def _unpacked(data: Path, archives: Sequence[str], folder: Path) -> Path:
    folder.mkdir()
    unpack_archives(data, archives, folder)
    return folder


def _on_the_data_alone(sessions: Sessions, wish: InferenceWish, why: str, told: Listener) -> list[Trial]:
    """The verdict on the test as it is, all of it, and for each variation that it was not tried."""
    as_it_is, *others = VARIATIONS
    session = sessions.run(wish.session)
    problem = _problem(wish, session, wish.data) if session.is_done else ""
    trials = [_verdict(wish, as_it_is, session, problem)]
    trials += [Trial(each.name, each.tried, Verdict.SKIPPED, f"No hidden test can be made: {why}") for each in others]
    for trial in trials:
        told(trial)
    return trials


@dataclass(frozen=True)
class _Trials:
    """The trials on a test that can be varied."""

    sessions: Sessions
    wish: InferenceWish
    folder: Path
    data: Path  # the competition's, the archives with the test in it unpacked
    archives: Sequence[str]
    test: TestSet
    told: Listener

    def run(self) -> list[Trial]:
        """Starts all of them and returns the verdicts, in the order of `VARIATIONS`."""
        is_served = self.wish.survey.server is not None  # who asks for nothing gets no answers
        tests = {
            each.name: (each, None if is_served and each.vary is of_none else each.vary(self.test))
            for each in VARIATIONS
        }
        running = {name: self._start(each, test) for name, (each, test) in tests.items() if test is not None}
        known: Answers | None = None
        found: dict[str, Trial] = {}
        first = VARIATIONS[0].name
        for name in self._as_they_end(running, first):
            variation, test = tests[name]
            if test is None:
                found[name] = Trial(name, variation.tried, Verdict.SKIPPED, _NOT_SO)
            else:
                session = running[name].result()
                found[name] = self._judge(variation, test, session, known)
                if name == first and found[name].verdict is Verdict.PASSED:
                    known = self._answers(session, test)
                remove_tree(session.files.path)  # ten of them might be 20 GB each
            self.told(found[name])
        trials = [found[each.name] for each in VARIATIONS]
        rows = self.wish.rows or 10 * max(trial.rows for trial in trials)
        limits = size_trial(trials, self.wish.session, rows=rows)
        if self.wish.rows is None and not self.wish.pair.spec.competition.is_code_competition:
            limits = _as_warning(limits)  # so many rows are assumed for a hidden test, which it does not have
        self.told(limits)
        return [*trials, limits]

    def _start(self, variation: Variation, test: TestSet) -> "Future[Session]":
        data = self._mounted(variation)
        data.mkdir()
        write_folder(self.data, test, data)
        pack_archives(data, self.archives)
        mounts = {**self.wish.session.mounts, self.wish.place: data}
        name = data.name.replace("data", "infer")
        return self.sessions.start(
            replace(self.wish.session, title=name, files=self.sessions.files(name), mounts=mounts)
        )

    def _mounted(self, variation: Variation) -> Path:
        return self.folder / f"data-{variation.name.replace(' ', '-')}"

    @staticmethod
    def _as_they_end(running: Mapping[str, "Future[Session]"], first: str) -> Iterator[str]:
        """The names of the variations, the first one first, because the others are compared with it."""
        yield first
        names = {future: name for name, future in running.items() if name != first}
        yield from (names[future] for future in as_completed(names))
        yield from (each.name for each in VARIATIONS if each.name not in running)

    def _answers(self, session: Session, test: TestSet) -> Answers:
        name = self.wish.pair.submission_file
        with open_below(session.files.working, name) as file, path_of(file, name) as submission:
            return read_answers(submission, test)

    def _judge(self, variation: Variation, test: TestSet, session: Session, known: Answers | None) -> Trial:
        problem = ""
        if session.is_done:
            problem = _problem(self.wish, session, self._mounted(variation), rows=_rows_of(test))
            if not problem and variation.keeps_answers and known is not None:
                answers = self._answers(session, test)
                problem = difference(test, answers, known, are_texts=tolerance_of(self.wish.pair.spec.task).texts)
        return replace(_verdict(self.wish, variation, session, problem), rows=_rows_of(test))


def _rows_of(test: TestSet) -> int:
    return sum(max(1, len(example.answers)) for example in test.examples)


def _problem(wish: InferenceWish, session: Session, data: Path, *, rows: int | None = None) -> str:
    """What is wrong with the submission of a notebook that came to its end, as a sentence, or nothing."""
    task, name = wish.pair.spec.task, wish.pair.submission_file
    try:
        file = open_below(session.files.working, name)
    except OSError:
        return f"The notebook ended without writing {printable(name)}."
    with file, path_of(file, name) as submission:
        try:
            if task.sample_submission:
                sample, columns = data / task.sample_submission, sample_columns_of(task)
                validate(submission, sample, columns=columns, tolerance=tolerance_of(task))
            elif (found := summarize(submission).rows) != rows and rows is not None:
                return f"The submission has {found:,} rows, and the test {rows:,}."
        except SubmissionError as error:
            return error.message.replace(f"{submission.parent}/", "").replace(f"{data}/", "")
    return ""


def _verdict(wish: InferenceWish, variation: Variation, session: Session, problem: str) -> Trial:
    trial = Trial(
        variation.name,
        variation.tried,
        Verdict.PASSED,
        "A valid submission of the right rows.",
        seconds=session.end.seconds,
        peak_memory=session.end.peak_memory,
    )
    if session.is_done and not problem:
        return trial
    if session.is_done:
        word = "a wrong score" if "another answer" in problem else "Submission Scoring Error"
        ended = replace(trial, verdict=Verdict.FAILED, found=problem, when="when the submission is scored")
    else:
        word = printable(session.end.failure.partition(":")[0])
        verdict = Verdict.STOPPED if variation.may_stop and session.stop.is_own else Verdict.FAILED
        ended = replace(trial, verdict=verdict, found=session.stop.reason, when=session.when)
    if variation is VARIATIONS[0] or wish.pair.spec.competition.is_code_competition:
        return replace(ended, on_kaggle=_on_kaggle(wish, variation, word))
    return _as_warning(ended)


def _as_warning(trial: Trial) -> Trial:
    """The trial of a competition without a hidden test: what failed in it is a warning."""
    verdict = Verdict.WARNING if trial.verdict is Verdict.FAILED else trial.verdict
    return replace(trial, verdict=verdict, on_kaggle="")


def _on_kaggle(wish: InferenceWish, variation: Variation, word: str) -> str:
    if not wish.pair.spec.competition.is_code_competition:
        return f"{word}: there would be no valid file to submit."
    if variation is VARIATIONS[0]:
        return f"{word}, already when the version is saved, before anything is submitted."
    return f"{word}, in the rerun and without the reason: the version before it is saved well."
