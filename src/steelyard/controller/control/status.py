"""What a controller tells of its services to who asks: nodes, endpoints without passwords, snapshots."""

from __future__ import annotations

from typing import Any

from steelyard.errors import HostError
from steelyard.model.command import Endpoint
from steelyard.model.snapshot import Snapshot
from steelyard.services.base import Service
from steelyard.services.kit.capabilities import HasNodes, NodeState


async def query_nodes(service: Service[Any]) -> tuple[NodeState, ...]:
    """How its nodes are, by its own word, else by its processes."""
    if isinstance(service, HasNodes):
        try:
            return await service.list_nodes()
        except HostError:
            pass  # then its processes tell at least which of them live
    return tuple(
        NodeState(server.host.name, server.address, _state(server.exit is not None, server.frozen))
        for server in service.servers
    )


def _state(ended: bool, frozen: bool) -> str:
    return "down" if ended else "paused" if frozen else "up"


def describe_endpoint(endpoint: Endpoint) -> dict[str, Any]:
    """What is no secret of it."""
    return {
        "address": endpoint.address,
        "port": endpoint.port,
        "facts": dict(endpoint.facts),
        "authority": endpoint.authority,
    }


def summarise_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """A snapshot in short."""
    return {
        "name": snapshot.name,
        "bytes": snapshot.size,
        "rows": snapshot.rows,
        "nodes": len(snapshot.nodes),
        "spread": snapshot.spread,
    }
