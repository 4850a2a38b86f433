"""Suites on the command line: `run SUITE`, `resume`, `show` and `plan`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.cli.notifying import Notifier, make_notifier
from steelyard.cli.options import print_json
from steelyard.cli.progress import make_observer
from steelyard.cli.terminal import echo
from steelyard.controller.choices import RunChoices
from steelyard.controller.observer import Observer
from steelyard.errors import Interrupted, UsageError
from steelyard.files import write_whole
from steelyard.spec.suites import LoadedSuite, SuiteUnit, load_suite
from steelyard.store.layout import Store
from steelyard.store.suites import SuiteFolder, create_suite
from steelyard.suites.report import plain_suite, render_markdown, suite_lines
from steelyard.suites.runner import SuiteRunner
from steelyard.suites.summary import SuiteSummary, summarise_suite
from steelyard.trust import check_ownership


def run_new_suite(
    path: Path,
    store: Store,
    choices: RunChoices,
    notify: Sequence[str],
    *,
    quiet: bool,
    as_json: bool,
) -> int:
    """Check a suite and all its experiments, and run it; the exit code. Raises as `load_suite`."""
    loaded = load_suite(path)
    notifier = make_notifier(notify, rules=loaded.rules)
    folder = _begin_suite(path, loaded, store)
    return run_suite(folder, loaded, store, choices, notifier, quiet=quiet, as_json=as_json)


def resume_suite(
    folder: SuiteFolder,
    store: Store,
    choices: RunChoices,
    notify: Sequence[str],
    *,
    quiet: bool,
    as_json: bool,
) -> int:
    """Go on with a suite that was begun, with its experiments as they are now; the exit code."""
    check_ownership(folder.path, "the suite")
    begun = next((line for line in folder.read_lines() if line.get("kind") == "begun"), {})
    loaded = load_suite(folder.file, Path(str(begun.get("folder", "."))))
    notifier = make_notifier(notify, rules=loaded.rules)
    return run_suite(folder, loaded, store, choices, notifier, quiet=quiet, as_json=as_json)


def _begin_suite(path: Path, loaded: LoadedSuite, store: Store) -> SuiteFolder:
    """Write down what is planned."""
    folder = create_suite(store, loaded.suite.suite, loaded.text, path.absolute().parent)
    folder.add_line(
        kind="plan",
        suite=loaded.suite.suite,
        about=loaded.suite.about,
        budget=loaded.suite.budget,
        not_tested=loaded.suite.not_tested,
        units=[{"name": unit.name, "file": unit.file.name} for unit in loaded.units],
    )
    return folder


def run_suite(
    folder: SuiteFolder,
    loaded: LoadedSuite,
    store: Store,
    choices: RunChoices,
    notifier: Notifier,
    *,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run what is left of a suite, and print what it came to; the exit code."""

    def announce(unit: SuiteUnit, number: int, of: int) -> Observer:
        echo(f"suite {loaded.suite.suite}, {number} of {of}: {unit.name}", err=True)
        return notifier.observe(make_observer(quiet=quiet or as_json))

    try:
        SuiteRunner(folder, loaded, store, choices).run(announce)
    except Interrupted as error:
        hint = f"`steelyard resume {folder.id}` continues the suite"
        raise Interrupted(f"suite {folder.id}: {error.message}", hint=hint) from error
    summary = show_suite(folder, store, as_json=as_json)
    notifier.tell_suite(summary)
    return summary.exit_code


def show_suite(folder: SuiteFolder, store: Store, *, as_json: bool) -> SuiteSummary:
    """Print what a suite came to, and write its summary down."""
    summary = summarise_suite(folder, store)
    if as_json:
        print_json(plain_suite(summary))
    else:
        echo("\n".join(suite_lines(summary)))
    try:
        write_whole(folder.summary, render_markdown(summary).encode())
    except OSError as error:
        echo(f"cannot write {folder.summary}: {error.strerror}", err=True)
    else:
        echo(folder.summary, err=as_json)
    return summary


def refuse_options(given: Mapping[str, object]) -> None:
    """Say that what belongs to one experiment is no option of a suite. Raises UsageError."""
    if wrong := [name for name, value in given.items() if value]:
        hint = "write it into the suite's entry: {file: …, repeat: …, levels: {…}}"
        raise UsageError(f"{wrong[0]} is for one experiment, and this file is a suite", hint=hint)
