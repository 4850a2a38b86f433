"""Another account of this machine, a slow reader and a crowd at the door of `steelyard serve`."""

from __future__ import annotations

import contextlib
import socket
import stat
import time
from pathlib import Path

import pytest

from accounts import Account
from patience import until
from web_server import serving

CURL = ("curl", "-s", "-o", "/dev/stdout", "-w", "\n%{http_code}")


@pytest.fixture
def store(build, plans):
    record = build(**plans.watched())
    return record.folder.path.parents[1]


def test_another_account_reaches_the_port_and_gets_nothing(mallory: Account, store, tmp_path):
    with serving(store, tmp_path, apart=False) as server:
        for path in ("", "runs/last", "static/steelyard.js", "new", "?token=" + "a" * 43):
            said = mallory.run(*CURL, f"{server.base}{path}").stdout
            assert said.endswith("401"), path
            assert "streams" not in said
        posted = mallory.run(
            *CURL, "-X", "POST", "-H", "Sec-Fetch-Site: same-origin", f"{server.base}new"
        ).stdout
        assert posted.endswith("401")
        state = tmp_path / "state" / "steelyard" / "web"
        assert [stat.S_IMODE(path.stat().st_mode) for path in state.iterdir()] == [0o600]
        words = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
        assert server.token.encode() not in words, "the list of processes is everybody's"
        assert mallory.run("cat", f"/proc/{server.process.pid}/environ").returncode != 0


def test_another_account_cannot_connect_to_the_socket(mallory: Account, store, tmp_path, enterable):
    place = enterable / "private" / "web.sock"
    with serving(store, tmp_path, "--socket", str(place), listen=False, apart=False):
        assert until(place.is_socket)
        done = mallory.run("curl", "-s", "--unix-socket", str(place), "http://localhost/")
        assert done.returncode == 7, "could not connect"


def open_slowly(port: int, request: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.sendall(request)
    return connection


def test_who_reads_slowly_or_never_ends_a_request_holds_up_nobody(store, tmp_path):
    with serving(store, tmp_path, apart=False) as server:
        head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n"
        slow = [open_slowly(server.port, f"GET /events HTTP/1.1\r\n{head}\r\n".encode()) for _ in range(30)]
        torn = [open_slowly(server.port, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ") for _ in range(30)]
        mute = [open_slowly(server.port, b"") for _ in range(30)]
        try:
            time.sleep(1)
            assert server.ask("").endswith("200")
            assert server.ask("runs/last").endswith("200")
        finally:
            for connection in (*slow, *torn, *mute):
                connection.close()
        assert server.ask("").endswith("200")


@pytest.mark.parametrize(
    "request_",
    [
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
        b"POST /new HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzzz",
    ],
    ids=[
        "TLS",
        "a version",
        "a proxy's",
        "two hosts",
        "a long path",
        "a torn body",
    ],  # pytest puts them into a variable
)
def test_what_is_no_request_of_ours_gets_no_page(store, tmp_path, request_):
    with serving(store, tmp_path, apart=False) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            answer = b""
            with contextlib.suppress(OSError):  # it need not hear all of what it refuses, and may be gone
                connection.sendall(request_)
                connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(65536):
                    answer += piece
        assert b" 200 " not in answer.partition(b"\r\n")[0]
        assert server.ask("").endswith("200")
