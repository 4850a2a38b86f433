"""Saves and restores what its argument, JSON, asks for, in the current directory; prints a line of JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from steelyard.workloads.checkpoint.program.cold import make_cold
from steelyard.workloads.checkpoint.program.faults import CheckpointFault, describe_error
from steelyard.workloads.checkpoint.program.ipc.object_unit import OBJECT_ROLE, ObjectUnit
from steelyard.workloads.checkpoint.program.ring.member import ROLE, Member
from steelyard.workloads.checkpoint.program.ring.ring_unit import RingUnit
from steelyard.workloads.checkpoint.program.unit import Unit, serve_unit
from steelyard.workloads.checkpoint.program.ways.application import ApplicationWay
from steelyard.workloads.checkpoint.program.ways.kernel_object import KernelObjectWay
from steelyard.workloads.checkpoint.program.ways.program import ProgramWay
from steelyard.workloads.checkpoint.program.ways.way import Way

UNITS: dict[str, type[Unit]] = {"unit": Unit, ROLE: RingUnit, OBJECT_ROLE: ObjectUnit}
WAYS: dict[str, Callable[[dict[str, Any], str], Way]] = {
    "application": ApplicationWay,
    "object": KernelObjectWay,
    "program": ProgramWay,
}


def measure(asked: dict[str, Any], text: str) -> dict[str, Any]:
    """Save, kill, restore, check. Raises CheckpointFault, OSError."""
    way = WAYS[asked["way"]](asked, text)
    try:
        way.begin()
        saved = way.save()
        size = os.stat(way.path).st_size
        way.kill()
        cache = make_cold(way.path) if asked["cache"] == "cold" else {"how": "left warm"}
        restored = way.restore()
        way.check()
    finally:
        way.end()
    return {"took": {**saved, **restored}, "size": size, "cache": cache}


def measure_ring(asked: dict[str, Any], text: str) -> dict[str, Any]:
    """The same together with other copies. Raises CheckpointFault, OSError."""
    member = Member(asked, text)
    try:
        return member.run()
    finally:
        member.end()


def main(text: str) -> None:
    """Be a unit, or the verifier of one."""
    asked = json.loads(sys.argv[1])
    if asked["role"] in UNITS:
        serve_unit(UNITS[asked["role"]])
        return
    try:
        result = measure_ring(asked, text) if "ring" in asked else measure(asked, text)
    except CheckpointFault as fault:
        sys.exit(str(fault))
    except OSError as error:
        sys.exit(describe_error("checkpoint", error))
    print(json.dumps({**result, "python": sys.version.split()[0]}), flush=True)


if __name__ == "__main__":
    main(globals().get("TEXT", ""))
