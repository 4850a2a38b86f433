"""The network of a pod: closed and opened again by its NetworkPolicy."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steelyard.errors import HostError
from steelyard.provision.kubernetes.policies import POLICIES, build_policy, close_all, close_to, policy_name
from steelyard.provision.kubernetes.waiting import JOBS
from steelyard.transports.kubernetes.api import ApiServer
from steelyard.transports.kubernetes.transport import PodPlace


class PodNetwork:
    """What the pod of a place may reach, and be reached by."""

    def __init__(self, server: ApiServer, place: PodPlace) -> None:
        self.place, self._server = place, server
        self._is_cut, self._closed_to = False, dict[PodPlace, str]()
        self._has_policy, self._changing = False, asyncio.Lock()

    async def cut(self) -> None:
        """Close it. Raises HostError."""
        self._is_cut = True
        await self._apply()

    async def join(self) -> None:
        """Open it again. Raises HostError."""
        self._is_cut = False
        await self._apply()

    async def close_to(self, others: Mapping[PodPlace, str]) -> None:
        """Close it to the pods of these places, which have these addresses. Raises HostError."""
        self._closed_to.update(others)
        await self._apply()

    async def open_to(self, others: Iterable[PodPlace]) -> None:
        """Open it again to the pods of these places. Raises HostError."""
        for place in others:
            self._closed_to.pop(place, None)
        await self._apply()

    async def _apply(self) -> None:
        """Have the cluster hold what is meant now; nothing is asked where nothing is closed, or ever was."""
        async with self._changing:
            if self._is_cut:
                await self._put(close_all(self.place))
            elif self._closed_to:
                await self._put(close_to(self.place, self._closed_to, self._server.namespace))
            elif self._has_policy:
                await self._server.delete(self._path)
                self._has_policy = False

    async def _put(self, spec: Mapping[str, Any]) -> None:
        if self._has_policy:
            await self._server.patch(self._path, {"spec": spec})
            return
        job = await self._server.get(self._server.path(JOBS, self.place.job))
        await self._server.create(self._server.path(POLICIES), build_policy(self.place, job, spec))
        self._has_policy = True

    @property
    def _path(self) -> str:
        return self._server.path(POLICIES, policy_name(self.place))


def find_places(known: Mapping[str, PodPlace], addresses: Sequence[str]) -> dict[PodPlace, str]:
    """The places of pods with these addresses. Raises HostError where one is no pod of this run."""
    if strange := [each for each in addresses if each not in known]:
        raise HostError(f"{', '.join(strange)}: not the address of a pod of this run")
    return {known[each]: each for each in addresses}
