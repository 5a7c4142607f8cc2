"""A secret that a server quotes is shown nowhere."""

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
from canned import TOKEN, Asked, Told, canned, refused, said

from generator.kaggle.credentials import AccessToken, Credentials, LegacyKey, RefreshToken
from generator.kaggle.errors import KaggleError
from generator.kaggle.redaction import Redaction

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
    with canned(script) as server, pytest.raises(KaggleError) as raised:
        server.gateway(credentials, attempts=1).competition("digits")

    assert "bad header: " in str(raised.value)
    assert "[secret]" in str(raised.value)
    assert not [secret for secret in credentials.secrets() if secret in str(raised.value)]


def test_a_refresh_token_that_is_quoted_where_it_is_exchanged_is_cut_out() -> None:
    def script(asked: Asked) -> Told:
        return refused(400, f"cannot exchange {asked.fields['refreshToken']}")

    with canned(script) as server, pytest.raises(KaggleError, match=r"cannot exchange \[secret\]"):
        server.gateway(RefreshToken("refresh-me-if-you-can", "somewhere"), attempts=1).competition("digits")


def test_an_access_token_that_comes_back_as_it_was_is_used() -> None:
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)

    def script(asked: Asked) -> Told:
        if asked.method == "GenerateAccessToken":
            return said(token=TOKEN, expiresIn=3600)
        return (
            said(active=True, username="ada")
            if asked.headers["authorization"] == f"Bearer {TOKEN}"
            else refused(400, "no")
        )

    with canned(script) as server:
        credentials = RefreshToken("refresh-me-if-you-can", "somewhere", "", TOKEN, long_ago)
        assert server.gateway(credentials).username() == "ada"


def test_texts_and_types_of_good_answers_are_cut_as_well() -> None:
    def script(asked: Asked) -> Told:
        if asked.method == "GetCompetition":
            return Told(b"", media_type=f"text/{TOKEN}")
        return said(pages=[{"name": "rules", "content": f"your token is {TOKEN}"}])

    with canned(script) as server:
        (page,) = server.gateway().pages("digits")
        with pytest.raises(KaggleError) as raised:
            server.gateway(attempts=1).competition("digits")

    assert page.content == "your token is [secret]"
    assert TOKEN not in str(raised.value)


def test_a_log_that_is_followed_shows_no_secret() -> None:
    event = f"data: {json.dumps({'stream_name': 'stdout', 'time': 1, 'data': f'env: {TOKEN}'})}\n\n"

    def script(_: Asked) -> Told:
        return Told(f"{event}data: END_OF_LOG\n\n".encode(), media_type="text/event-stream")

    with canned(script) as server:
        assert [line.text for line in server.gateway().log_lines("ada/x")] == ["env: [secret]"]


@pytest.mark.parametrize("size", range(1, 24))
def test_a_secret_is_found_wherever_pieces_are_cut(size: int) -> None:
    text = f"a {TOKEN}{TOKEN} a-token {TOKEN[:-1]} {SLASHED} a-".encode()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]

    whole = b"".join(Redaction([TOKEN, SLASHED]).chunks(pieces))

    assert whole == f"a [secret][secret] a-token {TOKEN[:-1]} [secret] a-".encode()


@pytest.mark.parametrize("written", [SLASHED, SLASHED.replace("+", "\\u002B"), "a%2Bb%2Fc%2Bd%2Fe%2Bf%2Fg%2Bh%2F"])
def test_a_secret_is_found_in_other_spellings(written: str) -> None:
    assert Redaction([SLASHED]).cut(f"<{written}>".encode()) == b"<[secret]>"
