"""From what fio printed (`--output-format=json+`) to typed values in base units.

Nothing here trusts the text: whatever is missing, of another type, negative or not finite becomes a
ParseFailure that names the place. The fields are described in fio's HOWTO, section "JSON+ output".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import ParseFailure
from steelyard.model.command import Output
from steelyard.workloads.kit.document import JsonNode, refuse_constant

_LARGEST = 128 * 2**20  # bytes; a thousand processes with full histograms need about 30 MB
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class FioFlow:
    """What one job moved in one direction.

    `bytes`, `ios`; `seconds` from the job's start to the end of this direction; `total_latency`: seconds from
    start to completion, summed over all I/Os (None if fio was told not to measure it); `submission_time`: the
    part of that spent in handing them to the kernel; `bins`: completion latency in seconds to count.
    """

    bytes: int
    ios: int
    seconds: float
    total_latency: float | None
    submission_time: float
    bins: Mapping[float, int]


@dataclass(frozen=True, slots=True)
class FioJob:
    """One entry of fio's `jobs`: a process or thread.

    `group`: jobs of one group ran at the same time, groups one after another. `options`: what fio was asked
    for, global options included. `user`, `system`: CPU seconds. `levels`: lower bound of each of fio's
    queue depth levels to the share of I/Os issued at it. `error`: the errno that ended it, else 0;
    `errors`: how many I/Os failed without ending it (`continue_on_error`).
    """

    name: str
    group: int
    error: int
    errors: int
    options: Mapping[str, str]
    user: float
    system: float
    flows: Mapping[str, FioFlow]
    levels: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class FioResult:
    """Everything that one fio command reported."""

    version: str
    jobs: tuple[FioJob, ...]


def load(output: Output, name: str) -> FioResult:
    """The result in the file `name` of `output.raw`, else on stdout. Raises ParseFailure."""
    return parse(_select_text(output, name))


def parse(text: str) -> FioResult:
    """Read fio's output; lines before its JSON (fio's warnings) are passed over. Raises ParseFailure."""
    top = JsonNode(_parse_json(text), "fio's output")
    shared = top.child("global options", default={}).texts()
    jobs = tuple(_parse_job(node, shared) for node in top.child("jobs").nodes())
    if not jobs:
        raise ParseFailure("fio's output contains no job")
    return FioResult(top.child("fio version").text(), jobs)


def _select_text(output: Output, name: str) -> str:
    path = output.raw.get(name)
    return output.stdout if path is None else _read_file(path, name)


def _read_file(path: Path, name: str) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise ParseFailure(f"{name} is larger than {_LARGEST >> 20} MiB; use fewer jobs")
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ParseFailure(f"{name} cannot be read: {error.strerror}") from error


def _parse_json(text: str) -> object:
    start = re.search(r"^\{", text, re.MULTILINE)
    if not start:
        raise ParseFailure(f"no JSON in fio's output, {_quote(text)}")
    decoder = json.JSONDecoder(parse_constant=refuse_constant)
    try:
        return decoder.raw_decode(text, start.start())[0]
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno} ({error.msg}), {_quote(text[error.pos :])}"
        raise ParseFailure(f"fio's output is truncated or damaged at {place}") from error
    except (ValueError, RecursionError) as error:
        raise ParseFailure(f"fio's output is not JSON that fio writes: {error}") from error


def _quote(text: str) -> str:
    return f"which reads {text.strip()[:_SHOWN]!r}" if text.strip() else "which is empty there"


def _parse_job(node: JsonNode, shared: Mapping[str, str]) -> FioJob:
    seconds = node.child("job_runtime").number() / 1e3
    flows = {way: _parse_flow(node.child(way)) for way in ("read", "write", "trim")}
    return FioJob(
        name=node.child("jobname").text(),
        group=node.child("groupid").count(),
        error=node.child("error").count(),
        errors=node.child("total_err", default=0).count(),
        options={**shared, **node.child("job options", default={}).texts()},
        user=node.child("usr_cpu").number() / 100 * seconds,
        system=node.child("sys_cpu").number() / 100 * seconds,
        flows={way: flow for way, flow in flows.items() if flow.ios},
        levels=_parse_levels(node.child("iodepth_level")),
    )


def _parse_flow(node: JsonNode) -> FioFlow:
    latency, submission = node.child("lat_ns"), node.child("slat_ns")
    measured = latency.child("N").number()
    return FioFlow(
        bytes=node.child("io_bytes").count(),
        ios=node.child("total_ios").count(),
        seconds=node.child("runtime").number() / 1e3,
        total_latency=latency.child("mean").number() / 1e9 * measured if measured else None,
        submission_time=submission.child("mean").number() / 1e9 * submission.child("N").number(),
        bins=_parse_bins(node.child("clat_ns").child("bins", default={})),
    )


def _parse_bins(node: JsonNode) -> dict[float, int]:
    return {_parse_whole(key, entry) / 1e9: entry.count() for key, entry in node.items()}


def _parse_levels(node: JsonNode) -> dict[int, float]:
    return {_parse_whole(key.removeprefix(">="), entry): entry.number() / 100 for key, entry in node.items()}


def _parse_whole(key: str, node: JsonNode) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", key):
        raise ParseFailure(f"{node.where}: '{key[:_SHOWN]}' is not a whole number")
    return int(key)
