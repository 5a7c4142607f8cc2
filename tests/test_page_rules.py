"""What the pages of a competition demand of a submitted notebook is read from the words that hosts use."""

import time

import pytest

from generator.competition.facts import evaluation_text, plain_text, read_rules

CODE_REQUIREMENTS = """## This is a Code Competition
Submissions to this competition must be made through Notebooks. In order for the "Submit" button to be active after a
commit, the following conditions must be met:
* CPU Notebook &lt;= 9 hours run-time
* GPU Notebook <= 8.5 hours run-time
* Internet access disabled
* Freely & publicly available external data is allowed, including pre-trained models
* Submission file must be named `submission.csv`
* Submission runtimes have been slightly obfuscated: you will see up to 5 minutes of variance.

Please see the [Code Competition FAQ](https://www.kaggle.com/docs/competitions#notebooks-only-FAQ).
TPUs will not be available for making submissions to this competition.
"""


def hours_in(text: str, page: str = "evaluation") -> dict[str, float]:
    return {device: float(rule.value) for device, rule in read_rules({page: text}).hours.items()}


def test_the_usual_code_requirements_are_understood_with_their_words() -> None:
    rules = read_rules({"rules": "Run on a CPU in 3 hours.", "code-requirements": CODE_REQUIREMENTS})

    assert {device: rule.value for device, rule in rules.hours.items()} == {"cpu": "9", "gpu": "8.5"}
    assert rules.file_name is not None
    assert rules.file_name.value == "submission.csv"
    assert rules.internet is not None
    assert rules.internet.value == "off"
    assert rules.hours["gpu"].evidence == 'the page "code-requirements" says "GPU Notebook <= 8.5 hours run-time"'


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("<li>CPU Notebooks &le; 12 hours run-time</li><li>GPU Notebooks &le; 5 hours</li>", {"cpu": 12, "gpu": 5}),
        ("CPU Notebook <= 9 hours run-time, GPU Notebook <= 5 hours run-time", {"cpu": 9, "gpu": 5}),
        ("Your notebook must run in less than five hours on CPU or GPU.", {"cpu": 5, "gpu": 5}),
        ("Run time limit: 30 minutes", {"cpu": 0.5, "gpu": 0.5, "tpu": 0.5}),
        ("TPU Notebook <= 2 hours run-time. GPU Notebook <= 9 hours run-time", {"gpu": 9, "tpu": 2}),
        ("The gateway will run in at most 1.5 h on a GPU", {"gpu": 1.5}),
        ("GPU Notebooks <= 9 hours run-time\n\nIn the second phase: GPU Notebooks <= 4 hours run-time", {"gpu": 4}),
    ],
)
def test_limits_are_understood_in_the_words_that_hosts_use(text: str, hours: dict[str, float]) -> None:
    assert hours_in(text) == hours


@pytest.mark.parametrize(
    "text",
    [
        "You may make 5 submissions in 24 hours, and run as many notebooks as you like each day.",
        "Your inference server must be running within 15 minutes.",
        "Training took us 40 hours on a GPU.",
        "Everybody has 30 hours of GPU quota in a week.",
        "Notebooks run on GPUs. Prices change within 2 hours.",
        "Submissions are scored by AUC.",
    ],
)
def test_hours_of_other_things_are_no_limit(text: str) -> None:
    assert hours_in(text) == {}


def test_the_page_on_code_requirements_counts_before_any_other() -> None:
    pages = {"description": "CPU Notebook <= 3 hours", "Code Requirements": "CPU Notebook <= 9 hours"}

    assert read_rules(pages).hours["cpu"].value == "9"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Submission file must be named <code>my_submission.parquet</code>", "my_submission.parquet"),
        ("The file is called **submission.json**.", "submission.json"),
        (r"It must be named sub\_mission.csv", "sub_mission.csv"),
        ("The file must be named submission.csv.gz.", "submission.csv.gz"),
        ("see sample_submission.csv for the format", None),
        ("a file named ../../x.csv", None),
    ],
)
def test_the_name_of_the_file_is_found_where_it_is_demanded(text: str, name: str | None) -> None:
    found = read_rules({"evaluation": text}).file_name

    assert (found and found.value) == name


@pytest.mark.parametrize(
    ("text", "internet"),
    [
        ("Internet access disabled", "off"),
        ("Internet access must not be enabled", "off"),
        ("You must turn off the internet", "off"),
        ("Internet access is allowed", "on"),
        ("The internet is a strange place", None),
    ],
)
def test_the_internet_rule_is_understood(text: str, internet: str | None) -> None:
    found = read_rules({"code": text}).internet

    assert (found and found.value) == internet


def test_pages_become_plain_text_without_tags_scripts_and_links() -> None:
    page = "<h2>Evaluation</h2><script>x < 1</script><p>Scored by <b>AUC</b>, see [this](http://x.y).</p>1 &lt; 2 <3"

    assert plain_text(page) == "Evaluation\nScored by AUC, see this.\n1 < 2 <3"
    assert evaluation_text({"Evaluation": page}).startswith("Evaluation\nScored")


@pytest.mark.parametrize(
    "piece", ["<", "<a ", "[](", "run 9 hours gpu ", "<!--", "named named ", "* ", "<script>", "1.1."]
)
def test_a_hostile_page_takes_no_time(piece: str) -> None:
    start = time.monotonic()
    read_rules({"evaluation": piece * (300_000 // len(piece))})

    assert time.monotonic() - start < 2
