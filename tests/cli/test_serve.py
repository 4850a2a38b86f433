"""`steelyard serve` for real: over TCP, over a socket as one would through ssh, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from patience import PATIENCE, until
from web_server import serving


@pytest.fixture
def store(build, plans, tmp_path):
    record = build(**plans.streams(parameters={"streams": [1, 2, 4]}))
    return record.folder.path.parents[1]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Where tokens are kept."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_it_answers_with_a_token_and_ends_when_it_is_told_to(store, tmp_path):
    with serving(store, tmp_path) as server:
        text, _, status = server.ask("?as=json").rpartition("\n")
        assert status == "200"
        assert json.loads(text)["total"] == 1
        assert server.ask("", token="none").endswith("401")
        assert server.ask("", "-H", "Host: evil.example").endswith("421")
        assert server.end(signal.SIGINT) == 0


def test_over_ssh_it_listens_on_a_socket_and_says_how_to_reach_it(store, tmp_path):
    path = tmp_path / "private" / "web.sock"
    words = [sys.executable, "-m", "steelyard", "serve", "--store", str(store), "--socket", str(path)]
    process = subprocess.Popen(
        words,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path), "SSH_CONNECTION": "x"},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert until(path.is_socket)
            lines = [process.stdout.readline() for _ in range(4)]
            assert f"ssh -N -L 8484:{path} " in lines[0]
            token = lines[2].strip().partition("token=")[2]
            curl = ["curl", "-s", "--unix-socket", str(path), "-H", f"Authorization: Bearer {token}"]
            said = subprocess.run(
                [*curl, "http://localhost:8484/?as=json"], capture_output=True, check=True, timeout=PATIENCE
            )
            assert json.loads(said.stdout)["total"] == 1
        finally:
            process.terminate()
    assert not path.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--listen", "0.0.0.0:0"), "others could read the token"),
        (("--listen", "[::]:0"), "others could read the token"),
        (("--listen", "nowhere"), "is not an address and a port"),
        (("--prefix", "bench"), "is not a path"),
        (("--prefix", "/a/../b?"), "is not a path"),
        (("--tls-certificate", "x.pem"), "belong together"),
    ],
)
def test_what_is_refused(steelyard, store, home, words, said):
    answer = steelyard("serve", "--store", str(store), *words)
    assert answer.code == 2
    assert said in answer.err


def test_links_are_printed_again_without_a_server(steelyard, store, home):
    first = steelyard("serve", "--links", "--store", str(store))
    assert first.code == 0
    assert "?token=" in first.out
    assert steelyard("serve", "--links", "--store", str(store)).out == first.out
    assert steelyard("serve", "--links", "--new-tokens", "--store", str(store)).out != first.out
