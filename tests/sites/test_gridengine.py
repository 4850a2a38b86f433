"""Grid Engine's own side: jobs of which its accounting says nothing, or nothing yet."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from steelyard.errors import HostError
from steelyard.hosts.call import Answer
from steelyard.sites.gridengine import _ENDED, Gridengine, GridengineOptions
from steelyard.sites.kit.batch.job import Job, JobState

LISTED = """<job_info><queue_info><job_list><JB_job_number>7</JB_job_number><state>{state}</state>
<queue_name>all.q@n1</queue_name></job_list></queue_info></job_info>"""
EMPTY = "<job_info/>"


def site_that_hears(said: dict[str, str]) -> Gridengine:
    async def answer(argv: Sequence[str], **options: Any) -> Answer:
        return Answer(tuple(argv), 0 if argv[0] in said else 1, said.get(argv[0], ""), "")

    site = Gridengine(GridengineOptions())
    site.calls.caller = answer  # type: ignore[assignment]
    return site


def test_a_job_that_was_cancelled_before_it_began_is_remembered() -> None:
    said = {"qstat": LISTED.format(state="qw"), "qdel": ""}
    site = site_that_hears(said)
    assert asyncio.run(site.jobs.fetch_job("7")).state is JobState.QUEUED
    asyncio.run(site.jobs.cancel("7"))
    said["qstat"] = EMPTY
    assert asyncio.run(site.jobs.fetch_job("7")).state is JobState.CANCELLED
    assert asyncio.run(site_that_hears(said).jobs.fetch_job("7")).state is JobState.LOST, "another process"


def test_a_job_that_nobody_knows_is_not_taken_for_cancelled() -> None:
    site = site_that_hears({"qstat": EMPTY})
    with pytest.raises(HostError, match="unknown"):
        asyncio.run(site.jobs.cancel("7"))
    assert asyncio.run(site.jobs.fetch_job("7")).state is JobState.LOST


def test_the_accounting_may_be_late_but_not_for_ever() -> None:
    site = site_that_hears({"qstat": LISTED.format(state="z")})
    job = asyncio.run(site.jobs.fetch_job("7"))
    assert (job.state, job.reason) == (JobState.RUNNING, _ENDED)
    ended = Job("7", JobState.RUNNING, _ENDED)
    explain = site.scheduler.explain_unrecorded_job
    assert explain(ended, 59.0, was_cancelled=False) == ended
    assert "no exit status" in explain(ended, 61.0, was_cancelled=False).sentence
    assert explain(ended, 61.0, was_cancelled=True) == replace(ended, state=JobState.CANCELLED, reason="")
