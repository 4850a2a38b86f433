"""The scripts by which guests start: whole shell programs, with the names of their kind."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from patience import PATIENCE
from steelyard.transports.guests.files import SharedFiles
from steelyard.transports.guests.kernel import GuestKernel
from steelyard.transports.guests.kind import DISK, GuestKind
from steelyard.transports.guests.qemu import describe_qemu
from steelyard.transports.guests.uml import UML

FILES = SharedFiles("10.0.0.253", "1 /")
QEMU = describe_qemu(GuestKernel(Path("/boot/k"), Path("/e.cpio"), "tcg"), FILES, 2)


@pytest.mark.parametrize("kind", [UML, QEMU], ids=lambda kind: kind.name)
def test_scripts_are_whole(kind: GuestKind) -> None:
    for script in (kind.boot_script(), kind.init_script()):
        done = subprocess.run(["sh", "-n", "-c", script], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    assert str(DISK) in kind.init_script()
    assert f"disk={kind.devices.disk}\n" in kind.init_script()


@pytest.mark.parametrize(("accelerator", "name"), [("kvm", "qemu (KVM)"), ("tcg", "qemu (emulated)")])
def test_the_record_says_what_ran_it(accelerator: str, name: str) -> None:
    kernel = GuestKernel(Path("/boot/k"), Path("/e.cpio"), accelerator)
    made = describe_qemu(kernel, FILES, 2)
    assert made.name == name
    assert made.variables["SY_ACCELERATOR"] == accelerator


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("ip"), reason="namespaces with bridges need root and iproute2"
)
@pytest.mark.parametrize(("says", "code"), [("exit 1", 1), ("echo ready >&3", 0)])
def test_the_end_of_a_guest_is_seen_however_soon_it_comes(tmp_path: Path, says: str, code: int) -> None:
    """Before anybody listens for its being ready."""
    fake, disk, console = (tmp_path / name for name in ("linux.uml", "disk", "console"))
    fake.write_text(f"#!/bin/sh\n{says}\n")
    fake.chmod(0o755)
    disk.touch()
    script = UML._replace(run=f"{UML.run}\nwait $! || :\n").boot_script()
    bridges = "for name in one two; do ip link add name $name type bridge; done; "
    words = ("n1", "10.0.0.1/24", "10.1.0.1/24", "one", "two", "1", "00:00", "0", str(disk), "")
    variables = {"SY_HOSTS": "", "SY_INIT": "", "SY_CONSOLE": str(console)}
    done = subprocess.run(
        ["unshare", "-mn", "sh", "-c", bridges + script, "sh", *words],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}:/usr/sbin:/sbin", **variables},
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (code, "" if code else "ready\n"), done.stderr
