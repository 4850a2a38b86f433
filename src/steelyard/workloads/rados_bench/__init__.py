"""`use: rados_bench`: how fast a Ceph cluster writes and reads objects, by its own benchmark."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from steelyard.plugin import (
    Absolute,
    Command,
    Duration,
    Endpoint,
    Metric,
    Output,
    Phase,
    Place,
    Reading,
    SeriesSample,
    Size,
    Tool,
)
from steelyard.plugin.workload import Workload, WorkloadOptions
from steelyard.workloads.kit.client import fail_with
from steelyard.workloads.rados_bench import output as result

Read = Literal["seq", "rand"]
_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$"
_OTHER_FACES = ("cephfs", "s3", "swift")
_UNIT, _LARGEST = 4096, 2**27  # bytes: what any pool can take, and Ceph's default limit of an object
# Seconds that it may take to remove an object: one that lacks a copy is healed first, slowly.
_HEALING = 600

# The key comes through the environment and goes to a file of the scratch, which goes with the trial. A pool
# that is full does not answer; then the cluster's word says why.
_PREPARE = """umask 077
if [ -n "$CONF" ]; then
    printf '%s' "$CONF" > ceph.conf; printf '[client.%s]\\n\\tkey = %s\\n' "$ID" "$KEY" > keyring
    unset KEY; set -- -c ceph.conf "$@"
fi
"""
_BENCH = f"""{_PREPARE}
rados "$@" && exit 0
where=$([ -z "$CONF" ] || echo "-c ceph.conf")
said=$(timeout 20 ceph $where --id "$ID" health detail 2>/dev/null | grep -v -i "mgr\\|module" || :)
case $said in *full*) echo "No space left on device: a pool or a storage daemon is full" >&2 ;; esac
echo "the cluster's health: ${{said:-unknown}}" >&2; exit 1
"""
_CLEAN = f'{_PREPARE}rados "$@"'


def _check_reads(value: tuple[Read, ...]) -> tuple[Read, ...]:
    if len(set(value)) != len(value):
        raise ValueError("give each kind of read only once: [seq, rand]")
    return value


class RadosBenchOptions(WorkloadOptions):
    """How long, how much at once, and how large."""

    duration: Duration = Field(
        Duration(10), description="How long each phase lasts at most, in whole seconds."
    )
    threads: int = Field(16, ge=1, le=10_000, description="Number of operations at once.")
    op_size: Size = Field(
        Size(2**22), description="Bytes of each operation, a multiple of 4 KiB, at most 128 MiB."
    )
    object_size: Size | None = Field(
        None, description="Bytes of each object, a multiple of `op_size`. Default: `op_size`."
    )
    reads: Annotated[tuple[Read, ...], AfterValidator(_check_reads)] = Field(
        ("seq",),
        description="Reads after the writes, in this order: seq, each object once as written; rand, any.",
    )
    patience: Duration = Field(
        Duration(60),
        description="Time limit for one measured operation; a longer one fails the trial, as in a full pool.",
    )
    pool: str | None = Field(
        None, pattern=_NAME, description="Pool of a running cluster, if `to:` names no service."
    )
    user: str = Field("admin", pattern=_NAME, description="User of cephx, with `pool`: without `client.`.")
    conf: Absolute | None = Field(
        None, description="Absolute path of a ceph.conf on the client, with `pool`. Default: Ceph's own."
    )

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if self.duration % 1 or not 1 <= self.duration <= 86400:
            raise ValueError(f"duration: {self.duration} is not a whole number of seconds from 1 to 86400")
        if self.patience % 1 or not 1 <= self.patience <= 86400:
            raise ValueError(f"patience: {self.patience} is not a whole number of seconds from 1 to 86400")
        if self.op_size % _UNIT or not _UNIT <= self.op_size <= _LARGEST:
            raise ValueError(f"op_size: {self.op_size} is not a multiple of 4 KiB up to 128 MiB")
        size = self.op_size if self.object_size is None else self.object_size
        if size % self.op_size or not self.op_size <= size <= _LARGEST:
            raise ValueError(f"object_size: {size} is not a multiple of op_size up to 128 MiB")
        return self


class RadosBench(Workload[RadosBenchOptions]):
    """Objects written to a pool of Ceph and read from it, by Ceph's own benchmark.

    **Measures**, for the phase `write` and each of the `reads`, `seq` and `rand`: bandwidth and operations
    per second, with the largest and smallest of all seconds, and the mean, shortest and longest time of an
    operation; writes have standard deviations, too. What each second brought is a series.

    **Source**: `rados bench`, rados(8), as in deliverable D1.2 of BigStorage (2017), "RadosBench", where 8 to
    256 `threads` write and read objects of 4 MiB for 300 s. All figures are those of its JSON but one: the
    deviation of operations per second follows from that of the writes' bandwidth, and reads have none, as
    version 16 prints random numbers for it.

    **How to read it.** Each thread waits for an answer before it sends the next operation: when the cluster
    stalls, so does the client. `seq` ends when everything that `write` left has been read once, which may be
    soon (`seq_time`): have `write` last longer than reads take. Reads come from the caches of the storage
    daemons as far as these hold them. Compare `pool: replicated` and `pool: erasure` of the service by the
    same client. Copies write and read objects of their own, and their bandwidths add up; objects are removed
    at the end.
    A pool that is full lets writes wait; after `patience` the trial fails, with the cluster's word for it.
    """

    Options = RadosBenchOptions
    needs = (
        Tool("rados", apt="ceph-common", dnf="ceph-common"),
        Tool("ceph", apt="ceph-common", dnf="ceph-common"),
    )
    covers = ("SCT5", "SCT8", "SCT10")
    talks_to = frozenset({"ceph"})
    examples = (
        {"duration": "2s", "threads": 4, "op_size": "64KiB"},
        {"duration": "1s", "threads": 2, "op_size": "4KiB", "object_size": "64KiB", "reads": ["seq", "rand"]},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """For each phase."""
        return tuple(
            metric for phase in ("write", *self.options.reads) for metric in result.list_metrics(phase)
        )

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """Write, read, and remove what was written."""
        bench = (Phase(name, self._bench(place, name)) for name in ("write", *self.options.reads))
        words = ("cleanup", "--run-name", self._run_name(place))
        clean = self._command(place, _CLEAN, *words, patience=max(_HEALING, int(self.options.patience)))
        return (*bench, Phase("cleanup", clean, measured=False))

    def parse(self, phase: str, output: Output) -> Reading:
        """See `output`. Raises ParseFailure."""
        return result.parse_output(phase, output)

    def series(self, phase: str, output: Output) -> tuple[SeriesSample, ...]:
        """What each second brought."""
        return result.parse_series(phase, output)

    def closed_loop_advice(self) -> str | None:
        """It has no rate."""
        return "use `object` with a rate, through a gateway of the cluster"

    def seconds(self) -> float | None:
        """All phases, and some seconds to remove the objects."""
        return (1 + len(self.options.reads)) * self.options.duration + 3.0

    def _bench(self, place: Place, phase: str) -> Command:
        options = self.options
        words = ["bench", str(int(options.duration)), phase, "-t", str(options.threads)]
        if phase == "write":
            size = int(options.op_size)
            words += ["-b", str(size), "-O", str(int(options.object_size or size)), "--no-cleanup"]
        words += ["--run-name", self._run_name(place), "-f", "json"]
        return self._command(place, _BENCH, *words, patience=int(options.patience))

    def _command(self, place: Place, script: str, *words: str, patience: int) -> Command:
        to, options = place.to, self.options
        if to is not None and to.facts.get("protocol") in _OTHER_FACES:
            return fail_with("rados_bench needs the cluster's own protocol: give the service `face: rados`")
        pool = to.facts.get("pool", "data") if to else options.pool
        if pool is None:
            return fail_with("rados_bench has no pool: name a service with 'to:', or set the option 'pool:'")
        user = to.facts.get("user", "steelyard") if to else options.user
        conf = ("-c", str(options.conf)) if not to and options.conf else ()
        argv = ("sh", "-eu", "-c", script, "sh", *conf, "--id", user, "-p", pool, *words)
        variables = {"ID": user, "CONF": _write_conf(to, patience) if to else ""}
        limit = {} if to else {"CEPH_ARGS": f"--rados_osd_op_timeout={patience}"}
        secrets = {"KEY": to.password} if to and to.password else {}
        return Command(argv, {**variables, **limit}, cwd=place.scratch, secrets=secrets)

    @staticmethod
    def _run_name(place: Place) -> str:
        """Each copy has objects of its own."""
        return f"steelyard-{place.seed}-{place.copy}"


def _write_conf(to: Endpoint, patience: int) -> str:
    """What the client reads: where the monitors are, and how it speaks with everybody."""
    monitors = ",".join(f"[v2:{server}]" for server in to.facts.get("servers", "").split(","))
    settings = {
        "mon_host": monitors,
        "ms_client_mode": "secure" if to.facts.get("tls") == "true" else "crc secure",
        "ms_mon_client_mode": "secure" if to.facts.get("tls") == "true" else "crc secure",
        "keyring": "keyring",
        "admin_socket": "",
        "log_file": "",
        "rados_osd_op_timeout": patience,
    }
    return "[global]\n" + "".join(f"{name} = {value}\n" for name, value in settings.items())
