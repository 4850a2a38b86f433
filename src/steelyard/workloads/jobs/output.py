"""From the driver's lines to a reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.plugin import QUANTILES, Mark, Output, ParseFailure, Reading
from steelyard.plugin.workload import Engine, Histogram
from steelyard.workloads.kit.document import JsonNode, parse_document

_TOOL = "the driver of jobs"
_MOST_REASONS = 5


@dataclass(frozen=True, slots=True)
class JobAttempt:
    """One submission of a job. `confirmed`: when the submit command had ended; `began` and the rest are the
    job's own stamps, and only there if it said them. `failure` is empty for one that succeeded.
    """

    job: int
    number: int
    submitted: float
    confirmed: float
    accepted: bool
    failure: str
    began: float | None = None
    launched: float | None = None
    ended: float | None = None
    host: str = ""

    @classmethod
    def of(cls, line: JsonNode, engine: Engine) -> JobAttempt:
        """From a line of the driver. Raises ParseFailure."""
        facts = dict(line.items())
        job, number = _parse_key(line.child("job").text())
        failure = _explain(facts, engine) if "failure" in facts else ""
        attempt = cls(
            job,
            number,
            line.child("submitted").number(),
            line.child("confirmed").number(),
            "id" in facts,
            failure,
            **_read_stamps(line, failed=bool(failure)) if "began" in facts else {},
        )
        attempt.check()
        return attempt

    def check(self) -> None:
        """Raises ParseFailure where the order of the stamps is impossible."""
        stamps = [self.submitted, self.began, self.launched, self.ended]
        told = [stamp for stamp in stamps if stamp is not None]
        if told != sorted(told) or self.confirmed < self.submitted:
            raise ParseFailure(
                f"the stamps of job {self.job} on {self.host or 'its host'} are out of order: the clocks of "
                "the hosts differ; synchronize them (NTP)"
            )
        if not self.failure and self.ended is None:
            raise ParseFailure(f"{_TOOL} has no stamps of job {self.job}")


def parse_run(output: Output, engine: Engine, jobs: int, retries: int) -> Reading:
    """What became of all jobs. Raises ParseFailure."""
    lines, summary = _read_lines(output)
    attempts = [JobAttempt.of(line, engine) for line in lines]
    _check_complete(attempts, jobs, retries)
    good = [one for one in attempts if not one.failure]
    seconds = max((one.ended or 0.0 for one in good), default=0.0) - min(one.submitted for one in attempts)
    if seconds <= 0:
        raise ParseFailure(f"{_TOOL} tells of no job that succeeded")
    histograms = _count_spans(attempts)
    failed_first = sum(bool(one.failure) for one in attempts if one.number == 0)
    values = {
        "throughput": len(good) / seconds,
        "failure_rate": failed_first / jobs,
        **_quantiles(histograms),
    }
    if retries:
        values |= {"failure_rate_retried": (jobs - len(good)) / jobs, "submissions": float(len(attempts))}
    bins = {name: dict(histogram.bins) for name, histogram in histograms.items()}
    return Reading(values, bins, _find_marks(summary), _describe(attempts, engine, summary))


def _count_spans(attempts: Sequence[JobAttempt]) -> dict[str, Histogram]:
    """Each of them that got so far."""
    spans = {
        "submit_time": [one.confirmed - one.submitted for one in attempts if one.accepted],
        "wait_time": [one.began - one.submitted for one in attempts if one.began],
        "launch_time": [one.launched - one.began for one in attempts if one.launched and one.began],
        "turnaround_time": [one.ended - one.submitted for one in attempts if one.ended and not one.failure],
    }
    return {name: _count(values) for name, values in spans.items()}


def parse_status(output: Output, engine: Engine, queries: int) -> Reading:
    """How long the questions took; the answer must tell of the job. Raises ParseFailure."""
    lines, summary = _read_lines(output)
    if len(lines) != queries + 1:
        raise ParseFailure(f"{_TOOL} asked {len(lines) - 1} of {queries} times")
    *asked, last = lines
    spans = [line.child("query").number() for line in asked]
    identity = last.child("id").text()
    if identity not in (told := engine.parse_description(last.child("said").text())):
        raise ParseFailure(f"{engine.title} does not tell how job {identity} stands")
    histogram = _count(spans)
    facts = {"engine": engine.title, "answer": told[identity]}
    values = _quantiles({"status_time": histogram})
    return Reading(values, {"status_time": dict(histogram.bins)}, _find_marks(summary), facts)


def _read_lines(output: Output) -> tuple[list[JsonNode], JsonNode]:
    lines = [parse_document(line, _TOOL) for line in output.stdout.splitlines()]
    if not lines or "over" not in dict(lines[-1].items()):
        raise ParseFailure(f"{_TOOL} did not come to its end; its output is cut off")
    return lines[:-1], lines[-1]


def _parse_key(text: str) -> tuple[int, int]:
    job, _, attempt = text.partition(".")
    if not (job.isdecimal() and attempt.isdecimal()):
        raise ParseFailure(f"{_TOOL} tells of a job {text[:20]!r}")
    return int(job), int(attempt)


def _read_stamps(line: JsonNode, *, failed: bool) -> dict[str, Any]:
    processes = [[stamp.text() for stamp in process.nodes()] for process in line.child("processes").nodes()]
    if not failed and not all(len(process) == 2 for process in processes):
        raise ParseFailure(f"{_TOOL} has a process without stamps: `date` must be there, inside, too")
    starts = [_parse_stamp(process[0]) for process in processes if process]
    return {
        "began": _parse_stamp(line.child("began").text()),
        "launched": max(starts) if starts else None,
        "ended": _parse_stamp(line.child("ended").text()),
        "host": line.child("host").text(),
    }


def _parse_stamp(text: str) -> float:
    seconds, _, fraction = text.partition(".")
    if not (seconds.isdecimal() and fraction.isdecimal() and len(fraction) == 9):
        raise ParseFailure(
            f"`date +%s.%N` does not tell nanoseconds there: {text[:40]!r}; hosts and images need coreutils"
        )
    return float(text)


def _explain(facts: dict[str, JsonNode], engine: Engine) -> str:
    """Why a job failed: as the driver says, and the engine of the job, if that can be read."""
    failure = facts["failure"].text()
    said = facts["said"].text() if "said" in facts else ""
    try:
        sentences = engine.parse_description(said) if said else {}
    except ParseFailure:
        return failure
    told = sentences.get(facts["id"].text(), "") if "id" in facts else ""
    return f"{failure}; {engine.title}: {told}" if told else failure


def _check_complete(attempts: Sequence[JobAttempt], jobs: int, retries: int) -> None:
    """Each job once, and again only after a failure. Raises ParseFailure."""
    tries = Counter(one.job for one in attempts)
    keys = {(one.job, one.number) for one in attempts}
    last_failed = {one.job for one in attempts if one.failure and one.number < retries}
    again = {one.job for one in attempts if one.number}
    if set(tries) != set(range(jobs)) or len(keys) != len(attempts) or not last_failed == again:
        raise ParseFailure(f"{_TOOL} told of {len(tries)} of {jobs} jobs, or its output is damaged")


def _count(spans: Iterable[float]) -> Histogram:
    return Histogram.of(Counter(max(0.0, round(span, 6)) for span in spans))


def _quantiles(histograms: dict[str, Histogram]) -> dict[str, float]:
    return {
        f"{name}_{label}": histogram.quantile(share)
        for name, histogram in histograms.items()
        if histogram.count
        for label, share in QUANTILES.items()
    }


def _find_marks(summary: JsonNode) -> tuple[Mark, ...]:
    left = [node.text() for node in summary.child("left").nodes()]
    reason = f"{len(left)} jobs were still in the queue when the trial ended"
    return (Mark("incomplete", reason, "jobs left"),) if left else ()


def _describe(attempts: Sequence[JobAttempt], engine: Engine, summary: JsonNode) -> dict[str, Any]:
    reasons = Counter(one.failure for one in attempts if one.failure).most_common(_MOST_REASONS)
    return {
        "engine": engine.title,
        "attempts": sum(one.number == 0 for one in attempts),
        "hosts": len({one.host for one in attempts if one.host}),
        "stamp": summary.child("stamp").number(),
        "failures": dict(reasons),
    }
