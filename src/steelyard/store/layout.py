"""Where everything of a run lies; the only place that knows a file name of the record.

::

    <store>/runs/<id>/  experiment.yaml  design.json  environment.json  journal.ndjson  control.json
      imported          where it was imported from; made here if there is none
      cancelled         who asked for its end, until somebody goes on with it
      trials/<n>/{trial.json,metrics.json}
      trials/<n>/<role>-<i>/<phase>/{stdout,stderr,raw/}
      trials/<n>/telemetry/<host>.{ndjson,parquet}
      trials/<n>/collected/<name>/<host>.{ndjson,parquet,json}
      trials/<n>/meters/<service>.{ndjson,parquet}
      functions/        files of functions that the timeline plays, as they were when the run began
      derived/          whatever analysis makes; can be deleted and rebuilt
    <store>/traces/<id>/    storage calls of a bare program (`traces.folder`)
    <store>/history.ndjson  what people decided about runs of an experiment's history
    <store>/snapshots/      data of services that are to outlive them, unless another place is named
    <store>/scratch/<id>/   where workloads put their data, unless a scratch directory is named; removed
"""

from __future__ import annotations

import os
import pwd
import re
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from steelyard.errors import StoreError, UnknownName
from steelyard.untrusted import read_content

SCHEMA = 1
SAMPLES = "samples.ndjson"
"""Beside the output of a phase: how its metrics went over time."""
CRATE = "ro-crate-metadata.json"
DEFAULT = "steelyard-runs"
ANOTHER_STORE = "choose another place with --store DIR or STEELYARD_STORE"
_SECOND = len("20261120-184512")
_TAIL = len("-7f3a")
_ID = re.compile(r"\d{8}-\d{6}-[A-Za-z0-9][A-Za-z0-9._-]*-[0-9a-f]{4}")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run and the places in it."""

    path: Path

    @property
    def id(self) -> str:
        """The run's id, which is the folder's name."""
        return self.path.name

    @property
    def title(self) -> str:
        """The name of its experiment, as `cut_title` leaves it."""
        return self.path.name[_SECOND + 1 : -_TAIL]

    @property
    def experiment(self) -> Path:
        """The experiment as it was run."""
        return self.path / "experiment.yaml"

    @property
    def design(self) -> Path:
        """Seed, order, cells, declared metrics, requirements."""
        return self.path / "design.json"

    @property
    def environment(self) -> Path:
        """The machine, as it was before the run."""
        return self.path / "environment.json"

    @property
    def journal(self) -> Path:
        """The one history."""
        return self.path / "journal.ndjson"

    @property
    def control(self) -> Path:
        """Held locked by the controller while it lives."""
        return self.path / "control.json"

    @property
    def cancel_file(self) -> Path:
        """Who asked for the end of the run; there from then on until somebody goes on with it."""
        return self.path / "cancelled"

    def canceller(self) -> str:
        """Who asked for the end of the run; empty when nobody did."""
        try:
            return read_content(self.cancel_file).decode("utf-8", "replace")
        except OSError:
            return ""

    def mark_cancelled(self, by: str) -> None:
        """Say that somebody wants the end of the run, so that nobody takes it for a failure."""
        with suppress(OSError):  # of somebody else, or full: then it ends as it would by a signal
            self.cancel_file.write_text(by, "utf-8")

    @property
    def imported_file(self) -> Path:
        """Where the run was imported from, if it was; such a run is never continued."""
        return self.path / "imported"

    @property
    def crate_file(self) -> Path:
        """What a published run says of itself, after RO-Crate."""
        return self.path / CRATE

    def mark_imported(self, source: str, wall: float) -> None:
        """Say where it comes from, and when that was. Raises OSError."""
        day = time.strftime("%Y-%m-%d", time.localtime(wall))
        self.imported_file.write_text(f"{source} on {day}\n", "utf-8", "surrogateescape")

    def imported_from(self) -> str:
        """Where it was imported from, and when; empty where it was made here."""
        if os.path.lexists(self.crate_file):
            return "a published crate"
        try:
            return read_content(self.imported_file).decode("utf-8", "replace").strip()
        except OSError:
            return ""

    @property
    def reserve(self) -> Path:
        """Space kept for the last lines of a run whose store fills up."""
        return self.path / "reserve"

    @property
    def derived_folder(self) -> Path:
        """What analysis makes."""
        return self.path / "derived"

    def derived_file(self, name: str) -> Path:
        """Where to write a file of `derived_folder`. Raises StoreError where the run is not ours."""
        self.check_owner("choose another place with --output")
        return self.derived_folder / name

    def is_ours(self) -> bool:
        """Whether the folder, and no link to it, belongs to us."""
        return self._owner() == os.geteuid()

    def check_owner(self, hint: str = "") -> None:
        """Raises StoreError when the run belongs to somebody else: nothing is written into it."""
        owner = self._owner()
        if owner is not None and owner != os.geteuid():
            message = f"run {self.id} belongs to {account_name(owner)}, so nothing is written to {self.path}"
            raise StoreError(
                message, hint=hint or "`steelyard run` with its experiment.yaml creates a run of your own"
            )

    def _owner(self) -> int | None:
        """Who could change what lies in it: we, unless the folder or one that we write into is another's."""
        try:
            owners = {self.path.lstat().st_uid, self.path.stat().st_uid}
            written = (self.derived_folder, self.path / "trials")
            owners |= {path.lstat().st_uid for path in written if os.path.lexists(path)}
        except FileNotFoundError:
            return None
        return next(iter(owners - {os.geteuid()}), os.geteuid())

    @property
    def minder_log(self) -> Path:
        """What the minder has to complain about; empty on a good day."""
        return self.path / "minder.log"

    @property
    def services(self) -> Path:
        """Logs of the services that outlive a trial; those of one trial lie in its folder."""
        return self.path / "services"

    def service(self, name: str, number: int) -> Path:
        """Logs of a service that was deployed before the trial of this number, and outlives it."""
        return self.services / f"{name}-{number}"

    @property
    def functions(self) -> Path:
        """Files of functions that the timeline plays; they are run from here."""
        return self.path / "functions"

    @property
    def job_log(self) -> Path:
        """What the jobs of a batch scheduler print that go on with the run."""
        return self.path / "job.log"

    def trial(self, number: int) -> Path:
        """The folder of a trial."""
        return self.path / "trials" / str(number)

    def phase(self, number: int, role: str, phase: str) -> Path:
        """Where a phase's output goes."""
        return self.trial(number) / role / phase

    def list_samples(self, number: int) -> list[Path]:
        """The files of a trial that say how its metrics went over time, one for each copy that tells."""
        return sorted(self.trial(number).glob(f"*/*/{SAMPLES}"))

    def telemetry(self, number: int, host: str, suffix: str) -> Path:
        """Samples of a host during a trial: `ndjson` while it runs, `parquet` afterwards."""
        return self.trial(number) / "telemetry" / f"{host}.{suffix}"

    def collector_table(self, number: int, name: str, label: str, suffix: str) -> Path:
        """Samples of a collector during a trial; as `json`, what the columns of the table mean.

        Host telemetry is older than other collectors, and its place is its own.
        """
        if self.is_telemetry(name):
            return self.telemetry(number, label, suffix)
        return self.trial(number) / "collected" / name / f"{label}.{suffix}"

    @staticmethod
    def is_telemetry(name: str) -> bool:
        """Whether a table is host telemetry, whose columns are the same in all records."""
        return name == "telemetry"

    def meters(self, number: int, service: str, suffix: str) -> Path:
        """Figures that a service told of itself during a trial."""
        return self.trial(number) / "meters" / f"{service}.{suffix}"


class Store:
    """A folder of runs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def runs(self) -> Path:
        """Where the run folders lie."""
        return self.root / "runs"

    @property
    def scratch(self) -> Path:
        """Where scratch directories lie unless another place is named."""
        return self.root / "scratch"

    @property
    def snapshots(self) -> Path:
        """Where snapshots of services lie unless another place is named."""
        return self.root / "snapshots"

    @property
    def traces(self) -> Path:
        """Where traces of bare programs lie (`traces.folder`)."""
        return self.root / "traces"

    @property
    def suites(self) -> Path:
        """Where suites of experiments keep which runs are theirs."""
        return self.root / "suites"

    @property
    def decisions(self) -> Path:
        """What people decided about runs of a history."""
        return self.root / "history.ndjson"

    def create(self, title: str) -> RunFolder:
        """A new run folder. Its id sorts by time and is unique: `20261120-184512-ska1-7f3a`."""
        try:
            return RunFolder(make_dated_folder(self.make_runs(), title))
        except OSError as error:
            raise _create_error(self.root, error) from error

    def make_runs(self) -> Path:
        """The folder of runs; what is recorded is for its user's eyes, who may open it to others.

        Raises OSError, and StoreError where it is somebody else's.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        self.runs.mkdir(mode=0o700, exist_ok=True)
        for path in (self.root, self.runs):
            owner = path.stat().st_uid
            if owner not in (0, os.geteuid()):
                message = f"the store {path} belongs to {account_name(owner)}, so nothing is written to it"
                raise StoreError(message, hint=ANOTHER_STORE)
        return self.runs

    def list_runs(self) -> list[RunFolder]:
        """All runs, oldest first. Raises StoreError when the store cannot be read."""
        return [RunFolder(self.runs / name) for name in self.list_ids()]

    def list_ids(self) -> list[str]:
        """The ids of all runs, the oldest's first. Raises StoreError when the store cannot be read."""
        try:
            names = os.listdir(self.runs)  # noqa: PTH208 - three times as fast as pathlib
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"cannot read the store {self.root}: {error.strerror}") from error
        ids = sorted(name for name in names if _ID.fullmatch(name))
        second = Counter(name[:_SECOND] for name in ids)

        def age(name: str) -> tuple[str, int]:
            stamp = name[:_SECOND]
            return stamp, _birth_time(RunFolder(self.runs / name)) if second[stamp] > 1 else 0

        return sorted(ids, key=age)

    def find(self, name: str) -> RunFolder:
        """A run by id, by a part of an id that no other has, by path, or the newest as `last`.

        Raises UnknownName (with did-you-mean) when there is none, or more than one.
        """
        if "/" in name and (Path(name) / "journal.ndjson").is_file():
            return RunFolder(Path(name))
        every = self.list_runs()
        if name == "last" and every:
            return every[-1]
        matches = match_ids(every, name)
        if len(matches) == 1:
            return matches[0]
        raise self._make_unknown_error(name, [run.id for run in matches or every], ambiguous=bool(matches))

    def _make_unknown_error(self, name: str, near: list[str], *, ambiguous: bool) -> UnknownName:
        if ambiguous:
            hint = f"it matches: {', '.join(near[:5])}"
        elif near:
            hint = f"`steelyard list` shows the runs in {self.root}; --store names another store"
        else:
            hint = f"no runs in {self.root}; `steelyard run FILE` creates one, --store names another store"
        return UnknownName("run", name, near, hint=hint)


def make_dated_folder(parent: Path, title: str) -> Path:
    """A new folder whose name sorts by time and is unique. Raises OSError."""
    while True:
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        path = parent / f"{stamp}-{cut_title(title)}-{secrets.token_hex(2)}"
        with suppress(FileExistsError):
            path.mkdir()
            return path


def is_run_id(name: str) -> bool:
    """Whether a run may be called so."""
    return _ID.fullmatch(name) is not None


def cut_title(title: str) -> str:
    """As much of an experiment's name as the ids of its runs hold."""
    return title[:32]


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


Identified = TypeVar("Identified", bound=_HasId)


def match_ids(runs: Sequence[Identified], name: str) -> list[Identified]:
    """Those that a name stands for: the run of this id, else by an end of their ids, else by a part."""
    return (
        [run for run in runs if run.id == name]
        or [run for run in runs if run.id.startswith(name) or run.id.endswith(f"-{name}")]
        or [run for run in runs if f"-{name}-" in run.id]
    )


def _birth_time(run: RunFolder) -> int:
    """When the file that is written first and never again was written, in nanoseconds."""
    for path in (run.experiment, run.path):
        with suppress(OSError):
            return path.stat().st_mtime_ns
    return 0


def _create_error(root: Path, error: OSError) -> StoreError:
    reason = error.strerror or str(error)
    return StoreError(f"cannot create a run in the store {root}: {reason}", hint=ANOTHER_STORE)


def account_name(user: int) -> str:
    """A user's name, or number where the list of accounts does not know it."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
