"""How much longer a chain takes than the sessions that it waits for, on a local Kaggle."""

import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY / "tests" / folder) for folder in ("", "kaggle", "localkaggle")]
SESSION_SECONDS = 1.0 if "--quick" in sys.argv else 8.0
SESSIONS = 3  # training, inference, and inference again on the hidden test
LIMIT_SECONDS = 5.0


def main() -> None:
    """Carries a pair whose sessions take a known time."""
    from chain_pair import pair_in, training_output
    from fault_cells import SAMPLE, competition
    from scripted import ScriptedRunner, writing
    from serving import served

    from generator.kaggle.chain.chain import push_pair
    from generator.kaggle.chain.execution import LOCAL_POLLING, PushOptions, RunContext
    from generator.kaggle.credentials import AccessToken
    from generator.kaggle.gateway import Kaggle
    from generator.pair.workspace import Workspace
    from generator.sessions.sandbox import SessionOrder

    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        outputs = training_output(pair_in(root, slug="cells-code", name="cells"))

        def script(order: SessionOrder) -> None:
            time.sleep(SESSION_SECONDS)
            writing(outputs if "-train" in order.title else {"submission.csv": SAMPLE})(order)

        hosted = competition(root / "hosted", "cells-code", is_code=True)
        with served(root / "kaggle", competitions=[hosted], runner=ScriptedRunner(script)) as kaggle:
            gateway = Kaggle(kaggle.address, AccessToken(kaggle.token, source="the benchmark"), is_local=True)
            began, cpu = time.perf_counter(), time.process_time()
            request = PushOptions(Workspace(root), "cells", submit=True)
            push_pair(gateway, request, RunContext(polling=LOCAL_POLLING))
            took, cpu = time.perf_counter() - began, time.process_time() - cpu

    overhead = took - SESSIONS * SESSION_SECONDS
    print(
        f"{SESSIONS} sessions of {SESSION_SECONDS:.0f} s: {took:.1f} s, {overhead:.1f} s beside them; CPU {cpu:.1f} s"
    )
    assert overhead < LIMIT_SECONDS, f"more than {LIMIT_SECONDS:.0f} s"


if __name__ == "__main__":
    main()
