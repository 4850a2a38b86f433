"""What is said to a controller, without ever waiting for it."""

from __future__ import annotations

import os
import select

TYPE_CHECKING = False  # importing typing takes 3 ms
if TYPE_CHECKING:
    from select import poll


class Outbox:
    """A stream to the controller, with what it has not taken yet."""

    def __init__(self, stream: int, look: poll) -> None:
        self.stream, self.look, self.waiting = stream, look, b""

    def send(self, data: bytes) -> None:
        """Hand something over, now or as soon as the controller takes it."""
        self.waiting += data
        self.flush()

    def flush(self) -> None:
        """Hand over as much as the controller takes. Raises ConnectionError where it is gone."""
        try:
            while self.waiting:
                self.waiting = self.waiting[os.write(self.stream, self.waiting) :]
        except BlockingIOError:
            self.look.register(self.stream, select.POLLOUT)

    def resume(self) -> None:
        """Go on, now that poll says that the controller takes more, or is gone."""
        self.look.unregister(self.stream)
        self.flush()
