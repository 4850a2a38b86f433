"""What the servers and clients of MooseFS are told, and what mfscli says, as it was recorded."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.services.moosefs import config
from steelyard.services.moosefs.config import MoosefsPorts
from steelyard.services.moosefs.options import MoosefsOptions
from steelyard.services.moosefs.status import read_status

RECORDED = Path(__file__).parents[2] / "data" / "services" / "moosefs"
PORTS, CONF, DATA = MoosefsPorts(1, 2, 3, 4), PurePosixPath("/s/conf"), PurePosixPath("/s/data")


def settings(text: str) -> dict[str, str]:
    return dict(line.split(" = ") for line in text.splitlines())


def test_the_master_listens_on_its_own_address_only_and_knows_its_chunk_servers():
    read = settings(config.master_config(CONF, DATA, "10.0.0.1", PORTS, "code", 5))
    assert {value for name, value in read.items() if name.endswith("_HOST")} == {"10.0.0.1"}
    ports = {name: value for name, value in read.items() if name.endswith("_PORT")}
    assert ports == {"MATOCL_LISTEN_PORT": "1", "MATOCS_LISTEN_PORT": "2", "MATOML_LISTEN_PORT": "3"}
    assert read["AUTH_CODE"] == "code"
    assert read["EXPORTS_FILENAME"] == "/s/conf/mfsexports.cfg"
    assert read["REPLICATIONS_DELAY_INIT"] == "5"


def test_a_chunk_server_finds_the_master_with_the_same_code():
    read = settings(config.chunkserver_config(CONF, DATA, ("10.0.0.2", "10.0.0.1"), PORTS, "code"))
    assert (read["MASTER_HOST"], read["MASTER_PORT"], read["AUTH_CODE"]) == ("10.0.0.1", "2", "code")
    assert (read["CSSERV_LISTEN_HOST"], read["CSSERV_LISTEN_PORT"]) == ("10.0.0.2", "4")


def test_only_clients_of_the_experiment_may_mount_and_with_the_password():
    lines = config.exports(["10.0.0.8", "10.0.0.9"], "secret").splitlines()
    assert [line.split()[0] for line in lines] == ["10.0.0.8", "10.0.0.9"]
    assert all(line.endswith("password=secret") for line in lines)
    mount = config.mount_options("10.0.0.8", "10.0.0.1", 1, "secret").splitlines()
    assert "mfspassword=secret" in mount
    assert "mfsmaster=10.0.0.1" in mount


def test_what_mfscli_says_is_read():
    status = read_status((RECORDED / "status.txt").read_text())
    assert status.servers == dict.fromkeys(("10.199.7.1", "10.199.7.2", "10.199.7.3"), 97793294336)
    assert status.is_healthy
    meters = status.meters()
    assert meters["total_bytes"] == 293379883008
    assert meters["free_bytes"] == 221891444736
    assert (meters["live_servers"], meters["chunks"], meters["copies"]) == (3, 4, 8)
    assert (meters["operations"], meters["chunks_undergoal"]) == (25, 0)


def test_a_chunk_server_that_is_gone_is_not_counted():
    status = read_status((RECORDED / "status-one-dead.txt").read_text())
    assert set(status.servers) == {"10.199.7.1", "10.199.7.3"}


@pytest.mark.parametrize("name", ["missing", "endangered", "undergoal"])
def test_a_chunk_that_lacks_a_copy_is_unhealthy(name: str):
    text = (RECORDED / "status.txt").read_text()
    assert not read_status(text.replace(f"chunkclass {name}:|0", f"chunkclass {name}:|1")).is_healthy


@given(st.text())
def test_any_text_is_read(text: str):
    status = read_status(text)
    assert not status.is_healthy
    assert status.meters() == {}


@given(st.integers(0, 2000))
def test_text_that_is_cut_off_never_makes_more_servers(end: int):
    text = (RECORDED / "status.txt").read_text()
    assert len(read_status(text[:end]).servers) <= 3


@pytest.mark.parametrize(
    "options", [{"replicas": 0}, {"replicas": 10}, {"trash_time": "-1s"}, {"repair_delay": "1h"}]
)
def test_options_out_of_range_are_refused(options: dict[str, object]):
    with pytest.raises(ValidationError):
        MoosefsOptions.model_validate(options)
