"""The pages as a browser's requests get them: signed in by a cookie, files with any name, forms of our own only."""

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
import requests
from scripted import ScriptedRunner, writing
from serving import Served, notebook, served
from starlette.responses import PlainTextResponse

ODD = "a b&c=d#e?f%2F.csv"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A local Kaggle with one notebook, which wrote a file with an odd name."""
    runner = ScriptedRunner(writing({ODD: "id,height\n"}))
    with served(tmp_path_factory.mktemp("site"), runner=runner) as made:
        made.save_kernel("My heights", notebook())
        assert made.local_kaggle.kernels.sessions.queue.wait_until_idle(20)
        yield made


@pytest.fixture
def browser(running: Served) -> requests.Session:
    """Somebody who opened the address that the server printed."""
    session = requests.Session()
    session.trust_env = False
    # Browsers look names below localhost up by themselves; Python asks the system, which may not know them.
    session.headers["Host"] = f"{running.local_kaggle.pages_host}:{running.port}"
    session.get(f"{running.address}/?token={running.token}", timeout=10)
    return session


def test_the_printed_address_signs_in_and_leaves_the_token_nowhere(running: Served, browser: requests.Session) -> None:
    page = browser.get(f"{running.address}/code", timeout=10)

    assert page.status_code == 200
    assert "My heights" in page.text
    assert running.token not in page.text
    assert running.token not in "".join(cookie.value or "" for cookie in browser.cookies)


@pytest.mark.parametrize(("query", "says"), [("", "enter the token here"), ("?token=wrong", "not the token")])
def test_who_is_not_signed_in_is_told_how(running: Served, query: str, says: str) -> None:
    answer = requests.get(f"{running.address}/{query}", timeout=10)

    assert answer.status_code == 401
    assert says in answer.text
    assert "My heights" not in answer.text
    assert re.search(r"style-src 'sha256-[\w+/=]+'", answer.headers["Content-Security-Policy"])


def test_a_file_with_any_name_is_downloaded(running: Served, browser: requests.Session) -> None:
    page = f"{running.address}/code/local/my-heights/output"
    link = re.search(r'href="([^"]+)" download', browser.get(page, timeout=10).text)
    assert link is not None
    assert link[1].endswith(quote(ODD))

    answer = browser.get(f"{running.address}{link[1]}", timeout=10)

    assert answer.text == "id,height\n"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["Content-Security-Policy"]


@pytest.mark.slow
def test_a_form_of_another_site_changes_nothing(running: Served, browser: requests.Session) -> None:
    page = f"{running.address}/code/local/my-heights"

    foreign = browser.post(f"{page}/delete", data={}, headers={"Origin": "http://evil.example"}, timeout=10)

    assert foreign.status_code == 403
    assert browser.get(page, timeout=10).status_code == 200


def test_calls_of_the_api_do_not_wait_for_pages(
    running: Served, browser: requests.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, release = threading.Semaphore(0), threading.Event()

    def slow(*_: object) -> PlainTextResponse:
        made.release()
        assert release.wait(30)
        return PlainTextResponse("slow")

    monkeypatch.setattr("generator.localkaggle.web.pages.answer_page", slow)
    with ThreadPoolExecutor(20) as readers:
        pages = [readers.submit(browser.get, f"{running.address}/code", timeout=30) for _ in range(20)]
        assert made.acquire(timeout=20)
        while made.acquire(timeout=0.5):  # until no thread is left for another page
            pass
        try:
            status, _ = running.ask("kernels.KernelsApiService/ListKernels", pageSize=1)
        finally:
            release.set()
        assert status == 200
        assert {page.result().text for page in pages} == {"slow"}
