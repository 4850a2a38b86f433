from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import StoreError
from steelyard.store.decisions import Decision, add_decisions, list_decisions, read_decisions
from steelyard.store.layout import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def decision(run: str, verdict: str, **more: object) -> Decision:
    return Decision(
        **{"experiment": "a", "run": run, "verdict": verdict, "why": "so", "who": "me", "wall": 1.0, **more}
    )


def test_what_a_later_line_says_holds(store):
    add_decisions(store, [decision("one", "expected"), decision("two", "ignored")])
    add_decisions(store, [decision("one", "withdrawn"), decision("three", "ignored", experiment="b")])
    assert read_decisions(store, "a") == {"two": decision("two", "ignored")}
    assert len(list_decisions(store)) == 4


def test_a_store_without_any_has_none(store):
    assert read_decisions(store, "a") == {}


def test_a_torn_line_and_a_strangers_say_nothing(store):
    add_decisions(store, [decision("one", "expected")])
    with store.decisions.open("ab") as file:
        file.write(b'{"verdict":"expected","run":"x"}\n[1]\n{"experiment":"a","ru')
    add_decisions(store, [decision("two", "ignored")])
    assert set(read_decisions(store, "a")) == {"one", "two"}


def test_a_link_is_not_followed(store, tmp_path):
    target = tmp_path / "precious"
    target.write_text("mine")
    store.decisions.symlink_to(target)
    with pytest.raises(StoreError):
        add_decisions(store, [decision("one", "expected")])
    with pytest.raises(StoreError, match="link"):
        list_decisions(store)
    assert target.read_text() == "mine"


def test_a_fifo_keeps_nobody_waiting(store):
    os.mkfifo(store.decisions)
    with pytest.raises(StoreError, match="regular"):
        list_decisions(store)


@given(st.binary(max_size=300))
def test_whatever_stands_there_is_read(tmp_path_factory, content):
    store = Store(tmp_path_factory.mktemp("store"))
    store.decisions.write_bytes(content)
    assert isinstance(list_decisions(store), list)
