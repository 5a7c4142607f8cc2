"""Programs that run on the machine at Colab. Each is sent as text with a call of its `main`, and prints one line.

    prepare    starts a watchdog that releases the machine after a lost connection, and inspects the machine
    unpack     joins the chunks that were sent, and writes the files
    pack       splits files into chunks, there for fetching and here for sending

They import no module of the kit, which is not installed there. `generator.colab.rental` sends them.
"""

from pathlib import Path
from typing import Any

ANSWER = "TANDEM-ANSWER "


def program(name: str, /, **arguments: Any) -> str:
    """Return the source of a program with the call of its `main`."""
    source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    return f"{source}\n\nprint({ANSWER!r} + json.dumps(main({arguments!r})), flush=True)\n"
