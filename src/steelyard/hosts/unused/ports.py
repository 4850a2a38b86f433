"""Ports that one controller means to use, so that no other one of its machine takes them meanwhile."""

from __future__ import annotations

import errno
import socket
from typing import Self


class PortClaims:
    """Claims to ports; they last until a block ends, or nobody has this object any more.

    What the kernel's tables say of ports does not do: between the look at them and the start of a server,
    another controller may look. A claim is a name that the kernel keeps (an abstract Unix socket) in the
    network that the ports are of; only one process at a time can have it.
    """

    def __init__(self) -> None:
        self._claims: list[socket.socket] = []

    def claim(self, port: int) -> bool:
        """Whether nobody else has claimed it; true where a kernel has no such names."""
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0steelyard-port-{port}")
        except OSError as error:
            claim.close()
            return error.errno != errno.EADDRINUSE
        self._claims.append(claim)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._claims:
            self._claims.pop().close()

    __del__ = __exit__
