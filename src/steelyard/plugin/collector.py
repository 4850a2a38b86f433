"""What a collector is made of: it describes what to read beside the workload, and turns it into a table."""

from __future__ import annotations

from steelyard.collectors.base import Collector, CollectorOptions
from steelyard.model.column import CLOCKS, Column, Sample

__all__ = ["CLOCKS", "Collector", "CollectorOptions", "Column", "Sample"]
