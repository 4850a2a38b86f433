"""Where a server listens: nobody else can connect to a socket, and nobody listens wider than they mean."""

from __future__ import annotations

import os
import socket

import pytest

from steelyard.errors import HostError, UsageError
from steelyard.web.listening import is_loopback, listen_at, listen_at_file, parse_address


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("127.0.0.1:8484", ("127.0.0.1", 8484)),
        ("[::1]:1", ("::1", 1)),
        ("0.0.0.0:0", ("0.0.0.0", 0)),
        ("8484", ("127.0.0.1", 8484)),
    ],
)
def test_an_address(text, found):
    assert parse_address(text) == found


@pytest.mark.parametrize(
    "text", ["", "localhost:1", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "1.2.3:4"]
)
def test_what_is_no_address(text):
    with pytest.raises(UsageError, match="--listen"):
        parse_address(text)


def test_who_is_reached_by_others():
    assert is_loopback("127.9.9.9")
    assert is_loopback("::1")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("192.0.2.1")


def test_a_port_that_is_taken_is_passed_over_unless_it_was_asked_for():
    with listen_at("127.0.0.1", 0, exactly=True) as first:
        taken = listen_at("127.0.0.1", first.port, exactly=True)
        with pytest.raises(HostError, match=f"port {first.port}: Address already in use"), taken:
            pytest.fail("two listen on one port")
        other = listen_at("127.0.0.1", first.port, exactly=False)
        with other as place:
            assert place.port != first.port


def test_a_socket_is_for_us_alone_and_goes_with_the_server(tmp_path):
    path = tmp_path / "place" / "web.sock"
    with listen_at_file(path):
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert path.stat().st_mode & 0o777 == 0o600
        with pytest.raises(HostError, match="another server listens"), listen_at_file(path):
            pytest.fail("two listen on one socket")
    assert not path.exists()


def test_what_a_killed_server_left_is_replaced(tmp_path):
    path = tmp_path / "place" / "web.sock"
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with listen_at_file(path), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


def test_a_directory_that_others_may_enter_holds_no_socket(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    place.chmod(0o711)
    with pytest.raises(HostError, match="open to other accounts"), listen_at_file(place / "web.sock"):
        pytest.fail("it listens")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_directory_of_another_account_holds_no_socket(tmp_path):
    place = tmp_path / "place"
    place.mkdir(mode=0o700)
    os.chown(place, 65534, 65534)
    with pytest.raises(HostError, match="open to other accounts"), listen_at_file(place / "web.sock"):
        pytest.fail("it listens")
