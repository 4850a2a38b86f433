"""All pages and streams of a server, behind the gate."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from steelyard.errors import SteelyardError, UnknownName
from steelyard.store.layout import Store
from steelyard.web.access.gate import Access, AccessGate
from steelyard.web.context import WebContext
from steelyard.web.live.hub import Hub
from steelyard.web.pages import (
    actions,
    catalog,
    compare,
    history,
    machines,
    new,
    run,
    runs,
    suites,
    telemetry,
    trials,
)
from steelyard.web.render import get_assets, respond_error
from steelyard.web.runs_index import RunsIndex
from steelyard.web.starting.starter import RunStarter

_PAGES = ("/", "/new", "/compare", "/history", "/suites", "/machines", "/catalog")
_MEDIA = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}


def make_app(store: Store, access: Access, starter: RunStarter | None = None) -> ASGIApp:
    """The application (ASGI) for a store; without a `starter`, nothing can be started."""
    index = RunsIndex(store)
    hub = Hub(index)

    @contextlib.asynccontextmanager
    async def live(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await hub.close()
            index.save()

    app = Starlette(
        routes=list_routes(),
        exception_handlers={SteelyardError: _show_error, 404: _show_missing},
        lifespan=live,
    )
    app.state.context = WebContext(store, index, hub, starter)
    return AccessGate(app, access)


def list_routes() -> list[Route]:
    """Every URL."""
    return [
        Route("/", runs.show_runs),
        Route("/events", runs.stream_runs),
        Route("/runs/{run}", run.show_run),
        Route("/runs/{run}/events", run.stream_run),
        Route("/runs/{run}/report", run.show_report),
        Route("/runs/{run}/file", run.show_file),
        Route("/runs/{run}/environment", run.show_environment),
        Route("/runs/{run}/journal", run.show_journal),
        Route("/runs/{run}/trials", trials.show_trials),
        Route("/runs/{run}/trials/{number:int}", trials.show_trial),
        Route("/runs/{run}/trials/{number:int}/telemetry", telemetry.show_telemetry),
        Route("/runs/{run}/trials/{number:int}/files/{name:path}", trials.send_file),
        Route("/runs/{run}/actions/{verb}", actions.act, methods=["POST"]),
        Route("/starts/{key}", actions.show_command),
        Route("/compare", compare.show_comparison),
        Route("/history", history.list_histories),
        Route("/history/{experiment}", history.show_history),
        Route("/history/{experiment}/decisions", history.decide_on_run, methods=["POST"]),
        Route("/suites", suites.show_suites),
        Route("/suites/{suite}", suites.show_suite),
        Route("/suites/{suite}/resume", suites.resume_suite, methods=["POST"]),
        Route("/new", new.show_new),
        Route("/new", new.post_new, methods=["POST"]),
        Route("/machines", machines.show_machine),
        Route("/catalog", catalog.show_catalog),
        Route("/catalog/{name}", catalog.show_entry),
        Route("/static/{name}", _send_asset),
    ]


async def _send_asset(request: Request) -> Response:
    name, assets = request.path_params["name"], get_assets()
    if name not in assets:
        raise UnknownName("file", name, assets)
    return Response(assets[name], media_type=_MEDIA[name.rpartition(".")[2]], headers=_FOR_EVER)


async def _show_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, SteelyardError)  # noqa: S101 - for this it is registered
    return respond_error(request, error)


async def _show_missing(request: Request, _: Exception) -> Response:
    return respond_error(request, UnknownName("page", request.url.path, _PAGES))
