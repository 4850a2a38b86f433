"""Base of services that are file systems: mounted on the hosts of the workloads whose `directory` names them.

A mount belongs to a foreground process on its host, in a mount namespace of its own (`hosts/mount_point.py`),
so that it is gone with the process whatever happens.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import PurePosixPath

from steelyard.errors import HostError
from steelyard.hosts.base import Host
from steelyard.hosts.mount_point import MountPoint, hold_mount
from steelyard.model.command import Command, Endpoint
from steelyard.model.tool import Tool
from steelyard.services.base import OptionsT, Service
from steelyard.services.kit.access import Listener
from steelyard.services.kit.context import ServiceContext
from steelyard.services.kit.server import Server

LOCAL_FILES = Listener("files", authentication="the account of the run", binding="chosen")
"""Of a file system without servers: nothing listens, and nobody else sees the mount."""
UNSHARE, NSENTER = (Tool(name, apt="util-linux", dnf="util-linux") for name in ("unshare", "nsenter"))
_MOUNT = 'mount "$@" && exec sleep infinity'


class MountedService(Service[OptionsT]):
    """A service that is a file system. The entry says in `mount_command` how a host mounts it.

    One that has no servers, but files of each host itself, says no more.
    """

    def __init__(self, options: OptionsT, context: ServiceContext) -> None:
        super().__init__(options, context)
        self.mounts: dict[str, Server] = {}

    @abstractmethod
    def mount_command(self, host: Host) -> Command:
        """What mounts it at `self.mount_path(host)`, an empty directory, and stays in the foreground until it
        is ended by SIGTERM. `mount_by_kernel` makes one where the kernel does the work.
        """

    async def start(self) -> None:
        """No servers."""

    async def is_answering(self, server: Server) -> bool:
        """There is none."""
        return True

    def endpoint(self) -> Endpoint:
        """The first host; there is no port, as its clients have it mounted."""
        return Endpoint(self.context.hosts[0].address, 0)

    def mount_path(self, host: Host) -> PurePosixPath:
        """Where it is mounted on a host."""
        return self.scratch(host) / "mnt"

    def mount_point(self, host: str) -> MountPoint:
        """How its files are reached on the host of this name. Raises HostError where it is not mounted."""
        if host not in self.mounts:
            raise HostError(f"service {self.context.name} is not mounted on {host}")
        mount = self.mounts[host]
        return MountPoint(mount.process.pid, self.mount_path(mount.host))

    def processes(self) -> Sequence[Server]:
        """Its servers, and what holds its mounts."""
        return (*self.servers, *self.mounts.values())

    async def ready(self) -> None:
        """Every server answers, and every host that is to have it mounted does."""
        await super().ready()
        await asyncio.gather(*map(self._mount, self.context.mount_on))

    async def stop(self) -> None:
        """Unmount, then end all servers: a client that lost its servers could hang."""
        try:
            await asyncio.gather(*(mount.stop() for mount in self.mounts.values()))
        finally:
            await super().stop()

    async def _mount(self, host: Host) -> None:
        command = hold_mount(self.mount_command(host), self.mount_path(host))
        mount = await Server.start(
            host,
            "mount",
            command,
            cwd=self.scratch(host),
            logs=self.context.logs,
            address=host.address,
            port=0,
        )
        self.mounts[host.name] = mount
        await self.wait_for_server(mount, self._is_mounted)

    async def _is_mounted(self, mount: Server) -> bool:
        """By the kernel's word, and by that of the file system, which tells its size."""
        point = self.mount_point(mount.host.name)
        table = f"/proc/{point.holder}/mountinfo"
        text = (await mount.host.read([table])).get(table, "")
        places = (line.split()[4] for line in text.splitlines() if line.count(" ") > 5)
        if _escape(point.path) not in places:
            return False
        return (
            await mount.host.capture(("stat", "-f", "-c", "%S", str(point.outside(point.path)))) is not None
        )


def mount_by_kernel(*arguments: str) -> Command:
    """mount(8) with these arguments, and a process that holds what it mounted."""
    return Command(("sh", "-c", _MOUNT, "sh", *arguments))


def _escape(path: PurePosixPath) -> str:
    """As the kernel writes it in its table."""
    for each in ("\\", " ", "\t", "\n"):
        path = PurePosixPath(str(path).replace(each, f"\\{ord(each):03o}"))
    return str(path)
