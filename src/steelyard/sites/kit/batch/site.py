"""The base of all batch sites: what Slurm, LSF, PBS and Grid Engine share.

The user's command submits one job, whose script becomes a controller inside the allocation; there `lease`
hands out the allocation's hosts. Where to look:

- `options`: what a user may say of a batch site
- `scheduler`: what the file of one scheduler fills in, builders and parsers; `nodes` helps them
- `scheduler_calls`: calling its commands, patiently
- `submission`: from outside, queueing jobs; `script` is what such a job runs
- `job_control`: from outside, how jobs stand (`job`), following, ending and suspending them
- `allocation`: from inside a job, its hosts, the time left, and why it ends
"""

from __future__ import annotations

from steelyard.sites.kit.batch.allocation import Allocation
from steelyard.sites.kit.batch.options import BatchOptions, BatchOptionsT
from steelyard.sites.kit.batch.submission import Submission


class BatchSite(Submission[BatchOptionsT], Allocation[BatchOptionsT]):
    """Base of all batch sites: a scheduler, seen from outside of its jobs and from inside."""

    Options = BatchOptions
    is_batch = True
    count_option = "nodes"
    covers = ("C4S.26",)
    examples = ({"nodes": 4, "time": "2h"},)
