"""A host, and how to act on it: programs, files, the network."""

from __future__ import annotations

from steelyard.hosts.base import (
    Cuttable,
    Drainable,
    Host,
    HostCheckpointable,
    HostKillable,
    HostPausable,
    Process,
    Streams,
    finish,
)
from steelyard.hosts.short_programs import explain_missing_file, run_short_program

__all__ = [
    "Cuttable",
    "Drainable",
    "Host",
    "HostCheckpointable",
    "HostKillable",
    "HostPausable",
    "Process",
    "Streams",
    "explain_missing_file",
    "finish",
    "run_short_program",
]
