"""The pages in a real browser: from a new notebook to a score, by clicks alone."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted import ScriptedRunner, writing
from serving import Served, served
from toy import submission_text, toy_competition

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
SECONDS = 20

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs Chromium and its driver (Debian: chromium-driver)"),
]


class Browser:
    """A headless Chromium that reaches nothing but this machine."""

    def __init__(self, profile: Path, *, width: int) -> None:
        from selenium.webdriver import Chrome, ChromeOptions
        from selenium.webdriver.chrome.service import Service

        options = ChromeOptions()
        options.binary_location = str(BROWSER)
        nowhere = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE *.localhost"
        for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server", nowhere):
            options.add_argument(argument)
        options.add_argument(f"--user-data-dir={profile}")
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")  # Chromium's own refuses to start for root
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = Chrome(options=options, service=Service(str(DRIVER)))
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def open(self, address: str) -> None:
        self.driver.get(address)

    def see(self, text: str) -> None:
        """Waits until the page shows a text; it may load itself anew meanwhile."""
        from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(
            self.driver,
            SECONDS,
            poll_frequency=0.1,
            ignored_exceptions=[StaleElementReferenceException, WebDriverException],
        )
        wait.until(lambda driver: text in driver.find_element("tag name", "body").text, f"{text!r} is not to be seen")

    def click(self, text: str) -> None:
        """Presses the button, or follows the link, with this text."""
        from selenium.webdriver.support.ui import WebDriverWait

        path = f"//main//*[self::a or self::button][normalize-space()='{text}'] | //nav//a[normalize-space()='{text}']"
        element = WebDriverWait(self.driver, SECONDS).until(lambda driver: driver.find_element("xpath", path))
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center', inline: 'center'})", element)
        element.click()

    def type(self, label: str, text: str) -> None:
        """Writes into the field with this label."""
        target = self.driver.find_element("xpath", f"//label[normalize-space()='{label}']").get_attribute("for")
        field = self.driver.find_element("id", target)
        field.clear()
        field.send_keys(text)

    def is_wider_than_its_window(self) -> bool:
        return bool(self.driver.execute_script("return document.documentElement.scrollWidth > innerWidth"))

    def complaints(self) -> list[str]:
        return [str(entry["message"]) for entry in self.driver.get_log("browser")]


@pytest.fixture
def runner() -> ScriptedRunner:
    """Sessions wait until the test lets them go on, and then write a submission that is off by 2."""
    return ScriptedRunner(writing({"submission.csv": submission_text(off_by=2)}), held=True)


@pytest.fixture
def kaggle(tmp_path: Path, runner: ScriptedRunner) -> Iterator[Served]:
    """A local Kaggle with the competition `toy-heights`."""
    with served(tmp_path / "kaggle", runner=runner, competitions=[toy_competition(tmp_path / "toy")]) as running:
        yield running


@pytest.mark.parametrize("width", [1280, 390])
def test_from_a_new_notebook_to_a_score_by_clicks(
    kaggle: Served, runner: ScriptedRunner, tmp_path: Path, width: int
) -> None:
    browser = Browser(tmp_path / "profile", width=width)
    try:
        browser.open(f"{kaggle.address}/?token={kaggle.token}")
        browser.see("Welcome, local")
        assert kaggle.token not in browser.driver.current_url

        browser.click("Toy heights")
        browser.click("New notebook")
        browser.type("Title", "My heights")
        browser.click("Save & Run All")
        browser.see("Running")
        browser.see("local/my-heights version 1 begins")
        runner.release()
        browser.see("Complete")
        browser.see("from pathlib import Path")

        browser.click("Copy & Edit")
        browser.type("Title", "My taller heights")
        browser.type("one more cell code", "height = height + 1")
        browser.click("Save & Run All")
        browser.see("Complete")
        browser.see("height = height + 1")
        browser.click("Output 1")
        browser.click("submission.csv")
        browser.see("p00")

        browser.click("Submit")
        browser.see("Toy heights (5 left today)")
        browser.click("Submit")
        browser.see("My taller heights, version 1")
        browser.see("Scored")
        browser.see("2.00000")
        browser.click("Leaderboard")
        browser.see("local you")

        assert not browser.is_wider_than_its_window()
        assert not browser.complaints()
    finally:
        browser.driver.quit()


def test_without_scripts_a_page_follows_its_session_by_loading_itself_anew(
    kaggle: Served, runner: ScriptedRunner, tmp_path: Path
) -> None:
    browser = Browser(tmp_path / "profile", width=1280)
    try:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        browser.open(f"{kaggle.address}/?token={kaggle.token}")
        browser.click("Code")
        browser.click("New notebook")
        browser.type("Title", "My heights")
        browser.click("Save & Run All")
        browser.see("local/my-heights version 1 begins")
        runner.release()
        browser.see("Complete")
    finally:
        browser.driver.quit()
