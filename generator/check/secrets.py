"""What looks like a key or a token in a text: for the check of a notebook, and for the guard of whatever is sent."""

import re
from collections.abc import Iterator

_FEWEST = 8  # different characters of a secret
_WORDS = ("example", "your", "xxxx", "placeholder", "changeme", "replace", "insert", "dummy", "redacted", "secret_here")
# What has none of these texts in it has none of a kind: that is found out a hundred times as fast as by the pattern.
_SIGNS = {
    "a private key": ("PRIVATE KEY-----",),
    "a token of Kaggle": ("KGAT_",),
    "a key of Kaggle": ("username",),
    "a token of GitHub": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "a token of Hugging Face": ("hf_",),
    "a key of Amazon Web Services": ("AKIA",),
    "a key of Google": ("AIza",),
    "a key of a language model's service": ("sk-proj-", "sk-ant-"),
    "a key of Weights & Biases": ("wandb", "WANDB_API_KEY"),
    "a password in an address": ("http://", "https://"),
    "a token of Slack": ("xox",),
}
_PATTERNS = {
    "a private key": re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
    "a token of Kaggle": re.compile(r"\bKGAT_[A-Za-z0-9_-]{16,}"),
    # Beside the user's name, as in kaggle.json; many a table has a column "key" of hashes.
    "a key of Kaggle": re.compile(
        r'\\?"username\\?"\s*:[^{}]{1,200}?\\?"key\\?"\s*:\s*\\?"[0-9a-f]{32}\\?"'
        r'|\\?"key\\?"\s*:\s*\\?"[0-9a-f]{32}\\?"[^{}]{1,50}?\\?"username\\?"\s*:'
    ),
    "a token of GitHub": re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{40,}\b"),
    "a token of Hugging Face": re.compile(r"\bhf_[A-Za-z0-9]{30,}\b"),
    "a key of Amazon Web Services": re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    "a key of Google": re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b"),
    "a key of a language model's service": re.compile(r"\bsk-(?:proj-|ant-)[A-Za-z0-9_-]{32,}"),
    "a key of Weights & Biases": re.compile(
        r"\bwandb\b[^\n]{0,60}?\b[0-9a-f]{40}\b|WANDB_API_KEY\W{1,8}[0-9a-f]{40}\b"
    ),
    "a password in an address": re.compile(r"https?://[^/\s:@'\"]{1,100}:(?=[^@\s]*\d)[^/\s:@'\"{}$<>]{16,200}@"),
    "a token of Slack": re.compile(r"\bxox[abprs]-[0-9A-Za-z-]{20,}"),
}


def secrets_in(text: str) -> Iterator[tuple[str, int]]:
    """What a text holds that looks like a secret, and at which character; the secret itself is not told."""
    for what, pattern in _PATTERNS.items():
        for found in pattern.finditer(text) if any(sign in text for sign in _SIGNS[what]) else ():
            if what == "a private key" or not is_placeholder(found.group()):
                yield what, found.start()


def is_placeholder(text: str) -> bool:
    """True for what stands in the place of a secret: of few letters, or in words."""
    lower = text.lower()
    if any(word in lower for word in _WORDS):
        return True
    body = re.sub(r"^[a-z]{2,}[_-]", "", lower)
    return len(set(body)) < _FEWEST
