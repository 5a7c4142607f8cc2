"""The members of a blend, as `pair.toml` has them, and their code for the blend's inference notebook.

Raises:
    PairError: A member is not written as a blend writes it, or its notebook cannot be part of one.
"""

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from generator.errors import PairError, RunError
from generator.files import read_text
from generator.pair.notebook import has_parameters, join_lines, read_parameters
from generator.pair.workspace import dataset_beside
from generator.text import JsonObject, is_slug, printable, quote_text

FRAMEWORK = "blend"
METHODS = ("mean", "best", "hill-climbing", "rank", "stacking")
MOST_MEMBERS = 100
_MOST_DIGITS = 9
_KERNEL = re.compile(r"[a-z0-9][a-z0-9-]{0,99}/[a-z0-9][a-z0-9-]{0,99}")
_RUN_ID = re.compile(r"[0-9a-f]{8,64}|")
_WORD = re.compile(r"[a-z0-9_-]{1,40}")
_MODEL = re.compile(r"([A-Za-z0-9_.-]+/){3,4}[A-Za-z0-9_.-]+|")
# What papermill injected; the placeholders of Kaggle's own folders stay.
_ROOTS = re.compile(r'^(INPUT|WORKING)_ROOT = (?!"/kaggle/).*\n?', re.MULTILINE)
_NAMES = ("kernel", "family", "framework", "run", "model", "dataset")


class BlendError(RunError):
    """Pairs that cannot be blended."""


@dataclass(frozen=True)
class Member:
    """A member of a blend; as text `tumours-torch@3 kernel=owner/slug family=tabular framework=torch`.

    Attributes:
        pair: The name of the pair.
        number: The number of its run; None for whatever its output is.
        kernel: Its training kernel.
        family: Its family.
        framework: Its framework.
        run_id: What its training notebook calls the run; "" where any will do.
        model: The Kaggle Model that its inference attaches, or "".
        dataset: The dataset with the predictions of a member that is files; it has no kernel. "" for a pair.
    """

    pair: str
    number: int | None = None
    kernel: str = ""
    family: str = ""
    framework: str = ""
    run_id: str = ""
    model: str = ""
    dataset: str = ""

    @property
    def name(self) -> str:
        """The name on the command line: `X` or `X@7`."""
        return self.pair if self.number is None else f"{self.pair}@{self.number}"

    def __str__(self) -> str:
        values = (self.kernel, self.family, self.framework, self.run_id, self.model, self.dataset)
        fields = [f"{name}={value}" for name, value in zip(_NAMES, values, strict=True) if value]
        return " ".join([self.name, *fields])

    @classmethod
    def parse(cls, text: str) -> "Member":
        """Read a member as `pair.toml` has it.

        Raises:
            PairError: It is none.
        """
        name, *fields = text.split()
        values = dict(field.partition("=")[::2] for field in fields)
        pair, _, number = name.partition("@")
        rules = {"kernel": _KERNEL, "family": _WORD, "framework": _WORD, "run": _RUN_ID, "model": _MODEL}
        is_valid = is_slug(pair) and (not number or (number.isdecimal() and len(number) <= _MOST_DIGITS))
        if "dataset" in values:
            rules = {"dataset": _KERNEL}
            is_valid = is_valid and not number
        is_valid = is_valid and set(values) <= set(rules)
        if not is_valid or not all(rule.fullmatch(values.get(key, "")) for key, rule in rules.items()):
            raise PairError(
                f'The member "{quote_text(text)}" of the blend is not written as `tandem blend` writes it. Write the '
                "blend again."
            )
        return cls(
            pair=pair,
            number=int(number) if number else None,
            kernel=values.get("kernel", ""),
            family=values.get("family", ""),
            framework=values.get("framework", ""),
            run_id=values.get("run", ""),
            model=values.get("model", ""),
            dataset=values.get("dataset", ""),
        )


def parse_members(texts: Iterable[str]) -> tuple[Member, ...]:
    """Read the members of a blend, those that are files last.

    Raises:
        PairError: One is no member, or two have one name or one kernel, or all are files.
    """
    members = tuple(sorted(map(Member.parse, filter(str.strip, texts)), key=lambda member: member.dataset != ""))
    if not 1 < len(members) <= MOST_MEMBERS:
        remedy = (
            "Leave members out."
            if len(members) > 1
            else "Name another pair of the competition, or add a model from elsewhere with --oof and --test."
        )
        raise PairError(f"A blend needs 2 to {MOST_MEMBERS} members, and this one has {len(members)}. {remedy}")
    if members[0].dataset:
        raise PairError(
            "All members of the blend are files, and one has to be a pair: its ids and folds are the blend's."
        )
    names = [member.name for member in members]
    if clash := [member.name for member in members if member.dataset and names.count(member.name) > 1]:
        raise PairError(f"{printable(clash[0])} is in the blend twice. Name the files with --oof NAME=FILE.")
    for keys in (names, [member.kernel for member in members if member.kernel]):
        for name in keys:
            if keys.count(name) > 1:
                raise PairError(
                    f"{printable(name)} is in the blend twice: Kaggle attaches one output of a kernel. "
                    "To blend two runs of a pair, generate it a second time with --name."
                )
    return members


def files_dataset(owner: str, name: str) -> str:
    """Return the dataset of the owner of a blend, with the predictions of those of its members that are files."""
    return dataset_beside(f"{owner}/{name}", "-members")


def prediction_files(name: str) -> tuple[str, str]:
    """Return the out-of-fold and the test file of a member in that dataset."""
    return f"{name}.oof.csv", f"{name}.test.csv"


def member_cells(notebook: Path) -> list[str]:
    """Return the code cells of an inference notebook, the one of its parameters first.

    Raises:
        PairError: The notebook cannot be run as a member of a blend.
    """
    cells = [
        (_without_roots(join_lines(cell.get("source"))), has_parameters(cell))
        for cell in JsonObject.parse(read_text(notebook)).sections("cells")
        if cell.get("cell_type") == "code"
    ]
    location = printable(str(notebook))
    sources = [source for source, _ in cells if source.strip()]
    if not any(is_parameters and "PAIR_ID" in read_parameters(source) for source, is_parameters in cells):
        raise PairError(f"{location} has no parameters cell with a PAIR_ID: generate the pair again.")
    if not any('"predictions.npz"' in source for source in sources):
        raise PairError(
            f"{location} does not save predictions.npz, which a blend joins: generate the pair again. Masks, images "
            "and answers of an inference server cannot be blended."
        )
    for number, source in enumerate(sources, start=1):
        try:
            ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise PairError(
                f"Code cell {number} of {location} is not plain Python ({printable(str(error))}): a blend runs it "
                "outside of Jupyter. Remove magics such as %%time and !pip."
            ) from error
    return sources


def _without_roots(source: str) -> str:
    """The source without the line of a local run that says where its folders were."""
    return _ROOTS.sub("", source)


def code_text(notebooks: Mapping[str, Path]) -> str:
    """Return the file that takes the place of the cell `member-code`: the members' code as literals.

    Args:
        notebooks: The inference notebook of each member, by the member's name.
    """
    lines = ["# The code cells of the members' inference notebooks, written by `tandem blend`.", "MEMBER_CODE = {"]
    for name, path in notebooks.items():
        lines += [
            f"    {name!a}: [",
            *(f"        {cell!a},  # noqa: E501" for cell in member_cells(path)),
            "    ],",
        ]
    return "\n".join([*lines, "}", ""])
