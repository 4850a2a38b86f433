"""The words of GlusterFS's commands, and its answers as they were recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.services.glusterfs import status
from steelyard.services.glusterfs.options import GlusterfsOptions
from steelyard.services.glusterfs.volume import create_words, list_bricks, list_settings, management_volume

RECORDED = Path(__file__).parents[2] / "data" / "services" / "glusterfs"
PLACES = [("10.0.0.1", "/a"), ("10.0.0.2", "/b"), ("10.0.0.3", "/c")]


def recorded(name: str) -> str:
    return (RECORDED / f"{name}.xml").read_text()


def options(**given: Any) -> GlusterfsOptions:
    return GlusterfsOptions.model_validate(given)


def test_the_daemon_listens_on_its_own_address_only():
    assert "option transport.socket.bind-address 10.0.0.1\n" in management_volume("10.0.0.1")
    assert "option transport.address-family inet6\n" in management_volume("fd00::1")


def test_hosts_take_turns_so_that_copies_are_on_different_ones():
    bricks = list_bricks(PLACES, 2)
    assert len(bricks) == len(set(bricks)) == 6
    sets = [bricks[at : at + 2] for at in range(0, 6, 2)]
    assert all(first.split(":")[0] != second.split(":")[0] for first, second in sets)


@pytest.mark.parametrize(
    ("given", "words", "size"),
    [
        ({}, (), 1),
        ({"replicas": 2}, ("replica", "2"), 2),
        ({"data": 4, "redundancy": 2}, ("disperse-data", "4", "redundancy", "2"), 6),
    ],
)
def test_a_volume_is_made_as_it_is_asked_for(given: dict[str, Any], words: tuple[str, ...], size: int):
    assert create_words(options(**given), ["a:/b"]) == ("volume", "create", "files", *words, "a:/b", "force")
    assert options(**given).set_size == size


def test_only_clients_of_the_experiment_are_let_in_and_shards_are_in_bytes():
    settings = list_settings(options(shard="64MiB", ping_timeout="5s"), ["10.0.0.8", "10.0.0.9"])
    assert settings["auth.allow"] == "10.0.0.8,10.0.0.9"
    assert settings["network.ping-timeout"] == "5"
    assert settings["features.shard-block-size"] == f"{64 * 2**20}B"
    assert "features.shard" not in list_settings(options(), [])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"redundancy": 1}, "give `data`, too"),
        ({"data": 2, "redundancy": 2}, "must be less than `data`"),
        ({"data": 2, "replicas": 2}, "only one of"),
        ({"shard": "1MiB"}, "less than 4 MiB"),
    ],
)
def test_options_that_do_not_fit_each_other_are_refused(given: dict[str, Any], says: str):
    with pytest.raises(ValidationError, match=says):
        options(**given)


def test_bricks_are_read_and_helpers_are_none():
    bricks = status.read_bricks(recorded("status"))
    assert [(brick.address, brick.is_online) for brick in bricks] == [
        ("10.199.7.1", True),
        ("10.199.7.2", True),
    ]
    sizes = status.read_bricks(recorded("status-detail"))
    assert {brick.total for brick in sizes} == {270553174016}
    assert not status.is_rebalancing(recorded("status"))


def test_what_waits_to_be_healed_is_counted_as_far_as_bricks_tell():
    assert status.count_unhealed(recorded("heal")) == 0
    assert status.count_unhealed(recorded("heal-down")) is None, "a brick is not there"
    assert status.count_known_unhealed(recorded("heal-down")) == 2


def test_members_that_see_each_other_are_counted():
    pool = recorded("pool")
    assert status.count_connected_peers(pool) == 3
    assert status.count_connected_peers(pool.replace("<connected>1", "<connected>0", 1)) == 2


@given(st.text())
def test_any_text_is_read(text: str):
    assert status.read_bricks(text) == []
    assert status.count_unhealed(text) is None
    assert status.count_connected_peers(text) == 0
    assert not status.is_rebalancing(text)


@given(st.integers(0, 3000))
def test_an_answer_that_is_cut_off_is_never_more_than_the_whole(end: int):
    text = recorded("status")[:end]
    assert len(status.read_bricks(text)) <= 2
