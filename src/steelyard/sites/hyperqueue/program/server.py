"""HyperQueue's server, asked by its Python package. What goes wrong ends the program with a sentence."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

from .notes import JobNames, Notes

os.environ["RUST_BACKTRACE"] = "0"  # would be part of every error's text


class HyperqueueServer:
    """The server whose access key lies in this directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        with _explain_errors(f"cannot reach the server of {directory}"):
            try:
                key = json.loads((directory / "hq-current" / "access.json").read_text())
            except FileNotFoundError:
                raise RuntimeError("no server was started there (`hq server start`)") from None
            uid = str(key["server_uid"])
            if not uid.isalnum():
                raise RuntimeError(f"the access key has the strange server_uid {uid[:40]!r}")
            self.notes = directory / "steelyard" / uid
            self._client = _import_package().Client(directory)

    def submit(
        self, name: str, task: Sequence[str], script: str, *, directory: str, seconds: float, cpus: str,
        priority: int, resources: Sequence[str],
    ) -> int:  # fmt: skip
        """Queue a job of one task; its id. It waits for a worker that lives for so many `seconds`."""
        from hyperqueue.ffi.protocol import ResourceRequest

        more = [word.partition("=") for word in resources]
        needs = ResourceRequest(
            cpus=cpus,
            resources={name: amount for name, _, amount in more},
            min_time=timedelta(seconds=seconds),
        )
        job = _import_package().Job(name=name, max_fails=1)
        job.program(
            list(task), env={"HQ_SERVER_DIR": str(self.directory)}, cwd=directory, stdin=script, stdout=None,
            stderr=None, priority=priority, resources=needs, crash_limit=1,
        )  # fmt: skip
        with _explain_errors("the server refuses the job"):
            identity = int(self._client.submit(job).id)
        JobNames(self.notes, name).add(identity)
        return identity

    def describe_jobs(self, wanted: Sequence[int]) -> list[dict[str, Any]]:
        """The facts of those jobs that it knows."""
        with _explain_errors("the server does not tell of its jobs"):
            counts = self._count_tasks(wanted)
            failed = [job for job in counts if counts[job]["failed"]]
            errors = self._client.connection.get_failed_tasks(failed) if failed else {}
        return [{"id": job, **counts[job], **self._describe_job(job, errors)} for job in sorted(counts)]

    def cancel(self, jobs: Sequence[int]) -> None:
        """Ask the task of each job to end it."""
        known = self._count_tasks(jobs) if jobs else {}
        for job in jobs:
            if job not in known:
                sys.exit(f"the server knows no job {job}")
            Notes(self.notes, str(job)).ask_to_cancel()

    def list_unfinished(self, name: str) -> list[int]:
        """The jobs of this name that are not over; one that is cancelled in the queue will never run."""
        jobs = JobNames(self.notes, name).read()
        every = self.describe_jobs(jobs) if jobs else []
        return [
            facts["id"]
            for facts in every
            if not facts["completed"] and ("host" in facts or not facts["is_cancelled"])
        ]

    def _count_tasks(self, jobs: Sequence[int]) -> dict[int, dict[str, Any]]:
        """How many tasks of each have finished and failed: what one who waits for jobs is told first."""
        told: list[dict[int, dict[str, Any]]] = []

        def listen(counts: dict[int, dict[str, Any]]) -> NoReturn:
            told.append(counts)
            raise InterruptedError

        with contextlib.suppress(InterruptedError):
            self._client.connection.wait_for_jobs(jobs, listen)
        return told[0]

    def _describe_job(self, job: int, errors: dict[int, dict[int, Any]]) -> dict[str, Any]:
        notes = Notes(self.notes, str(job))
        error = next((str(task.error) for task in errors.get(job, {}).values()), "")
        return {"error": error, "is_cancelled": notes.is_cancelled, **notes.read()}


@contextlib.contextmanager
def _explain_errors(what: str) -> Iterator[None]:
    """An error of HyperQueue's goes on with a hint, its causes and where in its source it came about."""
    try:
        yield
    except (RuntimeError, OSError, ValueError, LookupError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        sys.exit(f"{what}: {lines[0] if lines else type(error).__name__}")


def _import_package() -> Any:
    import hyperqueue

    return hyperqueue
