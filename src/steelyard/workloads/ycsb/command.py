"""The words of YCSB's command lines, for one of several copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.plugin import Command, Place, Tool
from steelyard.plugin.workload import list_protocols
from steelyard.workloads.kit.client import fail_with, fail_without_server
from steelyard.workloads.ycsb.options import NAME, YcsbOptions

YCSB = Tool(NAME, maven=str(Path(__file__).with_name("java")), program="steelyard-ycsb")
JAVA = Tool("java", apt="openjdk-17-jre-headless", dnf="java-17-openjdk-headless", version=("-version",))
_AUTHORITY = "YCSB_AUTHORITY"
_PASSWORD = "YCSB_PASSWORD"  # noqa: S105 - the name of a variable
_ENDLESS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class YcsbTarget:
    """Which servers, by which protocol; `facts` are what the service tells, `secrets` what it must not.

    `authority` signed the servers, where they are reached by TLS.
    """

    protocol: str
    servers: tuple[str, ...]
    facts: Mapping[str, str]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    authority: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, place: Place, options: YcsbOptions) -> YcsbTarget | None:
        """The service that `to:` names, or what the options name; None without either."""
        if place.to is not None:
            listed = place.to.facts.get("servers", f"{place.to.address}:{place.to.port}")
            protocol = options.protocol or place.to.facts.get("protocol", "")
            secrets = {_PASSWORD: place.to.password} if place.to.password else {}
            return cls(protocol, tuple(listed.split(",")), place.to.facts, secrets, place.to.authority)
        if options.server is None or options.protocol is None:
            return None
        usual = list_protocols(NAME)[options.protocol][0].port
        servers = (name if ":" in name else f"{name}:{usual}" for name in options.server.split(","))
        return cls(options.protocol, tuple(servers), {})

    def copy_servers(self, copy: int) -> str:
        """What a copy is given: of Redis servers the primary, of independent ones one in turn, else all."""
        if self.protocol != "redis" or self.is_cluster:
            return ",".join(self.servers)
        return self.servers[0 if self.facts.get("arrangement") == "replicas" else copy % len(self.servers)]

    @property
    def is_cluster(self) -> bool:
        """Whether the Redis servers are a cluster."""
        return self.facts.get("arrangement") == "cluster"


def share(total: int, place: Place) -> tuple[int, int]:
    """The part of a copy when a number is divided among all: where it starts, and how much it is."""
    first = total * place.copy // place.copies
    return first, total * (place.copy + 1) // place.copies - first


def command(stage: str, place: Place, options: YcsbOptions) -> Command:
    """The command of one stage: create, load or run."""
    target = YcsbTarget.of(place, options)
    if target is None:
        return fail_without_server("ycsb")
    protocols = list_protocols(NAME)
    if target.protocol not in protocols:
        return fail_with(f"ycsb has no binding for '{target.protocol}', only for {', '.join(protocols)}")
    _, binding = protocols[target.protocol]
    if options.shares.scan and not binding.can_scan:
        return fail_with(f"{target.protocol} does not support scans: use a mix without them, not e")
    if min(options.records, options.operations or place.copies) < place.copies:
        return fail_with(f"ycsb cannot divide its records and operations among {place.copies} copies")
    if stage == "create" and place.copy:
        return Command(("true",))  # one makes the table for all
    words = [stage, "-db", binding.name]
    words += ["-s"] if stage != "create" else []
    for name, value in _properties(stage, place, options, target):
        words += ["-p", f"{name}={value}"]
    heap = int(options.heap) >> 20
    java = {"YCSB_JAVA_OPTIONS": f"-Xms{heap}m -Xmx{heap}m -XX:+UseG1GC"}
    believes = {_AUTHORITY: target.authority} if target.authority else {}
    return Command(YCSB.argv(*words), {**java, **believes}, cwd=place.scratch, secrets=target.secrets)


def _properties(
    stage: str, place: Place, options: YcsbOptions, target: YcsbTarget
) -> Iterator[tuple[str, object]]:
    yield from _store_properties(place, options, target)
    if stage == "create":
        return
    yield "workload", "steelyard.ycsb.CopyWorkload"
    yield "copy", place.copy
    yield "copies", place.copies
    yield "recordcount", options.records
    yield "threadcount", options.threads
    yield "fieldlength", int(options.field_size)
    yield "dataintegrity", _format_flag(options.verify)
    yield from _measurement_properties(place, options)
    if options.rate and stage == options.measured_stage:
        yield "measurement.interval", "both"
        yield "target", max(1, share(round(options.rate), place)[1])
    yield from _load_properties(place, options) if stage == "load" else _run_properties(place, options)


def _store_properties(place: Place, options: YcsbOptions, target: YcsbTarget) -> Iterator[tuple[str, object]]:
    facts = target.facts
    yield "servers", target.copy_servers(place.copy)
    yield "fieldcount", options.fields
    yield "operation_timeout", round(options.timeout * 1000)
    named = {
        "user": options.user or facts.get("user"),
        "password_file": options.password_file or facts.get("password_file"),
        "database": options.database or facts.get("database"),
    }
    yield from ((name, value) for name, value in named.items() if value)
    if target.protocol == "redis":
        yield "redis.cluster", _format_flag(target.is_cluster)
        yield "redis.index", _format_flag(bool(options.shares.scan))
    if target.protocol == "cql":
        yield "cql.read_consistency", options.consistency
        yield "cql.write_consistency", options.write_consistency or options.consistency
        yield "cql.replication", options.replication or facts.get("replication", "1")
        yield "cql.datacenter", facts.get("datacenter", "")


def _measurement_properties(place: Place, options: YcsbOptions) -> Iterator[tuple[str, object]]:
    yield "measurementtype", "hdrhistogram"
    yield "hdrhistogram.fileoutput", "true"
    yield "hdrhistogram.output.path", f"{place.raw}/"
    yield "status.interval", int(options.interval)


def _load_properties(place: Place, options: YcsbOptions) -> Iterator[tuple[str, object]]:
    first, count = share(options.records, place)
    yield "insertstart", first
    yield "insertcount", count
    yield "core_workload_insertion_retry_limit", options.retries


def _run_properties(place: Place, options: YcsbOptions) -> Iterator[tuple[str, object]]:
    for name, weight in options.shares:
        yield f"{name.replace('_', '')}proportion", weight
    yield "requestdistribution", options.effective_distribution
    yield "maxscanlength", options.scan_length
    if options.operations is not None:
        yield "operationcount", share(options.operations, place)[1]
        return
    seconds = options.duration or 0.0
    yield "operationcount", _ENDLESS
    yield "expected_operations", min(_ENDLESS, round((options.rate or 0) * seconds / place.copies))
    yield "maxexecutiontime", int(seconds)


def _format_flag(flag: bool) -> str:
    return "true" if flag else "false"
