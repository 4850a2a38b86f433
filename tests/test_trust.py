"""`steelyard trust`: what is refused, and how a user accepts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.errors import UsageError
from steelyard.hosts.minder.ownership import trusted_directories
from steelyard.trust import check_ownership, distrust, trust


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory to which everybody may write."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    return tmp_path / "open"


def test_the_error_names_the_entry_at_fault_and_what_to_do(place: Path) -> None:
    with pytest.raises(UsageError) as caught:
        check_ownership(place / "runs", "the store")
    assert caught.value.message == f"the store {place}/runs is not used: {place}: others may write to it"
    assert f"`steelyard trust {place}`" in caught.value.hint


def test_a_trusted_directory_is_accepted_until_it_is_not(place: Path) -> None:
    assert trust(place) == place.resolve()
    trust(place)
    assert trusted_directories() == [str(place)], "once"
    check_ownership(place / "runs", "the store")
    assert distrust(place)
    assert not distrust(place)
    with pytest.raises(UsageError):
        check_ownership(place / "runs", "the store")


def test_only_a_directory_can_be_trusted(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a directory"):
        trust(tmp_path / "none")


def test_a_circle_of_links_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    with pytest.raises(UsageError, match="cannot be checked"):
        check_ownership(tmp_path / "a", "the store")
