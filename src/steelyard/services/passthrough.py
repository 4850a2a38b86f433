"""`use: passthrough` under `services`: a directory of each host through FUSE."""

from __future__ import annotations

from pydantic import Field

from steelyard.plugin import Command, Tool
from steelyard.plugin.host import Host
from steelyard.plugin.service import ServiceOptions
from steelyard.services.kit.mounting import LOCAL_FILES, NSENTER, UNSHARE, MountedService


class PassthroughOptions(ServiceOptions):
    """How FUSE is used."""

    multithreaded: bool = Field(True, description="Serve requests by several threads.")
    cached: bool = Field(
        True, description="Let the kernel keep names and attributes for a second; false: ask every time."
    )


class Passthrough(MountedService[PassthroughOptions]):
    """A directory of each host, reached through FUSE by bindfs: to know what FUSE alone costs.

    Compare it with `directory`: the difference is the price that every file system in user space pays, which
    GlusterFS, MooseFS and CephFS pay, too, where they are mounted by FUSE. Small requests and metadata pay
    most.

    **Source**: bindfs(1); "FUSE" in the Linux kernel's documentation.
    """

    Options = PassthroughOptions
    is_external = True
    needs = (UNSHARE, NSENTER, Tool("bindfs", apt="bindfs", dnf="bindfs"))
    access = (LOCAL_FILES,)
    examples = ({}, {"multithreaded": False, "cached": False})

    async def configure(self) -> None:
        """Make the directory that is passed through."""
        for host in self.context.mount_on:
            await host.make_directory(self.scratch(host) / "files")

    def mount_command(self, host: Host) -> Command:
        """bindfs in the foreground."""
        threads = ("--multithreaded",) if self.options.multithreaded else ()
        seconds = 1 if self.options.cached else 0
        options = f"attr_timeout={seconds},entry_timeout={seconds},negative_timeout=0"
        places = (str(self.scratch(host) / "files"), str(self.mount_path(host)))
        return Command(("bindfs", "-f", "--no-allow-other", *threads, "-o", options, *places))
