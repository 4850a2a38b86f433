"""The words of YCSB's command lines, for one of several copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from steelyard.model.command import Command, Place
from steelyard.model.tool import Tool
from steelyard.workloads._client import fail_with, fail_without_server
from steelyard.workloads._ycsb_options import YcsbOptions

YCSB = Tool("ycsb", maven=True, program="steelyard-ycsb")
JAVA = Tool("java", apt="openjdk-17-jre-headless", dnf="java-17-openjdk-headless", version=("-version",))
_BINDING = {"cql": "Cql", "redis": "Redis", "postgresql": "Postgresql", "memcached": "Memcached"}
_PORT = {"cql": 9042, "redis": 6379, "postgresql": 5432, "memcached": 11211}
_SPOKEN = {"cassandra": "cql", "scylladb": "cql"}  # services that are named for what they are
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
    def of(cls, place: Place, chosen: YcsbOptions) -> YcsbTarget | None:
        """The service that `to:` names, or what the options name; None without either."""
        if place.to is not None:
            spoken = place.to.facts.get("protocol", "")
            listed = place.to.facts.get("servers", f"{place.to.address}:{place.to.port}")
            protocol = chosen.protocol or _SPOKEN.get(spoken, spoken)
            secrets = {_PASSWORD: place.to.password} if place.to.password else {}
            return cls(protocol, tuple(listed.split(",")), place.to.facts, secrets, place.to.authority)
        if chosen.server is None or chosen.protocol is None:
            return None
        usual = _PORT[chosen.protocol]
        servers = (name if ":" in name else f"{name}:{usual}" for name in chosen.server.split(","))
        return cls(chosen.protocol, tuple(servers), {})

    def of_copy(self, copy: int) -> str:
        """What a copy is given: of Redis servers the primary, of independent ones one in turn, else all."""
        if self.protocol != "redis" or self.cluster:
            return ",".join(self.servers)
        return self.servers[0 if self.facts.get("arrangement") == "replicas" else copy % len(self.servers)]

    @property
    def cluster(self) -> bool:
        """Whether the Redis servers are a cluster."""
        return self.facts.get("arrangement") == "cluster"


def share(total: int, place: Place) -> tuple[int, int]:
    """The part of a copy when a number is divided among all: where it starts, and how much it is."""
    first = total * place.copy // place.copies
    return first, total * (place.copy + 1) // place.copies - first


def command(stage: str, place: Place, chosen: YcsbOptions) -> Command:
    """The command of one stage: create, load or run."""
    target = YcsbTarget.of(place, chosen)
    if target is None:
        return fail_without_server("ycsb")
    if target.protocol not in _BINDING:
        return fail_with(f"ycsb has no binding for '{target.protocol}', only for {', '.join(_BINDING)}")
    if target.protocol == "memcached" and chosen.shares.scan:
        return fail_with("memcached has no scans: take a mix without them, not e")
    if min(chosen.records, chosen.operations or place.copies) < place.copies:
        return fail_with(f"ycsb cannot divide its records and operations among {place.copies} copies")
    if stage == "create" and place.copy:
        return Command(("true",))  # one makes the table for all
    words = [stage, "-db", f"steelyard.ycsb.{_BINDING[target.protocol]}"]
    words += ["-s"] if stage != "create" else []
    for name, value in _properties(stage, place, chosen, target):
        words += ["-p", f"{name}={value}"]
    heap = int(chosen.heap) >> 20
    java = {"YCSB_JAVA_OPTIONS": f"-Xms{heap}m -Xmx{heap}m -XX:+UseG1GC"}
    believes = {_AUTHORITY: target.authority} if target.authority else {}
    return Command(YCSB.argv(*words), {**java, **believes}, cwd=place.scratch, secrets=target.secrets)


def _properties(
    stage: str, place: Place, chosen: YcsbOptions, target: YcsbTarget
) -> Iterator[tuple[str, object]]:
    yield from _store_properties(place, chosen, target)
    if stage == "create":
        return
    yield "workload", "steelyard.ycsb.CopyWorkload"
    yield "copy", place.copy
    yield "copies", place.copies
    yield "recordcount", chosen.records
    yield "threadcount", chosen.threads
    yield "fieldlength", int(chosen.field_size)
    yield "dataintegrity", _format_flag(chosen.verify)
    yield from _measurement_properties(place, chosen)
    if chosen.rate and stage == chosen.measured:
        yield "measurement.interval", "both"
        yield "target", max(1, share(round(chosen.rate), place)[1])
    yield from _load_properties(place, chosen) if stage == "load" else _run_properties(place, chosen)


def _store_properties(place: Place, chosen: YcsbOptions, target: YcsbTarget) -> Iterator[tuple[str, object]]:
    facts = target.facts
    yield "servers", target.of_copy(place.copy)
    yield "fieldcount", chosen.fields
    yield "operation_timeout", round(chosen.timeout * 1000)
    named = {
        "user": chosen.user or facts.get("user"),
        "password_file": chosen.password_file or facts.get("password_file"),
        "database": chosen.database or facts.get("database"),
    }
    yield from ((name, value) for name, value in named.items() if value)
    if target.protocol == "redis":
        yield "redis.cluster", _format_flag(target.cluster)
        yield "redis.index", _format_flag(bool(chosen.shares.scan))
    if target.protocol == "cql":
        yield "cql.read_consistency", chosen.consistency
        yield "cql.write_consistency", chosen.write_consistency or chosen.consistency
        yield "cql.replication", chosen.replication or facts.get("replication", "1")
        yield "cql.datacenter", facts.get("datacenter", "")


def _measurement_properties(place: Place, chosen: YcsbOptions) -> Iterator[tuple[str, object]]:
    yield "measurementtype", "hdrhistogram"
    yield "hdrhistogram.fileoutput", "true"
    yield "hdrhistogram.output.path", f"{place.raw}/"
    yield "status.interval", int(chosen.interval)


def _load_properties(place: Place, chosen: YcsbOptions) -> Iterator[tuple[str, object]]:
    first, count = share(chosen.records, place)
    yield "insertstart", first
    yield "insertcount", count
    yield "core_workload_insertion_retry_limit", chosen.retries


def _run_properties(place: Place, chosen: YcsbOptions) -> Iterator[tuple[str, object]]:
    for name, weight in chosen.shares:
        yield f"{name.replace('_', '')}proportion", weight
    yield "requestdistribution", chosen.chosen_distribution
    yield "maxscanlength", chosen.scan_length
    if chosen.operations is not None:
        yield "operationcount", share(chosen.operations, place)[1]
        return
    seconds = chosen.duration or 0.0
    yield "operationcount", _ENDLESS
    yield "expected_operations", min(_ENDLESS, round((chosen.rate or 0) * seconds / place.copies))
    yield "maxexecutiontime", int(seconds)


def _format_flag(flag: bool) -> str:
    return "true" if flag else "false"
