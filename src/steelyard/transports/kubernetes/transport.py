"""Pods as hosts: each script runs by `sh` behind an exec stream of its own."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from steelyard.errors import HostLost
from steelyard.hosts.transport import Channel, Transport
from steelyard.transports.kubernetes.api import ApiServer
from steelyard.transports.kubernetes.channel import ExecChannel
from steelyard.transports.kubernetes.errors import ClusterError
from steelyard.transports.kubernetes.pods import CONTAINER, PodState, newest

PAUSES = (0.1, 0.3, 1.0, 2.0)
"""Seconds between looks for a pod; the last again and again."""
INDEX_LABEL, JOB_LABEL = "batch.kubernetes.io/job-completion-index", "batch.kubernetes.io/job-name"
JOB_FINALIZER = "batch.kubernetes.io/job-tracking"


@dataclass(frozen=True, slots=True)
class PodPlace:
    """The place of a pod in its indexed Job: should one be deleted, the Job fills it anew."""

    job: str
    index: int

    @property
    def selector(self) -> str:
        """The labels that Kubernetes gives to its pod."""
        return f"{JOB_LABEL}={self.job},{INDEX_LABEL}={self.index}"


class PodTransport(Transport):
    """A way to the pod of a place in a Job; see `Transport`. `open` finds the one that has the place now.

    `connect_within` bounds, in seconds, how long a pod that does not run, or an API server that is away, is
    waited for. `known` is a pod there that runs: the first `open` need not look for it.
    """

    def __init__(
        self,
        name: str,
        server: ApiServer,
        place: PodPlace,
        *,
        connect_within: float = 60.0,
        known: PodState | None = None,
    ) -> None:
        self.name, self.address = name, ""
        self.server, self.place, self._connect_within = server, place, connect_within
        self.pod, self.node = "", ""
        self._known = known
        self._channels: list[ExecChannel] = []

    async def open(self) -> None:
        """Find its pod, and make sure that it runs. Raises HostLost with a sentence for the user."""
        loop = asyncio.get_running_loop()
        deadline, pauses = loop.time() + self._connect_within, list(PAUSES)
        while True:
            state, self._known = self._known or await self._look(is_last=loop.time() >= deadline), None
            if state and state.is_running:
                self.pod, self.node, self.address = state.name, state.node, state.address
                return
            if loop.time() >= deadline or (state and state.is_hopeless):
                raise self._explain(state)
            await asyncio.sleep(pauses.pop(0) if len(pauses) > 1 else pauses[0])

    async def run(self, script: str) -> Channel:
        """Run a script by the POSIX shell there. It comes on standard input; the URL says its length."""
        content = enclose(script)
        try:
            stream = await self.server.open_exec(
                self.pod, CONTAINER, receive_command(content), seconds=self._connect_within
            )
        except ClusterError as error:
            raise HostLost(f"host {self.name}: {error.message}", hint=error.hint) from error
        channel = ExecChannel(self.name, stream)
        self._channels = [each for each in self._channels if not each.has_ended]
        self._channels.append(channel)
        await channel.send(content)
        return channel

    async def delete_pod(self) -> None:
        """Have its pod deleted without notice; the Job fills the place at once. Raises ClusterError."""
        await self.forget_pod()
        await self.server.delete(self.server.path("pods", self.pod), gracePeriodSeconds=0)

    async def forget_pod(self) -> None:
        """Have the Job forget its pod, which is about to end. Raises ClusterError.

        One that still bore the Job's finalizer would count as failed, and the Job would let ten seconds pass
        before it makes the next, twice as many each time.
        """
        change = {"metadata": {"$deleteFromPrimitiveList/finalizers": [JOB_FINALIZER]}}
        await self.server.patch(self.server.path("pods", self.pod), change)

    async def close(self) -> None:
        """Leave; channels that are still open end."""
        channels, self._channels = self._channels, []
        for channel in channels:
            channel.close()
        await asyncio.gather(*(channel.wait_closed() for channel in channels))

    async def _look(self, *, is_last: bool) -> PodState | None:
        """The state of the pod; None where there is none, or the API server is away for the moment."""
        try:
            pods = await self.server.list("pods", labelSelector=self.place.selector)
        except ClusterError as error:
            if error.is_transient and not is_last:
                return None
            raise HostLost(f"host {self.name}: {error.message}", hint=error.hint) from error
        return newest(pods).get(self.place.index)

    def _explain(self, state: PodState | None) -> HostLost:
        name = f"pod {state.name}" if state else f"a pod of Job {self.place.job}"
        why = state.explain() if state else "there is none"
        hint = f"`kubectl describe job {self.place.job}` tells more"
        return HostLost(f"host {self.name}: {name} does not run: {why}", hint=hint)


def enclose(script: str) -> bytes:
    """A script that a shell runs whole or, should its end be cut off, not at all."""
    return f"{{\n{script}\n}}\n".encode(errors="surrogateescape")


def receive_command(content: bytes) -> tuple[str, ...]:
    """What takes exactly this content from its standard input and runs it; the rest is input of the script.

    dd(1) takes a byte at a time: what it read beyond the script would be lost to it.
    """
    return ("sh", "-c", f'eval "$(dd bs=1 count={len(content)} 2>/dev/null)"')
