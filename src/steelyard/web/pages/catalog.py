"""`/catalog` and `/catalog/NAME`: what can be measured, deployed, done and recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from steelyard.web.render import respond


async def show_catalog(request: Request) -> Response:
    """All entries by kind, in a line each."""
    from steelyard.spec.catalog import describe_entries

    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for entry in await asyncio.to_thread(describe_entries):
        line = {"name": entry["name"], "about": entry["about"].partition("\n")[0], "covers": entry["covers"]}
        kinds.setdefault(f"{entry['kind']}s".capitalize(), []).append(line)
    return respond(request, "catalog.html.j2", {"kinds": kinds})


async def show_entry(request: Request) -> Response:
    """One entry; two kinds may have one of the same name."""
    from steelyard.spec.catalog import describe_entries

    name = request.path_params["name"]
    return respond(
        request,
        "entry.html.j2",
        {"name": name, "entries": await asyncio.to_thread(lambda: describe_entries(name))},
    )
