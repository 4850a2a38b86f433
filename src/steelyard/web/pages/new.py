"""`/new`: write an experiment, see what is wrong with it and what it would run, save it, start it."""

from __future__ import annotations

import asyncio
import re
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from steelyard.errors import UnknownName, UsageError
from steelyard.printable import make_printable
from steelyard.spec.sites import site_names
from steelyard.web.context import WebContext, get_context
from steelyard.web.drafts.check import CheckedDraft, check_draft
from steelyard.web.drafts.fields import PREFIX, FormField, apply_fields, list_fields
from steelyard.web.drafts.origins import read_origin
from steelyard.web.drafts.saved import SavedDrafts
from steelyard.web.forms import read_form
from steelyard.web.quiet import find_reason_to_wait
from steelyard.web.render import draw_part, respond

DOINGS = ("check", "form", "save", "start")
_SITE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*(:[A-Za-z0-9._-]+)?)?")


class Draft(NamedTuple):
    """A text with what there is to say of it; `name`: what it is saved as, `waits`: whose turn it is."""

    text: str
    site: str
    name: str
    checked: CheckedDraft
    fields: list[FormField]
    waits: str = ""


async def show_new(request: Request) -> Response:
    """The page with a text to begin with."""
    context, origin = get_context(request), request.query_params.get("from", "")
    text = await asyncio.to_thread(lambda: read_origin(origin, context.store))
    name = origin.removeprefix("draft:") if origin.startswith("draft:") else ""
    return await _show(request, await _describe(request, text, "", name))


async def post_new(request: Request) -> Response:
    """What a button asks for. Nothing that has problems is started."""
    fields = await read_form(request)
    doing = fields.get("do", "check")
    if doing not in DOINGS:
        raise UnknownName("button", doing, DOINGS)
    text = fields.get("text", "").replace("\r\n", "\n")
    if doing == "form":
        values = {key.removeprefix(PREFIX): value for key, value in fields.items() if key.startswith(PREFIX)}
        text = apply_fields(text, values)
    draft = await _describe(request, text, fields.get("site", "").strip(), fields.get("name", ""))
    if doing == "check" and request.query_params.get("as") == "parts":
        return JSONResponse(_draw_parts(draft))
    saved = SavedDrafts(get_context(request).store)
    if doing == "start" and not draft.checked.problems:
        return _start(request, saved, draft)
    if doing == "save":
        title = draft.checked.title or draft.name or "draft"
        draft = draft._replace(name=saved.save(draft.text, title, over=draft.name))
    return await _show(request, draft)


def _start(request: Request, saved: SavedDrafts, draft: Draft) -> Response:
    """Save it, and start it as a command of its own; it waits for its turn where another run measures."""
    name = saved.save(draft.text, draft.checked.title, over=draft.name)
    words = ["run", str(saved.find(name).absolute()), *(("--site", draft.site) if draft.site else ())]
    return RedirectResponse(f"starts/{get_context(request).get_starter().start(*words)}", 303)


async def _describe(request: Request, text: str, site: str, name: str) -> Draft:
    """A text, with what is wrong with it or what it would run, and its form."""
    context = get_context(request)
    if not _SITE.fullmatch(site):
        raise UsageError(
            f"'{site}' is not the name of a site", hint="for example local:2, slurm, or none at all"
        )
    waits = find_reason_to_wait(request)
    checked = await asyncio.to_thread(lambda: _check(context, text, site, planning=not waits))
    return Draft(text, site, name, checked, await asyncio.to_thread(lambda: list_fields(text)), waits)


def _check(context: WebContext, text: str, site: str, *, planning: bool) -> CheckedDraft:
    return check_draft(text, context.store, SavedDrafts(context.store).folder, site, planning=planning)


async def _show(request: Request, draft: Draft) -> Response:
    facts: dict[str, Any] = draft._asdict()
    drafts = SavedDrafts(get_context(request).store).list_names()
    parts = _draw_parts(draft)
    return respond(request, "new.html.j2", facts, parts=parts, sites=list(site_names()), drafts=drafts)


def _draw_parts(draft: Draft) -> dict[str, str]:
    """The parts of the page that follow from the text."""
    template = "draft.html.j2"
    return {
        "problems": draw_part(template, "problems", draft.checked.problems),
        "plan": draw_part(template, "plan", [make_printable(line) for line in draft.checked.plan]),
        "fields": draw_part(template, "fields", draft.fields, PREFIX),
    }
