"""What can be asked of YCSB."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from steelyard.units import Duration, Frequency, Size
from steelyard.workloads.base import Options

_SERVERS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(:\d{1,5})?(,[A-Za-z0-9_][A-Za-z0-9_.-]*(:\d{1,5})?)*")
_WORD = r"^[A-Za-z_][A-Za-z0-9_]*$"
_SECONDS = ("duration", "omit", "interval")

Protocol = Literal["cql", "redis", "postgresql", "memcached"]
Consistency = Literal[
    "ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE"
]


class Mix(Options):
    """Shares of operations; they are weights and need not add up to 1."""

    read: float = Field(0.0, ge=0, le=1e6, description="Read a record.")
    update: float = Field(0.0, ge=0, le=1e6, description="Write one field of a record.")
    insert: float = Field(0.0, ge=0, le=1e6, description="Add a record.")
    scan: float = Field(0.0, ge=0, le=1e6, description="Read records in the order of keys.")
    read_modify_write: float = Field(
        0.0, ge=0, le=1e6, description="Read a record, then write one of its fields."
    )

    @model_validator(mode="after")
    def _something(self) -> Self:
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


class YcsbOptions(Options):
    """Which operations, on how many records, how fast, and where. Numbers are of all copies together."""

    do: Literal["load", "run", "both"] = Field(
        "run",
        description="load: make an empty table and measure loading it; run: measure operations on what was "
        "loaded; both: load, unmeasured, then run.",
    )
    mix: Letter | Mix = Field("a", description="YCSB's workload a to f, or shares of operations by name.")
    records: int = Field(ge=1, le=2**31 - 1, description="Records that are loaded, or were.")
    operations: int | None = Field(
        None, ge=1, le=2**31 - 1, description="Operations of the run, instead of `duration`."
    )
    duration: Duration | None = Field(
        None, description="How long to run, in whole seconds, instead of `operations`."
    )
    omit: Duration = Field(
        Duration(0),
        description="Leave out what happens in the first seconds of it; they warm the clients up.",
    )
    rate: Frequency | None = Field(
        None,
        description="Operations per second that are wanted (`500/s` or 500). Default: as fast as it goes.",
    )
    threads: int = Field(8, ge=1, le=4096, description="Client threads of each copy.")
    fields: int = Field(10, ge=1, le=1000, description="Fields of a record.")
    field_size: Size = Field(Size(100), description="Bytes of a field.")
    distribution: Literal["zipfian", "uniform", "latest", "hotspot", "sequential"] | None = Field(
        None, description="Which records are asked for. Default: latest for mix d, else zipfian."
    )
    scan_length: int = Field(100, ge=1, le=10**6, description="Most records of a scan; from 1, uniformly.")
    consistency: Consistency = Field("LOCAL_QUORUM", description="CQL: level of reads, and of writes.")
    write_consistency: Consistency | None = Field(None, description="CQL: level of writes, where another.")
    replication: int | None = Field(
        None, ge=1, le=100, description="CQL: copies of each record, where the keyspace is made."
    )
    create: bool = Field(True, description="Before loading, make the table and empty it.")
    verify: bool = Field(False, description="Compare what is read with what was written; takes client time.")
    timeout: Duration = Field(Duration(10), description="After which an operation has failed.")
    retries: int = Field(3, ge=0, le=100, description="How often a load tries a record again.")
    interval: Duration = Field(Duration(1), description="Step of the time series, in whole seconds.")
    heap: Size = Field(Size(512 * 2**20), description="Memory of each copy's Java machine, in bytes.")
    protocol: Protocol | None = Field(
        None, description="cql, redis, postgresql or memcached. Default: that of the service of `to:`."
    )
    server: str | None = Field(
        None,
        description="Servers that run already, where no service is named by `to:`: names or addresses with "
        "commas between them, each with `:port` where it is not the usual one.",
    )
    user: str | None = Field(None, pattern=_WORD, description="Who to log in as, with `server`.")
    password_file: str | None = Field(
        None, pattern=r"^/[^\s]+$", description="File on the clients' hosts with the password of that user."
    )
    database: str | None = Field(
        None, pattern=_WORD, description="Database or keyspace. Default: postgres, or ycsb by CQL."
    )

    @field_validator("server")
    @classmethod
    def _servers(cls, value: str | None) -> str | None:
        if value is not None and not _SERVERS.fullmatch(value):
            raise ValueError(f"'{value}' is no list of servers; for example '10.0.0.1,10.0.0.2:9043'")
        return value

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for name in _SECONDS:
            value = getattr(self, name)
            if value is not None and (value % 1 or value > 10**6 or (value < 1 and name != "omit")):
                raise ValueError(f"{name}: {value} is not a whole number of seconds")
        if self.server is not None and self.protocol is None:
            raise ValueError("protocol: say which one the servers speak")
        if self.protocol == "memcached" and self.shares.scan:
            raise ValueError("mix: memcached has no scans; take another than e")
        if self.rate is not None and self.rate < 1:
            raise ValueError("rate: at least one operation per second")
        return self._bounded()

    def _bounded(self) -> Self:
        if self.do == "load":
            if self.operations or self.duration or self.omit:
                raise ValueError("a load ends when all records are there: no operations, duration or omit")
            return self
        if (self.operations is None) == (self.duration is None):
            raise ValueError("a run needs either operations or duration")
        if self.duration is not None and self.omit >= self.duration:
            raise ValueError(f"omit: {self.omit} leaves nothing of {self.duration}")
        return self

    @property
    def shares(self) -> Mix:
        """The mix by operation."""
        return self.mix if isinstance(self.mix, Mix) else MIXES[self.mix]

    @property
    def measured(self) -> str:
        """The stage that counts: load or run. A load that only prepares goes as fast as it can."""
        return "load" if self.do == "load" else "run"

    @property
    def chosen_distribution(self) -> str:
        """Which records are asked for."""
        return self.distribution or ("latest" if self.mix == "d" else "zipfian")
