"""The gate before all pages: the right name, a token, and for what changes anything, a page of ours.

A request passes when its `Host` is one that this server answers to (else a foreign name could be pointed at
us: DNS rebinding), when it shows a token (once in the URL, then as a cookie; scripts as `Authorization:
Bearer`), and, if it is to change something, when the browser says that a page of ours sent it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from steelyard.printable import make_one_line
from steelyard.web.access.tokens import Right, Tokens

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_SAFE = ("GET", "HEAD", "OPTIONS")
_COOKIE_SECONDS = 30 * 24 * 3600
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Access(NamedTuple):
    """Whom the gate lets in. `prefix`: what a proxy puts before our paths; `secure`: by HTTPS only."""

    tokens: Tokens
    hosts: frozenset[str] = LOOPBACK_NAMES
    prefix: str = ""
    secure: bool = False
    read_only: bool = False


class AccessGate:
    """Middleware (ASGI): lets a request through to the pages, or answers it itself."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = self._strip_prefix(scope)
        request = Request(scope)
        answer = self._check_host(request) or self._admit(request) or self._check_origin(request)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await (answer or self._app)(scope, receive, send_guarded)

    def _strip_prefix(self, scope: Scope) -> Scope:
        path, prefix = str(scope["path"]), self._access.prefix
        if not prefix or not path.startswith(f"{prefix}/"):
            return scope
        return {**scope, "path": path[len(prefix) :], "raw_path": None}

    def _check_host(self, request: Request) -> Response | None:
        name = _host_name(request.headers.get("host", ""))
        if name in self._access.hosts:
            return None
        shown = make_one_line(name)[:100]
        return PlainTextResponse(
            f"This server does not answer to the name '{shown}'. If it is yours, add --host {shown}.\n", 421
        )

    def _admit(self, request: Request) -> Response | None:
        """By a token in the URL, which becomes a cookie; by a cookie; or by the header of a script."""
        tokens = self._access.tokens
        shown = request.query_params.get("token")
        if shown is not None and request.method in _SAFE:
            right = tokens.right_of(shown)
            return self._greet(request, right) if right else _refuse_entry()
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        cookie = request.cookies.get(self._cookie_name(request), "")
        right = tokens.right_of(bearer) if scheme.lower() == "bearer" else tokens.right_of_cookie(cookie)
        if right is None:
            return _refuse_entry()
        may_act: Right = "read" if self._access.read_only else right
        request.scope["right"] = may_act
        request.scope["by_script"] = scheme.lower() == "bearer"
        return None

    def _greet(self, request: Request, right: Right) -> Response:
        """The same page without the token, so that it is neither in the history nor shown to who looks."""
        rest = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
        name = request.url.path.rpartition("/")[2]
        response = RedirectResponse(f"./{quote(name)}{'?' if rest else ''}{urlencode(rest)}", 303)
        response.set_cookie(
            self._cookie_name(request),
            self._access.tokens.make_cookie(right),
            max_age=_COOKIE_SECONDS,
            path=self._access.prefix or "/",
            secure=self._access.secure,
            httponly=True,
            # Not Strict: then a link in a chat opens a page that asks for the token again.
            samesite="lax",
        )
        return response

    def _cookie_name(self, request: Request) -> str:
        """By the port, as browsers send a host's cookies to all its ports."""
        port = request.headers.get("host", "").rpartition(":")[2]
        return f"steelyard-{port if port.isdecimal() else 'web'}"

    def _check_origin(self, request: Request) -> Response | None:
        if request.method in _SAFE:
            return None
        if not request.scope["by_script"] and not _is_from_our_page(request):
            return PlainTextResponse("Another site's page sent this request, so nothing was done.\n", 403)
        if request.scope["right"] != "act":
            return PlainTextResponse("This link, or this server, may only read; nothing was done.\n", 403)
        return None


def _is_from_our_page(request: Request) -> bool:
    """By what the browser adds and no page can forge; older ones say the origin alone."""
    if site := request.headers.get("sec-fetch-site"):
        return site in ("same-origin", "none")
    origin = urlsplit(request.headers.get("origin", ""))
    return bool(origin.netloc) and origin.netloc == request.headers.get("host")


def _host_name(host: str) -> str:
    """Without its port, and an IPv6 address without brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _refuse_entry() -> Response:
    text = (
        "Open the link that `steelyard serve` printed: it ends with a token, which this request lacks.\n"
        "On the machine that serves, `steelyard serve --links` prints it again.\n"
    )
    return PlainTextResponse(text, 401, {"WWW-Authenticate": "Bearer"})
