"""Roles take hosts in the site's order, and a selection picks from them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import UsageError
from steelyard.model.keys.roles import RoleClaim, Selection, assign_hosts, count_needed_hosts

EIGHT = {"client": tuple("abcdefgh"), "server": ("s",)}


@pytest.mark.parametrize(
    ("text", "picked"),
    [
        ("client", "abcdefgh"),
        ("client[:4]", "abcd"),
        ("client[4:]", "efgh"),
        ("client[2]", "c"),
        (" client[ 2 : 4 ] ", "cd"),
        ("client[:]", "abcdefgh"),
        ("server[0]", "s"),
    ],
)
def test_a_selection_picks_as_a_slice_does(text: str, picked: str) -> None:
    assert "".join(Selection.parse(text).select(EIGHT)) == picked


@pytest.mark.parametrize(
    "text", ["", "client[", "client[]", "client[3:2]", "client[-1]", "2", "a b", "client[٣]"]
)
def test_what_is_no_selection_is_told_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match=r"client\[:4\]"):
        Selection.parse(text)


@pytest.mark.parametrize(("text", "wanted"), [("client[:9]", 9), ("client[8]", 9), ("server[1:]", 2)])
def test_too_few_hosts_are_told(text: str, wanted: int) -> None:
    with pytest.raises(UsageError, match=f"needs {wanted} hosts"):
        Selection.parse(text).select(EIGHT)


@given(st.integers(0, 30), st.none() | st.integers(0, 30))
def test_a_selection_is_printed_as_it_is_read(first: int, last: int | None) -> None:
    if last is None or last > first:
        selection = Selection("client", first, last)
        assert Selection.parse(str(selection)) == selection


def test_roles_take_hosts_in_order_and_all_takes_the_rest() -> None:
    claims = {"server": RoleClaim(1), "client": RoleClaim("all"), "monitor": RoleClaim(1, "client")}
    assert assign_hosts(claims, "abcd") == {"server": ("a",), "client": ("b", "c", "d"), "monitor": ("b",)}
    assert count_needed_hosts(claims) is None
    assert (
        count_needed_hosts({"server": RoleClaim(1), "client": RoleClaim(8), "near": RoleClaim(3, "client")})
        == 9
    )


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        (
            {"server": RoleClaim(1), "client": RoleClaim(8)},
            "role 'client' cannot be filled: the roles need 9 hosts",
        ),
        (
            {"server": RoleClaim(4), "client": RoleClaim("all")},
            "role 'client' cannot be filled: the roles need more",
        ),
        (
            {"server": RoleClaim(1), "near": RoleClaim(2, "server")},
            "role 'near' needs 2 hosts of role 'server'",
        ),
    ],
)
def test_a_role_that_cannot_be_filled_is_named(claims: dict[str, RoleClaim], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        assign_hosts(claims, "abcd")
