"""Where credentials are looked for, in which order, and that they never show."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from generator.kaggle.credentials import (
    AccessToken,
    Credentials,
    LegacyKey,
    RefreshToken,
    contains_secret,
    exposed_files,
    find_credentials,
)
from generator.kaggle.errors import CredentialsError, KaggleError, OtherKaggleError
from generator.kaggle.gateway import Kaggle, Target, connect
from generator.local_server import ServerRecord, ServerRecordError, default_root, read_record, remove_record

SECRET = "KGAT_0123456789abcdef0123456789abcdef"  # noqa: S105 - nobody's


def home_with(home: Path, files: dict[str, str]) -> dict[str, str]:
    """An environment whose home has these files."""
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {"HOME": str(home)}


def secret_of(credentials: Credentials) -> str:
    return credentials.secrets()[0]


ALL = {
    ".kaggle/access_token": "from-access-token\n",
    ".kaggle/access_token.txt": "from-access-token-txt",
    ".kaggle/kaggle.json": '{"username": "ada", "key": "from-kaggle-json"}',
    ".kaggle/credentials.json": '{"refresh_token": "from-oauth", "username": "ada"}',
}


def test_the_places_are_read_in_the_order_of_the_official_client(tmp_path: Path) -> None:
    environment = home_with(tmp_path, {**ALL, "other": "from-a-named-file\n"})

    def found(variables: dict[str, str]) -> str:
        return secret_of(find_credentials({**environment, **variables}))

    assert found({"KAGGLE_API_TOKEN": "from-variable"}) == "from-variable"
    assert found({"KAGGLE_API_TOKEN": str(tmp_path / "other")}) == "from-a-named-file"
    assert found({"KAGGLE_KEY": "k", "KAGGLE_USERNAME": "u"}) == "from-access-token"
    for name, expected in zip(ALL, ["access-token-txt", "kaggle-json", "oauth", ""], strict=True):
        (tmp_path / name).unlink()
        if expected:
            assert found({}) == f"from-{expected}"
    with pytest.raises(CredentialsError, match="settings/api"):
        find_credentials(environment)


def test_name_and_key_may_come_from_different_places(tmp_path: Path) -> None:
    environment = home_with(tmp_path, {".kaggle/kaggle.json": '{"username": "ada", "key": "stored"}'})

    found = find_credentials({**environment, "KAGGLE_KEY": "given"})
    assert found == LegacyKey("ada", "given", "KAGGLE_USERNAME and KAGGLE_KEY")


def test_the_configuration_folder_is_found_as_the_official_client_finds_it(tmp_path: Path) -> None:
    text = '{"username": "ada", "key": "stored"}'
    environment = home_with(tmp_path, {".config/kaggle/kaggle.json": text, "elsewhere/kaggle.json": text})

    assert isinstance(find_credentials(environment), LegacyKey)
    (tmp_path / ".kaggle").mkdir()
    with pytest.raises(CredentialsError):
        find_credentials(environment)
    named = {**environment, "KAGGLE_CONFIG_DIR": str(tmp_path / "elsewhere")}
    assert isinstance(find_credentials(named), LegacyKey)


def test_a_notebook_on_kaggle_is_signed_in_by_its_own_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("of-the-notebook")
    inside = {"KAGGLE_KERNEL_RUN_TYPE": "Batch", "KAGGLE_DATA_PROXY_URL": "https://x", "HOME": str(tmp_path)}

    credentials = find_credentials({**inside, "KAGGLE_API_V1_TOKEN": str(tmp_path / "token"), "KAGGLE_API_TOKEN": "x"})

    assert secret_of(credentials) == "of-the-notebook"


def test_an_empty_file_is_passed_over(tmp_path: Path) -> None:
    environment = home_with(tmp_path, {".kaggle/access_token": "\n", ".kaggle/access_token.txt": "second"})

    assert secret_of(find_credentials(environment)) == "second"


def test_a_login_that_lasts_is_used_and_one_that_ends_soon_is_not(tmp_path: Path) -> None:
    later = datetime.now(UTC) + timedelta(hours=2)
    tokens = {"refresh_token": "r", "access_token": "a", "access_token_expiration": later.isoformat()}
    stored = {**tokens, "username": "ada"}
    environment = home_with(tmp_path, {".kaggle/credentials.json": json.dumps(stored)})

    credentials = find_credentials(environment)

    assert isinstance(credentials, RefreshToken)
    assert credentials.is_fresh(datetime.now(UTC))
    assert not credentials.is_fresh(later - timedelta(minutes=5))


@pytest.mark.parametrize(
    "files",
    [
        {".kaggle/access_token": f"{SECRET}\nand a second line"},
        {".kaggle/access_token": SECRET * 1000},
        {".kaggle/access_token": f"{SECRET}\u00e9"},
        {".kaggle/kaggle.json": f'{{"username": "ada", "key": "{SECRET}'},
        {".kaggle/kaggle.json": f'{{"username": "a:da", "key": "{SECRET}"}}'},
    ],
)
def test_broken_credentials_are_refused_without_showing_them(tmp_path: Path, files: dict[str, str]) -> None:
    with pytest.raises(CredentialsError) as refused:
        find_credentials(home_with(tmp_path, files))

    chain: BaseException | None = refused.value
    while chain is not None:
        assert SECRET not in f"{chain!r} {chain} {vars(chain)}"
        chain = chain.__cause__


def test_a_token_in_the_environment_that_is_longer_than_any_file_name_is_still_a_token(tmp_path: Path) -> None:
    found = find_credentials({"HOME": str(tmp_path), "KAGGLE_API_TOKEN": "t" * 5000})

    assert found == AccessToken("t" * 5000, "KAGGLE_API_TOKEN")


@pytest.mark.parametrize(
    "credentials",
    [AccessToken(SECRET, "x"), LegacyKey("ada", SECRET, "x"), RefreshToken(SECRET, "x", access_token=SECRET)],
    ids=type,
)
def test_credentials_show_in_no_repr(credentials: Credentials) -> None:
    gateway = Kaggle("https://api.kaggle.com", credentials)

    assert SECRET not in f"{credentials!r} {credentials} {gateway!r} {gateway}"


def test_a_text_that_holds_the_token_is_known_as_such() -> None:
    assert contains_secret(f"os.environ['KAGGLE_API_TOKEN'] = '{SECRET}'", AccessToken(SECRET, "x"))
    assert not contains_secret("a short key is no proof: abc", AccessToken("abc", "x"))


def test_files_that_others_can_read_are_named(tmp_path: Path) -> None:
    environment = home_with(tmp_path, {".kaggle/kaggle.json": "{}", ".kaggle/access_token": "x"})
    (tmp_path / ".kaggle/kaggle.json").chmod(0o644)
    (tmp_path / ".kaggle/access_token").chmod(0o600)

    assert exposed_files(environment) == (tmp_path / ".kaggle/kaggle.json",)
    warnings = Kaggle("https://api.kaggle.com", AccessToken("x", "x")).warnings(environment)
    assert any("chmod 600" in warning for warning in warnings)


def test_credentials_are_not_sent_without_encryption() -> None:
    with pytest.raises(CredentialsError, match="without encryption"):
        Kaggle("http://api.kaggle.com", AccessToken(SECRET, "x"))


@pytest.mark.parametrize("value", ["LOCALHOST", "TEST", "STAGING", "prod"])
def test_a_shell_that_points_at_a_local_kaggle_never_reaches_the_real_one(value: str) -> None:
    with pytest.raises(OtherKaggleError, match="--to local"):
        connect(Target.KAGGLE, environment={"KAGGLE_API_ENVIRONMENT": value, "KAGGLE_API_TOKEN": "of-the-local-one"})


def test_the_real_kaggle_is_connected_to_without_asking_it_anything() -> None:
    kaggle = connect(Target.KAGGLE, environment={"KAGGLE_API_TOKEN": "x"})

    assert (kaggle.address, kaggle.is_local) == ("https://api.kaggle.com", False)


def test_the_local_kaggle_is_found_by_its_record(tmp_path: Path) -> None:
    environment = {"TANDEM_LOCAL_KAGGLE": str(tmp_path), "KAGGLE_API_TOKEN": "of-the-real-one"}
    with pytest.raises(KaggleError, match="tandem serve"):
        connect(Target.LOCAL, environment=environment)

    path = ServerRecord("http://127.0.0.1:8400", SECRET, "local", os.getpid()).write(tmp_path)
    kaggle = connect(Target.LOCAL, environment=environment)

    assert path.stat().st_mode & 0o777 == 0o600
    assert (kaggle.address, kaggle.is_local) == ("http://127.0.0.1:8400", True)
    assert SECRET not in repr(read_record(tmp_path))


def test_the_record_of_a_server_that_is_gone_is_not_followed(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    ServerRecord("http://127.0.0.1:8400", "x", "local", process.pid).write(tmp_path)

    with pytest.raises(KaggleError, match="No local Kaggle is running"):
        connect(Target.LOCAL, environment={"TANDEM_LOCAL_KAGGLE": str(tmp_path)})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"address": "http://127.0.0.1:1"}',
        '{"address": "ftp://x", "token": "t", "account": "a", "pid": 1}',
        '{"address": "http://u:p@127.0.0.1:1", "token": "t", "account": "a", "pid": 1}',
        '{"address": "http://127.0.0.1:1", "token": "t\\u001b", "account": "a", "pid": 1}',
        '{"address": "http://127.0.0.1:1", "token": "t", "account": "a", "pid": "1"}',
    ],
)
def test_a_record_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.json").write_text(text)

    with pytest.raises(ServerRecordError, match="tandem serve"):
        read_record(tmp_path)


def test_only_the_server_that_wrote_a_record_takes_it_away(tmp_path: Path) -> None:
    ServerRecord("http://127.0.0.1:8400", "x", "local", 4242).write(tmp_path)

    remove_record(tmp_path, pid=1)
    assert read_record(tmp_path) is not None
    remove_record(tmp_path, pid=4242)
    assert read_record(tmp_path) is None


def test_the_root_of_the_local_kaggle_is_named_or_below_the_users_data(tmp_path: Path) -> None:
    assert default_root({"TANDEM_LOCAL_KAGGLE": str(tmp_path)}) == tmp_path
    assert default_root({"HOME": "/home/ada"}) == Path("/home/ada/.local/share/tandem/local-kaggle")
    assert default_root({"HOME": "/home/ada", "XDG_DATA_HOME": "/data"}) == Path("/data/tandem/local-kaggle")
    assert default_root({"HOME": "/home/ada", "XDG_DATA_HOME": "data"}).is_relative_to("/home/ada")


@pytest.mark.parametrize(("installed", "is_safe"), [("2026.9.1", False), ("2026.10.19", True), ("2027.1.2", True)])
def test_certificates_that_let_a_stranger_read_the_token_are_warned_of(
    monkeypatch: pytest.MonkeyPatch, installed: str, is_safe: bool
) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: installed)

    warnings = Kaggle("https://api.kaggle.com", AccessToken("x", "x")).warnings({"HOME": "/nowhere"})

    assert [installed in warning for warning in warnings] == ([] if is_safe else [True])
    assert Kaggle("http://127.0.0.1:1", AccessToken("x", "x")).warnings() == ()
