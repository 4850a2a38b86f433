"""`steelyard completion`"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from steelyard.cli.terminal import echo


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print the tab completion script for SHELL.

    \b
    echo 'eval "$(steelyard completion bash)"' >> ~/.bashrc
    echo 'eval "$(steelyard completion zsh)"'  >> ~/.zshrc
    steelyard completion fish > ~/.config/fish/completions/steelyard.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    echo(kind(ctx.find_root().command, {}, "steelyard", "_STEELYARD_COMPLETE").source())
    return 0
