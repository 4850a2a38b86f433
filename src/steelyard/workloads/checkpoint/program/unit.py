"""A unit: a program that holds memory, counts steps, and can save both and go on from them.

It obeys lines of JSON on standard input, and answers each by one on standard output. It ends with its input.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import time
from typing import Any

from steelyard.workloads.checkpoint.program.faults import CheckpointFault, describe_error
from steelyard.workloads.checkpoint.program.state_file import State, read_state, write_state

BLOCK = 1 << 20  # what one proof is of


class Unit:
    """Its methods `do_…` are the orders that it knows."""

    def __init__(self, orders: io.BufferedReader[io.FileIO]) -> None:
        self._orders, self.state = orders, State()

    def obey(self, order: dict[str, Any]) -> dict[str, Any]:
        """Do what an order says. Raises CheckpointFault, OSError."""
        answer: dict[str, Any] = getattr(self, f"do_{order['do']}")(order)
        return answer

    def do_greet(self, order: dict[str, Any]) -> dict[str, Any]:
        """Answer, so that it is known to be there."""
        return {}

    def do_fill(self, order: dict[str, Any]) -> dict[str, Any]:
        """Take the content of the memory from the input, where it follows the order."""
        self.state.memory = bytearray(order["size"])
        with memoryview(self.state.memory) as view:
            start = 0
            while start < len(view):
                came = self._orders.readinto(view[start : start + BLOCK])
                if not came:
                    raise CheckpointFault("the input ended before the content of the memory had come")
                start += came
        return {}

    def do_step(self, order: dict[str, Any]) -> dict[str, Any]:
        """Count one more, and keep its token in the memory."""
        token = bytes.fromhex(order["token"])
        self.state.memory[order["position"] : order["position"] + len(token)] = token
        self.state.counter += 1
        return {"counter": self.state.counter}

    def do_save(self, order: dict[str, Any]) -> dict[str, Any]:
        """Write the state to a file."""
        return {"took": write_state(order["path"], self.state)}

    def do_restore(self, order: dict[str, Any]) -> dict[str, Any]:
        """Have the state of a file."""
        began = time.perf_counter()
        self.state = read_state(order["path"])
        return {"took": {"restore": time.perf_counter() - began}}

    def do_prove(self, order: dict[str, Any]) -> dict[str, Any]:
        """Digests of each block of the memory with a key that nobody could know before."""
        with memoryview(self.state.memory) as view:
            blocks = (view[start : start + BLOCK] for start in range(0, len(view), BLOCK))
            return {"digests": [digest_block(order["key"], block) for block in blocks]}


def digest_block(key: str, block: bytes | memoryview) -> str:
    """What only who has the block and the key can tell."""
    return hashlib.blake2b(block, key=bytes.fromhex(key), digest_size=16).hexdigest()


def serve_unit(kind: type[Unit]) -> None:
    """Obey until the input ends."""
    orders = io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False))
    unit = kind(orders)
    while line := orders.readline():
        order = json.loads(line)
        try:
            answer = unit.obey(order)
        except CheckpointFault as fault:
            answer = {"fault": str(fault)}
        except OSError as error:
            answer = {"fault": describe_error(order["do"], error, order.get("path", ""))}
        except MemoryError:
            answer = {"fault": f"cannot {order['do']}: there is not enough memory"}
        print(json.dumps(answer), flush=True)
