"""What `${…}` may name beside parameters: `${kv.port}`, `${server.address}`, `${experiment.dir}`.

A reference has two parts: whose, and what of it. It is filled in when that is known: addresses of roles with
the hosts, those of a service and its port once it is ready. Until then something stands in for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from graphlib import TopologicalSorter
from typing import Any

from steelyard.model.command import Endpoint
from steelyard.model.expression import ExpressionError, find_names
from steelyard.model.keys.program import split_scripts
from steelyard.model.keys.uses import ServiceUse
from steelyard.model.trial import Scalar

OF_SERVICE = ("address", "addresses", "port", "endpoint", "endpoints")
OF_ROLE = ("address", "addresses")
SELF = "self"
FOLDER = "experiment.dir"
_IN_SCRIPT = re.compile(r"\$\{([A-Za-z][A-Za-z0-9_]*\.[A-Za-z][A-Za-z0-9_]*)\}")
_VARIABLE = re.compile(r"STEELYARD_([A-Z0-9_]+)")

Known = Mapping[str, Scalar]
"""References with what they stand for."""


class Placeholders(dict[str, Any]):
    """Names to fill in when not all references are known: something of the right type stands in for them."""

    def __missing__(self, name: str) -> Scalar:
        if "." not in name and name != "address" and not name.endswith("port"):
            raise KeyError(name)
        if name == FOLDER:
            return "/"
        return 1 if name.endswith("port") else "127.0.0.1"


def endpoint_references(name: str, endpoint: Endpoint, addresses: tuple[str, ...]) -> dict[str, Scalar]:
    """What others may know of a service that is ready."""
    own = {key: int(value) for key, value in endpoint.facts.items() if key.endswith("_port")}
    first = join_host_port(endpoint.address, endpoint.port)
    references = {
        **host_references(name, addresses),
        f"{name}.address": endpoint.address,
        f"{name}.port": endpoint.port,
    }
    servers = endpoint.facts.get("servers", first)
    return {**references, f"{name}.endpoint": first, f"{name}.endpoints": servers} | {
        f"{name}.{key}": port for key, port in own.items()
    }


def host_references(name: str, addresses: tuple[str, ...]) -> dict[str, Scalar]:
    """What others may know of hosts: the address of the first, and all joined by commas."""
    return {f"{name}.address": addresses[0], f"{name}.addresses": ",".join(addresses)}


def join_host_port(address: str, port: int) -> str:
    """Both in one word, as URLs write them."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def variables(known: Known) -> dict[str, str]:
    """The same for the environment: `kv.port` is STEELYARD_KV_PORT."""
    references = {name: value for name, value in known.items() if name != FOLDER}
    return {f"STEELYARD_{name.replace('.', '_').upper()}": str(value) for name, value in references.items()}


def find_references(text: str) -> Iterator[str]:
    """The references in lines of a shell, to which a name with a dot means nothing."""
    yield from dict.fromkeys(_IN_SCRIPT.findall(text))


def fill_script(text: str, known: Mapping[str, Any]) -> str:
    """The lines with the references that are known; what else stands there is the shell's."""
    return _IN_SCRIPT.sub(lambda match: str(known[match[1]]) if match[1] in known else match[0], text)


def find_services(options: Mapping[str, Any], services: Mapping[str, ServiceUse]) -> set[str]:
    """The services that options name, as `${kv.port}` or as the variable STEELYARD_KV_PORT."""
    try:
        rest, script = split_scripts(options)
        names = {name for _, name in find_names(rest)}
    except ExpressionError:
        return set()  # that is said where its options are looked at
    names |= set(find_references(script))
    by_variable = (_owner(name, services) for name in _VARIABLE.findall(str(options)))
    return {name.partition(".")[0] for name in names if "." in name} & services.keys() | {*by_variable} - {""}


def _owner(variable: str, services: Iterable[str]) -> str:
    """The service whose variable it is, of several the one with the longest name; empty if none."""
    return max((name for name in services if variable.startswith(f"{name.upper()}_")), key=len, default="")


def credentials(named: Mapping[str, Endpoint]) -> tuple[dict[str, str], dict[str, str]]:
    """Variables for who names services, beside where they are: what is no secret, and what is."""
    public = {
        (name.upper(), key): value
        for name, one in named.items()
        for key, value in (("USER", one.facts.get("user")), ("AUTHORITY", one.authority))
        if value
    }
    secrets = {
        f"STEELYARD_{name.upper()}_PASSWORD": one.password for name, one in named.items() if one.password
    }
    return {f"STEELYARD_{name}_{key}": value for (name, key), value in public.items()}, secrets


def order_services(services: Mapping[str, ServiceUse]) -> list[str]:
    """The services, each after those that it names. Raises graphlib.CycleError."""
    return list(
        TopologicalSorter(
            {name: find_services(use.options, services) for name, use in services.items()}
        ).static_order()
    )
