"""How hosts are reached: this machine, and programs such as `srun` that carry a channel."""

from __future__ import annotations

from steelyard.remote.lease import Lease
from steelyard.remote.local import LocalHost
from steelyard.remote.login import NONE, Login
from steelyard.remote.piped_transport import PipedChannel, PipedTransport
from steelyard.remote.token import Token
from steelyard.remote.transport import Transport

__all__ = ["NONE", "Lease", "LocalHost", "Login", "PipedChannel", "PipedTransport", "Token", "Transport"]
