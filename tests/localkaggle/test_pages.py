"""The pages of a local Kaggle, as somebody reads and uses them."""

import gzip
import io
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest
from browsing import FORM, ME, Browsing, Page, notebook, same_site
from scripted import ScriptedRunner, ScriptFailure, writing
from toy import submission_text

from generator.localkaggle.endpoints import LARGEST_FORM
from generator.localkaggle.web.views import static_files
from generator.sessions.notebook_runner import SessionLog
from generator.sessions.sandbox import SessionOrder

TOY = {"competitionDataSources": ["toy-heights"]}


@pytest.fixture
def pages(tmp_path: Path) -> Browsing:
    """The pages of a local Kaggle whose sessions end at once and write a good submission."""
    return Browsing(tmp_path)


def scored(pages: Browsing) -> Page:
    """The page of one's submissions once nothing is being scored any more."""
    until = time.monotonic() + 20
    while "Scoring" in (page := pages.get("/competitions/toy-heights/submissions")).text:
        assert time.monotonic() < until, page.text
        time.sleep(0.005)
    return page


def saved(pages: Browsing, slug: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The cells of the newest version of a kernel of ours, and what else was saved with it."""
    kernel = pages.ask("GetKernel", userName=ME, kernelSlug=slug)
    return json.loads(kernel["blob"]["source"])["cells"], kernel["metadata"]


def everything(pages: Browsing, start: str = "/") -> Iterator[Page]:
    """Every page that links lead to."""
    seen, waiting = {start}, [start]
    while waiting:
        page = pages.get(waiting.pop())
        yield page
        for link in [found["href"] for found in page.elements("a")]:
            address = same_site(page, link)
            # The built-in competitions would have to write their data first.
            if address and address not in seen and not address.startswith(("/competitions/d", "/competitions/tu")):
                seen.add(address)
                waiting.append(address)


def filled(pages: Browsing) -> None:
    """Notebooks of every state, a submission, a dataset."""
    pages.push("Heights inference", "print('height')", **TOY)
    address = pages.push("Heights inference", "print('taller')", **TOY)
    pages.post(f"{address}/submit", pages.get(f"{address}/submit").fields)
    pages.push("Only saved", text=json.dumps({"cells": []}), kernelExecutionType="QUICK_SAVE")
    scored(pages)


def test_the_first_page_shows_notebooks_competitions_and_quota(pages: Browsing) -> None:
    pages.push("Heights training", machineShape="TpuV5E8", **TOY)

    page = pages.get("/")

    assert page.links["Heights training"] == "/code/local/heights-training"
    assert page.links["Toy heights"] == "/competitions/toy-heights"
    assert "TPU this week" in page.text
    assert "of 20 h" in page.text
    assert "Complete" in page.text


@pytest.mark.slow
def test_every_link_of_every_page_leads_somewhere(pages: Browsing) -> None:
    filled(pages)

    visited = list(everything(pages))

    assert {page.status for page in visited} <= {200, 303}, [page.address for page in visited if page.status >= 400]
    assert len(visited) > 40


@pytest.mark.slow
def test_every_page_can_be_read_by_a_screen_reader(pages: Browsing) -> None:
    filled(pages)
    for page in everything(pages):
        if not page.tags:
            continue
        assert page.elements("html")[0]["lang"] == "en"
        assert len(page.elements("h1")) == 1, page.address
        labels = {label["for"] for label in page.elements("label") if "for" in label}
        for tag in ("input", "select", "textarea"):
            for each in page.elements(tag):
                assert each.get("type") == "checkbox" or each["id"] in labels, (page.address, each)
        assert all("alt" in image for image in page.elements("img"))
        levels = [int(tag[1]) for tag, _ in page.tags if tag in ("h1", "h2", "h3")]
        assert levels[0] == 1, page.address
        ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        assert len(ids) == len(set(ids)), page.address


@pytest.mark.slow
def test_pages_allow_no_script_but_their_own_and_are_kept_nowhere(pages: Browsing) -> None:
    filled(pages)
    for page in everything(pages):
        if page.tags:
            policy = page.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert page.headers["cache-control"] == "no-store"
            assert not [each for _, each in page.tags if "style" in each or any(name.startswith("on") for name in each)]


@pytest.mark.slow
def test_what_strangers_write_stays_text_on_every_page(tmp_path: Path) -> None:
    attack = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"

    def script(order: SessionOrder) -> None:
        log = SessionLog(order.files.log)
        log.write(f"\x1b]0;title\x07\x1b[31m{attack}\x1b[0m\r\n")
        for name in (attack.replace("/", "_"), "a b&c=d#e?.csv"):
            (order.files.working / name).write_text(f"{attack},2\n")
        text = json.loads(order.notebook.read_text())
        text["cells"][0]["outputs"] = [
            {"output_type": "display_data", "metadata": {}, "data": {"text/html": attack, "text/plain": attack}},
            {"output_type": "stream", "name": "stdout", "text": attack},
        ]
        order.files.executed_notebook.write_text(json.dumps(text))
        raise ScriptFailure(attack)

    pages = Browsing(tmp_path, ScriptedRunner(script))
    address = pages.push(f"T {attack}"[:50], attack, **TOY)
    visited = list(everything(pages))
    for page in [*visited, pages.get(f"{address}/output?file=a+b%26c%3Dd%23e%3F.csv")]:
        scripts = page.elements("script")
        assert all(each["src"].startswith("/static/") for each in scripts), page.address
        assert len(scripts) <= 1
        assert not [each for each in page.elements("img") if each.get("src") == "x"]
        assert not [each for each in page.elements("a") if "javascript" in each.get("href", "").lower()[:12]]
    log, output = pages.get(f"{address}/log"), pages.get(f"{address}/output")
    assert attack in log.text
    assert attack.replace("/", "_") in output.text
    assert "\x1b" not in log.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metadata", "folded"),
    [
        ({"_kg_hide-input": True}, 1),
        ({"jupyter": {"source_hidden": True}}, 1),
        ({"tags": ["hide-input"]}, 1),
        ({"_kg_hide-input": False, "jupyter": {"source_hidden": False}, "tags": []}, 0),
        ({"_kg_hide-input": "no", "jupyter": True, "tags": 3}, 0),
    ],
)
def test_a_cell_that_is_folded_anywhere_is_folded_here(
    pages: Browsing, metadata: dict[str, object], folded: int
) -> None:
    text = json.loads(notebook("secret = 1", "print(2)"))
    text["cells"][0]["metadata"] = metadata

    page = pages.get(pages.push("Some folded", text=json.dumps(text), kernelExecutionType="QUICK_SAVE"))

    assert len([each for each in page.elements("details") if each.get("class") == "folded"]) == folded
    assert "secret = 1" in page.text


@pytest.mark.slow
def test_what_the_check_finds_stands_beside_its_cell(pages: Browsing) -> None:
    hostile = "'/kaggle/input/<b>bold/x.csv'"
    address = pages.push("Some flaws", text=notebook("print(2)", f"open({hostile})"), kernelExecutionType="QUICK_SAVE")
    page = checked(pages, address)
    text = " ".join(page.text.split())

    assert "N040 warning, line 1: /kaggle/input/<b>bold/x.csv is a path of the old layout." in text
    assert text.index("print") < text.index("N040 warning")
    assert {"warning"} <= {each.get("class") for each in page.elements("li")}
    assert not page.elements("b")[5:]
    assert re.search(r"Check \d+ ", text)


@pytest.mark.slow
def test_what_the_check_finds_stands_beside_its_cell_also_where_cells_had_no_ids(
    tmp_path: Path,
) -> None:
    def execute(order: SessionOrder) -> None:
        ran = json.loads(order.notebook.read_text())
        injected = {**ran["cells"][0], "source": "ROOT = 1"}
        for cell, name in zip(
            cells := [injected, *ran["cells"]], ("injected-parameters", "0a1b2c3d", "e4f5"), strict=True
        ):
            cell["id"] = name
        order.files.executed_notebook.write_text(json.dumps({**ran, "cells": cells, "nbformat_minor": 5}))

    pages = Browsing(tmp_path, ScriptedRunner(execute))
    text = json.loads(notebook("first = 1", "print(undefined)"))
    text["cells"] = [{key: value for key, value in cell.items() if key != "id"} for cell in text["cells"]]

    page = checked(pages, pages.push("No ids", text=json.dumps({**text, "nbformat_minor": 4})))

    assert "0a1b2c3d" not in page.text
    assert page.text.index("first") < page.text.index("cell-2") < page.text.index("N030 error, line 1")


def checked(pages: Browsing, address: str) -> Page:
    """A page once its notebook is executed and checked."""
    until = time.monotonic() + 30
    while "Reload the page" in (page := pages.get(address)).text or "Live log" in page.text:
        assert time.monotonic() < until, page.text
    return page


@pytest.mark.slow
def test_a_running_session_shows_its_log_as_it_grows(tmp_path: Path) -> None:
    runner = ScriptedRunner(held=True)
    pages = Browsing(tmp_path, runner, slots=1)
    address = pages.push("Heights training", **TOY)
    until = time.monotonic() + 20
    while "begins" not in (page := pages.get(f"{address}/log")).text:
        assert time.monotonic() < until, page.text
        time.sleep(0.005)
    log = next(each for each in page.elements("pre") if "data-log" in each)
    assert [each["http-equiv"] for each in page.elements("meta") if "http-equiv" in each] == ["refresh"]
    assert "Live log" in pages.get(address).text

    pages.kaggle.kernels.sessions.folder(1).log.open("ab").write(b'{"data": "epoch 1\\u001b[2J\\n"}\n')
    news = json.loads(pages.get(f"{log['data-log']}&from={log['data-next']}").body)
    assert news["text"] == "epoch 1\n"
    assert not news["is_final"]
    assert news["state"] == "running"

    runner.release()
    assert pages.kaggle.kernels.sessions.queue.wait_until_idle(20)
    rest = json.loads(pages.get(f"{log['data-log']}&from={news['next']}").body)
    last = json.loads(pages.get(f"{log['data-log']}&from={rest['next']}").body)
    assert "ends" in rest["text"]
    assert last["is_final"]
    finished = pages.get(address)
    assert "Complete" in finished.text
    assert not finished.elements("noscript")


@pytest.mark.slow
def test_a_notebook_is_shown_as_it_ran(tmp_path: Path) -> None:
    def script(order: SessionOrder) -> None:
        text = json.loads(order.notebook.read_text())
        text["cells"][0]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "mae 2.0\n"}]
        text["cells"][0]["metadata"]["papermill"] = {"duration": 75.2}
        order.files.executed_notebook.write_text(json.dumps(text))

    pages = Browsing(tmp_path, ScriptedRunner(script))
    page = pages.get(pages.push("Heights training", "print(mae)", machineShape="NvidiaTeslaT4", **TOY))
    assert "print ( mae )" in page.text or "print(mae)" in page.text
    assert "mae 2.0" in page.text
    assert "1 min 15 s" in page.text
    assert "GPU T4 x2 emulated" in page.text
    assert page.links["toy-heights"] == "/competitions/toy-heights"


@pytest.mark.slow
@pytest.mark.parametrize("broken", ['{"cells": [{"cell_type": "code"}]}', "[]", '{"cells": 3}', "no json", ""])
def test_a_broken_notebook_gets_a_sentence_and_not_an_error(tmp_path: Path, broken: str) -> None:
    def script(order: SessionOrder) -> None:
        order.files.executed_notebook.write_text(broken)

    pages = Browsing(tmp_path, ScriptedRunner(script))
    page = pages.get(pages.push("Heights training"))
    assert page.status == 200
    assert "Heights training" in page.text
    assert "shown" in page.text or "no cells" in page.text


def test_a_failed_session_says_why(tmp_path: Path) -> None:
    def script(order: SessionOrder) -> None:
        raise ScriptFailure("KeyError: 'height'")

    pages = Browsing(tmp_path, ScriptedRunner(script))
    page = pages.get(pages.push("Heights training"))
    assert "This session failed. KeyError: 'height'" in page.text
    assert "Submit" not in page.links


def test_outputs_are_listed_previewed_and_downloaded(tmp_path: Path) -> None:
    files = {"submission.csv": "id,height\np1,180\n", "models/fold 0.h5": b"\x00\x01", "notes.txt": "fine <b>"}
    pages = Browsing(tmp_path, ScriptedRunner(writing(files)))
    address = pages.push("Heights inference")
    listing = pages.get(f"{address}/output")
    table = pages.get(same_site(listing, listing.links["submission.csv"]) or "")
    text = pages.get(same_site(listing, listing.links["notes.txt"]) or "")
    binary = pages.get(same_site(listing, listing.links["models/fold 0.h5"]) or "")
    downloads = [same_site(listing, each["href"]) or "" for each in listing.elements("a") if "download" in each]
    bodies = [pages.get(each).body for each in downloads]
    archive = pages.get(f"{address}/output.zip")
    missing = pages.get(f"{address}/output/../../kaggle.sqlite")
    assert [each["scope"] for each in table.elements("th")][-2:] == ["col", "col"]
    assert "p1 180" in table.text
    assert "fine <b>" in text.text
    assert "no preview" in binary.text
    assert bodies == [b"\x00\x01", b"fine <b>", b"id,height\np1,180\n"]
    assert archive.body.startswith(b"PK")
    assert missing.status == 404


def test_tables_of_every_format_are_previewed(tmp_path: Path) -> None:
    stream = io.BytesIO()
    pandas.DataFrame({"id": ["p1"], "height": [180]}).to_parquet(stream)
    text = "id,height\np1,180\n"
    files: dict[str, str | bytes] = {
        "a.parquet": stream.getvalue(),
        "b.csv.gz": gzip.compress(text.encode()),
        "c.csv": text.replace(",", ";"),
        "d.parquet": b"PAR1 and no more",
        "e.csv.gz": b"not packed",
    }
    pages = Browsing(tmp_path, ScriptedRunner(writing(files)))
    address = pages.push("Heights inference")
    listing = pages.get(f"{address}/output")
    shown = [pages.get(same_site(listing, listing.links[name]) or "").text for name in files]

    assert ["p1 180" in each for each in shown] == [True, True, True, False, False]
    assert ["no preview" in each for each in shown] == [False, False, False, True, True]


@pytest.mark.slow
def test_versions_stay_open_to_be_read(pages: Browsing) -> None:
    pages.push("Heights training", "print('first')")
    address = pages.push("Heights training", "print('second')")

    versions = pages.get(f"{address}/versions")
    first = pages.get(same_site(versions, versions.links["Version 1"]) or "")

    assert "first" in first.text
    assert "second" not in first.text
    assert "version 1 of 2" in first.text
    assert pages.get(f"{address}?version=3").status == 404


@pytest.mark.slow
def test_a_new_notebook_is_written_saved_and_run(pages: Browsing) -> None:
    form = pages.get("/code/new?competition=toy-heights").fields
    assert form["competitions"] == "toy-heights"

    page = pages.follow(
        pages.post("/code/new", {**form, "title": "My heights", "cell-0": "x = 1\r\ny = 2", "then": "run"})
    )

    assert "My heights" in page.text
    assert "Complete" in page.text
    cells, metadata = saved(pages, "my-heights")
    assert [cell["source"] for cell in cells] == ["x = 1\ny = 2"]
    assert metadata["competitionDataSources"] == ["toy-heights"]


def test_what_was_typed_is_kept_when_a_notebook_cannot_be_saved(pages: Browsing) -> None:
    form = {**pages.get("/code/new").fields, "title": "Four", "cell-0": "\n\nprecious = '</textarea>'", "then": "run"}

    page = pages.post("/code/new", form)

    assert page.status == 422
    assert "A title has 5 to 50 characters; this one has 4." in page.text
    assert page.fields["cell-0"].endswith("precious = '</textarea>'")


def test_inputs_that_do_not_exist_are_named(pages: Browsing) -> None:
    form = {**pages.get("/code/new").fields, "title": "My heights", "competitions": "toy-heights, nowhere"}

    page = pages.post("/code/new", form)

    assert "Saved as version 1, without all of its inputs" in page.text
    assert "There is no such input here: nowhere." in page.text


def test_editing_makes_the_next_version(pages: Browsing) -> None:
    address = pages.push("Heights training", "keep = 1", "drop = 1", **TOY)
    form = pages.get(f"{address}/edit").fields

    pages.follow(
        pages.post(f"{address}/edit?version=1", {**form, "cell-1": " ", "added-markdown": "# End", "then": "save"})
    )

    cells, metadata = saved(pages, "heights-training")
    assert [(cell["cell_type"], cell["source"]) for cell in cells] == [("code", "keep = 1"), ("markdown", "# End")]
    assert len({cell["id"] for cell in cells}) == 2
    assert metadata["currentVersionNumber"] == 2
    assert "Saved" in pages.get(address).text


def test_cells_that_are_added_again_and_again_keep_ids_of_their_own(pages: Browsing) -> None:
    address = pages.push("Heights training", "a = 1")
    for text in ("b = 1", "c = 1"):
        form = pages.get(f"{address}/edit").fields
        # Each time the first cell goes, so that their number stays.
        pages.post(f"{address}/edit", {**form, "cell-0": "", "added-code": text, "added-markdown": text})

    cells, _ = saved(pages, "heights-training")
    assert [cell["source"] for cell in cells] == ["b = 1", "c = 1", "c = 1"]
    assert len({cell["id"] for cell in cells}) == 3


def test_a_notebook_whose_ids_are_no_texts_can_be_edited(pages: Browsing) -> None:
    cell = {"cell_type": "code", "id": [], "metadata": {}, "outputs": [], "execution_count": None, "source": "a = 1"}
    address = pages.push("Heights training", text=json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5}))
    form = pages.get(f"{address}/edit").fields

    page = pages.post(f"{address}/edit", {**form, "added-code": "b = 1", "then": "save"})

    assert page.status == 303
    assert pages.get(f"{address}/edit").fields["cell-1"] == "b = 1"


@pytest.mark.slow
def test_a_fork_is_a_notebook_of_its_own(pages: Browsing) -> None:
    address = pages.push("Heights training", "height = 1", **TOY)
    form = pages.get(f"{address}/copy").fields
    assert form["title"] == "Heights training copy"

    page = pages.follow(pages.post(f"{address}/copy?version=1", {**form, "cell-0": "height = 2"}))

    assert page.address == "/code/local/heights-training-copy"
    assert "height = 1" in pages.get(f"{address}/edit").fields["cell-0"]
    assert pages.get(f"{address}/copy").fields["title"] == "Heights training copy 2"
    taken = pages.post(f"{address}/copy?version=1", {**form, "cell-0": "height = 3"})
    assert "You have a notebook of this title already." in taken.text


@pytest.mark.slow
def test_notebooks_of_others_can_be_copied_if_public_and_not_edited(pages: Browsing) -> None:
    pages.kaggle.accounts.token("other")
    public = pages.push("Public heights", "p = 1", caller="other", isPrivate=False)
    private = pages.push("Private heights", caller="other", isPrivate=True)

    assert "Edit" not in pages.get(public).links
    assert pages.get(f"{public}/edit").status == 403
    assert pages.post(f"{public}/delete", {}).status in (403, 404)
    assert pages.get(private).status == 404
    assert "Private heights" not in pages.get("/code").text
    copied = pages.follow(pages.post(f"{public}/copy?version=1", pages.get(f"{public}/copy").fields))
    assert copied.address == "/code/local/public-heights-copy"


def test_a_version_is_submitted_and_its_score_stands_on_the_leaderboard(pages: Browsing) -> None:
    address = pages.push("Heights inference", **TOY)
    form = pages.get(f"{address}/submit").fields
    assert (form["competition"], form["file"]) == ("toy-heights", "submission.csv")

    sent = pages.post(f"{address}/submit?version=1", form)

    assert sent.headers["location"] == "/competitions/toy-heights/submissions"
    page = scored(pages)
    assert "Heights inference, version 1" in page.links
    assert "2.00000" in page.text
    assert "1 submitted today, 4 left." in page.text
    leaderboard = pages.get("/competitions/toy-heights/leaderboard")
    assert "1 local you 2.00000" in leaderboard.text
    assert "Toy heights" in pages.get("/submissions").links


def test_a_refused_submission_says_what_the_api_says(pages: Browsing) -> None:
    address = pages.push("Heights inference", enableInternet=True, **TOY)

    page = pages.post(f"{address}/submit", {"competition": "toy-heights", "file": "submission.csv"})

    assert page.status == 422
    assert "Your Notebook cannot use internet access in this competition." in page.text


def test_a_file_is_submitted_where_the_competition_takes_files(tmp_path: Path) -> None:
    pages = Browsing(tmp_path, is_code=False)
    address = "/competitions/toy-heights/submit"
    assert pages.get(address).elements("form")[0]["enctype"] == "multipart/form-data"
    content = submission_text(off_by=3).encode()

    nothing = pages.send(address, {"description": "by hand"}, file=("", b""))
    pages.follow(pages.send(address, {"description": "by hand"}, file=("C:\\mine.csv", content)))

    page = scored(pages)
    assert nothing.status == 422
    assert "Choose a file first." in nothing.text
    assert "by hand" in page.text
    assert "mine.csv" in page.text
    assert "3.00000" in page.text


def test_a_code_competition_takes_no_files(pages: Browsing) -> None:
    address = "/competitions/toy-heights/submit"

    refused = pages.send(address, {}, file=("submission.csv", b"id,height\n"))

    assert not pages.get(address).elements("form")
    assert refused.status == 422
    assert "only accepts Submissions from Notebooks" in refused.text


@pytest.mark.parametrize("position", ["1000", "9" * 15, "9" * 5_000])
def test_a_log_has_no_news_beyond_its_end(pages: Browsing, position: str) -> None:
    address = pages.push("Heights training")

    news = pages.get(f"{address}/log.json?from={position}")

    assert (news.status, json.loads(news.body)["text"]) == (200, "")


@pytest.mark.slow
def test_of_a_long_log_the_end_is_shown_and_all_of_it_downloaded(tmp_path: Path) -> None:
    def script(order: SessionOrder) -> None:
        events = [json.dumps({"stream_name": "stdout", "time": n, "data": f"step {n}\n"}) for n in range(60_000)]
        order.files.log.write_text("\n".join(events) + "\n")

    pages = Browsing(tmp_path, ScriptedRunner(script))
    address = pages.push("Heights training")
    page, whole = pages.get(f"{address}/log"), pages.get(f"{address}/log.txt").body.decode()
    assert "Only the end is shown" in page.text
    assert "step 59999" in page.text
    assert "step 1 " not in page.text
    assert len(page.text) < 200_000
    assert whole.startswith("step 0\nstep 1\n")


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"title=%ff", FORM, 400),
        (b"&".join(b"f%d=" % n for n in range(3_000)), FORM, 400),
        (b"--XX\r\n\r\n", "multipart/form-data; boundary=XX", 400),
        (b"no boundary at all", "multipart/form-data; boundary=XX", 400),
        (b'--XX\r\nContent-Disposition: form-data; name="title"\r\n\r\nHalf', "multipart/form-data; boundary=XX", 400),
        (b"--XX--", "multipart/form-data", 415),
        (b"{}", "application/json", 415),
        (b"", "", 415),
    ],
)
def test_what_is_no_form_is_refused(pages: Browsing, body: bytes, content_type: str, status: int) -> None:
    assert pages.request("POST", "/code/new", body, content_type=content_type).status == status


def test_a_deleted_notebook_is_gone(pages: Browsing) -> None:
    address = pages.push("Heights training")
    assert "Delete “Heights training”?" in pages.get(f"{address}/delete").text

    pages.follow(pages.post(f"{address}/delete", {}))

    assert pages.get(address).status == 404


def test_data_are_shown_one_folder_at_a_time(tmp_path: Path) -> None:
    pages = Browsing(tmp_path)
    (tmp_path / "toy" / "data" / "scans" / "deep").mkdir(parents=True)
    for number in range(3):
        (tmp_path / "toy" / "data" / "scans" / "deep" / f"{number}.txt").write_text("12345")
    top = pages.get("/competitions/toy-heights/data")
    middle = pages.get(same_site(top, top.links["scans/"]) or "")
    inner = pages.get(same_site(middle, middle.links["deep/"]) or "")
    missing = pages.get("/competitions/toy-heights/data?folder=nowhere/")
    assert "scans/ 3 files 15 B" in top.text
    assert "0.txt 5 B" in inner.text
    assert same_site(inner, inner.links["Up"]) == "/competitions/toy-heights/data?folder=scans/"
    assert missing.status == 404


@pytest.mark.parametrize(
    "address", ["/nothing", "/code/local/nothing", "/competitions/nothing", "/datasets/a/b", "/static/0/x"]
)
def test_what_is_not_there_gets_a_page_that_says_so(pages: Browsing, address: str) -> None:
    page = pages.get(address)

    assert page.status == 404
    assert page.links["Go to the first page"] == "/"


@pytest.mark.slow
def test_addresses_are_taken_only_as_they_are_meant(pages: Browsing) -> None:
    assert pages.post("/competitions", {"a": "b"}).status == 405
    address = pages.push("Heights training")
    huge = {"title": "x" * (LARGEST_FORM + 1)}
    assert pages.post(f"{address}/edit", huge).status == 413


@pytest.mark.parametrize("ground", ["ground", "raised", "hover"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast_in_both_colour_schemes(scheme: str, ground: str) -> None:
    sheet = static_files()["pages.css"].body.decode()
    light, dark = (dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", part)) for part in sheet.split("\n}", 3)[:2])
    colours = {**light, **(dark if scheme == "dark" else {})}

    pairs = [(colours[name], colours[ground]) for name in ("ink", "soft", "accent", "good", "bad")]
    pairs += [(colours[name], colours[f"{name}-ground"]) for name in ("good", "bad", "mark")]
    pairs += [(colours["on-accent"], colours["accent"]), (colours["accent"], colours["tint"])]

    assert len(dark) > 10
    assert min(contrast(*pair) for pair in pairs) >= 4.5, [(pair, contrast(*pair)) for pair in pairs]


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.2 between two colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def test_browsers_keep_the_style_sheet_until_it_changes(pages: Browsing) -> None:
    sheet = next(each["href"] for each in pages.get("/").elements("link") if each["rel"] == "stylesheet")

    answer = pages.get(sheet)

    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/css")
    assert b".code .k" in answer.body
    assert pages.get(sheet.replace(sheet.split("/")[2], "0" * 12)).status == 404


def test_datasets_and_models_are_listed_with_their_files(pages: Browsing) -> None:
    mine = {"ownerSlug": ME, "isPrivate": True}
    made = pages.ask(
        "CreateDataset", **mine, slug="my-heights", title="My heights", **pages.files({"train.csv": b"id\n1\n"})
    )
    assert not made["error"], made
    pages.ask("CreateModel", **mine, slug="my-model", title="My model")
    variation = {"instanceSlug": "main", "framework": "MODEL_FRAMEWORK_KERAS", **pages.files({"w.h5": b"12"})}
    pages.ask("CreateModelInstance", ownerSlug=ME, modelSlug="my-model", body={"licenseName": "MIT", **variation})
    dataset, model = pages.get("/datasets/local/my-heights"), pages.get("/models/local/my-model")
    assert pages.get("/datasets").links["My heights"] == "/datasets/local/my-heights"
    assert pages.get("/models").links["My model"] == "/models/local/my-model"
    assert pages.get("/models/local/my-model/keras/main").status == 200
    assert pages.get(dataset.links["Download"]).headers["location"].endswith(".zip")
    assert pages.get(model.links["Download"]).headers["location"].endswith(".tar.gz")
    assert pages.kaggle.site.account == ME
    assert "train.csv 5 B" in dataset.text
    assert "keras / main" in model.text
    assert "w.h5 2 B" in model.text
