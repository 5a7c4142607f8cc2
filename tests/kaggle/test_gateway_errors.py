"""What becomes of every way in which Kaggle, or the way to it, can fail."""

import logging
import socket
import subprocess
import sys
import traceback
from datetime import timedelta
from typing import Any

import pytest
from canned import HTML, TOKEN, Asked, Told, answered, canned, failed, refused, said
from gateway_calls import PUSH, QUOTA, READS, WRITES

from generator.kaggle import errors
from generator.kaggle.credentials import AccessToken, LegacyKey, RefreshToken
from generator.kaggle.gateway import Kaggle

push = WRITES["SaveKernel"]
FAILURES = {
    "429": (refused(429, "Too many requests"), errors.RateLimitedError),
    "429 with a wait": (refused(429, "Too many requests", Retry_After="2"), errors.RateLimitedError),
    "500": (refused(500, "oops"), errors.ServerFailedError),
    "503 as a page": (Told(HTML.body, 503, media_type="text/html"), errors.ServerFailedError),
    "200 with a page": (HTML, errors.NotKaggleError),
    "200 with a code": (said(code=503, message="try later"), errors.ServerFailedError),
    "broken JSON": (Told(b'{"status": "COMP'), errors.NotKaggleError),
    "another shape": (Told(b"[1, 2]"), errors.NotKaggleError),
    "nothing": (Told(b""), errors.NotKaggleError),
    "a short body": (Told(b"{}", length=500), errors.UnreachableError),
    "a dropped connection": (Told(drops=True), errors.UnreachableError),
    "a redirect": (Told(b"", 302, {"Location": "https://sign-in.example.com/"}), errors.KaggleError),
}


@pytest.mark.parametrize("method", READS)
def test_a_read_is_repeated_until_it_is_answered(method: str) -> None:
    failures = [refused(503, "later"), Told(drops=True), HTML]

    def script(asked: Asked) -> Told:
        return failures.pop(0) if failures else refused(400, "that is another matter")

    error, server = failed(script, errors.KaggleError, READS[method], attempts=5)

    assert not isinstance(error, errors.ServerFailedError | errors.UnreachableError | errors.NotKaggleError)
    assert server.methods() == [method] * 4
    assert server.slept == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("method", WRITES)
@pytest.mark.parametrize("failure", FAILURES)
def test_what_changes_something_is_sent_once_whatever_happens(method: str, failure: str) -> None:
    told, kind = FAILURES[failure]

    error, server = failed([told], kind, WRITES[method])

    assert server.methods() == [method]
    assert server.slept == []
    # 429 is the one of them that says that nothing was done.
    assert error.outcome_unknown == (not failure.startswith("429"))


@pytest.mark.parametrize("failure", FAILURES)
def test_a_read_that_fails_every_time_ends_in_our_error(failure: str) -> None:
    told, kind = FAILURES[failure]

    error, server = failed([told], kind, QUOTA)

    assert len(server.asked) == 3
    assert str(error).startswith("Cannot read the accelerator quota: ")
    assert str(error).isprintable()


def test_a_server_that_says_nothing_is_given_up_in_time() -> None:
    error, _ = failed([Told(stalls=True)], errors.UnreachableError, push, attempts=1, read=0.2)

    assert error.outcome_unknown
    assert error.timed_out
    assert "in time" in str(error)
    assert "it is unknown whether the request was completed" in str(error)


def test_a_server_that_stops_in_the_middle_is_given_up_in_time() -> None:
    told = Told(b'{"status": ', length=100, stalls=True)
    failed([told], errors.UnreachableError, QUOTA, attempts=1, read=0.2)


def test_a_push_that_cannot_have_arrived_is_known_not_to_have_happened() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    gateway = Kaggle(address, AccessToken(TOKEN, source="a test"))

    with pytest.raises(errors.UnreachableError, match="accepts no connection") as raised:
        gateway.kernels.push(PUSH)

    assert not raised.value.outcome_unknown


def test_a_push_never_goes_over_a_connection_that_may_be_closed_already() -> None:
    # A connection that was left open can be gone by the time of the next push; nobody could tell then what arrived.
    with canned([said(ref="/ada/digits-train", versionNumber=1)]) as server:
        gateway = server.gateway()
        for _ in range(2):
            gateway.kernels.quota()
            gateway.kernels.push(PUSH)

    first_read, first_push, second_read, second_push = (asked.port for asked in server.asked)
    assert first_read == second_read
    assert len({first_read, first_push, second_push}) == 3


def test_waiting_as_long_as_kaggle_asks_is_bounded() -> None:
    error, server = failed([refused(429, "slow down", Retry_After="3600")], errors.RateLimitedError, QUOTA)

    assert server.slept == []
    assert error.retry_after == timedelta(hours=1)
    assert "60 min" in str(error)


def test_kaggles_own_wait_is_kept_to() -> None:
    answers = [refused(429, "slow down", Retry_After="7"), refused(503, "x", Retry_After="9"), said()]
    _, server = answered(answers, QUOTA)

    assert server.slept == [7.0, 9.0]


def test_an_answer_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.kaggle.client._LARGEST_ANSWER", 100_000)
    failed([Told(b" " * 2_000_000)], errors.NotKaggleError, QUOTA, attempts=1, says="longer than 100,000")


_RULES = "You must accept this competition's rules before you'll be able to download files."
_ALLOWANCE = "Your team has used its daily Submission allowance (5) today"
_NOTEBOOKS = "Submission not allowed: This competition only accepts Submissions from Notebooks."
_SESSIONS = "Maximum batch GPU session count of 2 reached."
_QUOTA = "You have no accelerator quota left: the weekly TPU quota is used up."
_NO_REASON = Told(HTML.body, 403, media_type="text/html")


@pytest.mark.parametrize(
    ("method", "told", "kind", "part"),
    [
        ("GetCompetition", refused(403, _RULES), errors.RulesNotAcceptedError, "/competitions/digits/rules"),
        *(
            ("GetCompetition", refused(403, message), errors.NotVerifiedError, part)
            for message, remedy in (
                ("Please verify your phone number.", "verify your phone number at"),
                ("TPU v5e-8 requires identity verification", "verify your identity at"),
            )
            for part in (remedy, "/settings")
        ),
        (
            "GetCompetition",
            refused(403, "Permission 'competitions.get' was denied"),
            errors.ForbiddenError,
            "/competitions/digits/rules",
        ),
        ("GetCompetition", _NO_REASON, errors.ForbiddenError, "a page of HTML in place of a reason"),
        (
            "GetCompetition",
            refused(404, "Competition not found"),
            errors.NotFoundError,
            "check the spelling at http://127.0.0.1",
        ),
        ("GetCompetition", refused(400, "pageToken is not valid"), errors.RefusedError, "pageToken is not valid"),
        ("GetCompetition", said(code=404, message="Not found"), errors.NotFoundError, "check the spelling"),
        (
            "GetAcceleratorQuotaStatistics",
            refused(401, "Unauthenticated"),
            errors.CredentialsError,
            "from a test",
        ),
        (
            "GetAcceleratorQuotaStatistics",
            refused(401, "Unauthenticated"),
            errors.CredentialsError,
            "/settings/api",
        ),
        *(
            ("IntrospectToken", told, errors.CredentialsError, "from a test")
            for told in (said(active=False), said(active=True), refused(404, "no"), refused(403, "no"))
        ),
        *(
            ("SaveKernel", said(ref="", url="", error=message), kind, message.rstrip("."))
            for message, kind in (
                (_SESSIONS, errors.SessionLimitError),
                (_QUOTA, errors.RefusedError),
                ("A kernel with this title already exists.", errors.SlugTakenError),
                ("Title must be at least 5 characters", errors.RefusedError),
            )
        ),
        ("SaveKernel", said(error=_QUOTA), errors.RefusedError, "the hours begin anew on Saturday at 00:00 UTC"),
        ("SaveKernel", refused(409, ""), errors.SlugTakenError, "another title"),
        ("CreateCodeSubmission", refused(403, ""), errors.SubmitForbiddenError, "/competitions/digits/submit"),
        ("CreateCodeSubmission", refused(400, _ALLOWANCE), errors.RefusedError, "00:00 UTC, submit after that"),
        ("CreateCodeSubmission", refused(400, _NOTEBOOKS), errors.RefusedError, "only accepts"),
        ("CreateCodeSubmission", refused(403, _RULES), errors.RulesNotAcceptedError, "/rules"),
    ],
)
def test_every_refusal_names_the_next_step_and_is_not_asked_again(
    method: str, told: Told, kind: type[errors.KaggleError], part: str
) -> None:
    error, server = failed([told], kind, {**READS, **WRITES}[method])

    assert part in str(error)
    assert type(error) is kind
    assert not error.outcome_unknown
    assert server.methods() == [method]


def test_the_user_is_asked_for_once() -> None:
    names, server = answered([said(active=True, username="ada")], lambda kaggle: [kaggle.username(), kaggle.username()])

    assert names == ["ada", "ada"]
    assert server.methods() == ["IntrospectToken"]


@pytest.mark.parametrize("name", ["../ada", "a" * 101, "\x1b[2Jada", "ada/digits"])
def test_a_user_whose_name_none_can_have_is_refused(name: str) -> None:
    error, _ = failed([said(active=True, username=name)], errors.NotKaggleError, Kaggle.username, says="no user")

    assert str(error).isprintable()
    assert len(str(error)) < 500


def test_a_text_of_an_answer_is_bounded_and_a_document_as_long_as_the_answer_may_be() -> None:
    failed([said(title="x" * 100_001)], errors.NotKaggleError, READS["GetCompetition"], says="has title that is not")

    pages, _ = answered([said(pages=[{"name": "rules", "content": "x" * 1_000_000}])], READS["ListCompetitionPages"])
    assert len(pages["rules"]) == 1_000_000


def test_half_a_surrogate_in_an_answer_is_no_text_that_cannot_be_written() -> None:
    pushed, _ = answered([said(ref="ada/digits\ud800-train", versionNumber=1, url="\udfff")], push)

    assert (pushed.ref, pushed.url) == ("ada/digits?-train", "?")


def test_a_key_says_itself_who_it_belongs_to() -> None:
    key = LegacyKey("ada", "k" * 32, "kaggle.json")
    (_, name), server = answered([said()], lambda kaggle: (kaggle.kernels.quota(), kaggle.username()), credentials=key)

    assert name == "ada"
    assert server.methods() == ["GetAcceleratorQuotaStatistics"]
    assert server.asked[0].headers["authorization"].startswith("Basic ")


def test_a_login_is_exchanged_for_a_token_once_and_without_another_credential() -> None:
    def script(asked: Asked) -> Told:
        exchanged = Told(b'{"token": "of-twelve-hours", "expiresIn": 43200}')
        return exchanged if asked.method == "GenerateAccessToken" else said()

    login = RefreshToken("the-login", "credentials.json", username="ada")
    _, server = answered(script, lambda kaggle: (kaggle.kernels.quota(), kaggle.kernels.quota()), credentials=login)

    assert server.methods() == ["GenerateAccessToken", *["GetAcceleratorQuotaStatistics"] * 2]
    assert "authorization" not in server.asked[0].headers
    assert server.asked[0].fields["refreshToken"] == "the-login"
    assert server.asked[1].headers["authorization"] == "Bearer of-twelve-hours"


def test_a_push_that_could_not_be_signed_was_not_sent() -> None:
    login = RefreshToken("the-login", "credentials.json", username="ada")
    error, server = failed([refused(503, "later")], errors.ServerFailedError, push, credentials=login)

    assert set(server.methods()) == {"GenerateAccessToken"}
    assert not error.outcome_unknown


@pytest.mark.parametrize("failure", FAILURES)
def test_the_token_is_in_no_error_and_in_no_log(failure: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told, kind = FAILURES[failure]

    error, _ = failed([told], kind, push)

    shown = "".join(traceback.format_exception(error)) + caplog.text + repr(vars(error))
    assert TOKEN not in shown
    chain: BaseException | None = error
    while chain is not None:
        assert not hasattr(chain, "request"), "the HTTP library's errors carry the headers of the request"
        assert TOKEN not in repr(vars(chain))
        chain = chain.__cause__ or chain.__context__


def test_what_a_server_says_cannot_command_a_terminal_or_fill_it() -> None:
    error, _ = failed([refused(400, "\x1b[2J\u202e" + "x" * 10_000)], errors.RefusedError, QUOTA)

    assert str(error).isprintable()
    assert len(str(error)) < 600


def test_numbers_and_texts_are_read_as_each_other() -> None:
    # JSON of protocol buffers writes large whole numbers as texts.
    fields = {"ref": "7", "publicScore": 0.5, "totalBytes": "12345678901", "status": "COMPLETE", "date": "nonsense"}
    found, _ = answered([said(**fields)], READS["GetSubmission"])

    assert (found.ref, found.public_score) == (7, 0.5)


def test_no_request_goes_through_a_proxy_or_takes_a_password_of_netrc(
    monkeypatch: pytest.MonkeyPatch, isolated_home: Any
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    (isolated_home / ".netrc").write_text("machine 127.0.0.1 login ada password stolen\n")

    with_cookie = Told(headers={"Set-Cookie": "tracked=yes"})
    _, server = answered([with_cookie], lambda kaggle: (kaggle.kernels.quota(), kaggle.kernels.quota()))

    assert server.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert server.asked[0].headers["user-agent"].startswith("tandem/")
    assert "cookie" not in server.asked[1].headers


def test_importing_the_gateway_loads_no_client_and_sends_nothing() -> None:
    code = "import sys, generator.kaggle.gateway; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert not {"requests", "urllib3", "kagglesdk", "kaggle"} & set(loaded)
