"""The faces of a cluster of Ceph: what clients come to, by the option `face`."""

from __future__ import annotations

import json

from steelyard.plugin import Command, Endpoint, HostError
from steelyard.plugin.host import Host
from steelyard.plugin.service import join_host_port
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
from steelyard.services.ceph.pools import POOL, file_layout
from steelyard.services.kit.certificates import AUTHORITY
from steelyard.services.kit.data import DataDirectory
from steelyard.services.kit.ports import list_listening_ports
from steelyard.services.kit.private_files import write_private
from steelyard.services.kit.server import Server

_GREET_WITHIN = 10.0  # seconds
_ACCOUNT, _CLIENT = "account", "client"  # directories of what makes the account, and of what mounts


class CephFaces(CephDeployment):
    """A cluster with the daemons of its face."""

    def endpoint(self) -> Endpoint:
        """That of the face: the first monitor or gateway; all of them are in the fact `servers`."""
        doors = self._doors()
        servers = ",".join(join_host_port(one.address, one.ports[0]) for one in doors)
        tls = "true" if self.cluster.encrypted else "false"
        facts = {"protocol": self.options.face, "servers": servers, "tls": tls, **self._face_facts(doors[0])}
        password = self.context.password
        secret = secret_key(password) if self.options.has_gateways else make_key(f"client.{USER}", password)
        believed = self.authority.certificate if self.authority else None
        return Endpoint(doors[0].address, doors[0].ports[0], facts, secret, believed)

    def mount_command(self, host: Host) -> Command:
        """ceph-fuse in the foreground."""
        place = self.scratch(host) / _CLIENT
        words = ("ceph-fuse", "-f", "-c", str(place / CONF), "--id", USER, str(self.mount_path(host)))
        return Command(words)

    def _doors(self) -> list[CephDaemon]:
        """Where clients come in."""
        return self._list_daemons(self.context.hosts, "rgw" if self.options.has_gateways else "mon")

    def _face_facts(self, door: CephDaemon) -> dict[str, str]:
        if not self.options.has_gateways:
            return {"user": USER, "pool": POOL}
        url = self._url(door)
        if self.options.face == "swift":
            return {
                "user": SUBUSER,
                "auth_url": f"{url}{AUTH_PATH}",
                "ST_AUTH": f"{url}{AUTH_PATH}",
                "ST_USER": SUBUSER,
            }
        key = access_key(self.context.password)
        names = {"AWS_ENDPOINT_URL": url, "AWS_REGION": REGION, "AWS_ACCESS_KEY_ID": key}
        return {"path": BUCKET, "user": key, "region": REGION, **names}

    def _url(self, gateway: CephDaemon) -> str:
        scheme = "https" if self.cluster.encrypted else "http"
        return f"{scheme}://{join_host_port(gateway.address, gateway.ports[0])}"

    async def _start_face(self) -> None:
        hosts = self.context.hosts
        if self.options.face == "cephfs":
            await self._launch_daemons(hosts, "mds")
            text = json.dumps(file_layout(self.options))
            await self.watch.run(hosts[0], "layout", "layout", stdin=text)
        if self.options.has_gateways:
            await self._write_account(hosts[0])
            await self._run_account(hosts[0], PUT_ACCOUNT, self._list_daemons(hosts, "rgw")[0].entity)
            await self._launch_daemons(hosts, "rgw")
        if self.options.face == "s3":
            await self._run_account(hosts[0], MAKE_BUCKET, f"{self._url(self._doors()[0])}/{BUCKET}")
        if self.options.has_gateways:
            await hosts[0].remove_directory(self.scratch(hosts[0]) / _ACCOUNT)

    async def _write_client(self, host: Host) -> None:
        """What a client reads that has it mounted."""
        place, entity = self.scratch(host) / _CLIENT, f"client.{USER}"
        text = client_conf(self.cluster, str(place / "keyring"))
        files = {CONF: text, "keyring": keyring([entity], self.context.password)}
        await write_private(self, host, DataDirectory(place), files, _CLIENT)

    async def _write_account(self, host: Host) -> None:
        """The account of the gateways' clients, and how we make a request as they do."""
        password = self.context.password
        authority = str(self._conf(host) / AUTHORITY) if self.authority else None
        text = account("s3" if self.options.face == "s3" else "swift", password)
        files = {ACCOUNT_FILE: text, LOGIN_FILE: login(password, authority)}
        await write_private(self, host, self.data[host.name], files, _ACCOUNT)

    async def _run_account(self, host: Host, script: str, word: str) -> None:
        """Run a script where these files are; making the account makes the pools that gateways share."""
        conf = str(self._conf(host) / CONF)
        argv = ("sh", "-eu", "-c", script, "sh", str(self.scratch(host) / _ACCOUNT), word, conf)
        await self.make_runner(host, "account", self.ready_timeout)(
            self.data[host.name].account_command(*argv)
        )

    async def _greet(self, server: Server) -> bool:
        if server.port not in await list_listening_ports(server.host):
            return False
        authority = (str(self._conf(server.host) / AUTHORITY),) if self.authority else ()
        words = ("greet", server.address, str(server.port), *authority)
        try:
            await self.watch.run(server.host, "greet", *words, seconds=_GREET_WITHIN)
        except HostError:
            return False
        return True
