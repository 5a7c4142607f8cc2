"""What becomes of every way in which Kaggle, or the way to it, can fail."""

import json
import logging
import socket
import traceback
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from canned import HTML, TOKEN, Asked, Told, canned, refused, said

from generator.kaggle import errors
from generator.kaggle.api import KernelPush, SessionState, SubmissionStatus
from generator.kaggle.credentials import AccessToken, LegacyKey, RefreshToken
from generator.kaggle.gateway import Kaggle
from generator.kaggle.retries import RetryPolicy, retry_after

PUSH = KernelPush(
    ref="ada/digits-train",
    title="Digits train",
    text='{"cells": []}',
    machine_shape="TpuV5E8",
    enable_gpu=False,
    enable_tpu=True,
    enable_internet=False,
)
READS: dict[str, Callable[[Kaggle], Any]] = {
    "GetCompetition": lambda kaggle: kaggle.competition("digits"),
    "ListCompetitionPages": lambda kaggle: kaggle.pages("digits"),
    "ListDataFiles": lambda kaggle: kaggle.competition_files("digits"),
    "ListDataTreeFiles": lambda kaggle: kaggle.competition_folder("digits", "", most=10),
    "DownloadDataFile": lambda kaggle: kaggle.competition_file_url("digits", "train.csv"),
    "DownloadDataFiles": lambda kaggle: kaggle.competition_archive_url("digits"),
    "GetSubmissionLimits": lambda kaggle: kaggle.submission_limits("digits"),
    "ListSubmissions": lambda kaggle: kaggle.submissions("digits"),
    "GetSubmission": lambda kaggle: kaggle.submission("digits", 7),
    "GetKernel": lambda kaggle: kaggle.kernel("ada/digits-train"),
    "GetKernelSessionStatus": lambda kaggle: kaggle.session_status("ada/digits-train", 3),
    "ListKernelSessionOutput": lambda kaggle: kaggle.output("ada/digits-train", 3),
    "GetAcceleratorQuotaStatistics": lambda kaggle: kaggle.quota(),
    "GetDatasetStatus": lambda kaggle: kaggle.dataset_state("ada/weights"),
    "GetDataset": lambda kaggle: kaggle.dataset_version("ada/weights"),
    "GetModelInstance": lambda kaggle: kaggle.model_version("ada/m/keras/main"),
    "IntrospectToken": lambda kaggle: kaggle.username(),
}
WRITES: dict[str, Callable[[Kaggle], Any]] = {
    "SaveKernel": lambda kaggle: kaggle.push(PUSH),
    "CreateCodeSubmission": lambda kaggle: kaggle.submit_kernel(
        "digits", kernel="ada/digits-infer", version=2, file_name="submission.csv", message="m"
    ),
}
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

    with canned(script) as server, pytest.raises(errors.KaggleError) as raised:
        READS[method](server.gateway(attempts=5))

    assert not isinstance(raised.value, errors.ServerFailedError | errors.UnreachableError | errors.NotKaggleError)
    assert server.methods() == [method] * 4
    assert server.slept == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("method", WRITES)
@pytest.mark.parametrize("failure", FAILURES)
def test_what_changes_something_is_sent_once_whatever_happens(method: str, failure: str) -> None:
    told, kind = FAILURES[failure]

    with canned([told]) as server, pytest.raises(kind) as raised:
        WRITES[method](server.gateway())

    assert server.methods() == [method]
    assert server.slept == []
    # 429 is the one of them that says that nothing was done.
    assert raised.value.outcome_unknown == (not failure.startswith("429"))


@pytest.mark.parametrize("failure", FAILURES)
def test_a_read_that_fails_every_time_ends_in_our_error(failure: str) -> None:
    told, kind = FAILURES[failure]

    with canned([told]) as server, pytest.raises(kind) as raised:
        server.gateway().quota()

    assert len(server.asked) == 3
    assert str(raised.value).startswith("Cannot read the accelerator quota: ")
    assert str(raised.value).isprintable()


def test_a_server_that_says_nothing_is_given_up_in_time() -> None:
    with canned([Told(stalls=True)]) as server, pytest.raises(errors.UnreachableError, match="in time") as raised:
        server.gateway(attempts=1, read=0.2).push(PUSH)

    assert raised.value.outcome_unknown
    assert raised.value.timed_out
    assert "whether it was done is not known" in str(raised.value)


def test_a_server_that_stops_in_the_middle_is_given_up_in_time() -> None:
    told = Told(b'{"status": ', length=100, stalls=True)

    with canned([told]) as server, pytest.raises(errors.UnreachableError):
        server.gateway(attempts=1, read=0.2).quota()


def test_a_push_that_cannot_have_arrived_is_known_not_to_have_happened() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    gateway = Kaggle(address, AccessToken(TOKEN, source="a test"))

    with pytest.raises(errors.UnreachableError, match="accepts no connection") as raised:
        gateway.push(PUSH)

    assert not raised.value.outcome_unknown


def test_a_push_never_goes_over_a_connection_that_may_be_closed_already() -> None:
    # A connection that was left open can be gone by the time of the next push; nobody could tell then what arrived.
    with canned([said(ref="/ada/digits-train", versionNumber=1)]) as server:
        gateway = server.gateway()
        for _ in range(2):
            gateway.quota()
            gateway.push(PUSH)

    first_read, first_push, second_read, second_push = (asked.port for asked in server.asked)
    assert first_read == second_read
    assert len({first_read, first_push, second_push}) == 3


def test_waiting_as_long_as_kaggle_asks_is_bounded() -> None:
    with canned([refused(429, "slow down", Retry_After="3600")]) as server, pytest.raises(errors.RateLimitedError) as r:
        server.gateway().quota()

    assert server.slept == []
    assert r.value.retry_after == timedelta(hours=1)
    assert "60 min" in str(r.value)


def test_kaggles_own_wait_is_kept_to() -> None:
    with canned([refused(429, "slow down", Retry_After="7"), refused(503, "x", Retry_After="9"), said()]) as server:
        server.gateway().quota()

    assert server.slept == [7.0, 9.0]


def test_the_time_to_wait_may_be_a_date() -> None:
    from datetime import UTC, datetime

    now = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)

    assert retry_after("Fri, 20 Nov 2026 12:00:30 GMT", now=now) == timedelta(seconds=30)
    assert retry_after("Fri, 20 Nov 2026 11:00:00 GMT", now=now) == timedelta(0)
    assert retry_after("soon") is None
    assert retry_after("-5") is None
    assert retry_after(None) is None


def test_pauses_grow_and_are_left_to_chance_in_part() -> None:
    policy = RetryPolicy(jitter=lambda: 0.0)

    assert [policy.pause(attempt) for attempt in range(3)] == [0.25, 0.5, 1.0]
    assert RetryPolicy(jitter=lambda: 1.0).pause(50) == 30


def test_an_answer_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.kaggle.api_client._LARGEST_ANSWER", 100_000)

    with canned([Told(b" " * 2_000_000)]) as server, pytest.raises(errors.NotKaggleError, match="longer than 100,000"):
        server.gateway(attempts=1).quota()


@pytest.mark.parametrize(
    ("told", "kind", "remedy"),
    [
        (
            refused(403, "You must accept this competition's rules before you'll be able to download files."),
            errors.RulesNotAcceptedError,
            "/competitions/digits/rules",
        ),
        (refused(403, "Please verify your phone number."), errors.PhoneNotVerifiedError, "/settings"),
        (refused(403, "TPU v5e-8 requires identity verification"), errors.IdentityNotVerifiedError, "/settings"),
        (refused(403, "Permission 'competitions.get' was denied"), errors.ForbiddenError, "/competitions/digits/rules"),
        (Told(HTML.body, 403, media_type="text/html"), errors.ForbiddenError, "a page of HTML in place of a reason"),
        (refused(404, "Competition not found"), errors.NotFoundError, "check the spelling at http://127.0.0.1"),
        (refused(400, "pageToken is not valid"), errors.RefusedError, "pageToken is not valid"),
        (said(code=404, message="Not found"), errors.NotFoundError, "check the spelling"),
    ],
)
def test_every_refusal_names_the_next_step(told: Told, kind: type[errors.KaggleError], remedy: str) -> None:
    with canned([told]) as server, pytest.raises(kind) as raised:
        server.gateway().competition("digits")

    assert remedy in str(raised.value)
    assert len(server.asked) == 1, "what will not pass is not asked again"
    assert type(raised.value) is kind


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Maximum batch GPU session count of 2 reached.", errors.SessionLimitError),
        ("You have no accelerator quota left: the weekly TPU quota is used up.", errors.QuotaUsedUpError),
        ("A kernel with this title already exists.", errors.SlugTakenError),
        ("Title must be at least 5 characters", errors.RefusedError),
    ],
)
def test_a_push_refused_in_words_with_200_is_an_error(message: str, kind: type[errors.KaggleError]) -> None:
    with canned([said(ref="", url="", error=message)]) as server, pytest.raises(kind) as raised:
        server.gateway().push(PUSH)

    assert type(raised.value) is kind
    assert not raised.value.outcome_unknown
    assert message.rstrip(".") in str(raised.value)


@pytest.mark.parametrize(
    ("told", "kind", "part"),
    [
        (refused(403, ""), errors.SubmitForbiddenError, "/competitions/digits/submit"),
        (
            refused(400, "Your team has used its daily Submission allowance (5) today"),
            errors.SubmissionLimitError,
            "00:00 UTC",
        ),
        (
            refused(400, "Submission not allowed: This competition only accepts Submissions from Notebooks."),
            errors.RefusedError,
            "only accepts",
        ),
        (refused(403, "You must accept this competition's rules"), errors.RulesNotAcceptedError, "/rules"),
    ],
)
def test_a_submission_that_is_refused_says_what_to_do(told: Told, kind: type[errors.KaggleError], part: str) -> None:
    with canned([told]) as server, pytest.raises(kind) as raised:
        WRITES["CreateCodeSubmission"](server.gateway())

    assert type(raised.value) is kind
    assert part in str(raised.value)


def test_a_conflict_is_a_name_that_is_taken() -> None:
    with canned([refused(409, "")]) as server, pytest.raises(errors.SlugTakenError, match="another title"):
        server.gateway().push(PUSH)


def test_credentials_that_are_not_accepted_say_where_they_came_from() -> None:
    with canned([refused(401, "Unauthenticated")]) as server, pytest.raises(errors.CredentialsRefusedError) as raised:
        server.gateway().quota()

    assert "from a test" in str(raised.value)
    assert "/settings/api" in str(raised.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize("told", [said(active=False), said(active=True), refused(404, "no"), refused(403, "no")])
def test_a_token_that_is_nobodys_is_refused(told: Told) -> None:
    with canned([told]) as server, pytest.raises(errors.CredentialsRefusedError):
        server.gateway().username()


def test_the_user_is_asked_for_once() -> None:
    with canned([said(active=True, username="ada")]) as server:
        gateway = server.gateway()

        assert [gateway.username(), gateway.username()] == ["ada", "ada"]

    assert server.methods() == ["IntrospectToken"]


def test_a_key_says_itself_who_it_belongs_to() -> None:
    with canned([said()]) as server:
        gateway = server.gateway(LegacyKey("ada", "k" * 32, "kaggle.json"))
        gateway.quota()

        assert gateway.username() == "ada"

    assert server.methods() == ["GetAcceleratorQuotaStatistics"]
    assert server.asked[0].headers["authorization"].startswith("Basic ")


def test_a_login_is_exchanged_for_a_token_once_and_without_another_credential() -> None:
    def script(asked: Asked) -> Told:
        exchanged = Told(b'{"token": "of-twelve-hours", "expiresIn": 43200}')
        return exchanged if asked.method == "GenerateAccessToken" else said()

    with canned(script) as server:
        gateway = server.gateway(RefreshToken("the-login", "credentials.json", username="ada"))
        gateway.quota()
        gateway.quota()

    assert server.methods() == ["GenerateAccessToken", *["GetAcceleratorQuotaStatistics"] * 2]
    assert "authorization" not in server.asked[0].headers
    assert server.asked[0].fields["refreshToken"] == "the-login"
    assert server.asked[1].headers["authorization"] == "Bearer of-twelve-hours"


def test_a_push_that_could_not_be_signed_was_not_sent() -> None:
    with canned([refused(503, "later")]) as server, pytest.raises(errors.ServerFailedError) as raised:
        server.gateway(RefreshToken("the-login", "credentials.json", username="ada")).push(PUSH)

    assert set(server.methods()) == {"GenerateAccessToken"}
    assert not raised.value.outcome_unknown


@pytest.mark.parametrize("failure", FAILURES)
def test_the_token_is_in_no_error_and_in_no_log(failure: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told, kind = FAILURES[failure]

    with canned([told]) as server, pytest.raises(kind) as raised:
        server.gateway().push(PUSH)

    shown = "".join(traceback.format_exception(raised.value)) + caplog.text + repr(vars(raised.value))
    assert TOKEN not in shown
    chain: BaseException | None = raised.value
    while chain is not None:
        assert not hasattr(chain, "request"), "the HTTP library's errors carry the headers of the request"
        assert TOKEN not in repr(vars(chain))
        chain = chain.__cause__ or chain.__context__


def test_what_a_server_says_cannot_command_a_terminal_or_fill_it() -> None:
    with canned([refused(400, "\x1b[2J\u202e" + "x" * 10_000)]) as server, pytest.raises(errors.RefusedError) as raised:
        server.gateway().quota()

    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 600


@pytest.mark.parametrize("status", ["PREEMPTED", "", 99, 3.5, ["COMPLETE"], {"name": "COMPLETE"}])
def test_a_status_that_nobody_knows_is_unknown_and_no_crash(status: object) -> None:
    with canned([said(status=status)]) as server:
        assert server.gateway().session_status("ada/digits-train", 3).state is SessionState.UNKNOWN
        assert server.gateway().submission("digits", 7).status is SubmissionStatus.UNKNOWN
        assert str(server.gateway().dataset_state("ada/weights")) == "preparing"


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("complete", SessionState.COMPLETE),
        ("cancelAcknowledged", SessionState.CANCELLED),
        ("CANCEL_REQUESTED", SessionState.CANCELLING),
        ("NEW_SCRIPT", SessionState.NEW),
        (3, SessionState.ERROR),
    ],
)
def test_a_status_is_read_however_it_is_written(status: object, state: SessionState) -> None:
    with canned([said(status=status, failureMessage=None)]) as server:
        assert server.gateway().session_status("ada/digits-train", 3).state is state


def test_a_status_that_is_left_out_is_the_first_one() -> None:
    with canned([said()]) as server:
        assert server.gateway().session_status("ada/digits-train", 3).state is SessionState.QUEUED


@pytest.mark.parametrize(
    "fields",
    [
        {"metadata": "none"},
        {"metadata": {"title": {"en": "x"}}},
        {"metadata": {"currentVersionNumber": "three"}},
        {"metadata": {"competitionDataSources": "digits"}},
        {},
        {"metadata": {"slug": "somebody-elses"}},
        {"metadata": {"slug": "digits-train"}, "blob": {"slug": "../../evil"}},
    ],
)
def test_an_answer_of_another_shape_is_not_kaggles(fields: dict[str, object]) -> None:
    with canned([Told(json.dumps(fields).encode())]) as server, pytest.raises(errors.NotKaggleError):
        server.gateway(attempts=1).kernel("ada/digits-train")


def test_numbers_and_texts_are_read_as_each_other() -> None:
    # JSON of protocol buffers writes large whole numbers as texts.
    with canned(
        [said(ref="7", publicScore=0.5, totalBytes="12345678901", status="COMPLETE", date="nonsense")]
    ) as server:
        found = server.gateway().submission("digits", 7)

    assert (found.ref, found.public_score, found.date) == (7, 0.5, None)


def test_no_request_goes_through_a_proxy_or_takes_a_password_of_netrc(
    monkeypatch: pytest.MonkeyPatch, isolated_home: Any
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    (isolated_home / ".netrc").write_text("machine 127.0.0.1 login ada password stolen\n")

    with canned([Told(headers={"Set-Cookie": "tracked=yes"})]) as server:
        gateway = server.gateway()
        gateway.quota()
        gateway.quota()

    assert server.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert server.asked[0].headers["user-agent"].startswith("tandem/")
    assert "cookie" not in server.asked[1].headers


def test_importing_the_gateway_loads_no_client_and_sends_nothing() -> None:
    import subprocess
    import sys

    code = "import sys, generator.kaggle.gateway, generator.kaggle.connect; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert not {"requests", "urllib3", "kagglesdk", "kaggle"} & set(loaded)
