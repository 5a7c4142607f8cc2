"""The options that several verbs have in common, and the completion of arguments."""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict

import click
from click.shell_completion import CompletionItem, get_completion_class

from generator import __version__
from generator.cli.terminal import print_document, table
from generator.competition import builtin
from generator.competition.metrics import METRICS, metric_named
from generator.competition.schema import Family, Framework, Setting, common, families, frameworks, keys_of
from generator.errors import CompetitionError, PairError
from generator.pair.settings import checked_owner
from generator.pair.workspace import Workspace
from generator.text import is_slug, printable

# The verb `completion`, and the words that a shell completes arguments and options with.


PROGRAMS = ("tandem", "generate")

Words = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script with which a shell completes verbs, options, pairs, competitions, metrics and families.

    \b
    eval "$(tandem completion bash)"                  # in ~/.bashrc
    eval "$(tandem completion zsh)"                   # in ~/.zshrc, after compinit
    tandem completion fish | source                   # in ~/.config/fish/config.fish
    """  # noqa: D301 - click wants the character itself
    script = get_completion_class(shell)
    if script is None:  # no shell of the choice
        raise click.BadParameter(shell)
    for program in PROGRAMS:
        click.echo(script(click.Command(program), {}, program, f"_{program.upper()}_COMPLETE").source())


def word_completer(provider: Callable[[click.Context], Any]) -> Words:
    """Returns a completer from what makes the words, which is called only when a shell asks."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in sorted(provider(context)) if word.startswith(incomplete)]

    return complete


def complete_pair(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Returns the names of the pairs in the workspace, or has the shell complete a path to one."""
    if "/" in incomplete:
        return [CompletionItem(incomplete, type="dir")]
    pairs = (path.parent.name for path in context.params["workspace"].root.glob("kernels/*/pair.toml"))
    return [CompletionItem(name) for name in sorted(pairs) if name.startswith(incomplete)]


TARGETS = ("kaggle", "local")
_ADDRESS = re.compile(r"(?:https?://)?(?:[a-z]+\.)?kaggle\.com/(?P<kind>[^/?#]*)/*(?P<name>[^/?#]*)", re.IGNORECASE)
_KNOB_OPTIONS = {"-P": "-P", "-p": "-P", "--parameter": "-P", "--set": "--set"}
_KNOB = re.compile(r"[A-Za-z][\w-]*")
_ASSIGNMENT = re.compile(rf"{_KNOB.pattern}=")
_NUMBER = re.compile(r"-[\d.]+(e-?\d+)?", re.IGNORECASE)

Option = Callable[[Callable[..., Any]], Callable[..., Any]]


def competition_name(text: str) -> str:
    """The slug of a competition that is named by its address, by a folder with its data, or in capitals.

    Raises:
        CompetitionError: It is the address of something else.
    """
    text = text.strip()
    if address := _ADDRESS.match(text):
        if address["kind"].lower() not in ("competitions", "c") or not address["name"]:
            raise CompetitionError(
                f'"{printable(text)}" is not the address of a competition.',
                remedy="Such an address looks like this: kaggle.com/competitions/NAME.",
                code="competition-name-invalid",
            )
        return address["name"].lower()
    path = Path(text)
    if path.name and path.parent.name in ("", "competitions", "c"):
        text = path.name
    return text.lower() if is_slug(text.lower()) else text


def _name_of_pair(context: click.Context, _: click.Parameter, text: str | None) -> str | None:
    """The name of a pair, where the text may also be the path of its folder or of something in it, or an address."""
    if text is None or is_slug(text):
        return text
    if _ADDRESS.match(text):
        return competition_name(text)
    path = Path(text)
    folder = next((candidate for candidate in (path, *path.parents) if candidate.parent.name == "kernels"), None)
    if folder is None:
        return competition_name(text) if path.parent == Path() else text
    if folder.parent.parent.absolute() != context.params["workspace"].root.absolute():
        workspace = printable(str(folder.parent.parent))
        raise PairError(
            f'"{printable(text)}" is in another workspace.',
            remedy=f"Add --workspace {workspace}.",
            code="other-workspace",
        )
    return folder.name


def pair_names(context: click.Context, parameter: click.Parameter, words: Sequence[str]) -> list[str]:
    """The names of several pairs, each as `pair_argument` takes one."""
    return [name for word in words if (name := _name_of_pair(context, parameter, word))]


class KnobCommand(click.Command):
    """A command with -P, which takes knobs in several spellings: `-P EPOCHS 3` and `-P EPOCHS=3 N_FOLDS=5` as well.

    An option that is called as a knob, such as `--epochs 3`, is answered with `-P EPOCHS=3`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the arguments, with every knob as `NAME=VALUE` behind an option of its own."""
        try:
            return super().parse_args(ctx, _with_joined_knobs(args))
        except click.NoSuchOption as error:
            has_set = any("--set" in parameter.opts for parameter in self.params)
            if answer := _knob_option(error.option_name, args, has_set=has_set):
                raise click.UsageError(answer, ctx) from error
            raise


def _with_joined_knobs(args: Sequence[str]) -> list[str]:
    arguments, rest = [], list(args)
    while rest:
        word = rest.pop(0)
        option = _KNOB_OPTIONS.get(word)
        if option is None or not rest:
            arguments.append(word)
            continue
        text = rest.pop(0)
        if _KNOB.fullmatch(text) and rest[:1] == ["="]:
            rest.pop(0)
        if _KNOB.fullmatch(text) and rest and (not rest[0].startswith("-") or _NUMBER.fullmatch(rest[0])):
            text = f"{text}={rest.pop(0)}"
        arguments += [option, text]
        while rest and _ASSIGNMENT.match(rest[0]):
            arguments += [option, rest.pop(0)]
    return arguments


def _knob_option(option: str, args: Sequence[str], *, has_set: bool) -> str:
    """A sentence on an unknown option that is called as a knob or as a key of a task; "" where it is none."""
    from generator.competition.schema import all_parameters, known_keys
    from generator.pair.notebook import HAVING_BACKBONES, knob_name, usual_name
    from generator.pair.overrides import unused_key

    name = knob_name(option.lstrip("-"))
    if name in ("CPU", "GPU", "TPU"):
        return f"There is no option {option}. Choose the accelerator with -P ACCELERATOR={name.lower()}."
    place = next((place for place, word in enumerate(args) if word.partition("=")[0] == option), len(args))
    value = (args[place].partition("=")[2] if place < len(args) else "") or next(iter(args[place + 1 :]), "-")
    value = "VALUE" if value.startswith("-") else printable(value)
    knob, framework = usual_name(name), _framework_in(args)
    if framework and not all(framework.uses(rule) for rule in known_keys().get(knob.lower(), ())):
        return f"There is no option {option}. {unused_key(knob.lower(), framework.name)}"
    if knob in all_parameters():
        of = f" for {HAVING_BACKBONES}" if knob == "BACKBONE" else ""
        return f"There is no option {option}. {knob} is a parameter of the notebooks{of}: use -P {knob}={value}."
    if has_set and name.lower() in known_keys():
        return f"There is no option {option}. {name.lower()} is a key of the task: use --set {name.lower()}={value}."
    return ""


def _framework_in(args: Sequence[str]) -> Framework | None:
    """Return the framework that arguments name, if there is one."""
    texts = [text for option, text in itertools.pairwise(args) if option == "--framework"]
    texts += [word.partition("=")[2] for word in args if word.startswith("--framework=")]
    return frameworks().get(_canonical("framework", texts[-1])) if texts else None


workspace_option = click.option(
    "--workspace",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    callback=lambda _, __, folder: Workspace(folder),
    is_eager=True,  # the name of a pair may be a path in it
    help="The folder that contains kernels/ and input/. Default: the current folder.",
)
competition_argument = click.argument("competition", callback=lambda _, __, text: competition_name(text))
pair_argument = click.argument("pair", callback=_name_of_pair, shell_complete=complete_pair)
optional_pair_argument = click.argument("pair", required=False, callback=_name_of_pair, shell_complete=complete_pair)
version_option = click.version_option(__version__, prog_name="tandem")


def assignments_option(text: str) -> Option:
    """`-P`, with what it sets as its help."""
    return click.option("-P", "--parameter", "assignments", metavar="NAME=VALUE", multiple=True, help=text)


def to_option(text: str = "The real Kaggle, or the local Kaggle of `tandem serve`.", **options: Any) -> Option:
    """`--to`, with what is asked of that Kaggle as its help."""
    return click.option("--to", type=click.Choice(TARGETS, case_sensitive=False), help=text, **options)


def data_option(*, default: str) -> Option:
    """`--data`, with the folder that is meant without it."""
    return click.option(
        "--data",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help=f"The folder with the competition's files. Default: {default}.",
    )


def output_option(*, metavar: str, default: str) -> Option:
    """`--output`, with the folder that is meant without it."""
    return click.option(
        "--output",
        type=click.Path(file_okay=False, path_type=Path),
        metavar=metavar,
        help=f"Write to this folder. Default: {default}.",
    )


def shortest(path: Path) -> str:
    """The path as the user would type it here."""
    current_folder = Path.cwd()
    return str(path.relative_to(current_folder) if path.is_relative_to(current_folder) else path)


_Command = Callable[..., Any]


def _keys_with_flags(section: str) -> dict[str, Setting]:
    return {key: rule for key, rule in common()[section].items() if rule.flag}


def flags_of_keys(command: _Command) -> _Command:
    """Gives a command an option for each key of `pair.toml` that is declared with a flag."""
    for key, rule in reversed({**_keys_with_flags("pair"), **_keys_with_flags("task")}.items()):
        flag, metavar = rule.flag.split()
        is_list, complete = rule.type is list, word_completer(partial(_words, key, rule))
        option = click.option(flag, key, metavar=metavar, multiple=is_list, help=rule.help, shell_complete=complete)
        command = option(command)
    return command


def competition_names(context: click.Context) -> set[str]:
    """The names of competitions that are built in, or whose files are here."""
    data_folder = context.params["workspace"].competition_data("x").parent
    return {*builtin.competition_slugs(), *(path.name for path in data_folder.glob("*/"))}


def _words(key: str, rule: Setting, _: click.Context) -> Iterable[str]:
    """What a shell completes the option of a key with."""
    if key == "metric":
        return [facts.task_name(facts.parameter_default) for facts in METRICS.values()]
    if key == "framework":
        return list(frameworks())
    return families() if key == "family" else rule.options


def names_of_keys() -> set[str]:
    """The keys of `pair.toml` that have flags."""
    return {*_keys_with_flags("pair"), *_keys_with_flags("task")}


def parse_values(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the pair and of its task that options of their own set, by key."""
    pair_keys = [key for key in _keys_with_flags("pair") if options[key] is not None]
    values: dict[str, Any] = {key: _canonical(key, options[key]) for key in pair_keys}
    if options["inference_hours"] is not None:
        values["inference_hours"] = options["inference_hours"]
    if options["owner"]:
        values["owner"] = checked_owner(options["owner"])
    for key in _keys_with_flags("task"):
        if value := options[key]:
            is_name = key in ("target_kind", "submission")
            values[key] = list(value) if isinstance(value, tuple) else _canonical(key, value) if is_name else value
    if "metric" in values:
        values["metric"] = metric_named(values["metric"])
    return values


def _canonical(key: str, name: str) -> str:
    """A name that the kit declares, where the text is it in another case, or what it is called elsewhere."""
    lower = name.strip().lower()
    candidates: list[Family | Framework] = []
    if key in ("family", "framework"):
        candidates = [*(families() if key == "family" else frameworks()).values()]
    alias = lower.replace("-", "_").replace(" ", "_")
    return next((candidate.name for candidate in candidates if alias in candidate.aliases), lower)


class FamilyFields(TypedDict):
    """A family: a kind of task that there are templates for.

    Attributes:
        name: Its name.
        title: What people call it.
        description: One sentence.
        frameworks: The frameworks that it has a model in.
        targets: The kinds of target that it has models for.
        keys: The keys of its tasks in pair.toml, with what each means.
    """

    name: str
    title: str
    description: str
    frameworks: list[str]
    targets: list[str]
    keys: dict[str, str]


class KeyList(TypedDict):
    """With --list: what a pair can be.

    Attributes:
        schema_version: The version of this document.
        families: The families.
        frameworks: The frameworks.
        competitions: The built-in competitions.
        metrics: The titles of the metrics by name.
    """

    schema_version: Literal[1]
    families: list[FamilyFields]
    frameworks: list[Framework]
    competitions: list[str]
    metrics: dict[str, str]


def show_list(*, as_json: bool) -> int:
    """Prints families, frameworks, built-in competitions and metrics."""
    if as_json:
        report: KeyList = {
            "schema_version": 1,
            "families": [_family_fields(family) for family in families().values()],
            "frameworks": list(frameworks().values()),
            "competitions": list(builtin.competition_slugs()),
            "metrics": {name: facts.title for name, facts in METRICS.items()},
        }
        print_document(report)
        return 0
    rows = [[family.name, ", ".join(family.frameworks), family.description] for family in families().values()]
    click.echo(table(["family", "frameworks", "what it is"], rows) + "\n")
    rows = [[framework.name, framework.title, framework.description] for framework in frameworks().values()]
    click.echo(table(["framework", "title", "what it is"], rows) + "\n")
    rows = [[slug, builtin.require(slug).competition.title] for slug in builtin.competition_slugs()]
    click.echo(table(["competition", "title"], rows) + "\n")
    rows = [
        [facts.task_name(facts.parameter_default), facts.title, "higher" if facts.higher_is_better else "lower"]
        for facts in METRICS.values()
    ]
    click.echo(table(["metric", "title", "better"], rows))
    return 0


def _family_fields(family: Family) -> FamilyFields:
    return {
        "name": family.name,
        "title": family.title,
        "description": family.description,
        "frameworks": list(family.frameworks),
        "targets": [str(target) for target in family.targets],
        "keys": {key: rule.help for key, rule in keys_of(family.name).items()},
    }
