"""`steelyard plan`"""

from __future__ import annotations

import dataclasses
import os
import secrets
import shlex
from collections.abc import Mapping
from functools import partial
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
from steelyard.model.trial import show_level
from steelyard.spec.levels import parse_levels
from steelyard.units import show, show_span

if TYPE_CHECKING:
    from steelyard.controller.pace import TrialPace
    from steelyard.controller.preview import Preview
    from steelyard.model.experiment import Experiment
    from steelyard.store.layout import Store

MOST_LINES = 6


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
    """Show what FILE would run: cells, order, time, disk, commands, and what this machine is missing.

    \b
    steelyard plan examples/ska.yaml
    steelyard plan examples/lockstep.yaml --site netns:4

    Nothing is run. All problems in the file are listed at once.
    """
    from steelyard.controller.choices import RunChoices, choose_site
    from steelyard.controller.machine.low_priority import lower_priority
    from steelyard.controller.scratch import choose_scratch, scratch_warnings
    from steelyard.spec.change import load_changed
    from steelyard.spec.stores import choose_store

    with lower_priority() as run:
        if run:
            echo(f"{run}; planning slowly so as not to disturb that run", err=True)
        experiment, _ = load_changed(Path(file), {}, parse_levels(levels))
        named, kept = choose_site(RunChoices(site), experiment), choose_store(store)
        chosen = choose_scratch(scratch)
        where = chosen or kept.scratch.absolute()
        here = named.site.install_policy == "here"
        plan = _make_preview(experiment, where, kept, here=here)
        if as_json:
            print_json(_document(plan))
        else:
            texts = (*named.notes, *scratch_warnings(chosen, named.site))
            notes = [f"warning: {text}" for text in texts]
            echo("\n".join([*_lines(experiment, plan, where, named.name), *notes]))
    return 0


def _make_preview(experiment: Experiment, scratch: Path, store: Store, *, here: bool) -> Preview:
    from steelyard.controller.pace import find_pace
    from steelyard.controller.preview import preview

    seed = experiment.seed if experiment.seed is not None else secrets.randbelow(2**31)
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    earlier = partial(find_pace, store, experiment.experiment)
    return preview(experiment, seed, scratch, cores, memory, here=here, earlier=earlier)


def _lines(experiment: Any, found: Preview, scratch: Path, site: str) -> list[str]:
    least, most = found.planned_trials
    per_cell = experiment.repeat.at_least, experiment.repeat.at_most
    each = f"{per_cell[0]}" if per_cell[0] == per_cell[1] else f"{per_cell[0]} to {per_cell[1]}"
    count = f"{least}" if least == most else f"{least} to {most}"
    seed = f"seed {found.seed}" if experiment.seed is not None else "seed chosen at the start"
    return [
        f"{experiment.experiment}" + (f": {experiment.about.strip()}" if experiment.about else ""),
        f"{_size(found)} x {each} repetitions = {count} trials, {found.order} order, {seed}",
        *([f"order    restricted to {found.restriction}"] if found.restriction else []),
        *(
            [f"noise    disturbed trials are repeated, at most {_format_limit(found)}"]
            if found.is_replacing
            else []
        ),
        f"site     {_site(found, site)}",
        f"time     {_time(found)}",
        f"disk     {_disk(found, scratch)}",
        *_compare_lines(experiment),
        *_service_lines(experiment),
        *(_search_lines(experiment, found) if found.searches else _cell_lines(found)),
        "commands of one trial:",
        *(f"  {name:12} {format_command(command_)}" for name, command_ in found.commands),
        *(f"warning: {text}" for text in found.warnings),
        *_missing_lines(found),
    ]


def _compare_lines(experiment: Any) -> list[str]:
    """What is compared within the run, and what that may come to."""
    asked = experiment.compare
    if asked is None:
        return []
    gate = ", and the exit code is 1 if any is worse" if asked.fail_on else ""
    if asked.margin:
        gate = f", and the exit code is 1 unless each is shown to be at most {asked.margin} worse"
    baseline = show_level(asked.baseline_level(experiment.parameters))
    return [f"compare  each {asked.parameter} with {baseline}{gate}"]


def _size(found: Preview) -> str:
    if not found.searches:
        return f"{len(found.cells)} cell{'s' if len(found.cells) != 1 else ''}"
    least, most = found.searches[0].bounds.count_levels()
    count = len(found.searches)
    return f"{count} search{'es' if count > 1 else ''} of {least} to {most} levels"


def _format_limit(found: Preview) -> str:
    return "twice the trials of a level" if found.searches else f"twice the trials: {found.trials[1]}"


def _search_lines(experiment: Any, found: Preview) -> list[str]:
    """What is searched, and where each search begins."""
    find, bounds = experiment.find, found.searches[0].bounds
    shown_searches = [f"  from {search.first.key}" for search in found.searches[:12]]
    more = len(found.searches) - len(shown_searches)
    return [
        f"find     {find}, from {bounds.low} to {bounds.high}, within {find.within}",
        "searches:",
        *shown_searches,
        *([f"  … and {more} more"] if more > 0 else []),
    ]


def _site(found: Preview, site: str) -> str:
    count = "all its hosts" if found.hosts is None else f"{found.hosts} host{'s' if found.hosts != 1 else ''}"
    low, high = found.idle or (0.0, 0.0)
    if high <= 0:
        return f"{site}, {count}"
    hours = f"{low:.2g}" if low == high else f"{low:.2g} to {high:.2g}"
    return f"{site}, {count}; about {hours} node-hours idle while cells that need fewer hosts run"


def _time(found: Preview) -> str:
    if found.seconds is None:
        return "unknown; after a first run, `plan` estimates it from that run"
    low, high = found.seconds
    span = show_span(low) if low == high else f"{show_span(low)} to {show_span(high)}"
    return f"about {span}{_format_pace(found.pace)}"


def _format_pace(pace: TrialPace | None) -> str:
    if pace is None:
        return ""
    trials = f"{pace.trials} trials" if pace.trials > 1 else "a trial"
    return f", guessed: {trials} of run {pace.run} took {show(pace.seconds, 's')} each"


def _disk(found: Preview, scratch: Path) -> str:
    return f"{show(found.disk, 'B')} in {scratch}, removed afterwards" if found.disk else "almost none"


def _service_lines(experiment: Any) -> list[str]:
    """The services, and the events of the timeline, a line each."""
    services = [
        f"  {name}: {use.use} on {use.on}, kept for the {use.keep} {_format_service(use)}".rstrip()
        for name, use in experiment.services.items()
    ]
    events = [
        f"  {entry.do} {_format_options(entry.options)}: {_format_timing(entry)}"
        for entry in experiment.timeline
    ]
    return [*(["services:", *services] if services else []), *(["timeline:", *events] if events else [])]


def _format_service(use: Any) -> str:
    """The options of a service, and what it is put under."""
    return _format_options({**use.options, **({"wrap": use.wrap.settings()} if use.wrap else {})})


def _format_timing(entry: Any) -> str:
    own = entry.to_tree()
    timing = {key: own[key] for key in ("during", "at", "every", "when", "for", "within") if key in own}
    return _format_options(timing) or "at the start of the phase"


def _format_options(found: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in found.items())


def _cell_lines(found: Preview) -> list[str]:
    shown_cells = [f"  {cell.key}" for cell in found.cells[:12]]
    more = len(found.cells) - len(shown_cells)
    return ["cells:", *shown_cells, *([f"  … and {more} more (--json lists all)"] if more > 0 else [])]


def format_command(command_: Any) -> str:
    """A command as one would type it."""
    env = " ".join(f"{name}={shlex.quote(value)}" for name, value in command_.env.items())
    line = " ".join(filter(None, (env, shlex.join(map(_fold_script, command_.argv)))))
    return line + (f"  <<< {len(command_.stdin)} characters of input" if command_.stdin else "")


def _fold_script(word: str) -> str:
    """A script of many lines by its first ones; --json has it whole."""
    lines = word.splitlines()
    more = len(lines) - MOST_LINES
    return word if more <= 1 else "\n".join([*lines[:MOST_LINES], f"… {more} more lines"])


def _missing_lines(found: Preview) -> list[str]:
    brought = list(dict.fromkeys(tool.name for tool in found.missing_tools if tool.is_obtainable))
    rest = [tool for tool in dict.fromkeys(found.missing_tools) if not tool.is_obtainable]
    others = list(dict.fromkeys(tool.name for tool in rest if not tool.advice))
    lines = [f"this machine lacks {tool.name}: {tool.advice}" for tool in rest if tool.advice]
    if brought:
        names = ", ".join(brought)
        lines.append(f"this machine lacks {names}; install with `steelyard install {' '.join(brought)}`")
    if others:
        listed = ", ".join(others)
        lines.append(f"this machine lacks {listed}, which no registry has: install as its manual describes")
    if found.missing_programs:
        named = ", ".join(found.missing_programs)
        lines.append(f"this machine has no program {named}: trials that start it will fail (tool-missing)")
    return lines


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
        "commands": [{"phase": name, "argv": command_.argv} for name, command_ in found.commands],
        "warnings": list(found.warnings),
        "lacks": [tool.name for tool in found.missing_tools],
        "absent": list(found.missing_programs),
        "guessed_from": dataclasses.asdict(found.pace) if found.pace else None,
    }
