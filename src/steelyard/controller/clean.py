"""Remove what dead runs left behind: processes that bear their token, and their scratch directories."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.controller.machine.remains import sweep_remains
from steelyard.errors import SteelyardError, StoreError
from steelyard.hosts.minder.scratch import remove_scratch
from steelyard.hosts.scratch_marker import digest
from steelyard.hosts.sweep import sweep
from steelyard.store.journal import read_journal
from steelyard.store.layout import RunFolder, Store
from steelyard.store.writer import is_live


@dataclass
class CleanupReport:
    """What was done; `failures` says what could not be, and why."""

    process_count: int = 0
    removed: list[Path] = field(default_factory=list)
    machines: list[str] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    queued: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def clean(store: Store) -> CleanupReport:
    """Clean up after every dead run. Live ones are not touched. What fails is reported, never raised."""
    report = CleanupReport()
    try:
        report.process_count = sweep()
        sweep_remains()
    except SteelyardError as error:
        report.failures.append(error.message)
    _end_rentals(report)
    _remove_pods(report)
    _cancel_jobs(report)
    for folder in store.list_runs():
        if not is_live(folder):
            for path, mark in _list_scratch(folder).items():
                _remove(path, mark, report)
    return report


def _end_rentals(found: CleanupReport) -> None:
    """End machines that dead runs rented, of whichever store: the lease files are the user's."""
    from steelyard.provision.ec2.clean import clean_leases

    ended = clean_leases(lambda rental: not is_live(RunFolder(Path(rental.folder))))
    for run, machines in ended.ended.items():
        found.machines += [f"{machine} of run {run}" for machine in machines]
    found.failures += ended.problems


def _remove_pods(found: CleanupReport) -> None:
    """Remove what dead runs started in clusters, of whichever store, too."""
    from steelyard.provision.kubernetes.clean import clean_pods

    removed, problems = clean_pods(lambda rental: not is_live(RunFolder(Path(rental.folder))))
    found.jobs += [f"{job} of run {run}" for run, jobs in removed.items() for job in jobs]
    found.failures += problems


def _cancel_jobs(found: CleanupReport) -> None:
    """Cancel what the workloads of dead runs left in queues, of whichever store, too."""
    from steelyard.controller.jobs.queues import cancel_left

    cancelled, problems = cancel_left(lambda folder: not is_live(folder))
    found.queued += cancelled
    found.failures += problems


def remove_run_scratch(folder: RunFolder) -> None:
    """Remove the scratch of one dead run, as far as possible; `clean` reports what is left."""
    for path, mark in _list_scratch(folder).items():
        _remove(path, mark, CleanupReport())


def _list_scratch(folder: RunFolder) -> dict[Path, str]:
    """The directories that a run made for scratch, whether or not they are still there; their marks' digests.

    Hosts far away clean up by themselves. A run of somebody else is no reason to remove anything.
    """
    if not folder.is_ours():
        return {}
    near = [line for line in _read_history(folder) if line["kind"] == "scratch" and "host" not in line]
    named = {Path(str(line.get("path"))): str(line.get("mark")) for line in near}
    return {path: mark for path, mark in named.items() if folder.id in path.name}


def _read_history(folder: RunFolder) -> list[dict[str, Any]]:
    """The journal, as far as it can be read: a run may have died before there was one."""
    try:
        return list(read_journal(folder.journal))
    except StoreError:
        return []


def _remove(path: Path, mark: str, found: CleanupReport) -> None:
    try:
        if not remove_scratch(bytes(path), lambda text: digest(text) == mark):
            path.rmdir()  # it was cut off just before or after its marker was there; others are not empty
    except FileNotFoundError:
        return
    except OSError as error:
        found.failures.append(f"{path}: {error.strerror}")
    else:
        found.removed.append(path)
