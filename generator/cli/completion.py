"""The verb `completion`, and the words that a shell completes arguments and options with."""

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

PROGRAMS = ("tandem", "generate")

Words = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes a shell complete verbs, options, pairs, competitions, metrics and families.

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


def words(known: Callable[[click.Context], Any]) -> Words:
    """Returns a completer from what makes the words, which is called only when a shell asks."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in sorted(known(context)) if word.startswith(incomplete)]

    return complete


def complete_pair(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Returns the names of the pairs in the workspace, or has the shell complete a path to one."""
    if "/" in incomplete:
        return [CompletionItem(incomplete, type="dir")]
    pairs = (path.parent.name for path in context.params["workspace"].root.glob("kernels/*/pair.toml"))
    return [CompletionItem(name) for name in sorted(pairs) if name.startswith(incomplete)]
