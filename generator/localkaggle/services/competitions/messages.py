"""The sentences of Kaggle for a submission that it does not take, or cannot score."""

from datetime import datetime, timedelta

from generator.localkaggle.rpc import ApiError

# What is answered: the status and the sentence.
NOT_FOUND = 404, "Competition not found"
ONLY_NOTEBOOKS = 400, "Submission not allowed: This competition only accepts Submissions from Notebooks."
FORBIDDEN = 403, "Permission 'competitions.submit' was denied"
USES_INTERNET = (
    400,
    (
        "Your Notebook cannot use internet access in this competition. Please disable internet in the Notebook editor "
        "and save a new version."
    ),
)
USES_TPU = (
    400,
    (
        "Your Notebook cannot use TPUs in this competition. Please choose another accelerator in the Notebook editor "
        "and save a new version."
    ),
)
NO_KERNEL_VERSION = 404, "Notebook version not found, or it has not run successfully."
NO_OUTPUT_FILE = 400, "The output file was not found in this Notebook version. Save a version that writes it."
RULES = 403, "You must accept this competition's rules before you'll be able to download files."
SUBMIT_RULES = 403, "You must accept this competition's rules before you can submit."

# What a submission ends with in place of a score.
_TIMEOUT = "Notebook Timeout: Your notebook hit the maximum allotted time for this type of competition."
_COMPUTE = "Notebook Exceeded Allowed Compute: Your notebook hit the maximum allotted compute, such as memory or disk."
_THREW = (
    "Notebook Threw Exception: While rerunning your code, your notebook encountered an unhandled error. Note that the "
    "hidden dataset can be larger/smaller/different than the public dataset."
)
CUT_OFF = "Kaggle Error: Something went wrong on our end. Please try again."
NO_ROOM = "Kaggle Error: There is no room for the submission on the disk of this server."
# By words of the failures that sessions end with; anything else is of the notebook's own doing.
_FAILURES = (
    (("execution duration", "time limit", "timeout"), _TIMEOUT),
    (("allowed compute", "memory"), _COMPUTE),
    (("server was stopped", "was deleted", "kaggle error"), CUT_OFF),
)
FILE_NOT_FOUND = (
    "Submission CSV Not Found: Your notebook did not output the expected submission file when it was run again."
)
TOO_LARGE = "Submission Scoring Error: The submission file is too large."
INCORRECT_FORMAT = (
    "Submission Scoring Error: Your notebook generated a submission file with incorrect format. Some examples causing "
    "this are: wrong number of rows or columns, empty values, an incorrect data type for a value, or invalid "
    "submission values from what is expected."
)
SCORING_FAILED = "Submission Scoring Error: Something went wrong while your submission was scored. Please try again."


def limit_reached(limit: int, now: datetime) -> ApiError:
    """The day's submissions are used up."""
    tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    hours = (tomorrow - now).total_seconds() / 3600
    return ApiError(
        400,
        f"Submission not allowed: Your team has used its daily Submission allowance ({limit}) today, please try again "
        f"tomorrow UTC ({hours:.1f} hours from now).",
    )


def not_scored(problem: str) -> str:
    """A file that is not in the form asked for."""
    return f"Evaluation Exception: {problem}"


def rerun_failed(failure: str) -> str:
    """A notebook that did not end well on the hidden test, by the words of the session."""
    lower = failure.lower()
    return next((said for words, said in _FAILURES if any(word in lower for word in words)), _THREW)
