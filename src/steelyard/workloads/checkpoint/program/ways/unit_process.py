"""A unit in a process of its own, and what a way to save units begins from."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

from steelyard.workloads.checkpoint.program.faults import CheckpointFault
from steelyard.workloads.checkpoint.program.memory import ExpectedMemory


class UnitProcess:
    """A new process that is given orders, one at a time. `text` is the program, `role` is its part in it."""

    def __init__(self, text: str, role: str = "unit") -> None:
        words = (sys.executable, "-I", "-S", "-c", text, json.dumps({"role": role}))
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin
        assert self._process.stdout
        self._orders, self._answers = self._process.stdin, self._process.stdout

    def ask(self, do: str, content: Iterable[bytes] = (), **order: Any) -> dict[str, Any]:
        """What it answers to an order, with content that follows it. Raises CheckpointFault."""
        try:
            self._orders.write(json.dumps({"do": do, **order}).encode() + b"\n")
            for piece in content:
                self._orders.write(piece)
            self._orders.flush()
            line = self._answers.readline()
        except BrokenPipeError:
            line = b""
        if not line.endswith(b"\n"):
            raise CheckpointFault(f"the unit ended with {self._process.wait()} when it was asked to {do}")
        answer: dict[str, Any] = json.loads(line)
        if "fault" in answer:
            raise CheckpointFault(answer["fault"])
        return answer

    def kill(self) -> None:
        """As a crash; returns when it is gone."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._orders, self._answers):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


class Witness:
    """Sees from outside whether a unit is what it was: the verifier's memory, and steps that it asks for."""

    def __init__(self, kind: str, size: int, steps: int) -> None:
        self.memory, self._steps = ExpectedMemory(kind, size), steps

    def fill(self, unit: UnitProcess) -> None:
        """Give a new unit its memory, and let it work."""
        unit.ask("fill", self.memory.blocks(), size=self.memory.size)
        self.advance(unit, "at the beginning")

    def advance(self, unit: UnitProcess, when: str) -> None:
        """So many steps, each of which it must count. Raises CheckpointFault."""
        for _ in range(self._steps):
            position, token = self.memory.advance()
            answer = unit.ask("step", position=position, token=token.hex())
            self.memory.check_counter(answer["counter"], when)

    def check(self, unit: UnitProcess, path: str) -> None:
        """Have it prove its memory with a new key and without its state file, and go on."""
        os.truncate(path, 0)  # what only maps the file would have it still, were it but removed
        os.unlink(path)
        key = secrets.token_hex(32)
        self.memory.check_proof(key, unit.ask("prove", key=key)["digests"])
        self.advance(unit, "after the restore")
