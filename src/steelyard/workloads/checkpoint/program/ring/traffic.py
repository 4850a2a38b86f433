"""A unit's messages: sent to the right and received from the left all the time, until they are drained."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable

from steelyard.workloads.checkpoint.program.faults import CheckpointFault, describe_error
from steelyard.workloads.checkpoint.program.ring.channel import receive_message, send_mark, send_message
from steelyard.workloads.checkpoint.program.ring.logs import RECEIVED, SENT, MessageLog
from steelyard.workloads.checkpoint.program.state_file import State


class Traffic:
    """Two threads while it flows, none when it is drained. Its numbers are those of the unit's state."""

    def __init__(self, state: State, right: socket.socket, left: socket.socket) -> None:
        self._state, self._right, self._left = state, right, left
        self._sent, self._received = MessageLog(SENT), MessageLog(RECEIVED)
        self._change = threading.Condition()
        self._is_draining = threading.Event()
        self._fault = ""
        self._threads: list[threading.Thread] = []

    def flow(self, size: int, interval: float) -> None:
        """Send messages of so many bytes, one each interval (s), and receive."""
        self._is_draining.clear()
        tasks = (lambda: self._send_all(size, interval), self._receive_all)
        self._threads = [threading.Thread(target=self._guard, args=(task,), daemon=True) for task in tasks]
        for thread in self._threads:
            thread.start()

    def wait_for(self, received: int) -> None:
        """Until that message is there. Raises CheckpointFault."""
        with self._change:
            self._change.wait_for(lambda: self._fault or self._state.received >= received)
        self._raise_fault()

    def drain(self) -> int:
        """Have nothing in transit in either direction; how many came meanwhile. Raises CheckpointFault."""
        before = self._state.received
        self._is_draining.set()
        for thread in self._threads:
            thread.join()
        self._raise_fault()
        return self._state.received - before

    def close(self) -> None:
        """Both connections."""
        self._right.close()
        self._left.close()

    def _send_all(self, size: int, interval: float) -> None:
        content = os.urandom(size)
        while not self._is_draining.wait(interval):
            number = self._state.sent + 1
            self._sent.note(number)
            send_message(self._right, number, content)
            self._state.sent = number
        send_mark(self._right, self._state.sent)

    def _receive_all(self) -> None:
        while True:
            number, is_mark = receive_message(self._left)
            if is_mark:
                return
            self._received.note(number)
            with self._change:
                self._state.received = number
                self._change.notify_all()

    def _guard(self, task: Callable[[], None]) -> None:
        """A thread's end by an error, told to who waits; the other thread ends as well."""
        try:
            task()
        except Exception as error:  # whoever waits for this thread must hear of it
            if isinstance(error, OSError):
                self._tell(describe_error("exchange messages", error))
            self._tell(str(error))
            for channel in (self._right, self._left):  # before the other thread could send a mark
                with contextlib.suppress(OSError):
                    channel.shutdown(socket.SHUT_RDWR)
            self._is_draining.set()

    def _tell(self, fault: str) -> None:
        with self._change:
            self._fault = self._fault or fault or "a thread of the unit ended"
            self._change.notify_all()

    def _raise_fault(self) -> None:
        if self._fault:
            raise CheckpointFault(self._fault)
