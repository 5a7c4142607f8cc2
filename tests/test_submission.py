"""A submission is refused with its line and id, before a competition would refuse it without."""

import gzip
import zipfile
from pathlib import Path

import pytest

from generator.competition.submission import SubmissionError, Tolerance, summarize, validate

SAMPLE = "id,label,note\na,0,x\nb,0,x\nc,0,x\n"


def check(tmp_path: Path, submission: str | bytes, sample: str = SAMPLE) -> int:
    (tmp_path / "sample.csv").write_text(sample, encoding="utf-8")
    content = submission if isinstance(submission, bytes) else submission.encode()
    (tmp_path / "submission.csv").write_bytes(content)
    return validate(tmp_path / "submission.csv", tmp_path / "sample.csv").rows


def test_other_order_quotes_floats_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    text = '\ufeffid,label,note\r\nc,2.5,"y, z"\r\n"a",1e3,"two\nlines"\r\nb,-0,q\r\n'

    assert check(tmp_path, text) == 3


@pytest.mark.parametrize(
    ("submission", "message"),
    [
        ("id,note,label\n", "has the columns id, note, label; the competition asks for id, label, note"),
        ("id,label,note\na,1,x\nb,1,x\n", 'submission.csv: 1 of 3 ids are missing, the first of them, "c"'),
        ("id,label,note\na,1,x\na,1,x\n", 'line 3: an id stands there twice, "a"'),
        ("id,label,note\na,1,x\nz,1,x\n", 'line 3: an id that the competition does not have, "z"'),
        ("id,label,note\na,,x\n", 'line 2: column "label" of id "a" is empty or NaN'),
        ("id,label,note\na,nan,x\n", 'line 2: column "label" of id "a" is empty or NaN'),
        ("id,label,note\na,1,NaN\n", 'line 2: column "note" of id "a" is empty or NaN'),
        ("id,label,note\na,inf,x\n", '"inf" where the sample has a number'),
        ("id,label,note\na,cat,x\n", 'column "label" of id "a" is "cat" where the sample has a number'),
        ("id,label,note\na,1\n", "line 2: 2 cells under 3 columns"),
        ("", "it is empty"),
        (b"\xff\xfe\x00", "it is not UTF-8 text"),
        ('id,label,note\na,1,"open\n', "it is not CSV"),
        ("id,label,note\n\x1b[31m,1,x\n", 'does not have, "\\x1b[31m"'),
    ],
)
def test_a_wrong_submission_is_one_sentence_with_its_place(
    tmp_path: Path, submission: str | bytes, message: str
) -> None:
    with pytest.raises(SubmissionError) as caught:
        check(tmp_path, submission)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


_LONG = "x" * 300_000


@pytest.mark.parametrize(
    ("submission", "message"),
    [
        (f"id,label,note\na,{_LONG},x\n", 'column "label" of id "a" is "x'),
        (f"id,label,note\n{_LONG},,x\n", 'column "label" of id "x'),
        (f"id,label,note\n{_LONG},1,x\n", 'an id that the competition does not have, "x'),
        (f"id,{_LONG},note\n", "has the columns id, x"),
        ("id" + ",column" * 50_000 + "\n", "has the columns id, column"),
        (f"id,label,note\n{chr(27) * 100_000},1,x\n", 'does not have, "\\x1b'),
    ],
)
def test_a_message_quotes_the_beginning_of_what_is_long(tmp_path: Path, submission: str, message: str) -> None:
    with pytest.raises(SubmissionError) as caught:
        check(tmp_path, submission)

    assert message in str(caught.value)
    assert "…" in str(caught.value)
    assert len(str(caught.value)) < 800


def test_of_many_columns_those_are_named_that_differ(tmp_path: Path) -> None:
    names = [f"class_{number}" for number in range(200)]
    wrong = [*names[:150], "klass", *names[151:]]
    sample = f"id,{','.join(names)}\na{',0' * 200}\n"

    message = r"klass, class_151.* from column 152 on; .* asks for class_150, class_15"
    with pytest.raises(SubmissionError, match=message):
        check(tmp_path, f"id,{','.join(wrong)}\n", sample)


@pytest.mark.parametrize("sample", ["id,rle\na,1 1\nb,1 1\n", "id,rle\na,1 1\na,1 1\nb,1 1\n"])
def test_an_image_may_have_a_row_for_each_of_its_masks(tmp_path: Path, sample: str) -> None:
    known, submission = tmp_path / "sample.csv", tmp_path / "submission.csv"
    known.write_text(sample)
    submission.write_text("id,rle\na,1 2\na,7 3\na,\nb,\n")

    assert validate(submission, known, tolerance=Tolerance(empty_answers=True, repeated_ids=True)).rows == 4
    with pytest.raises(SubmissionError, match="an id stands there twice"):
        validate(submission, known, tolerance=Tolerance(empty_answers=True))
    submission.write_text("id,rle\na,1 2\na,7 3\n")
    with pytest.raises(SubmissionError, match='1 of 2 ids are missing, the first of them, "b"'):
        validate(submission, known, tolerance=Tolerance(empty_answers=True, repeated_ids=True))


def test_text_labels_are_fine_where_the_sample_has_text(tmp_path: Path) -> None:
    assert check(tmp_path, "id,label\n1,cat\n", sample="id,label\n1,dog\n") == 1


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_a_sample_is_read_in_its_own_encoding_and_a_submission_in_utf_8(tmp_path: Path, encoding: str) -> None:
    sample = f"numéro;qualité\n1;{'rosé' if encoding != 'latin-1' else chr(0x81)}\n"
    (tmp_path / "sample.csv").write_bytes(sample.encode(encoding))
    submission = tmp_path / "submission.csv"
    submission.write_text("numéro;qualité\n1;doré\n", encoding="utf-8")

    assert validate(submission, tmp_path / "sample.csv").rows == 1
    submission.write_text("numéro,qualité\n1,doré\n", encoding="utf-8")
    with pytest.raises(SubmissionError, match="the competition asks for numéro, qualité"):
        validate(submission, tmp_path / "sample.csv")
    submission.write_text("numéro;qualité\n1;doré\n", encoding="cp1252")
    with pytest.raises(SubmissionError, match="it is not UTF-8 text"):
        validate(submission, tmp_path / "sample.csv")


def test_a_missing_submission_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "sample.csv").write_text(SAMPLE)

    with pytest.raises(SubmissionError, match=r"Cannot read .*gone\.csv"):
        validate(tmp_path / "gone.csv", tmp_path / "sample.csv")


def test_a_sample_with_an_id_twice_is_reported_as_the_samples_fault(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError, match=r"sample\.csv, line 3: an id stands there twice"):
        check(tmp_path, "id,label\n", sample="id,label\na,0\na,0\n")


def test_a_sample_may_be_compressed_or_in_an_archive(tmp_path: Path) -> None:
    (tmp_path / "submission.csv").write_text("id,label,note\na,1,x\nb,1,x\nc,1,x\n")
    (tmp_path / "sample.csv.gz").write_bytes(gzip.compress(SAMPLE.encode()))
    with zipfile.ZipFile(tmp_path / "samples.zip", "w") as archive:
        archive.writestr("sample.csv", SAMPLE)

    for sample in ("sample.csv.gz", "samples.zip", "samples.zip/sample.csv"):
        assert validate(tmp_path / "submission.csv", tmp_path / sample).rows == 3


def test_a_broken_archive_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "submission.csv").write_text("id,label\n")
    (tmp_path / "sample.zip").write_bytes(b"PK no more")

    with pytest.raises(SubmissionError, match=r"sample\.zip: it cannot be unpacked"):
        validate(tmp_path / "submission.csv", tmp_path / "sample.zip")


def test_an_empty_mask_is_an_answer_and_an_empty_label_is_none(tmp_path: Path) -> None:
    (tmp_path / "sample.csv").write_text("id,mask\na,1 1\nb,1 1\n")
    (tmp_path / "submission.csv").write_text("id,mask\na,\nb,3 5\n")

    assert (
        validate(tmp_path / "submission.csv", tmp_path / "sample.csv", tolerance=Tolerance(empty_answers=True)).rows
        == 2
    )
    with pytest.raises(SubmissionError, match='column "mask" of id "a" is empty'):
        validate(tmp_path / "submission.csv", tmp_path / "sample.csv")


def test_without_a_sample_a_submission_is_counted(tmp_path: Path) -> None:
    (tmp_path / "submission.csv").write_text("id,label\na,1\nb,1\n")

    assert summarize(tmp_path / "submission.csv").rows == 2
    (tmp_path / "submission.csv").write_text("id,label\n")
    with pytest.raises(SubmissionError, match="it has no rows"):
        summarize(tmp_path / "submission.csv")


def test_the_code_of_a_large_mask_is_read_whole(tmp_path: Path) -> None:
    code = "1 2 " * 50_000

    assert check(tmp_path, f"id,code\na,{code}\n", sample="id,code\na,1 1\n") == 1


def test_a_list_of_labels_is_fine_where_the_sample_has_one_number(tmp_path: Path) -> None:
    (tmp_path / "sample.csv").write_text("id,Predicted\na,0\nb,0\n")
    (tmp_path / "submission.csv").write_text("id,Predicted\na,0 25 27\nb,3\n")

    assert validate(tmp_path / "submission.csv", tmp_path / "sample.csv", tolerance=Tolerance(texts=True)).rows == 2
    with pytest.raises(SubmissionError, match='"0 25 27" where the sample has a number'):
        validate(tmp_path / "submission.csv", tmp_path / "sample.csv")
