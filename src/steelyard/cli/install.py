"""`steelyard install`"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

import click

from steelyard.cli.terminal import confirm, echo
from steelyard.errors import SteelyardError, UnknownName
from steelyard.model.tool import Tool


@click.command()
@click.argument("names", nargs=-1)
@click.option("-y", "--yes", is_flag=True, help="Do not ask")
@click.option("--dry-run", is_flag=True, help="Only print the command")
def command(names: tuple[str, ...], yes: bool, dry_run: bool) -> int:
    """Install the tools NAMES, or all that the catalogue needs, with apt, dnf, pip, cargo or Maven.

    \b
    steelyard install fio
    steelyard install --dry-run
    """
    from steelyard.tools.find import environment_commands, install_command, missing
    from steelyard.tools.maven import BUILDERS

    known = _known()
    for name in names:
        if name not in known:
            raise UnknownName("tool", name, known)
    wanted = missing(known[name] for name in (names or known))
    if names and (unobtainable := [tool.name for tool in wanted if not tool.obtainable]):
        hint = "it is in no registry; its maker's manual tells how to get it, then it is found on PATH"
        raise SteelyardError(f"nothing here brings {', '.join(unobtainable)}", hint=hint)
    wanted = [tool for tool in wanted if tool.obtainable]
    if not wanted:
        echo("everything is there")
        return 0
    builders = missing(BUILDERS) if any(tool.maven for tool in wanted) else []
    packaged = builders + [tool for tool in wanted if not tool.in_place_of_its_own]
    argv = install_command(packaged)
    if packaged and argv is None:
        listed = ", ".join(tool.name for tool in packaged)
        raise SteelyardError(f"no package manager here that knows {listed}", hint="install it by hand")
    if argv:
        _carry_out(_as_root(argv), ask=not yes and os.geteuid() != 0, dry_run=dry_run)
    for tool in wanted:
        for step in environment_commands(tool) if tool.in_place_of_its_own else ():
            _carry_out(step, ask=False, dry_run=dry_run)
    return 0


def _as_root(argv: tuple[str, ...]) -> tuple[str, ...]:
    return ("sudo", *argv) if os.geteuid() != 0 and shutil.which("sudo") else argv


def _carry_out(argv: tuple[str, ...], *, ask: bool, dry_run: bool) -> None:
    """As root, and in a place of our own, go ahead; otherwise ask before sudo."""
    echo(shlex.join(argv))
    if dry_run:
        return
    if ask:
        confirm("run this?")
    if shutil.which(argv[0]) is None:
        raise SteelyardError(f"{argv[0]} is not here", hint=f"install {argv[0]} first, then try again")
    if subprocess.run(argv, check=False).returncode != 0:
        raise SteelyardError(f"{argv[0]} failed", hint="its own message stands above")


def _known() -> dict[str, Tool]:
    from steelyard.plugins import names
    from steelyard.spec.bind import service_class, workload_class

    workloads = [workload_class(name).needs for name in sorted(names("workloads"))]
    services = [service_class(name).needs for name in sorted(names("services"))]
    return {tool.name: tool for needs in (*workloads, *services) for tool in needs}
