"""`use: etcd_perf`: whether a cluster of etcd is fast enough, by its own check."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from steelyard.plugin import Command, Metric, Output, ParseFailure, Place, Reading, Tool
from steelyard.plugin.workload import Workload, WorkloadOptions
from steelyard.workloads.kit.client import BELIEVE, authority_variables, fail_without_server

_SECONDS = 60.0  # which the check always takes
_SERVERS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*:\d{1,5}(,[A-Za-z0-9_][A-Za-z0-9_.-]*:\d{1,5})*")
# Code 1 is also that of a cluster that is too slow, which is a result; `parse` tells it from any other.
_RUN = f"""{BELIEVE}[ ! -e authority.pem ] || set -- "$@" --cacert authority.pem
export ETCDCTL_API=3; etcdctl "$@" || [ $? = 1 ]
"""
_NUMBER = r"(\d+(?:\.\d+)?)"
_THROUGHPUT = re.compile(
    rf"PASS: Throughput is {_NUMBER} writes/s$|FAIL: Throughput too low: {_NUMBER} writes/s$"
)
_SLOWEST = re.compile(rf"PASS: Slowest request took {_NUMBER}s$|^Slowest request took too long: {_NUMBER}s$")
_DEVIATION = re.compile(rf"PASS: Stddev is {_NUMBER}s$|^Stddev too high: {_NUMBER}s$")
_ERRORS = re.compile(r"^FAIL: ERROR\(.*\) -> (\d+)$", re.MULTILINE)


class EtcdPerfOptions(WorkloadOptions):
    """How much is asked of which cluster."""

    load: Literal["s", "m", "l", "xl"] = Field(
        "s",
        description="Target load: s is 50 clients with 150 writes per second, m is 200 with 1000, l is 500 "
        "with 8000, xl is 1000 with 15000.",
    )
    server: str | None = Field(
        None,
        description="Members of a running cluster without TLS and authentication, if `to:` names no service: "
        "`address:port`, separated by commas.",
    )

    @field_validator("server")
    @classmethod
    def _check_members(cls, value: str | None) -> str | None:
        if value is not None and not _SERVERS.fullmatch(value):
            raise ValueError(f"'{value}' is not a list of members such as '10.0.0.1:2379,10.0.0.2:2379'")
        return value


class EtcdPerf(Workload[EtcdPerfOptions]):
    """etcd's own check of a cluster: a minute of writes at a fixed rate, and etcd's verdict on them.

    **Measures** `throughput`, successful writes per second, at most those of the `load`; `slowest` and
    `deviation`, the longest time of a write and the standard deviation of all; `errors`, how many failed; and
    `passed`, which is 1 if etcd finds its cluster fit for the load: 90 % of its writes, none longer than
    500 ms, a deviation of at most 100 ms.

    **Source**: `etcdctl check perf`, https://etcd.io/docs/v3.4/op-guide/performance.

    **How to read it.** The rate is limited, so a throughput near the load's says only that the cluster keeps
    up; it is rounded up to a whole number. Keys have 256 bytes and values 1 KiB. A verdict of "too slow" is a
    result and does not fail the trial. Each copy writes below a prefix of its own, which it empties
    afterwards. For other mixes and rates, use `ycsb`.
    """

    Options = EtcdPerfOptions
    needs = (Tool("etcdctl", apt="etcd-client", dnf="etcd", version=("version",), at_least="3.4.23"),)
    talks_to = frozenset({"etcd"})
    examples = ({},)

    def metrics(self) -> tuple[Metric, ...]:
        """The check's figures, and its verdict."""
        return (
            Metric("throughput", "1/s", "higher", "successful writes per second"),
            Metric("slowest", "s", "lower", "longest time of a write", over_copies="max"),
            Metric("deviation", "s", "lower", "standard deviation of the writes' times", over_copies="mean"),
            Metric("errors", "1", "lower", "writes that failed"),
            Metric(
                "passed", "1", "higher", "1 if etcd finds the cluster fit for the load", over_copies="min"
            ),
        )

    def command(self, place: Place) -> Command:
        """The client; what it shall not show stands in its environment."""
        to, options = place.to, self.options
        listed = to.facts.get("servers", f"{to.address}:{to.port}") if to else options.server
        if listed is None:
            return fail_without_server("etcd_perf")
        scheme = "https" if to and to.authority else "http"
        endpoints = ",".join(f"{scheme}://{member}" for member in listed.split(","))
        words = ("check", "perf", "--load", options.load, "--prefix", f"steelyard-{place.copy}-")
        environment = {"ETCDCTL_ENDPOINTS": endpoints} | (authority_variables(to) if to else {})
        login = to.facts.get("user", "root") if to and to.password else None
        secrets = {"ETCDCTL_USER": f"{login}:{to.password}"} if to and login else {}
        argv = ("sh", "-eu", "-c", _RUN, "sh", *words)
        return Command(argv, environment, cwd=place.scratch, secrets=secrets)

    def parse(self, phase: str, output: Output) -> Reading:
        """The last lines, after its progress. Raises ParseFailure."""
        passed, lines = _has_passed(output), output.stdout.splitlines()
        values = {
            "throughput": _find_figure(_THROUGHPUT, lines),
            "slowest": _find_figure(_SLOWEST, lines),
            "deviation": _find_figure(_DEVIATION, lines),
            "errors": float(sum(map(int, _ERRORS.findall(output.stdout)))),
            "passed": float(passed),
        }
        return Reading(values)

    def closed_loop_advice(self) -> str | None:
        """Its clients share a rate, but each waits for its answer."""
        return "use ycsb with a `rate`"

    def seconds(self) -> float | None:
        """Always as long, and the end of what is under way."""
        return _SECONDS + 1.0


def _has_passed(output: Output) -> bool:
    """The verdict, which the last line gives. Raises ParseFailure where it is missing."""
    *_, verdict = output.stdout.splitlines() or [""]
    if verdict not in ("PASS", "FAIL") or not output.stdout.endswith("\n"):
        said = (output.stderr or output.stdout)[-200:]
        raise ParseFailure(f"etcdctl check perf gave no verdict; its output ends: {said!r}")
    return verdict == "PASS"


def _find_figure(pattern: re.Pattern[str], lines: list[str]) -> float:
    """The figure of the line that matches; its first line follows the progress."""
    matches = [match for line in lines if (match := pattern.search(line))]
    if len(matches) != 1:
        raise ParseFailure(f"etcdctl check perf: {len(matches)} lines match '{pattern.pattern}', not one")
    return float(next(group for group in matches[0].groups() if group is not None))
