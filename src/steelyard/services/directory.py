"""`use: directory` under `services`: a directory of each host, to compare file systems with."""

from __future__ import annotations

from pydantic import Field

from steelyard.plugin import Command, ScratchOrAbsolute
from steelyard.plugin.host import Host
from steelyard.plugin.service import ServiceOptions
from steelyard.services.kit.mounting import LOCAL_FILES, NSENTER, UNSHARE, MountedService, mount_by_kernel


class DirectoryOptions(ServiceOptions):
    """Which directory."""

    path: ScratchOrAbsolute = Field(
        "scratch",
        pattern="^(scratch$|/)",
        description="scratch, or the absolute path of a directory on each host, such as another mount",
    )


class Directory(MountedService[DirectoryOptions]):
    """A directory of each host as if it were a file system: the floor to compare others with.

    A workload that names it as its `directory` works on the disk below, in the same way as on any other file
    system that the experiment compares, so that the difference is the file system's. With `path`, it is one
    that the site has mounted: a parallel file system, a RAM disk, a second disk.
    """

    Options = DirectoryOptions
    is_external = True
    needs = (UNSHARE, NSENTER)
    access = (LOCAL_FILES,)
    examples = ({}, {"path": "/srv"})

    def mount_command(self, host: Host) -> Command:
        """A bind mount of it."""
        path = self.options.path
        source = self.scratch(host) / "files" if path == "scratch" else path
        return mount_by_kernel("--bind", str(source), str(self.mount_path(host)))

    async def configure(self) -> None:
        """Make the directory in the scratch."""
        for host in self.context.mount_on:
            await host.make_directory(self.scratch(host) / "files")
