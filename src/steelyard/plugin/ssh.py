"""How hosts are reached by SSH."""

from __future__ import annotations

from steelyard.transports.ssh.hosts import SshMachine, connect_machines
from steelyard.transports.ssh.transport import SshTransport

__all__ = ["SshMachine", "SshTransport", "connect_machines"]
