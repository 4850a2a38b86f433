"""Runs inside the jobs of a batch scheduler: submit one, and act on it from outside.

The run's folder is made where the user stands, on a file system that the job sees too; the job then resumes a
run of which nothing is done yet. So everything that a killed controller can be resumed from, a job can be.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.controller.choices import JOB, RunChoices
from steelyard.errors import UsageError
from steelyard.sites.kit.batch.job import Job
from steelyard.sites.kit.batch.site import BatchSite
from steelyard.spec.sites import NamedSite, resolve
from steelyard.store.layout import RunFolder, Store
from steelyard.store.reader import RunRecord


async def submit(
    folder: RunFolder,
    store: Store,
    named: NamedSite,
    hosts: int | None,
    choices: RunChoices,
) -> dict[str, Any]:
    """Submit the job that goes on with a run; its facts for the journal. Raises HostError, UsageError."""
    site: BatchSite[Any] = named.site  # type: ignore[assignment]
    count = hosts or site.options.nodes or 1
    request = site.make_request(
        choices.jobs.name or folder.id,
        _arguments(folder, store, named, choices),
        hosts=count,
        output=folder.job_log,
        working_directory=Path.cwd(),
        environment={JOB: "1"},
    )
    request = replace(request, extra_options=(*request.extra_options, *choices.jobs.options))
    return {"job": await site.submit(request), "site": named.name, "hosts": request.hosts}


def _arguments(folder: RunFolder, store: Store, named: NamedSite, choices: RunChoices) -> tuple[str, ...]:
    """What the job says to Steelyard: resume, as the user would."""
    words = ["resume", folder.id, "--store", str(store.root.absolute()), "--site", named.name, "--quiet"]
    words += ["--scratch", str(choices.scratch.absolute())] if choices.scratch else []
    words += ["--beside"] * choices.parallel
    words += ["--chain"] * choices.jobs.chain + ["--split"] * choices.jobs.split
    return (*words, "--", *choices.jobs.options) if choices.jobs.options else tuple(words)


class RunJob:
    """The newest job of a run, and what can be done with it. Raises UsageError when there is none."""

    def __init__(self, record: RunRecord) -> None:
        lines = [line for line in record.journal if line["kind"] == "run-submitted"]
        if not lines:
            raise UsageError(
                f"run {record.id} was not submitted to a scheduler",
                hint="Ctrl-C where it runs, or `steelyard cancel`, ends it; `steelyard resume` continues it",
            )
        self.id, self.site_name = str(lines[-1]["job"]), str(lines[-1]["site"])
        self.site: BatchSite[Any] = resolve(self.site_name).site  # type: ignore[assignment]

    async def query(self) -> Job:
        """How it stands now. Raises HostError when the scheduler does not answer."""
        return (await self.site.fetch_jobs([self.id]))[self.id]

    async def act(self, verb: str) -> Job:
        """`cancel`, `suspend` or `continue`; how it stands afterwards. Raises HostError, UsageError."""
        verbs: dict[str, Callable[[str], Awaitable[None]]] = {
            "cancel": self.site.end,
            "suspend": self.site.suspend,
            "continue": self.site.resume,
        }
        await verbs[verb](self.id)
        return await self.query()
