"""From `--store` to the store, and which one in the working directory is not used."""

from __future__ import annotations

from pathlib import Path

import pytest

from accounts import Account
from steelyard.errors import UsageError
from steelyard.spec.stores import choose_store


def test_the_place_is_chosen_by_option_then_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_STORE", "from-environment")
    assert choose_store("from-option").root == Path("from-option")
    assert choose_store(None).root == Path("from-environment")
    monkeypatch.setenv("STEELYARD_STORE", "")
    assert choose_store(None).root == Path("steelyard-runs")


@pytest.fixture
def here(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without a store named otherwise."""
    monkeypatch.delenv("STEELYARD_STORE")
    return own_place


def test_a_store_that_others_may_write_to_is_not_used(here: Path) -> None:
    (here / "steelyard-runs").mkdir()
    assert choose_store(None)
    (here / "steelyard-runs").chmod(0o777)
    with pytest.raises(UsageError, match=r"steelyard-runs is not used: .* others may write to it"):
        choose_store(None)


def test_what_others_may_write_in_a_store_is_not_used(here: Path) -> None:
    (here / "steelyard-runs" / "runs").mkdir(parents=True)
    (here / "steelyard-runs" / "runs").chmod(0o777)
    with pytest.raises(UsageError, match="runs: others may write to it"):
        choose_store(None)


def test_a_store_of_another_account_is_not_used(here: Path, mallory: Account) -> None:
    mallory.owns(here / "steelyard-runs" / "runs")
    mallory.owns(here / "steelyard-runs")
    with pytest.raises(UsageError, match=f"it belongs to {mallory.name}"):
        choose_store(None)


def test_a_store_may_be_begun_where_everybody_may_make_something(here: Path) -> None:
    here.chmod(0o1777)
    assert choose_store(None).root == Path("steelyard-runs")
    here.chmod(0o777)
    with pytest.raises(UsageError, match="others may write to it"):
        choose_store(None)
