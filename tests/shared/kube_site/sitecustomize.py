"""What a Python program in a pod of the stand-in cluster meets: connections that are closed say nothing."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

CLOSED, OWN = os.environ["STAND_IN_CLOSED"], os.environ["STAND_IN_ADDRESS"]


class PodSocket(socket.socket):
    """One that loses what it sends where the network of pods is closed."""

    def connect(self, to: Any) -> None:
        if self._is_closed(to[0], new=True):
            raise TimeoutError
        super().connect(to)

    def send(self, data: bytes, *flags: int) -> int:  # type: ignore[override]
        if self._is_closed(self.getpeername()[0], new=False):
            return len(data)
        return super().send(data, *flags)

    @staticmethod
    def _is_closed(peer: str, *, new: bool) -> bool:
        closed = json.loads(Path(CLOSED).read_text())
        return [OWN, peer] in closed["pairs"] and (new or closed["open"])


socket.socket = PodSocket  # type: ignore[misc]
