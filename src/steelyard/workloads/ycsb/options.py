"""What can be asked of YCSB."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from steelyard.plugin import Duration, Frequency, Size, suggest_name
from steelyard.plugin.workload import WorkloadOptions, list_protocols

_SERVERS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(:\d{1,5})?(,[A-Za-z0-9_][A-Za-z0-9_.-]*(:\d{1,5})?)*")
_WORD = r"^[A-Za-z_][A-Za-z0-9_]*$"
_SECONDS = ("duration", "omit", "interval")

NAME = "ycsb"
"""Of the tool for which services declare bindings."""

Consistency = Literal[
    "ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE"
]


class Mix(WorkloadOptions):
    """Shares of operations; they are weights and need not add up to 1."""

    read: float = Field(0.0, ge=0, le=1e6, description="Read a record.")
    update: float = Field(0.0, ge=0, le=1e6, description="Write one field of a record.")
    insert: float = Field(0.0, ge=0, le=1e6, description="Add a record.")
    scan: float = Field(0.0, ge=0, le=1e6, description="Read records in key order.")
    read_modify_write: float = Field(
        0.0, ge=0, le=1e6, description="Read a record, then write one of its fields."
    )

    @model_validator(mode="after")
    def _check_shares(self) -> Self:
        if not any((self.read, self.update, self.insert, self.scan, self.read_modify_write)):
            raise ValueError("a mix needs an operation with a share above 0")
        return self


MIXES = {
    "a": Mix(read=0.5, update=0.5),
    "b": Mix(read=0.95, update=0.05),
    "c": Mix(read=1),
    "d": Mix(read=0.95, insert=0.05),
    "e": Mix(scan=0.95, insert=0.05),
    "f": Mix(read=0.5, read_modify_write=0.5),
}


def _lower_case(letter: Any) -> Any:
    return letter.lower() if isinstance(letter, str) else letter


Letter = Annotated[Literal["a", "b", "c", "d", "e", "f"], BeforeValidator(_lower_case)]


def _check_protocol(value: str) -> str:
    known = list_protocols(NAME)
    if value not in known:
        raise ValueError(f"'{value}' is not one of {', '.join(known)}{suggest_name(value, known)}")
    return value


def _add_protocols(entry: dict[str, Any]) -> None:
    """Those that there are to the JSON Schema and the catalogue."""
    known = list(list_protocols(NAME))
    entry["anyOf"][0]["enum"] = known
    entry["description"] = (
        f"{', '.join(known[:-1])} or {known[-1]}. {entry['description'].partition('. ')[2]}"
    )


Protocol = Annotated[str, AfterValidator(_check_protocol)]


class YcsbOptions(WorkloadOptions):
    """Which operations, on how many records, how fast, and where. Numbers are of all copies together."""

    do: Literal["load", "run", "both"] = Field(
        "run",
        description="load: create an empty table and measure loading it; run: measure operations on the "
        "loaded data; both: load without measuring, then run.",
    )
    mix: Letter | Mix = Field("a", description="YCSB's workload a to f, or shares of operations by name.")
    records: int = Field(ge=1, le=2**31 - 1, description="Number of records to load, or already loaded.")
    operations: int | None = Field(
        None, ge=1, le=2**31 - 1, description="Number of operations to run, instead of `duration`."
    )
    duration: Duration | None = Field(
        None, description="How long to run, in whole seconds, instead of `operations`."
    )
    omit: Duration = Field(
        Duration(0),
        description="Exclude the first seconds of the run, in which clients warm up.",
    )
    rate: Frequency | None = Field(
        None,
        description="Target operations per second (`500/s` or 500). Default: as fast as possible.",
    )
    threads: int = Field(8, ge=1, le=4096, description="Client threads of each copy.")
    fields: int = Field(10, ge=1, le=1000, description="Number of fields in a record.")
    field_size: Size = Field(Size(100), description="Size of a field, in bytes.")
    distribution: Literal["zipfian", "uniform", "latest", "hotspot", "sequential"] | None = Field(
        None,
        description="Distribution of the requested records. Default: latest for mix d, otherwise zipfian.",
    )
    scan_length: int = Field(
        100, ge=1, le=10**6, description="Maximum records per scan; lengths are uniform from 1."
    )
    consistency: Consistency = Field(
        "LOCAL_QUORUM", description="CQL: consistency level of reads, and of writes."
    )
    write_consistency: Consistency | None = Field(
        None, description="CQL: consistency level of writes, if different."
    )
    replication: int | None = Field(
        None, ge=1, le=100, description="CQL: copies of each record, if the keyspace is created."
    )
    create: bool = Field(True, description="Create the table and empty it before loading.")
    verify: bool = Field(False, description="Compare data read with data written; uses client time.")
    timeout: Duration = Field(
        Duration(10), description="Time limit after which an operation counts as failed."
    )
    retries: int = Field(3, ge=0, le=100, description="How often a load retries a record.")
    interval: Duration = Field(Duration(1), description="Interval of the time series, in whole seconds.")
    heap: Size = Field(Size(512 * 2**20), description="Memory of each copy's Java virtual machine, in bytes.")
    protocol: Protocol | None = Field(
        None,
        description="Protocol of the servers. Default: the protocol of the service in `to:`.",
        json_schema_extra=_add_protocols,
    )
    server: str | None = Field(
        None,
        description="Running servers, if `to:` names no service: names or addresses separated by "
        "commas, each with `:port` unless it is the default port.",
    )
    user: str | None = Field(None, pattern=_WORD, description="User to log in as, with `server`.")
    password_file: str | None = Field(
        None,
        pattern=r"^/[^\s]+$",
        description="File on the clients' hosts that contains this user's password.",
    )
    database: str | None = Field(
        None, pattern=_WORD, description="Database or keyspace. Default: postgres, or ycsb with CQL."
    )

    @field_validator("server")
    @classmethod
    def _check_servers(cls, value: str | None) -> str | None:
        if value is not None and not _SERVERS.fullmatch(value):
            raise ValueError(f"'{value}' is not a list of servers such as '10.0.0.1,10.0.0.2:9043'")
        return value

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        for name in _SECONDS:
            value = getattr(self, name)
            if value is not None and (value % 1 or value > 10**6 or (value < 1 and name != "omit")):
                raise ValueError(f"{name}: {value} is not a whole number of seconds")
        if self.server is not None and self.protocol is None:
            raise ValueError("protocol: give the protocol of the servers")
        if self.protocol and self.shares.scan and not list_protocols(NAME)[self.protocol][1].can_scan:
            raise ValueError(f"mix: {self.protocol} does not support scans; use a mix other than e")
        if self.rate is not None and self.rate < 1:
            raise ValueError("rate: give at least one operation per second")
        return self._check_limits()

    def _check_limits(self) -> Self:
        if self.do == "load":
            if self.operations or self.duration or self.omit:
                raise ValueError(
                    "a load ends when all records are loaded; remove operations, duration and omit"
                )
            return self
        if (self.operations is None) == (self.duration is None):
            raise ValueError("a run needs either operations or duration")
        if self.duration is not None and self.omit >= self.duration:
            raise ValueError(f"omit: {self.omit} leaves nothing of the duration {self.duration}")
        return self

    @property
    def shares(self) -> Mix:
        """The mix by operation."""
        return self.mix if isinstance(self.mix, Mix) else MIXES[self.mix]

    @property
    def measured_stage(self) -> str:
        """The stage that counts: load or run. A load that only prepares goes as fast as it can."""
        return "load" if self.do == "load" else "run"

    @property
    def effective_distribution(self) -> str:
        """Which records are asked for."""
        return self.distribution or ("latest" if self.mix == "d" else "zipfian")
