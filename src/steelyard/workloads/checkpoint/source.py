"""The program of the hosts as one text, and the command that starts it there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from steelyard.plugin import Command, Place, Tool
from steelyard.workloads.kit.joined_program import join_files

PYTHON = Tool("python3", apt="python3", dnf="python3", at_least="3.9")
_PROGRAM = Path(__file__).with_name("program")
_FILES = (
    *("faults", "state_file", "unit", "memory", "cold"),
    *("ipc/namespace", "ipc/kernel_object", "ipc/shared_memory", "ipc/messages", "ipc/semaphores"),
    *("ipc/object_unit", "ways/way", "ways/unit_process", "ways/application", "ways/kernel_object"),
    *("ways/user_process", "ways/program"),
    *("ring/channel", "ring/logs", "ring/traffic", "ring/ring_unit", "ring/meeting", "ring/member"),
    "main",
)
# It keeps its own text, as each unit is a new process that is started with it.
_START = "import sys; TEXT = sys.stdin.read(); exec(compile(TEXT, 'checkpoint', 'exec'))"


@cache
def join_program() -> str:
    """The text for the interpreter of a host that has nothing of Steelyard."""
    return join_files(_PROGRAM / f"{name}.py" for name in _FILES)


def make_command(asked: Mapping[str, Any], place: Place) -> Command:
    """Have the program do what is asked, where the place is."""
    words = PYTHON.argv("-c", _START, json.dumps(asked))
    return Command(words, cwd=place.scratch, stdin=join_program())
