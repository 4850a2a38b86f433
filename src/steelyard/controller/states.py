"""What the services of a trial say of themselves, by names such as `ring.settled` and `ring.load_bytes`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from steelyard.errors import HostError
from steelyard.model.timeline import SETTLED
from steelyard.services.base import Metered, Service

Services = Mapping[str, Service[Any]]


async def states(services: Services, names: Iterable[str]) -> dict[str, float | bool]:
    """As far as it is asked for. Raises HostError."""
    asked = set(names)
    found: dict[str, float | bool] = {}
    for name in {each.partition(".")[0] for each in asked}:
        wanted = {each.partition(".")[2] for each in asked if each.startswith(f"{name}.")}
        if SETTLED in wanted:
            found[f"{name}.{SETTLED}"] = await services[name].settled()
        if wanted - {SETTLED}:
            found |= await _figures(name, services[name])
    return found


async def all_states(services: Services) -> dict[str, float | bool]:
    """Of all of them; what one cannot tell just now is left out."""
    found: dict[str, float | bool] = {}
    for name, service in services.items():
        try:
            found[f"{name}.{SETTLED}"] = await service.settled()
            found |= await _figures(name, service)
        except HostError:
            continue
    return found


async def _figures(name: str, service: Service[Any]) -> dict[str, float]:
    if not isinstance(service, Metered):
        return {}
    return {f"{name}.{key}": value for key, value in (await service.meters()).items()}
