"""Notices arrive at real servers and programs; one that does not arrive harms nothing."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator

import pytest

from steelyard.notices import send as sending
from steelyard.notices.notice import Notice
from steelyard.notices.send import send
from steelyard.notices.targets import list_targets

NOTICE = Notice(
    "not-met", "nightly: 1 of 2 requirements is not met", "first\nsecond \x1b[31m", "run-1", "nightly"
)


class Server(http.server.BaseHTTPRequestHandler):
    """Answers as its path says, and keeps what it got."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.received.append((self.path, dict(self.headers), body))  # type: ignore[attr-defined]
        code = int(self.path.strip("/").split("-")[0])
        self.send_response(code)
        if code == 302:
            self.send_header("Location", "/200-elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[http.server.HTTPServer]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as one:
        one.received = []  # type: ignore[attr-defined]
        threading.Thread(target=one.serve_forever, daemon=True).start()
        yield one
        one.shutdown()


def url(server, path: str) -> str:
    return f"http://127.0.0.1:{server.server_port}/{path}"


def test_a_webhook_gets_json_that_chats_show(server):
    (target,) = list_targets([url(server, "200")])
    assert send(NOTICE, target) == ""
    ((_, headers, body),) = server.received
    document = json.loads(body)
    assert headers["Content-Type"] == "application/json"
    assert (document["event"], document["run"]) == ("not-met", "run-1")
    assert document["text"] == document["content"] == NOTICE.text


def test_ntfy_gets_a_title_and_text(server):
    (target,) = list_targets([f"ntfy:{url(server, '200')}"])
    assert send(NOTICE._replace(title="größer\nX-Evil: 1"), target) == ""
    ((_, headers, body),) = server.received
    assert headers["Title"] == "gr??er\\nX-Evil: 1"
    assert "X-Evil" not in headers
    assert body == b"first\nsecond \\x1b[31m"


def test_a_secret_path_is_sent_to_no_other_server(server):
    (target,) = list_targets([url(server, "302-secret")])
    reason = send(NOTICE, target)
    assert "302" in reason
    assert "secret" not in reason
    assert len(server.received) == 1


def test_why_it_does_not_arrive_is_told_without_the_secret(server):
    (target,) = list_targets([url(server, "404-secret")])
    assert "404" in send(NOTICE, target)
    server.shutdown(), server.server_close()
    reason = send(NOTICE, target)
    assert "refused" in reason
    assert "secret" not in reason


def test_a_command_gets_text_fields_and_no_shell(tmp_path):
    out = tmp_path / "out"
    script = tmp_path / "tell"
    script.write_text(f'#!/bin/sh\n{{ echo "$1|$STEELYARD_NOTICE_EVENT"; cat; }} > {out}\n')
    script.chmod(0o755)
    (target,) = list_targets([f"{script} '{{title}} $(id)'"])
    assert send(NOTICE, target) == ""
    assert out.read_text() == f"{NOTICE.title} $(id)|not-met\nfirst\nsecond \\x1b[31m\n"


def test_a_command_that_fails_or_stays_is_told(monkeypatch):
    monkeypatch.setattr(sending, "PATIENCE", 0.1)
    assert send(NOTICE, list_targets(["false"])[0]) == "it ended with code 1"
    assert "did not end" in send(NOTICE, list_targets(["sleep 600"])[0])
