"""`use: tmpfs` under `services`: files in the memory of each host."""

from __future__ import annotations

from pydantic import Field

from steelyard.plugin import Command, Size
from steelyard.plugin.host import Host
from steelyard.plugin.service import ServiceOptions
from steelyard.services.kit.mounting import LOCAL_FILES, NSENTER, UNSHARE, MountedService, mount_by_kernel


class TmpfsOptions(ServiceOptions):
    """How large it may become."""

    size: Size | None = Field(
        None, gt=0, description="Bytes for files on each host. Default: half of the memory it may use there."
    )
    huge_pages: bool = Field(
        False, description="Use huge pages for files (huge=always), if the kernel has them for tmpfs."
    )


class Tmpfs(MountedService[TmpfsOptions]):
    """A file system in the memory of each host whose workload names it as its `directory`.

    It is the upper bound for what any file system does with the same requests: no disk, no network, no second
    copy. Each host sees its own files. Direct I/O is refused by kernels before 6.6.

    **Source**: tmpfs(5), and "Tmpfs" in the Linux kernel's documentation.
    """

    Options = TmpfsOptions
    is_external = True
    needs = (UNSHARE, NSENTER)
    access = (LOCAL_FILES,)
    examples = ({}, {"size": "64MiB"})

    def mount_command(self, host: Host) -> Command:
        """mount(8); files are for the run's account alone."""
        size = int(self.options.size or self.share(host).memory // 2)
        options = f"size={size},mode=0700{',huge=always' if self.options.huge_pages else ''}"
        return mount_by_kernel("-t", "tmpfs", "-o", options, "tmpfs", str(self.mount_path(host)))
