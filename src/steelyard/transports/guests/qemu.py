"""Guests of QEMU: virtual machines, by KVM where that works, whose state can be saved to a file."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from steelyard.errors import HostError
from steelyard.hosts.lease import Lease
from steelyard.transports.guests.files import SharedFiles, share_files
from steelyard.transports.guests.guest import Guest
from steelyard.transports.guests.kernel import EMULATOR, GuestKernel, find_kernel, prepare_kernel
from steelyard.transports.guests.kind import Devices, GuestKind, GuestPlace
from steelyard.transports.guests.qmp import Monitor
from steelyard.transports.guests.state import SavedState
from steelyard.transports.namespaces.holders import require_programs

_RUN = f"""
( cd /run; printf "steelyard%s\\n" "" /hosts /init /guest | cpio --quiet -o -H newc ) > own.cpio
cat "$SY_EARLY" own.cpio > early.cpio
ln -s "$9" disk.raw  # a comma in a path would end it
[ "${{10}}" ] && state="-incoming fd:4" || state=
boot {EMULATOR} -M q35 -accel "$SY_ACCELERATOR" -smp "$SY_CORES" -m "$(($6 >> 20))" -nodefaults \\
    -no-user-config -display none -no-reboot -sandbox on,spawn=deny -kernel "$SY_KERNEL" -initrd early.cpio \\
    -append "console=ttyS0 quiet panic=-1 no_timer_check" \\
    -chardev stdio,id=console,signal=off -serial chardev:console \\
    -chardev file,id=up,path=/run/steelyard/up -serial chardev:up \\
    -netdev "tap,id=net0,ifname=$1,script=no,downscript=no" \\
    -device "virtio-net-pci,netdev=net0,mac=02:00:$7,romfile=" \\
    -netdev "tap,id=net1,ifname=c$1,script=no,downscript=no" \\
    -device "virtio-net-pci,netdev=net1,mac=02:01:$7,romfile=" \\
    -drive file=disk.raw,format=raw,if=virtio -qmp unix:qmp,server=on,wait=off $state \\
    4< "${{10:-/dev/null}}" &
until [ -S qmp ]; do
    kill -0 $! 2> /dev/null || exit 1
    sleep 0.05
done
"""
_PROGRAMS = (EMULATOR, "busybox", "cpio", "modprobe", "ganesha.nfsd", "rpcbind", "mkfs.ext4")
_PACKAGES = "qemu-system-x86 busybox cpio kmod nfs-ganesha nfs-ganesha-vfs rpcbind e2fsprogs"
_DEVICES = Devices(disk="/dev/vda", card="eth0", door="eth1", line="/dev/ttyS1")
_BANDWIDTH = 1 << 40  # bytes per second; QEMU's default suits a network
_ROOM = "it needs as much room as the guest has memory; see --scratch DIR"
_ACCELERATORS = {"kvm": "qemu (KVM)", "tcg": "qemu (emulated)"}


async def open_qemu(lease: Lease, place: GuestPlace, cores: int) -> GuestKind:
    """Guests of QEMU for a run, and what they need around them until the lease ends.

    Raises HostError.
    """
    kernels, root = place.directory / "kernel", place.directory / "files"
    for directory in (kernels, root):
        directory.mkdir(mode=0o700)
    serving = share_files(lease, place.hub, place.network, place.card, root)
    kernel, files = await asyncio.gather(prepare_kernel(kernels), serving)
    return describe_qemu(kernel, files, cores)


def check_qemu() -> None:
    """Raise HostError that says what guests of QEMU lack here."""
    hint = f"install them (apt: {_PACKAGES}), or use `kind: uml`"
    require_programs("guests of QEMU", _PROGRAMS, hint)
    find_kernel()


def describe_qemu(kernel: GuestKernel, files: SharedFiles, cores: int) -> GuestKind:
    """Guests of QEMU that have this kernel, these files, and so many cores. Pure."""
    variables = {
        "SY_KERNEL": str(kernel.image),
        "SY_EARLY": str(kernel.early),
        "SY_ACCELERATOR": kernel.accelerator,
        "SY_CORES": str(cores),
        "SY_SERVER": files.address,
        "SY_SHARES": files.shares,
    }
    return GuestKind(_ACCELERATORS[kernel.accelerator], _RUN, _DEVICES, variables)


class QemuGuest(Guest):
    """A guest whose memory, processors and devices go to a file and come back; its disk stays as it is."""

    saved: SavedState | None = None

    async def boot(self, state: str = "") -> None:
        """Boot it; see `Guest`. A state that was saved is forgotten."""
        if self.saved:
            self.saved.path.unlink(missing_ok=True)
            self.saved = None
        await super().boot(state)

    async def save(self) -> int:
        """Stop it, save it to a new file that is synced, and end it; the bytes of the file.

        Raises HostError; then it goes on.
        """
        path = self._boot.disk.with_suffix(".state")
        await asyncio.to_thread(_save, self._monitor, path)
        await self.kill()
        self.saved = await asyncio.to_thread(SavedState.seal, path)
        return self.saved.size

    async def restore(self) -> None:
        """Have it go on where it was saved, from a cold cache; nothing happens where it was not.

        Raises HostError, also where the file is not what was saved; then the guest is gone, and the state.
        """
        if not self.saved:
            return
        state, self.saved = self.saved, None
        try:
            await asyncio.to_thread(state.check, self.name)
            await super().boot(str(state.path))
            await asyncio.to_thread(_go_on, self._monitor)
        except BaseException:
            await asyncio.shield(self.kill())
            raise
        finally:
            state.path.unlink(missing_ok=True)

    @property
    def _monitor(self) -> Path:
        """In the mount namespace of its holder, which nobody else sees."""
        return Path(f"/proc/{self.pid}/root/run/steelyard/qmp")


def _save(socket: Path, path: Path) -> None:
    with Monitor.open(socket) as monitor:
        monitor.ask("stop")
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                monitor.ask("migrate-set-parameters", {"max-bandwidth": _BANDWIDTH})
                monitor.ask("getfd", {"fdname": "state"}, file)
                monitor.ask("migrate", {"uri": "fd:state"})
                monitor.await_status("query-migrate", "completed")
                os.fsync(file.fileno())
        except (HostError, OSError) as error:
            monitor.ask("cont")
            path.unlink(missing_ok=True)
            raise HostError(f"its state was not saved to {path}: {error}", hint=_ROOM) from error


def _go_on(socket: Path) -> None:
    with Monitor.open(socket) as monitor:
        monitor.await_status("query-status", "paused")
        monitor.ask("cont")
