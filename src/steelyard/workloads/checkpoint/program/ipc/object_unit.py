"""A unit that saves an object of the kernel to a file, and makes it again from that."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

from steelyard.workloads.checkpoint.program.ipc.kernel_object import KernelObject
from steelyard.workloads.checkpoint.program.ipc.messages import Messages
from steelyard.workloads.checkpoint.program.ipc.semaphores import Semaphores
from steelyard.workloads.checkpoint.program.ipc.shared_memory import SharedMemory
from steelyard.workloads.checkpoint.program.state_file import State, read_state, write_state
from steelyard.workloads.checkpoint.program.unit import Unit

OBJECT_ROLE = "object-unit"
OBJECTS: dict[str, type[KernelObject]] = {
    "shared-memory": SharedMemory,
    "messages": Messages,
    "semaphores": Semaphores,
}


class ObjectUnit(Unit):
    """Its orders `save` and `restore` are about the object of a kind, `state`."""

    def do_save(self, order: dict[str, Any]) -> dict[str, Any]:
        """Write its content to a file."""
        began = time.perf_counter()
        with OBJECTS[order["state"]]().open() as content:
            opened = time.perf_counter()
            took = write_state(order["path"], State(memory=content))
        return {"took": {**took, "collect": opened - began}}

    def do_restore(self, order: dict[str, Any]) -> dict[str, Any]:
        """Make it with the content of a file, which is read to where it belongs."""
        began = time.perf_counter()
        made = OBJECTS[order["state"]]()
        with ExitStack() as stack:
            read_state(order["path"], lambda size: stack.enter_context(made.make(size)))
        return {"took": {"restore": time.perf_counter() - began}}
