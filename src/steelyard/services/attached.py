"""`use: attached` under `services`: a service that another run holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.plugin import Absolute, Endpoint, HostError
from steelyard.plugin.service import Service, ServiceOptions
from steelyard.services.kit.access import Listener
from steelyard.services.kit.server import Server


class AttachedOptions(ServiceOptions):
    """Where the other run says how its service is reached."""

    control: Absolute = Field(
        description="The `control.json` of the run that holds it, on a file system that the host can access."
    )


class Attached(Service[AttachedOptions]):
    """Connect to a service of another run, such as a database of `steelyard cluster run`; start nothing.

    The `control.json` of that run, which only its user can read, contains its address and password; the
    password is never recorded. The service is not monitored: if it ends, its clients fail.
    """

    Options = AttachedOptions
    is_external = True
    access = (
        Listener("the other run's service", authentication="as the other run requires", binding="elsewhere"),
    )
    examples = ({"control": "/shared/runs/20261120-184512-ring-7f3a/control.json"},)

    async def configure(self) -> None:
        """Read what the other run says. Raises HostError when it does not live, or has no service yet."""
        path = self.options.control
        text = (await self.context.hosts[0].read([path])).get(path, "")
        self._endpoint = parse_endpoint(text, f"service {self.context.name}: {path}")

    async def start(self) -> None:
        """It runs already."""

    async def is_answering(self, server: Server) -> bool:
        """There is no server of ours."""
        return True

    def endpoint(self) -> Endpoint:
        """As the other run has it."""
        return self._endpoint


def parse_endpoint(text: str, where: str) -> Endpoint:
    """The service that a `control.json` tells of. Raises HostError."""
    try:
        told: Mapping[str, Any] = json.loads(text)["service"]
        facts = {str(key): str(value) for key, value in told["facts"].items()}
        may_lack = {key: told[key] and str(told[key]) for key in ("password", "authority") if key in told}
        return Endpoint(str(told["address"]), int(told["port"]), facts, **may_lack)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        what = "does not exist or cannot be read" if not text else "describes no service"
        hint = "`steelyard cluster status` lists the running clusters and what they are doing"
        raise HostError(f"{where} {what}", hint=hint) from error
