"""A unit that has neighbours."""

from __future__ import annotations

import socket
from typing import Any

from steelyard.workloads.checkpoint.program.faults import CheckpointFault
from steelyard.workloads.checkpoint.program.ring.channel import accept_neighbour, connect_to, listen_on
from steelyard.workloads.checkpoint.program.ring.traffic import Traffic
from steelyard.workloads.checkpoint.program.unit import Unit


class RingUnit(Unit):
    """It knows more orders: `listen`, `join`, `receive`, `drain`, `flow`."""

    _listening: socket.socket
    _traffic: Traffic

    def do_listen(self, order: dict[str, Any]) -> dict[str, Any]:
        """Be ready for the left neighbour; at which port."""
        self._listening = listen_on(order["address"])
        return {"port": self._listening.getsockname()[1]}

    def do_join(self, order: dict[str, Any]) -> dict[str, Any]:
        """Connect to the right neighbour, and have the left one connect."""
        right = connect_to(order["own"], order["address"], order["port"])
        right.sendall(order["secret"].encode())
        try:
            left = accept_neighbour(self._listening, order["secret"])
        except TimeoutError:
            raise CheckpointFault("the left neighbour did not connect") from None
        self._listening.close()
        self._traffic = Traffic(self.state, right, left)
        return {}

    def do_flow(self, order: dict[str, Any]) -> dict[str, Any]:
        """Have messages go around, from where they were."""
        self._traffic.flow(order["message"], order["interval"])
        return {}

    def do_receive(self, order: dict[str, Any]) -> dict[str, Any]:
        """Wait for so many more messages."""
        self._traffic.wait_for(self.state.received + order["count"])
        return {}

    def do_drain(self, order: dict[str, Any]) -> dict[str, Any]:
        """Have no message in transit, and no connection if that is asked."""
        drained = self._traffic.drain()
        if order["close"]:
            self._traffic.close()
        return {"drained": drained}
