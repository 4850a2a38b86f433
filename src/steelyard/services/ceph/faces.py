"""The faces of a cluster of Ceph: what clients come to, by the option `face`."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from steelyard.plugin import Command, Endpoint, HostError
from steelyard.plugin.host import Host
from steelyard.plugin.service import Server, Service, join_host_port
from steelyard.services.ceph.cluster import CephDeployment
from steelyard.services.ceph.conf import CONF, client_conf
from steelyard.services.ceph.daemons import CephDaemon
from steelyard.services.ceph.gateway import (
    ACCOUNT_FILE,
    AUTH_PATH,
    BUCKET,
    LOGIN_FILE,
    MAKE_BUCKET,
    PUT_ACCOUNT,
    REGION,
    SUBUSER,
    access_key,
    account,
    login,
    secret_key,
)
from steelyard.services.ceph.keys import USER, keyring, make_key
from steelyard.services.ceph.options import CephOptions
from steelyard.services.ceph.pools import POOL, file_layout
from steelyard.services.kit.certificates import AUTHORITY
from steelyard.services.kit.data import DataDirectory
from steelyard.services.kit.ports import list_listening_ports
from steelyard.services.kit.private_files import write_private

_GREET_WITHIN = 10.0  # seconds
_ACCOUNT, _CLIENT = "account", "client"  # directories of what makes the account, and of what mounts


class CephFace:
    """What clients of a cluster come to."""

    def __init__(self, service: Service[CephOptions], deployment: CephDeployment) -> None:
        self._service, self._deployment = service, deployment
        self._context, self._options = service.context, service.options

    def endpoint(self) -> Endpoint:
        """That of the face: the first monitor or gateway; all of them are in the fact `servers`."""
        doors = self._doors()
        servers = ",".join(join_host_port(one.address, one.ports[0]) for one in doors)
        tls = "true" if self._deployment.cluster.encrypted else "false"
        facts = {"protocol": self._options.face, "servers": servers, "tls": tls, **self._face_facts(doors[0])}
        password = self._context.password
        secret = secret_key(password) if self._options.has_gateways else make_key(f"client.{USER}", password)
        believed = self._deployment.authority.certificate if self._deployment.authority else None
        return Endpoint(doors[0].address, doors[0].ports[0], facts, secret, believed)

    def mount_command(self, host: Host, path: PurePosixPath) -> Command:
        """ceph-fuse in the foreground."""
        place = self._service.scratch(host) / _CLIENT
        words = ("ceph-fuse", "-f", "-c", str(place / CONF), "--id", USER, str(path))
        return Command(words)

    def _doors(self) -> list[CephDaemon]:
        """Where clients come in."""
        return self._deployment.list_daemons(
            self._context.hosts, "rgw" if self._options.has_gateways else "mon"
        )

    def _face_facts(self, door: CephDaemon) -> dict[str, str]:
        if not self._options.has_gateways:
            return {"user": USER, "pool": POOL}
        url = self._url(door)
        if self._options.face == "swift":
            return {
                "user": SUBUSER,
                "auth_url": f"{url}{AUTH_PATH}",
                "ST_AUTH": f"{url}{AUTH_PATH}",
                "ST_USER": SUBUSER,
            }
        key = access_key(self._context.password)
        names = {"AWS_ENDPOINT_URL": url, "AWS_REGION": REGION, "AWS_ACCESS_KEY_ID": key}
        return {"path": BUCKET, "user": key, "region": REGION, **names}

    def _url(self, gateway: CephDaemon) -> str:
        scheme = "https" if self._deployment.cluster.encrypted else "http"
        return f"{scheme}://{join_host_port(gateway.address, gateway.ports[0])}"

    async def start(self) -> None:
        """Its daemons, and what their clients find."""
        hosts = self._context.hosts
        if self._options.face == "cephfs":
            await self._deployment.launch_daemons(hosts, "mds")
            text = json.dumps(file_layout(self._options))
            await self._deployment.watch.run(hosts[0], "layout", "layout", stdin=text)
        if self._options.has_gateways:
            await self._write_account(hosts[0])
            await self._run_account(
                hosts[0], PUT_ACCOUNT, self._deployment.list_daemons(hosts, "rgw")[0].entity
            )
            await self._deployment.launch_daemons(hosts, "rgw")
        if self._options.face == "s3":
            await self._run_account(hosts[0], MAKE_BUCKET, f"{self._url(self._doors()[0])}/{BUCKET}")
        if self._options.has_gateways:
            await hosts[0].remove_directory(self._service.scratch(hosts[0]) / _ACCOUNT)

    async def write_client(self, host: Host) -> None:
        """What a client reads that has it mounted."""
        place, entity = self._service.scratch(host) / _CLIENT, f"client.{USER}"
        text = client_conf(self._deployment.cluster, str(place / "keyring"))
        files = {CONF: text, "keyring": keyring([entity], self._context.password)}
        await write_private(self._service, host, DataDirectory(place), files, _CLIENT)

    async def _write_account(self, host: Host) -> None:
        """The account of the gateways' clients, and how we make a request as they do."""
        password = self._context.password
        authority = str(self._deployment.conf(host) / AUTHORITY) if self._deployment.authority else None
        text = account("s3" if self._options.face == "s3" else "swift", password)
        files = {ACCOUNT_FILE: text, LOGIN_FILE: login(password, authority)}
        await write_private(self._service, host, self._deployment.data[host.name], files, _ACCOUNT)

    async def _run_account(self, host: Host, script: str, word: str) -> None:
        """Run a script where these files are; making the account makes the pools that gateways share."""
        conf = str(self._deployment.conf(host) / CONF)
        argv = ("sh", "-eu", "-c", script, "sh", str(self._service.scratch(host) / _ACCOUNT), word, conf)
        await self._service.make_runner(host, "account", self._service.ready_timeout)(
            self._deployment.data[host.name].account_command(*argv)
        )

    async def greet(self, server: Server) -> bool:
        """Whether a gateway answers; asked only when its port is open."""
        if server.port not in await list_listening_ports(server.host):
            return False
        authority = (
            (str(self._deployment.conf(server.host) / AUTHORITY),) if self._deployment.authority else ()
        )
        words = ("greet", server.address, str(server.port), *authority)
        try:
            await self._deployment.watch.run(server.host, "greet", *words, seconds=_GREET_WITHIN)
        except HostError:
            return False
        return True
