"""The one face that authors of plug-ins import, ours included.

What every kind speaks in stands here: commands, metrics, tools, units, errors. A module per kind has its
contract: `plugin.workload`, `.service`, `.event`, `.collector`, `.site`. Three more have what acts on a host
(`plugin.host`), reaches one (`plugin.transport`) and reaches it by SSH (`plugin.ssh`); they load asyncio and
more, which a plan spares. Everything else in Steelyard may change without notice.
"""

from __future__ import annotations

from steelyard.errors import (
    HostError,
    NothingMeasured,
    ParseFailure,
    SpecError,
    UsageError,
    suggest_name,
)
from steelyard.model.command import Command, Endpoint, Exit, Output, Phase, Place
from steelyard.model.metric import QUANTILES, Mark, Metric, Reading, SeriesSample, latency_metrics
from steelyard.model.password import derive_password
from steelyard.model.paths import Absolute, ScratchOrAbsolute
from steelyard.model.protocol import ClientBinding, WireProtocol
from steelyard.model.replay import ReplayedTrace
from steelyard.model.tool import NETBENCH, RCLONE, Tool
from steelyard.units import Duration, Frequency, Rate, Share, Size

__all__ = [
    "NETBENCH",
    "QUANTILES",
    "RCLONE",
    "Absolute",
    "ClientBinding",
    "Command",
    "Duration",
    "Endpoint",
    "Exit",
    "Frequency",
    "HostError",
    "Mark",
    "Metric",
    "NothingMeasured",
    "Output",
    "ParseFailure",
    "Phase",
    "Place",
    "Rate",
    "Reading",
    "ReplayedTrace",
    "ScratchOrAbsolute",
    "SeriesSample",
    "Share",
    "Size",
    "SpecError",
    "Tool",
    "UsageError",
    "WireProtocol",
    "derive_password",
    "latency_metrics",
    "suggest_name",
]
