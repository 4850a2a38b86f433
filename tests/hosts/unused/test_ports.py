"""Claims to ports: one process of a machine at a time has each."""

from __future__ import annotations

import subprocess
import sys

from steelyard.hosts.unused.ports import PortClaims

OTHER = "from steelyard.hosts.unused.ports import PortClaims; print(PortClaims().claim(7))"


def ask_another_process() -> str:
    return subprocess.run(
        [sys.executable, "-c", OTHER], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_claim_holds_for_other_processes_and_ends_with_its_block():
    with PortClaims() as claims:
        assert claims.claim(7)
        assert not claims.claim(7)
        assert ask_another_process() == "False"
    assert ask_another_process() == "True"
    assert ask_another_process() == "True", "a process that ends gives its claims back"
