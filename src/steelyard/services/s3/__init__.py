"""`use: s3` under `services`: an object store on each host, whose objects are files in the scratch."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from steelyard.plugin import Endpoint, Tool, derive_password
from steelyard.plugin.host import Host
from steelyard.plugin.service import join_host_port
from steelyard.services.kit.access import Listener
from steelyard.services.kit.certificates import IDENTITY
from steelyard.services.kit.meters import sum_meters
from steelyard.services.kit.ports import list_listening_ports
from steelyard.services.kit.private_files import ask
from steelyard.services.kit.server import Server
from steelyard.services.kit.tls_option import ENCRYPTED
from steelyard.services.kit.web_server import LOGIN, WebServer, WebServerOptions

VERSITYGW = Tool("versitygw", go=str(Path(__file__).with_name("versitygw")))
_SHELL = replace(VERSITYGW, program="sh")
# What `steelyard install` brings lies in a home, which the server's own user may not enter: so the program is
# opened before, and started by its descriptor.
_PROGRAM = "/proc/self/fd/9"
_HOLD = """program=$(command -v versitygw) || {
    echo "versitygw is not on this host: run 'steelyard install versitygw'" >&2; exit 127; }
exec 9< "$program"; exec "$@"
"""
_METERS = {"objects": "objects", "used_bytes": "used_bytes"}
_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # SHA-256 of an empty body
_ASK = f'curl --config {LOGIN} "$1"'
_COUNT_WITHIN = 0.5  # seconds; more would disturb what is measured
_COUNT = f"""cd "$1" || exit
{{
    timeout {_COUNT_WITHIN} find . -type f ! -path './.*' ! -path '*/.sgwtmp/*' -printf '%s\\n' && echo all
}} | awk '
$1 == "all" {{ whole = 1; next }}
{{ objects++; bytes += $1 }}
END {{ if (whole) printf "objects:%.0f\\nused_bytes:%.0f\\n", objects, bytes; else print "too many" }}'
"""


class S3Options(WebServerOptions):
    """Where it listens, and what clients find there."""

    bucket: str = Field(
        "steelyard",
        pattern=r"^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$",
        description="Name of the empty bucket that each server starts with.",
    )
    region: str = Field(
        "us-east-1", pattern=r"^[a-z0-9-]{1,32}$", description="Region that clients must sign for."
    )
    metadata: Literal["attributes", "files"] = Field(
        "attributes",
        description="Where metadata of objects is stored: in extended attributes of their files, or, for "
        "file systems that have none, in separate files.",
    )


class S3(WebServer[S3Options]):
    """S3 servers (Versity S3 Gateway), one per host, each with its own objects: files in its scratch.

    **Who may use it**: anyone who has the run's access key and its secret, which signs every request (AWS
    Signature 4) and is never sent. Each server is bound to its host's address. Clients use TLS unless all
    hosts have loopback addresses (`tls`).

    **Clients** address buckets by path. Every server starts with one empty bucket, whose name is the
    endpoint's `path`. A program that `to:` points here finds AWS_ENDPOINT_URL, AWS_REGION and
    AWS_ACCESS_KEY_ID in its environment, the secret in STEELYARD_SERVICE_PASSWORD, and with TLS the
    certificate to trust in STEELYARD_SERVICE_AUTHORITY.

    **Source**: https://github.com/versity/versitygw, its posix backend. `steelyard install versitygw` builds
    it. A server is ready when it answers a signed request and has the bucket. Objects survive a kill and
    restart. The meters `objects` and `used_bytes` are counted on disk, and are missing while that takes more
    than half a second.
    """

    Options = S3Options
    needs = (VERSITYGW, Tool("curl", apt="curl", dnf="curl", at_least="7.75"))
    access = (Listener("clients", authentication="a secret that signs each request", encrypted=ENCRYPTED),)
    examples = ({}, {"tls": True, "bucket": "results", "region": "eu-central-1", "metadata": "files"})

    async def is_answering(self, server: Server) -> bool:
        """It lists the bucket to whoever signs; asked only when the port is open."""
        if server.port not in await list_listening_ports(server.host):
            return False
        said = await ask(self, server.host, _ASK, f"{self.url(server.host)}/")
        return f"<Name>{self.options.bucket}</Name>" in said

    async def read_meters(self) -> Mapping[str, float]:
        """Sums over the servers that live; see `Metered`."""
        live = (server for server in self.servers if server.exit is None and not server.frozen)
        return sum_meters(await asyncio.gather(*map(self._count, live)), _METERS)

    def endpoint(self) -> Endpoint:
        """The first server; all of them are in the fact `servers`. The password is the secret key."""
        region, user = self.options.region, self._access_key()
        first = self.url(self.context.hosts[0])
        own = {"AWS_ENDPOINT_URL": first, "AWS_REGION": region, "AWS_ACCESS_KEY_ID": user}
        return self.make_endpoint("s3", self.options.bucket, user, region=region, **own)

    def curl_lines(self) -> Sequence[str]:
        """A request is signed."""
        return (
            f'user = "{self._access_key()}:{self.context.password}"',
            f'aws-sigv4 = "aws:amz:{self.options.region}:s3"',
            f'header = "x-amz-content-sha256: {_NOTHING}"',  # older versions of curl do not send it
        )

    def list_folders(self) -> Sequence[str]:
        """The bucket, and where metadata may be."""
        return (f"files/{self.options.bucket}", "metadata")

    async def start_server(self, host: Host) -> None:
        """Its program is held open, and the secret key is in its environment."""
        data, conf, share = self.data[host.name], self.scratch(host), self.share(host)
        address = self.address[host.name]
        where = ("--port", join_host_port(address, self.port), "--region", self.options.region, "--quiet")
        identity = str(conf / IDENTITY)
        tls = ("--cert", identity, "--key", identity) if self.has_tls else ()
        sidecar = ("--sidecar", str(data.path / "metadata")) if self.options.metadata == "files" else ()
        limits = {"GOMAXPROCS": str(share.cores), "GOMEMLIMIT": str(share.memory)}
        words = (_PROGRAM, *where, *tls, "posix", *sidecar, str(data.path / "files"))
        command = data.account_command(*words, **limits, ROOT_ACCESS_KEY=self._access_key())
        held = replace(
            command,
            argv=_SHELL.argv("-c", _HOLD, "sh", *command.argv),
            secrets={"ROOT_SECRET_KEY": self.context.password},
        )
        await self.launch(host, "versitygw", held, address=address, port=self.port)

    async def _count(self, server: Server) -> str:
        data = self.data[server.host.name]
        command = data.account_command("sh", "-c", _COUNT, "sh", str(data.path / "files"))
        return await server.host.capture(command.argv, seconds=10 * _COUNT_WITHIN) or ""

    def _access_key(self) -> str:
        """It follows from the password, which it does not give away."""
        return derive_password("s3 access key", self.context.password)[:20]
