"""A program that a workload, service or collector needs on a host."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tool:
    """`name` is the program on PATH; `apt`, `dnf`: the packages that bring it; `version`: arguments that
    make it print its version; `at_least`: the oldest version that is known to work."""

    name: str
    apt: str = ""
    dnf: str = ""
    version: tuple[str, ...] = ("--version",)
    at_least: str = ""
