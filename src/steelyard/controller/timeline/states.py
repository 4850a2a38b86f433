"""What the services of a trial say of themselves, by names such as `ring.settled` and `ring.load_bytes`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from steelyard.errors import HostError
from steelyard.model.keys.timeline import SETTLED
from steelyard.services.base import Service
from steelyard.services.kit.capabilities import Metered

Services = Mapping[str, Service[Any]]


async def read_states(services: Services, names: Iterable[str]) -> dict[str, float | bool]:
    """As far as it is asked for. Raises HostError."""
    asked = set(names)
    values: dict[str, float | bool] = {}
    for name in {each.partition(".")[0] for each in asked}:
        wanted = {each.partition(".")[2] for each in asked if each.startswith(f"{name}.")}
        if SETTLED in wanted:
            values[f"{name}.{SETTLED}"] = await services[name].is_settled()
        if wanted - {SETTLED}:
            values |= await _read_figures(name, services[name])
    return values


async def read_all_states(services: Services) -> dict[str, float | bool]:
    """Of all of them; what one cannot tell just now is left out."""
    values: dict[str, float | bool] = {}
    for name, service in services.items():
        try:
            values[f"{name}.{SETTLED}"] = await service.is_settled()
            values |= await _read_figures(name, service)
        except HostError:
            continue
    return values


async def _read_figures(name: str, service: Service[Any]) -> dict[str, float]:
    if not isinstance(service, Metered):
        return {}
    return {f"{name}.{key}": value for key, value in (await service.read_meters()).items()}
