"""`do: recover`: a service has again the data that it kept before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.plugin.event import ServiceEvent, ServiceEventOptions, Snapshottable, time_metric


class RecoverSnapshot(ServiceEvent[ServiceEventOptions]):
    """Restore a service to the last snapshot that an event `snapshot` took of it in the same trial.

    Complete when its data are as they were then; clients may use it meanwhile and see the data change.
    Together with `snapshot`, it shows how much time is saved by not loading the data again. **Source**: C4S
    2018, chapter 6.3.
    """

    Options = ServiceEventOptions
    capability = Snapshottable
    metrics = (
        time_metric("copy", "copying the files to the nodes"),
        time_metric("import", "importing the files"),
    )
    examples = ({"service": "ring"},)

    async def happen(self) -> Mapping[str, Any]:
        """Bring it back."""
        return {
            f"{step}_time": took
            for step, took in (await self.event_context.recover_snapshot(self.service)).items()
        }
