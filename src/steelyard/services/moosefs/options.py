"""Options of `use: moosefs` under `services`."""

from __future__ import annotations

from pydantic import Field

from steelyard.plugin import Duration
from steelyard.plugin.service import ServiceOptions

_MOST_COPIES = 9


class MoosefsOptions(ServiceOptions):
    """Where it listens, and how many copies of each file it keeps."""

    port: int | None = Field(
        None,
        ge=1,
        le=65000,
        description="Port for clients, the same on all hosts; servers use the next three among themselves. "
        "Default: free ones.",
    )
    replicas: int | None = Field(
        None,
        ge=1,
        le=_MOST_COPIES,
        description="Number of copies of each file, on different chunk servers, which MooseFS calls its "
        "goal. Default: 2, or 1 if there is one host.",
    )
    trash_time: Duration = Field(
        Duration(0.0), ge=0, description="How long deleted files keep their space, in whole seconds."
    )
    repair_delay: Duration = Field(
        Duration(5.0),
        ge=0,
        le=600,
        description="Time after the start of the master until it replaces missing copies, in whole seconds; "
        "MooseFS itself waits 60 s.",
    )
