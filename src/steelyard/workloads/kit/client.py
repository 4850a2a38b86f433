"""Which server a client talks to: the service that `to:` names, or one that the options name."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from pydantic import Field, field_validator

from steelyard.model.command import Command, Endpoint, Place
from steelyard.workloads.base import WorkloadOptions

_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*")


class ClientOptions(WorkloadOptions):
    """Options of every workload that talks to a server."""

    server: str | None = Field(
        None, description="Name or address of a running server, if `to:` names no service."
    )
    servers: int = Field(
        1,
        ge=1,
        le=10_000,
        description="Number of servers there, on consecutive ports; copies use them in turn.",
    )

    @field_validator("server")
    @classmethod
    def _check_server(cls, value: str | None) -> str | None:
        if value is not None and not _HOST.fullmatch(value):
            raise ValueError(f"'{value}' is not a host name or an address")
        return value


# Lays the certificate of the authority that signed the servers where their clients find it.
BELIEVE = '[ -z "${AUTHORITY-}" ] || printf %s "$AUTHORITY" > authority.pem\n'
AUTHORITY = "authority.pem"


def authority_variables(to: Endpoint) -> dict[str, str]:
    """The variable that `BELIEVE` needs, for servers that are reached by TLS."""
    return {"AUTHORITY": to.authority} if to.authority else {}


def endpoint(place: Place, options: Any) -> Endpoint | None:
    """Where this copy's server answers; None when neither the file nor the options name one."""
    if place.to is not None:
        return copy_endpoint(place.to, place.copy)
    if options.server is None:
        return None
    return Endpoint(options.server, options.port + place.copy % options.servers)


def copy_endpoint(to: Endpoint, copy: int) -> Endpoint:
    """Where a copy's own server of a service answers.

    A service of several says so in its fact `servers`, as `address:port,address:port`; copies take them in
    turn. Where each has a directory of its own, the fact `paths` lists them in the same order.
    """
    servers = to.facts.get("servers", f"{to.address}:{to.port}").split(",")
    address, _, port = servers[copy % len(servers)].rpartition(":")
    paths = to.facts.get("paths", to.facts.get("path", "")).split(",")
    facts = {**to.facts, "path": paths[copy % len(paths)]}
    return replace(to, address=address, port=int(port), facts=facts)


def fail_without_server(workload: str) -> Command:
    """What is run instead of a client that has no server: a sentence, and a failure."""
    return fail_with(f"{workload} has no server: name a service with 'to:', or set the option 'server:'")


def fail_with(sentence: str) -> Command:
    """What is run instead of a client that cannot do what it is asked."""
    return Command(("sh", "-c", 'echo "$1" >&2; exit 2', "sh", sentence))
