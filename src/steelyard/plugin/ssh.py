"""How hosts are reached by SSH."""

from __future__ import annotations

from steelyard.remote.ssh import SshTransport
from steelyard.remote.ssh_hosts import SshMachine, connect_machines

__all__ = ["SshMachine", "SshTransport", "connect_machines"]
