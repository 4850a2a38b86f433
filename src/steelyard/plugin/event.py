"""What an event is made of: it acts on the services and hosts of a trial, and heals what it did."""

from __future__ import annotations

from steelyard.events.base import (
    Event,
    EventContext,
    EventOptions,
    HostsEvent,
    HostsEventOptions,
    NodeEvent,
    NodeEventOptions,
    ServiceEvent,
    ServiceEventOptions,
    check_servers,
    find_services_on,
    time_metric,
)
from steelyard.services.kit.capabilities import (
    Checkpointable,
    Growable,
    Killable,
    Pausable,
    Shrinkable,
    Snapshottable,
)

__all__ = [
    "Checkpointable",
    "Event",
    "EventContext",
    "EventOptions",
    "Growable",
    "HostsEvent",
    "HostsEventOptions",
    "Killable",
    "NodeEvent",
    "NodeEventOptions",
    "Pausable",
    "ServiceEvent",
    "ServiceEventOptions",
    "Shrinkable",
    "Snapshottable",
    "check_servers",
    "find_services_on",
    "time_metric",
]
