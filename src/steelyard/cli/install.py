"""`steelyard install`"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

import click

from steelyard.errors import SteelyardError, UnknownName
from steelyard.model.tool import Tool


@click.command()
@click.argument("names", nargs=-1)
@click.option("-y", "--yes", is_flag=True, help="Do not ask")
@click.option("--dry-run", is_flag=True, help="Only print the command")
def command(names: tuple[str, ...], yes: bool, dry_run: bool) -> int:
    """Install the tools NAMES, or all that the catalogue's workloads need, with apt or dnf.

    \b
    steelyard install fio
    steelyard install --dry-run
    """
    from steelyard.tools.find import install_command, missing

    known = _known()
    for name in names:
        if name not in known:
            raise UnknownName("tool", name, known)
    wanted = missing(known[name] for name in (names or known))
    if not wanted:
        click.echo("everything is there")
        return 0
    argv = install_command(wanted)
    if argv is None:
        listed = ", ".join(tool.name for tool in wanted)
        raise SteelyardError(f"no package manager here that knows {listed}", hint="install it by hand")
    return _carry_out(argv, yes=yes, dry_run=dry_run)


def _carry_out(argv: tuple[str, ...], *, yes: bool, dry_run: bool) -> int:
    """As root go ahead, otherwise ask before sudo."""
    if os.geteuid() != 0 and shutil.which("sudo"):
        argv = ("sudo", *argv)
    click.echo(shlex.join(argv))
    if dry_run:
        return 0
    if os.geteuid() != 0 and not yes:
        click.confirm("run this?", abort=True)
    if subprocess.run(argv, check=False).returncode != 0:
        raise SteelyardError("the package manager failed", hint="its own message stands above")
    return 0


def _known() -> dict[str, Tool]:
    from steelyard.plugins import names
    from steelyard.spec.bind import workload_class

    return {tool.name: tool for name in sorted(names("workloads")) for tool in workload_class(name).needs}
