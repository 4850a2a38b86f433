"""`steelyard resume`"""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import (
    AfterDashes,
    find_run,
    job_options,
    json_option,
    notify_option,
    quiet_option,
    run_argument,
    site_option,
    store_option,
)


@click.command(cls=AfterDashes)
@run_argument()
@site_option("Where to run; by default, where the run started")
@click.option("--scratch", metavar="DIR", type=click.Path(file_okay=False), help="Directory for test data")
@notify_option
@job_options
@click.option("--beside", is_flag=True, help="Do not wait for another run on this machine; mark the trials")
@click.option("--undecided", type=click.Choice(["pass", "fail"]), default="fail", help="As for `run`")
@quiet_option
@store_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    run: str,
    site: str | None,
    scratch: str | None,
    notify: tuple[str, ...],
    detach: bool,
    chain: bool,
    split: bool,
    beside: bool,
    undecided: str,
    quiet: bool,
    store: str | None,
    as_json: bool,
) -> int:
    """Resume RUN where its journal ends: after Ctrl-C, a crash, kill -9, a power cut or a full disk.

    \b
    steelyard resume last

    Finished trials are kept; an interrupted one is repeated. The order stays that of the first session. RUN
    may also be a suite.
    """
    from steelyard.cli.notifying import make_notifier, read_rules
    from steelyard.cli.progress import make_observer
    from steelyard.controller.choices import JobChoices, RunChoices
    from steelyard.controller.run import resume
    from steelyard.spec.stores import choose_store
    from steelyard.store.suites import find_suite

    where = choose_store(store)
    if suite := find_suite(where, run):
        from steelyard.cli.suites import resume_suite

        choices = RunChoices(site, Path(scratch) if scratch else None, beside)
        return resume_suite(suite, where, choices, notify, quiet=quiet, as_json=as_json)
    folder = find_run(store, run)
    jobs = JobChoices(detach, chain, split, ctx.meta.get("words", ()))
    choices = RunChoices(site, Path(scratch) if scratch else None, beside, jobs)
    notifier = make_notifier(notify, rules=read_rules(folder), detach=detach)
    observer = notifier.observe(make_observer(quiet=quiet or as_json))
    with notifier.watch():
        resume(folder, where, choices=choices, observer=observer)
    if detach:
        return 0
    # Loaded only now: what prints results is not to hold up the trials, least of all in a job that costs.
    from steelyard.cli.finish import finish

    return finish(folder, as_json=as_json, undecided=undecided, notifier=notifier)
