"""A pod's own word that it is ready, which comes up to a second before its kubelet's.

A kubelet looks once a second for containers that have started (its generic PLEG), and only then tells the API
server; an exec stream, however, reaches a container as soon as it runs.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeVar

from steelyard.errors import HostLost
from steelyard.transports.kubernetes.api import ApiServer
from steelyard.transports.kubernetes.channel import ExecChannel
from steelyard.transports.kubernetes.errors import ClusterError
from steelyard.transports.kubernetes.pods import CONTAINER, PodState

Key = TypeVar("Key")

MOST_ASKED = 16
"""So many pods are asked at a time: an API server has more to do than to save a second for each of many."""
ADDRESS: Mapping[str, Any] = {
    "name": "STEELYARD_ADDRESS",
    "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}},
}
"""The variable of a container in which the kubelet tells it the address of its pod."""
_ANSWER_WITHIN = 5.0
# What the watcher of the pod writes last is there: so is all that we need.
_QUESTION = '[ -s "$HOME/.steelyard-watcher" ] && echo "$STEELYARD_ADDRESS"'


async def ask_pods(server: ApiServer, states: Mapping[Key, PodState]) -> dict[Key, PodState]:
    """Those that are starting and answer, as running ones. What does not answer yet is left out."""
    starting = {key: state for key, state in states.items() if state.is_starting}
    asked = dict(list(starting.items())[:MOST_ASKED])
    addresses = await asyncio.gather(*(_ask(server, state.name) for state in asked.values()))
    return {
        key: state._replace(is_running=True, address=address, reason="", message="")
        for (key, state), address in zip(asked.items(), addresses, strict=True)
        if address
    }


async def _ask(server: ApiServer, pod: str) -> str:
    """Its address by its own word; empty where there is none yet."""
    with suppress(ClusterError, HostLost, TimeoutError, ValueError):
        async with asyncio.timeout(_ANSWER_WITHIN):
            stream = await server.open_exec(pod, CONTAINER, ("sh", "-c", _QUESTION))
            channel = ExecChannel(pod, stream)
            try:
                return str(ipaddress.ip_address((await channel.stdout.readline()).decode().strip()))
            finally:
                channel.close()
                await channel.wait_closed()
    return ""
