"""The pages of a competition that the kit itself hosts, as Kaggle's pages word such things."""

import re

from generator.competition.facts import Competition, SubmissionKind, Task
from generator.competition.metrics import parsed
from generator.localkaggle.hosting.hosted import HostedPage, Question
from generator.untrusted import markdown, markdown_code

_PLACEHOLDER = re.compile(r"\{(?:K|Beta)\}")
_ROWS = {
    SubmissionKind.NUMBERS: "a number",
    SubmissionKind.PROBABILITY: "the probability of the class 1",
    SubmissionKind.CLASS_COLUMNS: "a probability for each class",
    SubmissionKind.LABEL: "the label",
    SubmissionKind.TOP_K: "the likeliest labels, separated by spaces",
    SubmissionKind.LABEL_SET: "all labels that apply, separated by spaces",
    SubmissionKind.RUN_LENGTH: "the mask as a run-length code",
    SubmissionKind.KEYED_ROWS: "a number",
}


def metric_wording(metric: str) -> str:
    """Kaggle's name of a metric: "Categorization Accuracy", "MAP@5"."""
    facts, parameter = parsed(metric)
    return _PLACEHOLDER.sub(f"{parameter:g}" if parameter is not None else "", facts.names[0])


def built_in_pages(competition: Competition, task: Task, question: Question) -> tuple[HostedPage, ...]:
    """The pages of a built-in competition."""
    about = f"{markdown(competition.title)}: real data that need no account, and answers that stay hidden.\n"
    pages = [
        HostedPage("description", "Description", about),
        evaluation_page(question),
        HostedPage("data-description", "Dataset Description", _data(task, is_code=competition.is_code_competition)),
        HostedPage(
            "rules", "Rules", "This competition is hosted on your own machine, for practice. There are no prizes.\n"
        ),
    ]
    if competition.is_code_competition:
        pages.append(code_requirements_page(task.submission_file, allows_internet=False))
    return tuple(pages)


def evaluation_page(question: Question) -> HostedPage:
    """The page on the scoring of submissions and on their form."""
    facts, _ = parsed(question.metric)
    better = "Higher is better." if facts.higher_is_better else "Lower is better."
    name = metric_wording(question.metric)
    named = f"**{facts.title}**" if name.lower() == facts.title.lower() else f"**{facts.title}** ({markdown(name)})"
    # Indented, not fenced: column names are a host's, and may have what ends a fence.
    content = (
        f"Submissions are evaluated on the {named} between what you predict and what is true. {better}\n\n"
        f"## Submission File\n\nFor each {markdown_code(question.columns[0])} in the test set, you must predict "
        f"{_ROWS[question.submission]}. The file should contain a header and have the following format:\n\n"
        f"    {' '.join(','.join(question.header or question.columns).split())}\n"
    )
    return HostedPage("evaluation", "Evaluation", content)


def code_requirements_page(submission_file: str, *, allows_internet: bool) -> HostedPage:
    """The page on the demands of a code competition, in Kaggle's usual words."""
    content = (
        "## This is a Code Competition\n\n"
        'Submissions to this competition must be made through Notebooks. In order for the "Submit" button to be '
        "active after a commit, the following conditions must be met:\n\n"
        "* CPU Notebook <= 9 hours run-time\n"
        "* GPU Notebook <= 9 hours run-time\n"
        f"* Internet access {'enabled' if allows_internet else 'disabled'}\n"
        "* Freely & publicly available external data is allowed, including pre-trained models\n"
        f"* Submission file must be named {markdown_code(submission_file)}\n\n"
        "TPUs will not be available for making submissions. You are still welcome to use them for training: train on "
        "TPUs and run inference and submit on GPUs.\n"
    )
    return HostedPage("code-requirements", "Code Requirements", content)


def _data(task: Task, *, is_code: bool) -> str:
    files = [
        (task.train_table, "the training set, with the answers"),
        (task.labels_table, "the answers of the training set"),
        (task.test_table, "the test set"),
        (str(task.details.get("train_folder") or ""), "the files of the training set"),
        (str(task.details.get("test_folder") or ""), "the files of the test set"),
        (task.sample_submission, "a sample submission in the correct format"),
    ]
    lines = [f"* {markdown_code(name)}: {what}" for name, what in files if name]
    if is_code:
        lines.append("\nOnly the first examples of the test set are here. When your notebook is scored, all are.")
    return "\n".join(("## Files", "", *lines, ""))
