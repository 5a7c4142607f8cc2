"""The commands that the kit gives for its own installation work where it was installed."""

import re
from pathlib import Path

from generator.installation import install_command

CLONE = Path(__file__).resolve().parents[1]


def test_a_clone_is_installed_with_an_extra_by_its_folder() -> None:
    assert install_command("serve") == f"pip install -e '{CLONE}[serve]'"


def test_nothing_says_to_install_the_kit_from_an_index_that_it_is_not_on() -> None:
    for path in (CLONE / "generator").rglob("*.*"):
        if path.suffix in (".py", ".j2", ".toml"):
            assert not re.search(r"install .*kaggle.tandem", path.read_text()), path
