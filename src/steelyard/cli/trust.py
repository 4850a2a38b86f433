"""`steelyard trust`"""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.terminal import echo
from steelyard.errors import UsageError


@click.command()
@click.argument("directories", nargs=-1, metavar="[DIR]...", type=click.Path(path_type=Path))
@click.option("--remove", is_flag=True, help="Trust them no longer")
def command(directories: tuple[Path, ...], remove: bool) -> int:
    """Trust a DIR that other accounts may write to, or list those that you trust.

    \b
    steelyard trust /proj/climate            accept what lies there, whoever may write to it
    steelyard trust                          list the directories that you trust
    steelyard trust --remove /proj/climate   refuse them again

    Stores, scratch directories and `sites.yaml` are refused where another account could replace them. Whoever
    may write to a directory that you trust can run commands as you. The list lies in
    ~/.config/steelyard/trusted; a host that you reach by SSH reads the one in your home there.
    """
    from steelyard.remote.minder.ownership import trusted_directories
    from steelyard.remote.trust import distrust, trust

    try:
        for directory in directories:
            if not remove:
                echo(f"trusted: {trust(directory)}")
            elif not distrust(directory):
                raise UsageError(f"{directory} was not trusted", hint="`steelyard trust` lists what is")
    except OSError as error:
        hint = "XDG_CONFIG_HOME may name another place than ~/.config"
        raise UsageError(f"the list of trusted directories cannot be written: {error}", hint=hint) from error
    if not directories:
        for listed in trusted_directories():
            echo(listed)
    return 0
