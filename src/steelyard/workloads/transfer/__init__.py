"""`use: transfer`: move many files at once to a storage system, or from it."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.plugin import (
    QUANTILES,
    RCLONE,
    Command,
    Endpoint,
    Metric,
    Output,
    ParseFailure,
    Phase,
    Place,
    Reading,
    Size,
    Tool,
    latency_metrics,
)
from steelyard.plugin.workload import Histogram, Workload, WorkloadOptions
from steelyard.workloads.kit.client import BELIEVE, authority_variables, copy_endpoint, fail_without_server
from steelyard.workloads.transfer import scripts
from steelyard.workloads.transfer.output import parse_output
from steelyard.workloads.transfer.protocols import (
    GLOBUS_URL_COPY,
    NFS_CP,
    PROTOCOLS,
    SCP,
    XRDCP,
    TransferProtocol,
)

_STAGES = ("prepare", "run", "verify", "remove")
_NAME = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_.:@-]*")
_PATH = re.compile(r"[A-Za-z0-9_./-]*")


class TransferOptions(WorkloadOptions):
    """How many files, how large, which way, and how many at once."""

    protocol: Literal["xrootd", "gridftp", "nfs", "s3", "webdav", "scp"] | None = Field(
        None,
        description="xrootd, gridftp, nfs, s3, webdav or scp. Default: the protocol of the service in `to:`.",
    )
    server: str | None = Field(
        None, description="A running server: its name or address, for scp also user@name."
    )
    port: int | None = Field(
        None,
        ge=1,
        le=65535,
        description="Its port. Default by protocol: 1094, 2811, 2049, 80 or 22, and 443 for https.",
    )
    path: str = Field("", description="Directory on the server, or S3 bucket, in which to create a folder.")
    ssh_config: str | None = Field(
        None,
        pattern=r"^/[A-Za-z0-9_./-]+$",
        description="For scp: an ssh_config on the clients' hosts to use instead of the user's own.",
    )
    secure: bool = Field(
        False, description="Use S3 or WebDAV over https, GridFTP with a grid certificate (gsiftp)."
    )
    direction: Literal["upload", "download"] = Field("upload", description="upload or download.")
    files: int = Field(20, ge=1, le=100_000, description="Number of files that each copy transfers.")
    file_size: Size = Field(Size(100 * 2**20), description="Size of each file, in bytes.")
    concurrency: int = Field(1, ge=1, le=1000, description="Simultaneous transfers in each copy.")
    streams: int = Field(
        1,
        ge=1,
        le=64,
        description="Parallel connections for one file: xrdcp -S, globus-url-copy -p, S3 parts; not for scp "
        "and uploads by WebDAV.",
    )

    @field_validator("server")
    @classmethod
    def _check_server(cls, value: str | None) -> str | None:
        if value is not None and not _NAME.fullmatch(value):
            raise ValueError(f"'{value}' is not a host name or an address")
        return value

    @field_validator("path")
    @classmethod
    def _check_path(cls, value: str) -> str:
        if not _PATH.fullmatch(value) or ".." in value.split("/"):
            raise ValueError(
                f"'{value}': a path may have letters, digits and '_', '-', '.', '/', but no '..'"
            )
        return value

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.server is not None and self.protocol is None:
            raise ValueError("protocol: give the protocol of the server")
        if self.protocol == "scp" and self.streams > 1:
            raise ValueError("streams: scp uses one connection per file; raise concurrency instead")
        if self.protocol == "webdav" and self.direction == "upload" and self.streams > 1:
            raise ValueError("streams: WebDAV uploads a file by one connection; raise concurrency instead")
        if self.protocol == "nfs" and self.streams > 1:
            raise ValueError("streams: nfs-cp uses one connection per file; raise concurrency instead")
        if not self.file_size:
            raise ValueError("file_size: must be above 0")
        return self


class Transfer(Workload[TransferOptions]):
    """Uploads or downloads of many files at the same time, as grid and cloud jobs make them.

    **Measures** `throughput` over all files that arrived, from the start of the first client to the end of
    the last; `file_rate`; `file_time`, a histogram of the time per file, including its client's start; and
    `failure_rate`, the share of failed files. A failed file is counted but does not end the trial.

    **Source**: the bandwidth tests of "Benchmarking of public and local cloud resources", Fermilab, 2015:
    `xrdcp -S` and `globus-url-copy -p -cc` for grid storage, the AWS command line for S3, here replaced by
    rclone, which distributions ship and which transfers parts of a file in parallel.

    **How to read it.** Copies that start together are the report's simultaneous uploads; their throughputs
    add up. Files contain random bytes, so they cannot be compressed or deduplicated. They are created before
    the measurement, and read from the page cache unless `before_each` drops it. After the measurement, sizes
    are compared and the files on the server removed, unless the trial failed; GridFTP's client can neither
    remove files nor report sizes or the time of single files, so its uploads are fetched back. NFS is spoken
    by libnfs, which cannot remove files either: those on a server of your own stay. For a `server` that runs
    already, S3 and scp use the keys that rclone and ssh find on the host (environment, `~/.aws`, the agent),
    never keys from the experiment; unknown host keys are rejected.
    """

    Options = TransferOptions
    needs = (XRDCP, GLOBUS_URL_COPY, NFS_CP, RCLONE, SCP)
    talks_to = frozenset({"xrootd", "gridftp", "nfs", "s3", "webdav"})
    failures = "count"
    covers = ("FNAL.5", "FNAL.11")
    examples = (
        {"protocol": "xrootd", "files": 4, "file_size": "1MiB", "concurrency": 2, "streams": 2},
        {"protocol": "xrootd", "files": 3, "file_size": "256KiB", "direction": "download"},
        {"protocol": "gridftp", "files": 4, "file_size": "1MiB", "concurrency": 2, "streams": 2},
        {"protocol": "gridftp", "files": 3, "file_size": "256KiB", "direction": "download"},
    )

    def tools(self, service: str | None) -> tuple[Tool, ...]:
        """The client of the one protocol that is spoken."""
        clients = {"xrootd": XRDCP, "gridftp": GLOBUS_URL_COPY, "nfs": NFS_CP, "scp": SCP}
        clients |= {"s3": RCLONE, "webdav": RCLONE}
        spoken = self.options.protocol or service or ""
        return (clients[spoken],) if spoken in clients else self.needs

    def metrics(self) -> tuple[Metric, ...]:
        """GridFTP's client tells no time of single files."""
        each = latency_metrics("file_time", "time of one file, including its client's start")
        return (
            Metric("throughput", "B/s", "higher", "bytes per second, over all files that arrived"),
            Metric("file_rate", "1/s", "higher", "files per second that arrived"),
            Metric("failure_rate", "%", "lower", "share of files that failed", over_copies="mean"),
            *(() if self.options.protocol == "gridftp" else each),
        )

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """Make the files, move them, compare sizes, clean up; only the moving is measured."""
        to, name = self._server(place)
        if to is None:
            return tuple(
                Phase(stage, fail_without_server("transfer"), measured=stage == "run") for stage in _STAGES
            )
        protocol, download = PROTOCOLS[name], self.options.direction == "download"
        made = (
            scripts.prepare(protocol, download=download),
            scripts.run(protocol, download=download),
            scripts.verify(protocol, download=download),
            scripts.remove(protocol),
        )
        env = self._variables(protocol, to, place)
        login, secrets = (BELIEVE + protocol.login, {"PASSWORD": to.password}) if to.password else ("", {})
        return tuple(
            Phase(stage, _shell(login + script, {**env, **more}, secrets, place), measured=stage == "run")
            for stage, (script, more) in zip(_STAGES, made, strict=True)
        )

    def parse(self, phase: str, output: Output) -> Reading:
        """See `transfer.output`. Raises ParseFailure."""
        result = parse_output(output, self.options.files)
        arrived = self.options.files - result.failed
        if not arrived:
            raise ParseFailure("no file arrived, although the command succeeded")
        values = {
            "throughput": arrived * self.options.file_size / result.seconds,
            "file_rate": arrived / result.seconds,
            "failure_rate": result.failed / self.options.files,
        }
        facts = {"attempts": self.options.files}
        if not result.times:
            return Reading(values, facts=facts)
        times = Histogram.of(result.times)
        quantiles = {f"file_time_{label}": times.quantile(share) for label, share in QUANTILES.items()}
        return Reading(values | quantiles, {"file_time": dict(times.bins)}, facts=facts)

    def disk(self) -> int:
        """The sources, and as much again for what is downloaded or fetched back."""
        return 2 * self.options.files * self.options.file_size

    def _server(self, place: Place) -> tuple[Endpoint | None, str]:
        """Where to, and by which protocol"""
        name = self.options.protocol or (place.to.facts.get("protocol", "") if place.to else "")
        if place.to is not None and name in PROTOCOLS:
            return copy_endpoint(place.to, place.copy), name
        if self.options.server is None or name not in PROTOCOLS:
            return None, name
        usual = 443 if name in ("s3", "webdav") and self.options.secure else PROTOCOLS[name].port
        return Endpoint(self.options.server, self.options.port or usual), name

    def _variables(self, protocol: TransferProtocol, to: Endpoint, place: Place) -> dict[str, str]:
        base = self.options.path or to.facts.get("path", "")
        folder = protocol.folder(base, f"steelyard-{place.seed}-{place.copy}")
        secure = self.options.secure or to.facts.get("tls") == "true"
        scheme = "gsiftp" if secure else "ftp"
        url = protocol.url.format(scheme=scheme, address=to.address, port=to.port, folder=folder)
        options = self.options
        return {
            **dict(protocol.env),
            **authority_variables(to),
            "ADDRESS": to.address,
            "PORT": str(to.port),
            "SERVER": f"http{'s' if secure else ''}://{to.address}:{to.port}",
            "FOLDER": folder,
            "URL": url,
            "LOGIN": to.facts.get("user", ""),
            "REGION": to.facts.get("region", ""),
            "MOUNT_PORT": to.facts.get("mount_port", ""),
            "SSH": f"-F {options.ssh_config}" if options.ssh_config else "",
            "FILES": str(options.files),
            "SIZE": str(int(options.file_size)),
            "CONCURRENCY": str(options.concurrency),
            "STREAMS": str(options.streams),
            "OUT": str(place.raw),
        }


def _shell(script: str, env: dict[str, str], secrets: dict[str, str], place: Place) -> Command:
    return Command(("sh", "-eu", "-c", script), env, cwd=place.scratch, secrets=secrets)
