"""Which hosts a service takes in when it grows."""

from __future__ import annotations

from collections.abc import Collection

from steelyard.errors import HostError
from steelyard.hosts.base import Host
from steelyard.services.kit.context import ServiceContext


def choose_new_hosts(context: ServiceContext, members: Collection[Host], to: int, what: str) -> list[Host]:
    """Those of its hosts that join `members`, in their order, so that there are so many; none if there are.

    Raises HostError where it has too few. `what` the service calls its members: nodes, chunk servers.
    """
    free = [host for host in (*context.hosts, *context.spare) if host not in members]
    if to > (most := len(members) + len(free)):
        message = f"service {context.name} cannot have {to} {what}, at most {most}"
        raise HostError(message, hint="add more hosts to `grow_into`")
    return free[: max(0, to - len(members))]
