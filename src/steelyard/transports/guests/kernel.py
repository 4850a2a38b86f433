"""A kernel of this machine for guests of QEMU, and the memory file system that it begins with."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import NamedTuple

from steelyard.errors import HostError
from steelyard.transports.namespaces.holders import capture_output

EMULATOR = f"qemu-system-{platform.machine()}"
_TRY_KVM = 10  # seconds; where KVM works, it takes less than one
_MODULES = ("virtio_pci", "virtio_net", "virtio_blk", "nfsv3")

# It loads modules, mounts this machine's files upon each other, and goes on with what the guest runs first.
# The memory file system is made once for a run; what a guest alone must know is laid over it, in /steelyard.
# Options of nfs(5): what is printed there must be seen here at once, and what is new here, there.
_ENTER = """\
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc
if grep -q steelyard-try /proc/cmdline; then
    echo steelyard-is-up
    poweroff -f
fi
while read -r module; do insmod "/modules/$module"; done < /modules/order
. /steelyard/guest
export PATH=/bin
ip addr add "$3" dev eth1
ip link set eth1 up
options=vers=3,proto=tcp,hard,nolock,sync,lookupcache=positive
options=$options,port=2049,mountport=2050,mountproto=tcp,addr=$SY_SERVER
while read -r number path; do
    mount -t nfs -o "$options" "$SY_SERVER:/$number" "/root$path"
done <<SHARES
$SY_SHARES
SHARES
mount -t tmpfs -o mode=755 none /root/run
cp -a /steelyard /root/run/
mount -t devtmpfs none /root/dev
umount /proc
exec switch_root /root /run/steelyard/init
"""

# Words: an empty directory, the kernel's release, what runs first, the kernel's modules.
_MAKE = """
set -e
umask 077
cd "$1"
release=$2 enter=$3
shift 3
mkdir early early/bin early/modules early/proc early/root
program=$(command -v busybox)
cp "$program" early/bin/busybox
for library in $(ldd "$program" 2> /dev/null | grep -o '/[^ ]*'); do  # none, where it is static
    mkdir -p "early${library%/*}"
    cp "$library" "early$library"
done
chroot early /bin/busybox true
printf %s "$enter" > early/init
chmod 700 early/init
: > early/modules/order
for module; do modprobe -S "$release" --show-depends "$module" || exit; done > needed
while read -r verb path rest; do
    name=${path##*/} name=${name%.ko*}.ko
    if [ "$verb" = builtin ] || grep -qx "$name" early/modules/order; then continue; fi
    case $path in
        *.xz) xz -dc "$path" ;;
        *.zst) zstd -dcq "$path" ;;
        *.gz) gzip -dc "$path" ;;
        *) cat "$path" ;;
    esac > "early/modules/$name"
    echo "$name" >> early/modules/order
done < needed
cd early
find . | cpio --quiet -o -H newc > ../early.cpio
"""
# Words: kernel, memory file system, seconds.
_TRY = f"""
timeout -s KILL "$3" {EMULATOR} -M q35 -accel kvm -m 256 -nodefaults -no-user-config -display none \\
    -no-reboot -serial stdio -kernel "$1" -initrd "$2" -append "console=ttyS0 quiet panic=-1 steelyard-try" \\
    < /dev/null || :
"""


class GuestKernel(NamedTuple):
    """A kernel, what it begins with, and QEMU's accelerator for it: kvm, or tcg, which emulates."""

    image: Path
    early: Path
    accelerator: str


async def prepare_kernel(directory: Path) -> GuestKernel:
    """Make what guests of a run boot from; takes the seconds of a try where KVM is there and does not work.

    Raises HostError that says what is missing.
    """
    release, image = find_kernel()
    try:
        await capture_output("sh", "-c", _MAKE, "sh", str(directory), release, _ENTER, *_MODULES)
    except HostError as error:
        hint = "install the packages busybox, cpio and kmod, or use `kind: uml`"
        raise HostError(f"guests of QEMU cannot be prepared: {error.message}", hint=hint) from error
    early = directory / "early.cpio"
    return GuestKernel(image, early, "kvm" if await _can_use_kvm(image, early) else "tcg")


async def _can_use_kvm(image: Path, early: Path) -> bool:
    """Whether a guest really boots: a device that can be opened proves nothing."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    words = (str(image), str(early), str(_TRY_KVM))
    return "steelyard-is-up" in await capture_output("sh", "-c", _TRY, "sh", *words)


def find_kernel() -> tuple[str, Path]:
    """The newest kernel of this machine with modules: its release, its file."""
    releases = [place.parent.name for place in Path("/lib/modules").glob("*/modules.dep")]
    for release in sorted(releases, key=_order, reverse=True):
        for image in (Path(f"/boot/vmlinuz-{release}"), Path(f"/lib/modules/{release}/vmlinuz")):
            if image.is_file():
                return release, image
    hint = "install one that this machine need not boot (apt: linux-image-cloud-amd64), or use `kind: uml`"
    raise HostError("guests of QEMU need a kernel, and /boot and /lib/modules have none", hint=hint)


def _order(release: str) -> list[int]:
    return [int(number) for number in re.findall("[0-9]+", release)]
