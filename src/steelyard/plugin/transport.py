"""How hosts are reached: this machine, and programs such as `srun` that carry a channel."""

from __future__ import annotations

from steelyard.hosts.lease import Lease
from steelyard.hosts.local import LocalHost
from steelyard.hosts.token import Token
from steelyard.hosts.transport import Transport
from steelyard.transports.piped import PipedChannel, PipedTransport
from steelyard.transports.ssh.login import NONE, Login

__all__ = ["NONE", "Lease", "LocalHost", "Login", "PipedChannel", "PipedTransport", "Token", "Transport"]
