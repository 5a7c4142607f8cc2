"""Scoring submissions of every form by hidden answers."""

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from generator.competition.facts import SubmissionKind
from generator.competition.metrics import METRICS, UnknownMetricError
from generator.competition.scoring import (
    Question,
    Scorer,
    inferred_submission,
    read_solution,
    require_bounded,
)
from generator.competition.submission import SubmissionError
from generator.errors import CompetitionError

Scoring = Callable[..., float]


@pytest.fixture
def score(tmp_path: Path) -> Scoring:
    """Scores a submission by answers, both as the text of a table, on one part that is the whole."""

    def scored(metric: str, kind: str, answers: str, submission: str, **question: object) -> float:
        (tmp_path / "answers.csv").write_text(answers)
        (tmp_path / "submission.csv").write_text(submission)
        asked = Question(metric, SubmissionKind(kind), public_share=1.0, **question)
        scores = Scorer(asked, read_solution(tmp_path / "answers.csv"), seed="test").score(tmp_path / "submission.csv")
        assert scores.public == scores.private
        return scores.public

    return scored


def test_numbers_are_compared_by_id_whatever_their_order(score: Scoring) -> None:
    assert score("rmse", "numbers", "id,y\na,1\nb,2\n", "id,y\nb,2\na,4\n") == pytest.approx((9 / 2) ** 0.5)


def test_several_columns_of_numbers_are_averaged_column_by_column(score: Scoring) -> None:
    answers, submission = "id,x,y\na,0,0\nb,0,0\n", "id,x,y\na,1,3\nb,1,3\n"

    assert score("mcrmse", "numbers", answers, submission) == pytest.approx(2.0)


def test_labels_are_compared_as_what_they_say_not_as_they_are_written(score: Scoring) -> None:
    assert score("accuracy", "label", "id,y\na,1\nb,2\nc,10\n", "id,y\na,1.0\nb,02\nc,3\n") == pytest.approx(2 / 3)
    assert score("accuracy", "label", "id,y\na,0\nb,1\n", "id,y\na,-0.0\nb,1\n") == 1.0


def test_a_class_may_be_called_nan_or_none(score: Scoring) -> None:
    answers = "id,y\na,Apnea\nb,nan\nc,Apnea\nd,nan\n"

    assert score("accuracy", "label", answers, answers) == 1.0
    submission = "id,y\na,0.9\nb,0.1\nc,0.8\nd,0.2\n"
    assert score("auc", "probability", answers.replace("nan", "None"), submission) == 1.0


def test_a_label_that_is_no_class_is_wrong_and_no_error(score: Scoring) -> None:
    answers, submission = "id,y\na,cat\nb,dog\n", "id,y\na,cat\nb,wolf\n"

    assert score("accuracy", "label", answers, submission) == pytest.approx(0.5)
    assert score("f1_macro", "label", answers, submission) == pytest.approx(1 / 3)


def test_large_whole_numbers_are_different_labels(score: Scoring) -> None:
    assert score("accuracy", "label", "id,y\na,1000001\nb,1000002\n", "id,y\na,1000002\nb,1000002\n") == 0.5


def test_kappa_knows_how_far_apart_classes_are(score: Scoring) -> None:
    answers = "id,y\na,0\nb,10\nc,20\nd,0\n"

    # As scikit-learn computes it for 0, 1, 2, 0 and 0, 1, 2, 1.
    assert score("quadratic_weighted_kappa", "label", answers, "id,y\na,0\nb,10\nc,20\nd,10\n") == pytest.approx(0.8)


def test_a_probability_is_of_the_second_class(score: Scoring) -> None:
    answers = "id,y\na,False\nb,True\nc,False\nd,True\n"

    assert score("auc", "probability", answers, "id,y\na,0.1\nb,0.9\nc,0.8\nd,0.7\n") == pytest.approx(0.75)
    assert score("log_loss", "probability", "id,y\na,0\nb,1\n", "id,y\na,0.25\nb,0.25\n") == pytest.approx(
        (0.2876820 + 1.3862943) / 2
    )


def test_a_probability_is_of_the_class_that_its_column_is_named_after(score: Scoring) -> None:
    answers, submission = "id,{}\na,bad\nb,good\nc,good\nd,bad\n", "id,{}\na,0.9\nb,0.1\nc,0.2\nd,0.7\n"

    assert score("auc", "probability", answers.format("prob_bad"), submission.format("prob_bad")) == 1
    assert score("auc", "probability", answers.format("y"), submission.format("y")) == 0


def test_classes_may_be_columns_and_their_answers_names_or_columns(score: Scoring) -> None:
    submission = "id,p_cat,p_dog\na,0.8,0.2\nb,0.4,0.6\n"
    by_name = score("log_loss", "class_columns", "id,y\na,cat\nb,dog\n", submission, columns=("id", "p_cat", "p_dog"))
    by_column = score("log_loss", "class_columns", "id,p_cat,p_dog\na,1,0\nb,0,1\n", submission)

    assert by_name == by_column == pytest.approx((0.2231436 + 0.5108256) / 2)
    assert score("accuracy", "class_columns", "id,p_cat,p_dog\na,1,0\nb,1,0\n", submission) == 0.5


def test_ranked_labels_count_by_their_place(score: Scoring) -> None:
    answers = "id,y\na,x\nb,y\nc,z\nd,unseen\n"

    assert score("map@3", "top_k", answers, "id,y\na,x\nb,q y\nc,q r s z\nd,q\n") == pytest.approx((1 + 1 / 2) / 4)


def test_ranked_labels_of_several_true_ones(score: Scoring) -> None:
    answers = "id,y\na,x y\nb,z\n"

    assert score("map@2", "top_k", answers, "id,y\na,x q\nb,q z\n") == pytest.approx((0.5 + 0.5) / 2)


def test_a_ranked_label_written_twice_counts_once(score: Scoring) -> None:
    assert score("map@2", "top_k", "id,y\na,x y\n", "id,y\na,x x y\n") == pytest.approx(1.0)


def test_many_ranked_rows_are_scored_in_parts_that_add_up(score: Scoring) -> None:
    ids = range(1_203)
    answers = "id,y\n" + "".join(f"{i},label{i % 700}\n" for i in ids)
    submission = "id,y\n" + "".join(f"{i},other label{i % 700}\n" if i % 3 else f"{i},none\n" for i in ids)

    assert score("map@5", "top_k", answers, submission) == pytest.approx(802 / 1_203 / 2)


def test_a_set_of_labels_may_be_empty(score: Scoring) -> None:
    answers, submission = "id,y\na,x y\nb,\n", "id,y\na,y\nb,\n"

    assert score("f1_samples", "label_set", answers, submission) == pytest.approx((2 / 3 + 1) / 2)


def test_masks_are_counted_down_the_columns(score: Scoring) -> None:
    # Of 2 x 3 pixels: the first column, against the first row.
    answers, submission = "id,mask\na,1 2\nb,\n", "id,mask\na,1 1 3 1 5 1\nb,\n"

    assert score("dice", "run_length", answers, submission, mask_size=(2, 3)) == pytest.approx((2 / 5 + 1) / 2)


def test_masks_may_have_sizes_of_their_own(score: Scoring) -> None:
    answers = "id,mask,height,width\na,1 2,2,3\nb,1 9,3,3\n"

    assert score("iou", "run_length", answers, "id,mask\na,1 2\nb,1 3\n") == pytest.approx((1 + 1 / 3) / 2)


@pytest.mark.parametrize("code", ["1", "0 3", "6 2", "1 -1", "a b", "1 99999999999999999999", "1.0 2"])
def test_a_code_that_is_none_of_this_mask_is_refused(score: Scoring, code: str) -> None:
    with pytest.raises(SubmissionError, match="The run-length code of id"):
        score("dice", "run_length", "id,mask\na,1 2\n", f"id,mask\na,{code}\n", mask_size=(2, 3))


def test_rows_of_parts_are_columns_to_a_metric_of_columns(score: Scoring) -> None:
    answers = "id,y\na_u,0\na_v,0\nb_u,0\nb_v,0\n"

    assert score("mcrmse", "keyed_rows", answers, "id,y\na_u,1\na_v,3\nb_v,3\nb_u,1\n") == pytest.approx(2.0)


def test_parts_of_one_example_are_never_divided(tmp_path: Path) -> None:
    keys = [f"e{example}_{part}" for example in range(10) for part in "xyz"]
    (tmp_path / "answers.csv").write_text("id,y\n" + "".join(f"{key},0\n" for key in keys))
    question = Question("mae", SubmissionKind.KEYED_ROWS, public_share=0.3)
    scorer = Scorer(question, read_solution(tmp_path / "answers.csv"), seed="test")

    assert len(scorer._public) == 9
    assert not {key.partition("_")[0] for key in scorer._public} & {key.partition("_")[0] for key in scorer._private}


def test_the_division_is_the_same_for_every_server_and_another_for_every_competition(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("id,y\n" + "".join(f"{index},0\n" for index in range(100)))
    question, answers = Question("mae", SubmissionKind.NUMBERS), read_solution(tmp_path / "answers.csv")
    one, again, other = (Scorer(question, answers, seed=seed)._public for seed in ("one", "one", "other"))

    assert one == again != other
    assert len(one) == len(other) == 30


def test_predictions_for_which_the_metric_has_no_value_are_refused(score: Scoring) -> None:
    with pytest.raises(SubmissionError, match="has no value for these predictions"):
        score("rmse", "numbers", "id,y\na,1\nb,2\n", "id,y\na,1e308\nb,-1e308\n")


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_every_metric_scores_a_perfect_submission_of_the_form_it_is_for(score: Scoring, metric: str) -> None:
    answers = {
        SubmissionKind.RUN_LENGTH: "id,y\na,1 2\nb,3 1\n",
        SubmissionKind.TOP_K: "id,y\na,x\nb,y\n",
        SubmissionKind.LABEL_SET: "id,y\na,x\nb,x y\n",
        SubmissionKind.PROBABILITY: "id,y\na,0\nb,1\n",
        SubmissionKind.LABEL: "id,y\na,0\nb,1\n",
        SubmissionKind.NUMBERS: "id,y\na,1\nb,2\n",
    }
    kind = inferred_submission(metric, ("id", "y"), ("id", "y"))
    if METRICS[metric].names[0] in ("MCAUC", "MeanColumnwiseLogLoss"):
        answers[SubmissionKind.NUMBERS] = "id,y\na,0\nb,1\n"
    best = score(metric, kind.value, answers[kind], answers[kind], mask_size=(2, 2))

    assert best == pytest.approx(1.0 if METRICS[metric].higher_is_better else 0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("metric", "kind", "answers", "problem"),
    [
        ("auc", "label", "id,y\na,0\nb,1\n", "does not compare labels"),
        ("accuracy", "probability", "id,y\na,0\nb,1\n", "metric of probabilities"),
        ("auc", "probability", "id,y\na,0\nb,1\nc,2\n", "two classes"),
        ("rmse", "numbers", "id,y\na,high\n", '"high", the answer for a, is no number'),
        ("rmse", "run_length", "id,y\na,1 1\n", "not for masks"),
        ("accuracy", "top_k", "id,y\na,1\n", "another form of submission"),
        ("f1_samples", "top_k", "id,y\na,1\n", "another form of submission"),
    ],
)
def test_answers_that_a_metric_cannot_compare_are_refused_before_any_submission(
    score: Scoring, metric: str, kind: str, answers: str, problem: str
) -> None:
    with pytest.raises(CompetitionError, match=problem):
        score(metric, kind, answers, answers)


def test_an_answer_that_is_no_column_of_the_submission_is_refused(score: Scoring) -> None:
    with pytest.raises(CompetitionError, match="none of the columns"):
        score("log_loss", "class_columns", "id,y\na,bird\n", "", columns=("id", "cat", "dog"))


def test_a_metric_that_there_is_not_is_refused(score: Scoring) -> None:
    with pytest.raises(UnknownMetricError):
        score("accurracy", "label", "id,y\na,1\n", "id,y\na,1\n")


def test_more_different_labels_than_any_competition_has_are_refused(
    score: Scoring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("generator.competition.scoring.MOST_CELLS", 5)

    with pytest.raises(SubmissionError, match="4 different labels"):
        score("f1_samples", "label_set", "id,y\na,x\nb,y\n", "id,y\na,z\nb,w\n")


@pytest.mark.parametrize("content", [b"\n" * (1 << 16), b"0" * (1 << 16)])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".zip"])
def test_a_submission_that_unpacks_to_too_much_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, suffix: str
) -> None:
    monkeypatch.setattr("generator.competition.scoring.LARGEST_SUBMISSION", 1 << 15)
    path = tmp_path / f"submission{suffix}"
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("submission.csv", content)
    else:
        path.write_bytes(gzip.compress(content) if suffix == ".csv.gz" else content)

    with pytest.raises(SubmissionError, match="more than 32,768 bytes"):
        require_bounded(path)


def test_a_line_that_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.competition.scoring._LONGEST_LINE", 100)
    (tmp_path / "s.csv").write_bytes(b"id,y\n" + b"1" * 101)

    with pytest.raises(SubmissionError, match="a line of more than 100 bytes"):
        require_bounded(tmp_path / "s.csv")


def test_a_file_without_lines_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.competition.scoring._LONGEST_LINE", 100)
    (tmp_path / "s.parquet").write_bytes(b"PAR1" * 100)

    require_bounded(tmp_path / "s.parquet")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "needs a header"),
        ("id,y\n", "needs a header"),
        ("id\na\n", "needs a header"),
        ("id,y\na,1\na,2\n", "stands there twice"),
        ("id,y\na\n", "has 1 cells"),
        ("id,Usage\na,Public\n", "no column of its is an answer"),
        ("id,m,height,width\na,1 1,two,3\n", "whole numbers"),
    ],
)
def test_answers_that_are_no_answers_say_what_is_wrong(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "answers.csv").write_text(text)

    with pytest.raises(CompetitionError, match=problem):
        read_solution(tmp_path / "answers.csv")


def test_a_height_that_is_to_be_predicted_is_no_size_of_a_mask(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("id,height,width\na,1,2\n")
    answers = read_solution(tmp_path / "answers.csv")

    assert (answers.columns, dict(answers.rows), dict(answers.sizes)) == (
        ("id", "height", "width"),
        {"a": ("1", "2")},
        {},
    )


SAMPLE = "target,c,id\n0,1.10,a\n0,007,b\n0,,c\n"


@pytest.mark.parametrize("answers", ["id,target\na,1\nb,2\nc,3\n", "target,c,id\n1,1.10,a\n2,007,b\n3,,c\n"])
def test_the_id_and_the_context_of_a_sample_may_stand_in_any_column(tmp_path: Path, answers: str) -> None:
    sample, submission = tmp_path / "sample.csv", tmp_path / "submission.csv"
    sample.write_text(SAMPLE)
    (tmp_path / "answers.csv").write_text(answers)
    question = Question("mae", SubmissionKind.NUMBERS, public_share=1.0)
    scorer = Scorer(question, read_solution(tmp_path / "answers.csv", sample=sample), sample=sample, seed="test")

    submission.write_text("target,c,id\n2,1.10,a\n3,,c\n2,007,b\n")
    assert scorer.score(submission).public == pytest.approx(1 / 3)
    submission.write_text("target,c,id\n2,1.1,a\n3,,c\n2,007,b\n")
    with pytest.raises(SubmissionError, match='line 2: column "c" of id "a" is not as in the sample'):
        scorer.score(submission)
    assert scorer.score(sample).public == pytest.approx(2)  # as on Kaggle


def test_rows_of_a_sample_and_of_answers_may_end_in_a_separator(tmp_path: Path) -> None:
    for name, text in (("sample", SAMPLE), ("answers", "target,c,id\n1,1.10,a\n2,007,b\n3,,c\n")):
        header, *lines = text.splitlines()
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *(line + "," for line in lines), ""]))
    question, sample = Question("mae", SubmissionKind.NUMBERS, public_share=1.0), tmp_path / "sample.csv"
    scorer = Scorer(question, read_solution(tmp_path / "answers.csv", sample=sample), sample=sample, seed="test")

    (tmp_path / "submission.csv").write_text("target,c,id\n2,1.10,a\n3,,c\n2,007,b\n")

    assert scorer.score(tmp_path / "submission.csv").public == pytest.approx(1 / 3)


def test_the_host_says_which_column_of_the_answers_is_the_id(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("target,key\n0.5,a\n1.5,b\n")

    assert read_solution(path, id_column="key").rows == {"a": ("0.5",), "b": ("1.5",)}
    with pytest.raises(CompetitionError, match='no column "id", which id_column names'):
        read_solution(path, id_column="id")
