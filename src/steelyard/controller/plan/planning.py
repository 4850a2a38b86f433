"""What a file would run, in words: for `steelyard plan`, and for the page on which one is written."""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.controller.choices import RunChoices, choose_site
from steelyard.controller.pace import TrialPace, find_pace
from steelyard.controller.plan.preview import Preview, preview
from steelyard.controller.plan.replayed import check_traces
from steelyard.controller.scratch import choose_scratch, scratch_warnings
from steelyard.model.experiment import Experiment
from steelyard.model.trial import show_level
from steelyard.store.layout import Store
from steelyard.units import show, show_span

MOST_LINES = 6


class RunPlan(NamedTuple):
    """An experiment with what it would do here: `site` by name, `scratch` where test data would go, and what
    the site and the scratch have to say.
    """

    experiment: Experiment
    preview: Preview
    scratch: Path
    site: str
    notes: list[str]


def make_plan(
    experiment: Experiment, store: Store, site: str | None = None, scratch: str | None = None
) -> RunPlan:
    """Look ahead, on a site that overrides the experiment's. Raises UsageError, SpecError."""
    named, chosen = choose_site(RunChoices(site), experiment), choose_scratch(scratch)
    where = chosen or store.scratch.absolute()
    ahead = _preview_here(experiment, where, store, here=named.site.install_policy == "here")
    check_traces(experiment, ahead.cells, store)
    return RunPlan(
        experiment, ahead, where, named.name, [*named.notes, *scratch_warnings(chosen, named.site)]
    )


def describe_plan(plan: RunPlan) -> list[str]:
    """Cells, order, time, disk, commands, and what this machine is missing."""
    lines = _lines(plan.experiment, plan.preview, plan.scratch, plan.site)
    return [*lines, *(f"warning: {text}" for text in plan.notes)]


def _preview_here(experiment: Experiment, scratch: Path, store: Store, *, here: bool) -> Preview:
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
        *_machine_lines(experiment),
        *_image_lines(experiment),
        *_service_lines(experiment),
        *(_search_lines(experiment, found) if found.searches else _cell_lines(found)),
        "commands of one trial:",
        *(f"  {one.phase:12} {_format_command(one.shown)}" for one in found.commands),
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


def _machine_lines(experiment: Any) -> list[str]:
    """What machines are set to, a line for each role."""
    return [
        f"machine  {name}: {_format_options(role.machine.settings())}, put back after each trial"
        for name, role in experiment.roles.items()
        if role.machine
    ]


def _image_lines(experiment: Any) -> list[str]:
    """The images that the file describes, a line each."""
    made = [
        f"  {name}: {recipe.describe()}, {'made by mmdebstrap' if recipe.suite else 'unpacked'}"
        " on each host that does not have it"
        for name, recipe in experiment.images.items()
    ]
    return ["images:", *made] if made else []


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


def _format_command(command_: Any) -> str:
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
