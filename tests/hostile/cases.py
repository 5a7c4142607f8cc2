"""How many cases the fuzzers try: fifty in the gate, always the same; as many others as FUZZ_CASES says."""

import os

from hypothesis import HealthCheck, settings

_MORE = int(os.environ.get("FUZZ_CASES", "0"))
CASES = settings(
    max_examples=_MORE or 50,
    derandomize=not _MORE,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
FEW_CASES = settings(CASES, max_examples=CASES.max_examples // 5)
