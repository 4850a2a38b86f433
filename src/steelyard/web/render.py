"""From facts to an answer: a page for people, JSON for programs, which get the same facts.

All links are relative, so that pages work under whatever path a proxy puts them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from steelyard.errors import SteelyardError, StoreError, UnknownName, UsageError
from steelyard.printable import make_data_printable, make_printable
from steelyard.report.charts.theme import format_variables
from steelyard.report.markup import mark_code
from steelyard.report.template_cache import make_environment
from steelyard.units import format_count, show, show_span

if TYPE_CHECKING:
    import jinja2

_HERE = Path(__file__).parent
STYLE = "steelyard.css"
SIGNS = {
    "running": "▶",
    "starting": "▶",
    "suspended": "⏸",
    "submitted": "…",
    "complete": "✓",
    "cancelled": "■",
    "interrupted": "■",
    "failed": "✕",
    "died": "✕",
}
"""A sign for each state, beside its word and its colour."""


@cache
def get_assets() -> Mapping[str, str]:
    """What all pages share, by the names of files: colours of our reports and looks, script, icon."""
    texts = {path.name: path.read_text("utf-8") for path in sorted((_HERE / "static").iterdir())}
    return texts | {STYLE: format_variables() + texts[STYLE]}


@cache
def get_templates() -> jinja2.Environment:
    """One for all pages of a process. Links to assets hold a digest of them: a browser fetches each once."""
    filters: dict[str, Callable[..., Any]] = {
        "counted": format_count,
        "ticked": mark_code,
        "span": show_span,
        "quantity": show,
        "query": lambda fields: urlencode({name: value for name, value in fields.items() if value}),
    }
    environment = make_environment(_HERE / "templates", filters)
    digest = hashlib.sha256("\0".join(get_assets().values()).encode()).hexdigest()[:16]
    environment.globals |= {"signs": SIGNS, "version": digest}
    return environment


def draw_part(template: str, macro: str, *facts: Any) -> str:
    """An element of a page, by a macro of a template."""
    module = get_templates().get_template(template).module
    return make_printable(str(getattr(module, macro)(*facts)))


def respond(
    request: Request, template: str, facts: Mapping[str, Any], *, status: int = 200, **more: Any
) -> Response:
    """A page of `facts` and of what only people need; as JSON (`?as=json`, or `Accept`), the facts."""
    if wants_json(request):
        return _respond_json(facts, status)
    around = {"root": find_root(request), "path": request.url.path, "right": request.scope["right"]}
    html = get_templates().get_template(template).render(**facts, **around, **more)
    return HTMLResponse(make_printable(html), status)


def respond_error(request: Request, error: SteelyardError, *, force: str = "") -> Response:
    """What failed, and what to do next, with the status that says whose fault it is.

    `force` is a run that may be ended by force.
    """
    if isinstance(error, UnknownName):
        status = 404
    elif isinstance(error, StoreError):
        status = 500
    else:
        status = 400 if isinstance(error, UsageError) else 409
    facts = {"error": error.message, "hint": error.hint or ""}
    return respond(request, "error.html.j2", facts, status=status, force=force)


def wants_json(request: Request) -> bool:
    """Whether a program asks."""
    accepted = request.headers.get("accept", "")
    return request.query_params.get("as") == "json" or accepted.startswith("application/json")


def find_root(request: Request) -> str:
    """The way from this page to that of all runs."""
    return "../" * (request.url.path.count("/") - 1) or "./"


def _respond_json(facts: Mapping[str, Any], status: int) -> Response:
    text = json.dumps(make_data_printable(_make_plain(facts)), indent=1, allow_nan=False)
    return Response(f"{text}\n", status, media_type="application/json")


def _make_plain(value: Any) -> Any:
    """What JSON can say: tuples with names are objects, and what is no finite number is null."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(name): _make_plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_make_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
