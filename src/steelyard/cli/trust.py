"""`steelyard trust`"""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.terminal import echo
from steelyard.errors import UsageError


@click.command()
@click.argument("directories", nargs=-1, metavar="[DIR]...", type=click.Path(path_type=Path))
@click.option("--remove", is_flag=True, help="Stop trusting DIR")
def command(directories: tuple[Path, ...], remove: bool) -> int:
    """Trust a DIR that other accounts may write to, or list those that you trust.

    \b
    steelyard trust /proj/climate            accept its contents, whoever may write to it
    steelyard trust                          list the directories that you trust
    steelyard trust --remove /proj/climate   refuse them again

    Stores, scratch directories, `sites.yaml` and plug-ins beside an experiment are refused if another account
    could replace them. Anyone who may write to a directory that you trust can run commands as you. The list
    is in ~/.config/steelyard/trusted; a host that you reach by SSH reads the list in your home directory
    there.
    """
    from steelyard.hosts.minder.ownership import trusted_directories
    from steelyard.trust import distrust, trust

    try:
        for directory in directories:
            if not remove:
                echo(f"trusted: {trust(directory)}")
            elif not distrust(directory):
                raise UsageError(f"{directory} is not trusted", hint="`steelyard trust` lists those that are")
    except OSError as error:
        hint = "set XDG_CONFIG_HOME to use a directory other than ~/.config"
        raise UsageError(f"cannot write the list of trusted directories: {error}", hint=hint) from error
    if not directories:
        for listed in trusted_directories():
            echo(listed)
    return 0
