"""The adversary at the gate: foreign names, missing, stolen and replayed tokens, pages of other sites."""

from __future__ import annotations

import re

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from asgi import Answer, Client
from steelyard.web.access.gate import LOOPBACK_NAMES, Access, AccessGate
from steelyard.web.access.tokens import Tokens

TOKENS = Tokens("a" * 43, "r" * 43)


async def page(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"{request.method} {request.url.path} {request.scope['right']}")


def client(**access) -> Client:
    routes = [Route("/{path:path}", page, methods=["GET", "POST"])]
    return Client(AccessGate(Starlette(routes=routes), Access(TOKENS, **access)))


def cookie(right: str = "act", port: int = 8484) -> str:
    return f"steelyard-{port}={TOKENS.make_cookie(right)}"


def bearer(token: str) -> str:
    return f"Bearer {token}"


@pytest.mark.parametrize("sent", [{}, {"authorization": "Bearer "}, {"authorization": "Bearer " + "b" * 43}])
def test_without_a_token_nothing_is_shown(sent):
    answer = client().ask("/runs/x", **sent)
    assert answer.status == 401
    assert "steelyard serve" in answer.text
    assert "/runs/x" not in answer.text


def test_a_wrong_token_in_the_url_is_refused_also_beside_a_good_cookie():
    assert client().ask("/?token=nope", cookie=cookie()).status == 401


@pytest.mark.parametrize("path", ["/", "/runs/a?x=1&y=2"])
def test_a_token_in_the_url_becomes_a_cookie(path):
    join = "&" if "?" in path else "?"
    answer = client().ask(f"{path}{join}token={TOKENS.act}")
    assert answer.status == 303
    assert answer.headers["location"] == {"/": "./", "/runs/a?x=1&y=2": "./a?x=1&y=2"}[path]
    assert TOKENS.act not in str(answer.headers)
    given = answer.headers["set-cookie"]
    assert "HttpOnly" in given
    assert "samesite=lax" in given.lower()
    assert given.startswith("steelyard-8484=")
    opened = client().ask("/", cookie=given.partition(";")[0])
    assert (opened.status, opened.text) == (200, "GET / act")


def test_a_cookie_of_another_server_opens_nothing():
    assert client().ask("/", cookie=cookie(port=9999)).status == 401
    other = Tokens("c" * 43, "d" * 43).make_cookie("act")
    assert client().ask("/", cookie=f"steelyard-8484={other}").status == 401
    assert client().ask("/", cookie=f"steelyard-8484={TOKENS.act}").status == 401, "a token is no cookie"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:8484",
        "",
        "[::2]:8484",
        "0.0.0.0",
        "127.1",
    ],
)
def test_a_foreign_name_is_refused_whatever_it_shows(host):
    answer = client().ask("/", host=host, authorization=bearer(TOKENS.act))
    assert answer.status == 421
    assert "--host" in answer.text


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:8484", "[::1]:8484", "bench.example.org"]
)
def test_names_of_ours_are_known_with_any_port(host):
    ours = client(hosts=LOOPBACK_NAMES | {"bench.example.org"})
    assert ours.ask("/", host=host, authorization=bearer(TOKENS.read)).text == "GET / read"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"sec_fetch_site": "same-origin"}, 200),
        ({"sec_fetch_site": "none"}, 200),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"origin": "http://127.0.0.1:8484"}, 200),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec_fetch_site": "cross-site", "origin": "http://127.0.0.1:8484"}, 403),
        ({}, 403),
    ],
)
def test_only_pages_of_ours_change_anything(sent, status):
    assert client().ask("/x", method="POST", cookie=cookie(), **sent).status == status


def test_a_script_with_a_token_may_act_and_one_that_may_read_may_not():
    assert client().ask("/x", method="POST", authorization=bearer(TOKENS.act)).text == "POST /x act"
    assert client().ask("/x", method="POST", authorization=bearer(TOKENS.read)).status == 403
    same = {"sec_fetch_site": "same-origin"}
    assert client().ask("/x", method="POST", cookie=cookie("read"), **same).status == 403
    assert client(read_only=True).ask("/x", method="POST", cookie=cookie(), **same).status == 403


def test_a_token_in_the_url_of_what_changes_something_is_no_token():
    answer = client().ask(f"/x?token={TOKENS.act}", method="POST", sec_fetch_site="cross-site")
    assert answer.status == 401


def test_what_a_proxy_puts_before_our_paths_is_taken_away():
    under = client(prefix="/bench")
    assert under.ask("/bench/runs/a", cookie=cookie()).text == "GET /runs/a act"
    assert under.ask("/runs/a", cookie=cookie()).text == "GET /runs/a act", "by one that takes it away itself"
    given = under.ask(f"/bench/?token={TOKENS.read}").headers["set-cookie"]
    assert "Path=/bench" in given


def test_behind_tls_the_cookie_is_never_sent_in_the_clear():
    assert "Secure" in client(secure=True).ask(f"/?token={TOKENS.act}").headers["set-cookie"]


def answers() -> list[Answer]:
    ours = client()
    return [
        ours.ask("/", cookie=cookie()),
        ours.ask("/"),
        ours.ask("/", host="evil.example"),
        ours.ask(f"/?token={TOKENS.act}"),
        ours.ask("/x", method="POST", cookie=cookie()),
    ]


@pytest.mark.parametrize("answer", answers(), ids=lambda answer: str(answer.status))
def test_every_answer_is_guarded(answer):
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"unsafe|\*|https?:", policy)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
