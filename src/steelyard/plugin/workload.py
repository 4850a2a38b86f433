"""What a workload is made of: it describes commands, and reads what they printed."""

from __future__ import annotations

from steelyard.model.command import Carrier
from steelyard.model.engine import Engine, EngineJob, JobQueue
from steelyard.model.keys.program import to_word
from steelyard.stats.histogram import Histogram
from steelyard.tools.bindings import list_protocols, list_services
from steelyard.workloads.base import ANY_SERVICE, Workload, WorkloadOptions

__all__ = [
    "ANY_SERVICE",
    "Carrier",
    "Engine",
    "EngineJob",
    "Histogram",
    "JobQueue",
    "Workload",
    "WorkloadOptions",
    "list_protocols",
    "list_services",
    "to_word",
]
