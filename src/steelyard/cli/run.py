"""`steelyard run`"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from steelyard.cli.options import (
    AfterDashes,
    job_options,
    json_option,
    level_option,
    notify_option,
    parse_tags,
    quiet_option,
    site_option,
    store_option,
    tag_option,
)
from steelyard.cli.terminal import echo
from steelyard.errors import UsageError
from steelyard.spec.levels import parse_levels

PASS_OR_FAIL = click.Choice(["pass", "fail"])


@click.command(cls=AfterDashes)
@click.argument("file", required=False, type=click.Path(dir_okay=False))
@site_option("Where to run, such as local:4 or ssh:hosts.yaml; overrides the file's `site`")
@click.option("--scratch", metavar="DIR", type=click.Path(file_okay=False), help="Directory for test data")
@click.option("--repeat", type=click.IntRange(1), metavar="N", help="Repetitions of each cell, for this run")
@level_option("Levels of a parameter, for this run")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Seed of the order, for this run")
@tag_option
@notify_option
@job_options
@click.option("--beside", is_flag=True, help="Do not wait for another run on this machine; mark the trials")
@click.option(
    "--disturbed",
    type=click.Choice(["replace", "exclude", "include"]),
    help="Repeat disturbed trials (the default; at most twice the trials), leave them out, or count them",
)
@click.option(
    "--undecided",
    type=PASS_OR_FAIL,
    default="fail",
    help="How to count an undecided or missing requirement",
    show_default=True,
)
@quiet_option
@store_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    file: str | None,
    site: str | None,
    scratch: str | None,
    repeat: int | None,
    levels: tuple[str, ...],
    seed: int | None,
    tags: tuple[str, ...],
    notify: tuple[str, ...],
    detach: bool,
    chain: bool,
    split: bool,
    beside: bool,
    disturbed: str | None,
    undecided: str,
    quiet: bool,
    store: str | None,
    as_json: bool,
) -> int:
    """Run an experiment or a suite FILE, or a bare command after `--`.

    \b
    steelyard run examples/hello.yaml
    steelyard run examples/lockstep.yaml --site local:4
    steelyard run ska1.yaml --scratch /mnt/nvme --repeat 10
    steelyard run examples/ab.yaml -p build=old,copy
    steelyard run nightly.yaml --tag commit=3f2a91c
    steelyard run ska1.yaml --site slurm:4 --chain -- --constraint=ib
    steelyard run long.yaml --notify ntfy:https://ntfy.example.org/my-runs
    steelyard run -- sleep '{0.1,0.2}'
    steelyard run -- ./solver --threads '{1..4}' --mesh '{small,large}'

    Quote the braces: most shells expand them before Steelyard sees them. The last line printed is the path
    of the report. Ctrl-C stops the run cleanly, and `steelyard resume last` continues it. With a FILE,
    arguments after `--` go to the batch scheduler's submit command.
    """
    from steelyard.cli.finish import finish
    from steelyard.cli.notifying import make_notifier
    from steelyard.cli.progress import make_observer
    from steelyard.controller.choices import JobChoices, RunChoices
    from steelyard.controller.run import start
    from steelyard.spec.stores import choose_store

    words: tuple[str, ...] = ctx.meta.get("words", ())
    choices = RunChoices(site, Path(scratch) if scratch else None, beside)
    if file and _is_suite(Path(file)):
        from steelyard.cli.suites import refuse_options, run_new_suite

        refuse_options(
            {"--repeat": repeat, "-p": levels, "--seed": seed, "--tag": tags, "--disturbed": disturbed}
            | {"--detach": detach, "--chain": chain, "--split": split, "an argument after --": words}
        )
        return run_new_suite(Path(file), choose_store(store), choices, notify, quiet=quiet, as_json=as_json)
    if words and not any("{" in word for word in words) and len(words) > 1:
        echo("one cell; to vary an argument, quote the braces: 'sleep' '{0.1,0.2}'", err=True)
    options, words = (words, ()) if file else ((), words)
    changes = {"repeat": repeat, "seed": seed, "disturbed": disturbed, "tags": parse_tags(tags) or None}
    experiment, text, origin = _load_experiment(file, words, changes, levels)
    notifier = make_notifier(notify, rules=experiment.alert, detach=detach)
    where = choose_store(store)
    choices = replace(choices, jobs=JobChoices(detach, chain, split, options))
    observer = notifier.observe(make_observer(quiet=quiet or as_json))
    with notifier.watch():
        folder = start(experiment, text, where, choices=choices, observer=observer, origin=origin)
    if detach:
        echo(folder.id)
        return 0
    return finish(folder, as_json=as_json, undecided=undecided, notifier=notifier)


def _is_suite(file: Path) -> bool:
    """Imported here, as a bare command needs none of it."""
    from steelyard.spec.suites import is_suite

    return is_suite(file)


def _load_experiment(
    file: str | None, words: tuple[str, ...], changes: dict[str, Any], levels: tuple[str, ...]
) -> tuple[Any, str, Path | None]:
    """The experiment, the text to keep of it, and the file that it comes from."""
    from steelyard.spec.bare_command import build_experiment
    from steelyard.spec.change import load_changed, load_tree

    if file is None and not words:
        raise UsageError("nothing to run", hint="steelyard run FILE, or steelyard run -- COMMAND …")
    wanted = {key: value for key, value in changes.items() if value is not None}
    if file is None and levels:
        raise UsageError("-p sets levels of a FILE's parameters; give those of a command in braces")
    if file is None:
        return (*load_tree({**build_experiment(words), **wanted}), None)
    path = Path(file)
    return (*load_changed(path, wanted, parse_levels(levels)), path.absolute())
