"""`steelyard doctor`"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import click

from steelyard.cli.options import json_option, print_json, site_option, store_option
from steelyard.cli.terminal import echo
from steelyard.printable import make_one_line

_COLOURS = {"bad": "red", "warning": "yellow", "info": "cyan"}


@click.command()
@click.option("--scratch", metavar="DIR", type=click.Path(file_okay=False), help="Directory for test data")
@site_option("Check this site as well: what it must allow before hosts can be had there")
@store_option
@json_option
def command(scratch: str | None, site: str | None, store: str | None, as_json: bool) -> int:
    """Check this machine's and the scratch directory's fitness for benchmarking.

    \b
    steelyard doctor
    steelyard doctor --scratch /mnt/nvme
    steelyard doctor --site kubernetes

    Nothing is changed; containers are tried with a program that does nothing, criu with one that sleeps, and
    schedulers are not asked anything. Findings are sorted by severity: misleading results, scattered results,
    good to know.
    """
    import asyncio

    from steelyard.controller.machine.inspection import inspect_criu, inspect_machine
    from steelyard.controller.scratch import choose_scratch
    from steelyard.spec.stores import choose_store

    where = PurePosixPath(choose_scratch(scratch) or choose_store(store).scratch.absolute())
    environment = asyncio.run(inspect_machine(where))
    environment["criu"] = asyncio.run(inspect_criu())
    environment["site"] = _inspect_site(site) if site else None
    if as_json:
        print_json(environment)
        return 0
    echo(f"scratch {where}: {_describe_scratch(environment['scratch'])}")
    for tried in environment["environments"]:
        echo(f"{tried['name']:12} {_describe_tried(tried)}")
    echo(f"criu         {_describe_criu(environment['criu'])}")
    echo(f"schedulers   {_list_schedulers(environment['schedulers'])}")
    for note in environment["advice"]:
        _print_note(note)
    if not any(note["severity"] != "info" for note in environment["advice"]):
        echo("nothing found that would mislead a measurement")
    return _print_obstacles(environment["site"])


def _inspect_site(text: str) -> dict[str, Any]:
    import asyncio

    from steelyard.spec.sites import resolve

    return {"name": text, "obstacles": asyncio.run(resolve(text).site.find_obstacles())}


def _print_obstacles(site: dict[str, Any] | None) -> int:
    """What stands in the way of a run there; 3 where something does."""
    if site is None:
        return 0
    for text in site["obstacles"]:
        echo(f"site {site['name']}: {text}", colour=_COLOURS["bad"])
    if not site["obstacles"]:
        echo(f"site {site['name']}: nothing found that would keep a run from its hosts")
    return 3 if site["obstacles"] else 0


def _print_note(note: dict[str, Any]) -> None:
    echo(f"{note['severity']:8}", colour=_COLOURS[note["severity"]], nl=False)
    echo(note["what"])
    echo(f"         {note['why']}")
    if note["what_to_do"]:
        echo(f"         → {note['what_to_do']}")


def _describe_tried(tried: dict[str, Any]) -> str:
    """Whether a container runs here."""
    if tried["runs"]:
        return f"runs programs; one that does nothing took {tried['seconds'] * 1e3:.0f} ms"
    return f"runs no program: {make_one_line(tried['reason'])}"


def _describe_criu(tried: dict[str, Any]) -> str:
    """Whether running processes can be saved here from outside, and what to do where they cannot."""
    if tried["restores"]:
        return f"saved a running process and restored it in {tried['seconds'] * 1e3:.0f} ms"
    return (
        f"restores no process: {make_one_line(tried['reason'])}; have programs save themselves, as "
        "`use: checkpoint` and a service's `checkpoint` do"
    )


def _list_schedulers(schedulers: list[dict[str, Any]]) -> str:
    """Those to which jobs can be submitted from here; `--json` says what the others lack."""
    return ", ".join(one["name"] for one in schedulers if not one["missing"]) or "none installed here"


def _describe_scratch(system: dict[str, Any]) -> str:
    from steelyard.units import show

    free = f"{show(system['free'], 'B')} free"
    return f"{system['type']} on {system['device']}, {free}" if "type" in system else free
