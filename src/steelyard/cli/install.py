"""`steelyard install`"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import ToolName, site_option
from steelyard.cli.terminal import confirm, echo
from steelyard.errors import SteelyardError
from steelyard.model.tool import Tool
from steelyard.tools.certificates import advice, certificate_variables

MOST_SAID = 20_000

if TYPE_CHECKING:
    from steelyard.spec.sites import NamedSite


@click.command()
@click.argument("names", nargs=-1, metavar="[TOOL | WORKLOAD | SERVICE | FILE]...", type=ToolName())
@site_option("Also install on the hosts of this site; needs root, or `sudo` without a password")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation")
@click.option("--dry-run", is_flag=True, help="Print the commands without running them")
def command(names: tuple[str, ...], site: str | None, yes: bool, dry_run: bool) -> int:
    """Install tools, or what a workload, service or experiment file needs; without names, everything.

    \b
    steelyard install fio
    steelyard install examples/fermilab/gensim.yaml
    steelyard install redis redis_benchmark --site ssh:alice@node1,alice@node2
    steelyard install --dry-run

    Tools come from apt or dnf, PyPI, cargo or Maven, or are compiled from sources that Steelyard brings.
    Those that are not system packages need no root: they go to ~/.cache/steelyard, and each download is
    checked against a known hash before anything in it runs.
    """
    from steelyard.spec.tool_needs import all_tools, find_tools

    tools = [tool for name in names for tool in find_tools(name)] if names else all_tools()
    if names and (lost := dict.fromkeys(tool.name for tool in tools if not tool.is_obtainable)):
        hint = "no registry has it: install it as its manual describes, so that it is on PATH"
        raise SteelyardError(f"cannot install {', '.join(lost)}", hint=hint)
    wanted = [tool for tool in dict.fromkeys(tools) if tool.is_obtainable]
    if site and (named := _find_remote_site(site)):
        from steelyard.controller.installation import install_on_hosts
        from steelyard.controller.loop import complete

        complete(install_on_hosts(named, wanted, echo, dry_run=dry_run))
    else:
        _install_here(wanted, ask=not yes and os.geteuid() != 0, dry_run=dry_run)
    return 0


def _find_remote_site(site: str) -> NamedSite | None:
    """The site, unless its hosts are this machine."""
    from steelyard.spec.sites import resolve

    named = resolve(site)
    return None if named.site.install_policy == "here" else named


def _install_here(tools: Sequence[Tool], *, ask: bool, dry_run: bool) -> None:
    from steelyard.tools.find import find_missing, install_command, install_directory, local_commands
    from steelyard.tools.maven import BUILDERS

    wanted = find_missing(tools)
    if not wanted:
        echo("everything is already installed")
        return
    builders = find_missing(BUILDERS) if any(tool.maven for tool in wanted) else []
    packaged = builders + [tool for tool in wanted if not tool.has_own_directory]
    argv = install_command(packaged)
    if packaged and argv is None:
        listed = ", ".join(tool.name for tool in packaged)
        raise SteelyardError(f"no package manager here provides {listed}", hint="install it by hand")
    if argv:
        _carry_out(_add_sudo(argv), ask=ask, dry_run=dry_run)
    if not dry_run:
        for tool in wanted:
            if tool.has_own_directory:
                _check_place(install_directory(tool))
    for tool in wanted:
        for step in local_commands(tool) if tool.has_own_directory else ():
            _carry_out(step, ask=False, dry_run=dry_run)


def _add_sudo(argv: tuple[str, ...]) -> tuple[str, ...]:
    return ("sudo", *argv) if os.geteuid() != 0 and shutil.which("sudo") else argv


def _carry_out(argv: tuple[str, ...], *, ask: bool, dry_run: bool) -> None:
    """As root, and in a place of our own, go ahead; otherwise ask before sudo."""
    echo(shlex.join(argv))
    if dry_run:
        return
    if ask:
        confirm("Run this command?")
    if shutil.which(argv[0]) is None:
        raise SteelyardError(f"{argv[0]} is not installed", hint=f"install {argv[0]} first, then try again")
    code, said = _run(argv)
    if code != 0:
        raise SteelyardError(f"{argv[0]} failed", hint=advice(said) or "see its own message above")


def _run(argv: tuple[str, ...]) -> tuple[int, str]:
    """Run a program, and pass on what it says; its code, and the end of what it said to standard error."""
    environment, said = {**os.environ, **certificate_variables(os.environ)}, ""
    with subprocess.Popen(
        argv, env=environment, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as program:
        for line in program.stderr or ():
            echo(line, err=True, nl=False)
            said = (said + line)[-MOST_SAID:]
    return program.returncode, said


def _check_place(place: Path) -> None:
    """Raises SteelyardError where tools cannot be put."""
    there = next(each for each in (place, *place.parents) if each.exists())
    if not os.access(there, os.W_OK):
        raise SteelyardError(
            f"cannot install tools into {place}: {there} is not writable for you",
            hint="set XDG_CACHE_HOME to a directory you own, now and for the runs that use the tools",
        )
