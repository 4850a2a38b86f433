"""Guests of User-mode Linux: each has this machine's files by itself, through hostfs."""

from __future__ import annotations

from steelyard.hosts.lease import Lease
from steelyard.transports.guests.kind import Devices, GuestKind, GuestPlace
from steelyard.transports.namespaces.holders import require_programs

UML = GuestKind(
    "uml",
    """
mkdir -m 700 uml
boot linux.uml "mem=$6" root=/dev/root rootfstype=hostfs rootflags=/ rw quiet init=/run/steelyard/init \\
    ubd0="$9" con=null con0=null,fd:1 ssl=null ssl0=null,fd:3 uml_dir=/run/steelyard/uml/ umid=guest \\
    "vec0:transport=tap,ifname=$1,depth=128,gro=1,mac=02:00:$7" \\
    "vec1:transport=tap,ifname=c$1,depth=128,gro=1,mac=02:01:$7" &
""",
    Devices(disk="/dev/ubda", card="vec0", door="vec1", line="/dev/ttyS0"),
)


async def open_uml(_lease: Lease, _place: GuestPlace, _cores: int) -> GuestKind:
    """Guests of User-mode Linux for a run, which need nothing around them, and have one core."""
    return UML


def check_uml() -> None:
    """Raise HostError that says what guests of User-mode Linux lack here."""
    hint = "install the packages user-mode-linux and e2fsprogs"
    require_programs("guests of User-mode Linux", ("linux.uml", "mkfs.ext4"), hint)
