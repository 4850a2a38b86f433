"""The scripts by which guests start: whole shell programs, with the names of their kind."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

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
