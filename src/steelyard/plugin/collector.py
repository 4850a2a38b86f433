"""What a collector is made of: it describes what to read beside the workload, and turns it into a table."""

from __future__ import annotations

from steelyard.collectors.base import Collector, CollectorOptions
from steelyard.model.column import Column, Sample

__all__ = ["Collector", "CollectorOptions", "Column", "Sample"]
