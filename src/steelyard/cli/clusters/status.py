"""`steelyard cluster status`"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import click

from steelyard.cli.clusters.attach import ask
from steelyard.cli.clusters.options import cluster_argument
from steelyard.cli.options import json_option, print_json, store_option
from steelyard.cli.terminal import echo
from steelyard.report.columns import align


@click.command()
@cluster_argument
@store_option
@json_option
def command(cluster: str | None, store: str | None, as_json: bool) -> int:
    """Show what CLUSTER is doing and the state of each node; without a name, list all if there are several.

    \b
    steelyard cluster status
    steelyard cluster status brain --json
    """
    from steelyard.cluster.clusters import find_cluster, format_clusters, list_clusters
    from steelyard.spec.stores import choose_store

    where = choose_store(store)
    every = list_clusters(where) if cluster is None else [find_cluster(where, cluster)]
    if len(every) != 1:
        if as_json:
            print_json([_describe_cluster(one) for one in every])
        else:
            echo(format_clusters(every) if every else f"no live cluster in the store {where.root}")
        return 0
    told = _query_status(every[0])
    if as_json:
        print_json(told)
    else:
        echo("\n".join(format_status(told, time.time())))
    return 0


def _describe_cluster(one: Any) -> dict[str, Any]:
    now = one.activity
    return {"cluster": one.name, "run": one.folder.id, "doing": now.what, "since": now.since}


def _query_status(one: Any) -> dict[str, Any]:
    """What its controller says; what its journal and its scheduler say where that cannot be asked."""
    from steelyard.cluster.clusters import query_job
    from steelyard.errors import HostError

    status = _describe_cluster(one)
    if one.state == "running":
        try:
            status |= ask(one.folder.control, "status")
        except HostError as error:
            status["unasked"] = error.message
    job = query_job(one.folder).sentence
    return status | ({"job": job} if job else {})


def format_status(told: Mapping[str, Any], now: float) -> list[str]:
    """For people: a sentence, its address, a table of its nodes."""
    from steelyard.units import show_span

    output = [_describe_activity(told, now)]
    output += [str(told["job"])] if told.get("job") else []
    if told.get("left") is not None:
        output.append(f"time left: {show_span(told['left'])}")
    output += [_address(name, one) for name, one in told.get("services", {}).items()]
    nodes = [node for of in told.get("nodes", {}).values() for node in of]
    output += align([_HEADING, *(_row(node) for node in nodes)]) if nodes else []
    output += [f"the state of its nodes is not known: {told['unasked']}"] if told.get("unasked") else []
    return output


def _describe_activity(told: Mapping[str, Any], now: float) -> str:
    from steelyard.units import show_span

    since = f" (for {show_span(now - told['since'])})" if told["since"] else ""
    stopping = ", and stops after that" if told.get("stopping") else ""
    return f"cluster {told['cluster']} (run {told['run']}) is {told['doing']}{since}{stopping}"


_HEADING = ("node", "address", "state", "load", "tokens")


def _address(name: str, service: Mapping[str, Any]) -> str:
    facts = service.get("facts", {})
    own = "  ".join(f"{key}={value}" for key, value in facts.items() if key.isupper())
    return f"{name} is at {service['address']} port {service['port']}  {own}".rstrip()


def _row(node: Mapping[str, Any]) -> tuple[str, ...]:
    from steelyard.units import show

    load, tokens = node.get("load"), list(node.get("tokens") or [])
    held = str(tokens[0]) if len(tokens) == 1 else str(len(tokens)) if tokens else "-"
    size = "-" if load is None else show(load, "B")
    return str(node["host"]), str(node["address"]), str(node["state"]), size, held
