"""`POST /runs/ID/actions/VERB`: steer a run, as the commands do; `/starts/KEY`: what became of a command."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from steelyard.controller.control.steer import ask, steer
from steelyard.errors import HostError, UnknownName, UsageError
from steelyard.spec.levels import parse_levels
from steelyard.store.layout import RunFolder
from steelyard.store.writer import is_live
from steelyard.web.context import find_run, get_context, name_user
from steelyard.web.forms import read_form
from steelyard.web.render import respond, respond_error

STEERED = ("cancel", "suspend", "continue")
VERBS = (*STEERED, "force", "extend", "resume")


async def act(request: Request) -> Response:
    """Do it, and show the run, whose notes name who asked; or say why not, and what is the harder way."""
    folder, verb = find_run(request), request.path_params["verb"]
    fields = await read_form(request)
    if verb not in VERBS:
        raise UnknownName("action", verb, VERBS)
    try:
        if verb == "resume":
            return _show_command(request, _start(request, "resume", folder.id))
        if verb == "extend":
            return await _extend(request, folder, fields)
        wanted, force = ("cancel", True) if verb == "force" else (verb, False)
        await asyncio.to_thread(lambda: steer(folder, wanted, force=force, by=name_user()))
    except HostError as error:
        return respond_error(request, error, force=folder.id if verb == "cancel" else "")
    return RedirectResponse(f"../../{folder.id}", 303)


async def show_command(request: Request) -> Response:
    """A command that a page started: on to its run, as soon as that is known."""
    command = get_context(request).get_starter().read(request.path_params["key"])
    if command.run:
        return RedirectResponse(f"../runs/{command.run}", 303)
    return respond(request, "command.html.j2", {"output": command.output, "key": command.key})


async def _extend(request: Request, folder: RunFolder, fields: dict[str, str]) -> Response:
    levels, repeat = fields.get("levels", "").split(), fields.get("repeat", "").strip()
    parse_levels(levels)
    if not (levels or repeat):
        raise UsageError("nothing to add", hint="give a number of repetitions, or levels as NAME=A,B")
    if repeat and not (repeat.isdecimal() and 0 < int(repeat) <= 1_000_000):
        raise UsageError(f"'{repeat}' is no number of repetitions")
    if is_live(folder):
        added = {"levels": parse_levels(levels), "repeat": int(repeat) if repeat else None}
        await asyncio.to_thread(lambda: ask(folder, "extend", by=name_user(), **added))
        return RedirectResponse(f"../../{folder.id}", 303)
    words = [word for level in levels for word in ("-p", level)] + (["--repeat", repeat] if repeat else [])
    return _show_command(request, _start(request, "extend", folder.id, *words))


def _start(request: Request, *words: str) -> str:
    return get_context(request).get_starter().start(*words)


def _show_command(request: Request, key: str) -> Response:
    return RedirectResponse(f"{'../' * (request.url.path.count('/') - 1)}starts/{key}", 303)
