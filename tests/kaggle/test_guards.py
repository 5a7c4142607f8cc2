"""What the guards of the gateway refuse."""

from pathlib import Path
from string import ascii_letters, ascii_uppercase

import pytest

from generator.kaggle.errors import (
    UnsafeAnswerError,
    check_text,
    check_upload,
    checked_address,
    checked_names,
    clean_log,
)

REAL = "https://api.kaggle.com"
LOCAL = "http://127.0.0.1:8400"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "../x",
        "/abs/x",
        "a/../../x",
        "a//b",
        "./x",
        "..\\..\\evil.bat",
        "D:evil",
        "c:/windows/x",
        "nul\0byte",
        "line\nend",
        "\x1b[2Jclear",
        "right\u202eto-left",
        "a/.. /x",
        ".../x",
        "x" * 300,
        "/".join("d" * 40),
    ],
)
def test_a_file_name_that_leads_elsewhere_on_any_system_is_refused(name: str) -> None:
    with pytest.raises(UnsafeAnswerError) as refused:
        checked_names([name], doing="list the output of ada/x")

    assert str(refused.value).isprintable()
    assert "list the output of ada/x" in str(refused.value)


def test_ordinary_file_names_pass() -> None:
    names = (
        "submission.csv",
        "folds/fold-0.weights.h5",
        "Größe (1).png",
        "a..b/c.d.e",
        ".hidden",
        "..data",
        "12:30.png",
        "A",
        "a",
    )

    assert checked_names(names, doing="x") == names


@pytest.mark.parametrize("names", [["a", "a"], ["a/b", "a"], ["x", "x/y/z"]])
def test_names_that_cannot_all_be_files_of_one_folder_are_refused(names: list[str]) -> None:
    with pytest.raises(UnsafeAnswerError):
        checked_names(names, doing="x")


def test_the_name_of_the_log_is_reserved() -> None:
    with pytest.raises(UnsafeAnswerError, match="this kit needs itself"):
        checked_names(["digits-train.log"], doing="x", reserved_names=("digits-train.log",))


@pytest.mark.parametrize(
    "url",
    [
        "http://storage.googleapis.com/x",
        "https://127.0.0.1/x",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/x",
        "https://localhost/x",
        "https://2130706433/x",
        "https://0x7f.1/x",
        "https://metadata.google.internal/x",
        "https://user:pass@storage.googleapis.com/x",
        "https://storage.googleapis.com:8443/x",
        "file:///etc/passwd",
        "ftp://kaggle.com/x",
        "https://exa\u200bmple.com/\n",
    ],
)
def test_the_real_kaggle_may_send_us_to_public_encrypted_addresses_only(url: str) -> None:
    with pytest.raises(UnsafeAnswerError, match="sends on to"):
        checked_address(url, base=REAL, doing="download train.csv")


def test_a_short_lived_address_of_the_store_passes_whole() -> None:
    url = "https://storage.googleapis.com/kaggle-data/train.csv?X-Goog-Signature=abc"

    assert checked_address(url, base=REAL, doing="x") == url
    assert checked_address(url, base=REAL, doing="x", is_upload=True) == url
    assert checked_address("/files/x", base=REAL, doing="x") == f"{REAL}/files/x"


@pytest.mark.parametrize("host", ["evil.example.com", "kaggle.com.evil.com", "notkaggle.com", "googleapis.com.evil.io"])
def test_a_file_of_the_user_is_sent_to_kaggle_and_its_store_only(host: str) -> None:
    with pytest.raises(UnsafeAnswerError, match="neither Kaggle nor its store"):
        checked_address(f"https://{host}/upload", base=REAL, doing="x", is_upload=True)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:22/x", "http://localhost:8400/x", "https://storage.googleapis.com/x", "http://10.0.0.1/x"]
)
def test_a_local_kaggle_sends_on_to_itself_only(url: str) -> None:
    with pytest.raises(UnsafeAnswerError, match="another server"):
        checked_address(url, base=LOCAL, doing="x")
    assert checked_address(f"{LOCAL}/__storage/x", base=LOCAL, doing="x") == f"{LOCAL}/__storage/x"


def test_the_signature_of_an_address_is_not_in_the_error() -> None:
    with pytest.raises(UnsafeAnswerError) as refused:
        checked_address("http://evil.example.com/x?signature=very-secret", base=REAL, doing="x")

    assert "very-secret" not in str(refused.value)


@pytest.mark.parametrize(
    "name",
    [".env", ".env.production", "kaggle.json", "id_ed25519", "server.pem", ".ssh/config", "a/.kaggle/x", "Kaggle.JSON"],
)
def test_files_that_look_like_secrets_are_not_uploaded(tmp_path: Path, name: str) -> None:
    path = tmp_path / "w.bin"
    path.write_bytes(b"x")

    with pytest.raises(UnsafeAnswerError, match="looks like a file with secrets"):
        check_upload([(name, path)], doing="x")


def test_a_secret_under_an_innocent_name_is_not_uploaded(tmp_path: Path) -> None:
    (tmp_path / ".kaggle").mkdir()
    secret = tmp_path / ".kaggle" / "access_token"
    secret.write_text("x")
    (tmp_path / "weights.bin").symlink_to(secret)

    with pytest.raises(UnsafeAnswerError, match="looks like a file with secrets"):
        check_upload([("weights.bin", tmp_path / "weights.bin")], doing="x")


def test_a_folder_is_no_file_to_upload(tmp_path: Path) -> None:
    with pytest.raises(UnsafeAnswerError, match="not an ordinary file"):
        check_upload([("data", tmp_path)], doing="x")


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "KGAT_0123456789abcdef0123456789abcdef",
        r"{\"username\": \"ada\", \"key\": \"0123456789abcdef0123456789abcdef\"}",
        "ghp_" + ascii_letters[:36],
        "hf_" + ascii_letters[:34],
        "AKIA" + ascii_uppercase[:16],
    ],
)
def test_a_text_with_a_key_in_it_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(UnsafeAnswerError) as refused:
        check_text(f"token = {text}", doing="push ada/x")

    assert text[-16:] not in str(refused.value)


def test_a_log_cannot_command_a_terminal() -> None:
    hostile = "\x1b[31mred\x1b[0m\r\n10%\r20%\tx\x07\x1b]0;title\x07\u202eevil\x9b2J\n"

    cleaned = clean_log(hostile)

    assert cleaned == "red\n10%\n20%    x\\x07\\u202eevil\\x9b2J\n"
