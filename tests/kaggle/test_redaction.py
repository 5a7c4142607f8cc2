"""A secret that a server quotes is shown nowhere."""

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
from canned import TOKEN, Asked, Told, answered, failed, refused, said
from gateway_calls import QUOTA, READS

from generator.kaggle.credentials import AccessToken, Credentials, LegacyKey, RefreshToken
from generator.kaggle.errors import KaggleError, Redaction
from generator.kaggle.gateway import Kaggle

KEY = "0123456789abcdef0123456789abcdef"
PAIR = base64.b64encode(f"ada:{KEY}".encode()).decode()
SLASHED = "a+b/c+d/e+f/g+h/"
TOMORROW = datetime.now(UTC) + timedelta(days=1)
WHO: dict[str, Credentials] = {
    "a token": AccessToken(TOKEN, "somewhere"),
    "a key": LegacyKey("ada", KEY, "somewhere"),
    "an access token": RefreshToken("refresh-me-if-you-can", "somewhere", "ada", TOKEN, TOMORROW),
}


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("status", [400, 403, 404, 409, 500])
def test_what_a_complaint_quotes_of_the_request_is_cut_out(who: str, status: int) -> None:
    def script(asked: Asked) -> Told:
        return refused(status, f"bad header: {asked.headers['authorization']} of {TOKEN} {KEY}")

    credentials = WHO[who]
    error, _ = failed(script, KaggleError, READS["GetCompetition"], credentials=credentials, attempts=1)

    assert "bad header: " in str(error)
    assert "[secret]" in str(error)
    assert not [secret for secret in credentials.secrets() if secret in str(error)]


def test_a_refresh_token_that_is_quoted_where_it_is_exchanged_is_cut_out() -> None:
    def script(asked: Asked) -> Told:
        return refused(400, f"cannot exchange {asked.fields['refreshToken']}")

    login = RefreshToken("refresh-me-if-you-can", "somewhere")
    failed(script, KaggleError, QUOTA, credentials=login, attempts=1, says="cannot exchange [secret]")


def test_an_access_token_that_comes_back_as_it_was_is_used() -> None:
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)

    def script(asked: Asked) -> Told:
        if asked.method == "GenerateAccessToken":
            return said(token=TOKEN, expiresIn=3600)
        is_known = asked.headers["authorization"] == f"Bearer {TOKEN}"
        return said(active=True, username="ada") if is_known else refused(400, "no")

    credentials = RefreshToken("refresh-me-if-you-can", "somewhere", "", TOKEN, long_ago)
    assert answered(script, Kaggle.username, credentials=credentials)[0] == "ada"


def test_texts_and_types_of_good_answers_are_cut_as_well() -> None:
    pages = said(pages=[{"name": "rules", "content": f"your token is {TOKEN}"}])
    found, _ = answered([pages], READS["ListCompetitionPages"])
    error, _ = failed([Told(b"", media_type=f"text/{TOKEN}")], KaggleError, READS["GetCompetition"], attempts=1)

    assert found["rules"] == "your token is [secret]"
    assert TOKEN not in str(error)


def test_a_log_that_is_followed_shows_no_secret() -> None:
    event = f"data: {json.dumps({'stream_name': 'stdout', 'time': 1, 'data': f'env: {TOKEN}'})}\n\n"

    told = Told(f"{event}data: END_OF_LOG\n\n".encode(), media_type="text/event-stream")
    lines, _ = answered([told], lambda kaggle: list(kaggle.kernels.log_lines("ada/x")))

    assert [line.text for line in lines] == ["env: [secret]"]


@pytest.mark.parametrize("size", range(1, 24))
def test_a_secret_is_found_wherever_pieces_are_cut(size: int) -> None:
    text = f"a {TOKEN}{TOKEN} a-token {TOKEN[:-1]} {SLASHED} a-".encode()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]

    whole = b"".join(Redaction([TOKEN, SLASHED]).chunks(pieces))

    assert whole == f"a [secret][secret] a-token {TOKEN[:-1]} [secret] a-".encode()


@pytest.mark.parametrize("written", [SLASHED, SLASHED.replace("+", "\\u002B"), "a%2Bb%2Fc%2Bd%2Fe%2Bf%2Fg%2Bh%2F"])
def test_a_secret_is_found_in_other_spellings(written: str) -> None:
    assert Redaction([SLASHED]).cut(f"<{written}>".encode()) == b"<[secret]>"
