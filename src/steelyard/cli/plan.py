"""`steelyard plan`"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import (
    json_option,
    level_option,
    print_json,
    site_option,
    store_option,
)
from steelyard.cli.terminal import echo
from steelyard.spec.levels import parse_levels

if TYPE_CHECKING:
    from steelyard.controller.plan.preview import Preview


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@site_option("Where it would run, such as local:4; overrides the file's `site`")
@click.option("--scratch", metavar="DIR", type=click.Path(file_okay=False), help="Directory for test data")
@level_option("Levels of a parameter, as for run")
@store_option
@json_option
def command(
    file: str,
    site: str | None,
    scratch: str | None,
    levels: tuple[str, ...],
    store: str | None,
    as_json: bool,
) -> int:
    """Show what FILE, an experiment or a suite, would run, and what this machine is missing.

    \b
    steelyard plan examples/ska.yaml
    steelyard plan examples/lockstep.yaml --site netns:4

    Nothing is run. All problems in the file are listed at once.
    """
    from steelyard.controller.machine.low_priority import lower_priority
    from steelyard.controller.plan.planning import describe_plan, make_plan
    from steelyard.spec.change import load_changed
    from steelyard.spec.stores import choose_store
    from steelyard.spec.suites import is_suite

    with lower_priority() as run:
        if run:
            echo(f"{run}; planning slowly so as not to disturb that run", err=True)
        if is_suite(Path(file)):
            return _plan_suite(Path(file), store, site, scratch, as_json=as_json)
        experiment, _ = load_changed(Path(file), {}, parse_levels(levels))
        plan = make_plan(experiment, choose_store(store), site, scratch)
        if as_json:
            print_json(_document(plan.preview))
        else:
            echo("\n".join(describe_plan(plan)))
    return 0


def _plan_suite(
    file: Path, store: str | None, site: str | None, scratch: str | None, *, as_json: bool
) -> int:
    """The plan of each experiment of a suite."""
    from steelyard.controller.plan.planning import describe_plan, make_plan
    from steelyard.spec.stores import choose_store
    from steelyard.spec.suites import load_suite

    units, where = load_suite(file).units, choose_store(store)
    plans = {unit.name: make_plan(unit.experiment, where, unit.site or site, scratch) for unit in units}
    if as_json:
        print_json({name: _document(plan.preview) for name, plan in plans.items()})
        return 0
    for name, plan in plans.items():
        echo("\n".join((f"== {name}", *describe_plan(plan), "")))
    return 0


def _document(found: Preview) -> dict[str, Any]:
    return {
        "cells": [dict(cell.parameters) for cell in found.cells],
        "trials": found.trials,
        "disturbed_are_made_again": found.is_replacing,
        "levels_of_a_search": found.searches[0].bounds.count_levels() if found.searches else None,
        "order": found.order,
        "order_restricted": found.restriction or None,
        "seed": found.seed,
        "hosts": found.hosts,
        "idle_node_hours": found.idle,
        "seconds": found.seconds,
        "disk": found.disk,
        "commands": [{"phase": one.phase, "argv": one.command.argv} for one in found.commands],
        "warnings": list(found.warnings),
        "lacks": [tool.name for tool in found.missing_tools],
        "absent": list(found.missing_programs),
        "guessed_from": dataclasses.asdict(found.pace) if found.pace else None,
    }
