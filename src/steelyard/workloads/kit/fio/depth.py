"""How many I/Os really were outstanding, and whether that is what was asked for.

fio tells at which depth it issued I/Os (`iodepth_level`), but counts what fio holds, not what the kernel
took. Buffered libaio finishes each I/O while it is being submitted; fio holds the finished ones, has not
looked at them yet, and reports a full queue. So the depth is judged by time:

- *achieved*: by Little's law (J. D. C. Little, Operations Research 9(3), 1961) the mean number outstanding is
  the sum of all latencies over the time. Without latencies (`gtod_reduce`) it is the mean of the depth
  levels, each taken at its upper bound.
- *attainable*: a run of N I/Os at depth D must fill and drain its queue once; when the storage serves them in
  order, the mean cannot be above D (1 - D / 2N). So 256 I/Os at depth 256 reach 128, and that is no fault.
- *submitting*: the share s of the time in which a thread was handing an I/O to the kernel. A kernel that
  makes the thread wait there has no room for more: a device's queue is full, or nothing is asynchronous.

When finished I/Os are collected at once (`iodepth_batch_complete_max` = depth, as all SKA workloads have it),
a kernel that takes only K of D I/Os at once gives a mean of (K + D) / 2, and a synchronous one (1 + D) / 2.
The depth counts as sustained from 3/4 of the attainable on, which is K = D / 2. With fio's default, which
collects one I/O at a time, a full queue is reported in any case; then only the engine tells.

With fewer than 2 D I/Os a run is filling and draining, and its mean is near D / 2 in any case. When the last
of N I/Os is submitted, a steady storage has finished the share s of them: N (1 - s) are outstanding, the
most there ever are. They must be half of D there as well. A time that holds something else (opening files in
under 0.2 s, a final fsync) makes the mean too low; then a low mean counts only if submitting took over half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.workloads.kit.fio.options import SYNCHRONOUS
from steelyard.workloads.kit.fio.output import FioJob

_SUSTAINED = 0.75
_TAKEN = 0.5
_BLOCKED = 0.5
_FAIR_SECONDS = 0.2  # below this, opening the files takes a visible part of a job's time
_LIMITED = ("rate", "rate_iops", "thinktime", "latency_target")
_SYNCED = ("end_fsync", "fsync_on_close", "fsync", "fdatasync")


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """Asked for, achieved and attainable mean numbers of I/Os outstanding of one process; see above.

    `ios` were done. `fair`: the time holds nothing else of size (opening files, a final fsync), so that a
    low mean counts.
    """

    asked: float
    achieved: float
    attainable: float
    submission_share: float
    ios: float
    fair: bool


def measure(job: FioJob) -> QueueDepth | None:
    """The depth of a job; None when it moved nothing in measurable time."""
    seconds = max((flow.seconds for flow in job.flows.values()), default=0.0)
    if not seconds:
        return None
    asked, ios = number_option(job, "iodepth"), sum(flow.ios for flow in job.flows.values())
    return QueueDepth(
        asked=asked,
        achieved=_depth_by_latency(job, seconds) or _depth_by_levels(job, asked),
        attainable=_attainable_depth(asked, ios),
        submission_share=sum(flow.submission_time for flow in job.flows.values()) / seconds,
        ios=ios,
        fair=seconds >= _FAIR_SECONDS and not any(is_flag_set(job, name) for name in _SYNCED),
    )


def mean(depths: Sequence[QueueDepth]) -> QueueDepth:
    """The mean of several processes; of none, a depth that says nothing."""
    count = max(1, len(depths))
    return QueueDepth(
        asked=sum(each.asked for each in depths) / count,
        achieved=sum(each.achieved for each in depths) / count,
        attainable=sum(each.attainable for each in depths) / count,
        submission_share=sum(each.submission_share for each in depths) / count,
        ios=sum(each.ios for each in depths) / count,
        fair=all(each.fair for each in depths),
    )


def find_fallback(jobs: Sequence[FioJob]) -> str:
    """Why the I/O was not done at the depth that was asked for, or an empty string.

    Jobs with a rate limit are not judged: they hold back on purpose.
    """
    judged = [job for job in jobs if number_option(job, "iodepth") > 1 and not _is_rate_limited(job)]
    for job in judged:
        if reason := _judge_engine(job):
            return reason
    depths = [depth for job in judged if (depth := measure(job))]
    return _judge_count(mean(depths)) or _judge_time(mean(depths)) if depths else ""


def number_option(job: FioJob, name: str) -> int:
    """A whole option of fio's as it was given, 1 when it was not."""
    text = job.options.get(name, "1")
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 10 else 1


def is_flag_set(job: FioJob, name: str) -> bool:
    """Whether an option of fio's is switched on; fio writes a bare one as an empty string."""
    return job.options.get(name, "0") != "0"


def engine(job: FioJob) -> str:
    """The engine that fio used; psync is its default on Linux."""
    return job.options.get("ioengine", "psync")


def is_direct(job: FioJob) -> bool:
    """Whether the host's cache was passed by; fio fails where the file system cannot."""
    return is_flag_set(job, "direct") or job.options.get("buffered") == "0"


def _attainable_depth(asked: int, ios: int) -> float:
    return asked * (1 - asked / (2 * ios)) if asked <= ios else ios / 2


def _depth_by_latency(job: FioJob, seconds: float) -> float | None:
    waited = [flow.total_latency for flow in job.flows.values()]
    known = [each for each in waited if each is not None]
    return sum(known) / seconds if len(known) == len(waited) else None


def _depth_by_levels(job: FioJob, asked: int) -> float:
    top = max(job.levels, default=1)
    return sum(
        share * (asked if low == top else min(2 * low - 1, asked)) for low, share in job.levels.items()
    )


def _is_rate_limited(job: FioJob) -> bool:
    return any(name in job.options for name in _LIMITED)


def _judge_engine(job: FioJob) -> str:
    asked = number_option(job, "iodepth")
    if engine(job) in SYNCHRONOUS:
        return f"engine {engine(job)} keeps one I/O outstanding, not the {asked} requested"
    if engine(job) == "libaio" and not is_direct(job):
        return f"libaio without direct I/O submits one I/O at a time, not the {asked} requested"
    return ""


def _judge_count(depth: QueueDepth) -> str:
    if depth.ios < depth.asked:
        return f"only {depth.ios:.4g} I/Os were done, but a depth of {depth.asked:.4g} was requested"
    return ""


def _judge_time(depth: QueueDepth) -> str:
    if depth.achieved > 1.05 * depth.asked:
        return f"{depth.achieved:.3g} I/Os were outstanding on average, not the {depth.asked:.4g} requested"
    most = depth.ios * (1 - min(1.0, depth.submission_share))
    if depth.ios < 2 * depth.asked:
        return _describe_shortfall(depth, f"about {most:.3g} at most") if most < _TAKEN * depth.asked else ""
    if depth.achieved >= _SUSTAINED * depth.attainable or not (
        depth.fair or depth.submission_share > _BLOCKED
    ):
        return ""
    return _describe_shortfall(depth, f"on average {depth.achieved:.3g} of {depth.attainable:.3g} attainable")


def _describe_shortfall(depth: QueueDepth, were: str) -> str:
    took = f"submitting took {depth.submission_share * 100:.0f} % of the time"
    return f"{depth.asked:.4g} outstanding I/Os were requested, actual: {were}; {took}"
