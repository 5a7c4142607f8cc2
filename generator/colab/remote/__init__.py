"""Programs that run on the machine at Colab: each is sent as text with a call of its `main`, and answers in one line.

    prepare    starts what gives the machine back if nobody listens any more, and looks what the machine is
    unpack     puts what was sent in pieces where it belongs
    pack       makes pieces of what is to be fetched; here, of what is to be sent

They import nothing of the kit, which is not there; `generator.colab.rental` and `rental` send them.
"""

from pathlib import Path
from typing import Any

ANSWER = "TANDEM-ANSWER "


def program(name: str, /, **arguments: Any) -> str:
    """The text of a program with its call."""
    source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    return f"{source}\n\nprint({ANSWER!r} + json.dumps(main({arguments!r})), flush=True)\n"
