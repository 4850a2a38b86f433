"""Where paths lie below the directory of a replay, and where links in them lead."""

from __future__ import annotations

import posixpath
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replayed import row
from steelyard.traces.replay.places import Landmarks, Links, find_place


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/a/../../b", "b"),
        ("/../../etc/passwd", "etc/passwd"),
        ("/a//b/./c", "a/b/c"),
        ("/", "."),
        ("a", None),
        ("", None),
        (None, None),
        ("/a\0b", None),
    ],
)
def test_no_path_leads_out(path: str | None, place: str | None) -> None:
    assert find_place(path) == place


@given(st.text())
def test_whatever_a_path_is_it_stays_below(path: str) -> None:
    place = find_place(path)
    assert place is None or (not place.startswith("/") and ".." not in place.split("/") and place)


@pytest.mark.parametrize(
    ("path", "other", "link"),
    [
        ("/d/now/x", "/d/v7/x", ("d/now", "d/v7")),
        ("/d/now/sub/x", "/elsewhere/sub/x", ("d/now", "elsewhere")),
        ("/d/base", "/d/v7.db", ("d/base", "d/v7.db")),
        ("/d/up/d/x", "/d/x", ("d/up", ".")),
        ("/d/./x", "/d/x", None),
        ("/a", "/mnt/a", None),
        ("/", "/a", None),
        ("/d/x", "pipe:[7]", None),
    ],
)
def test_a_link_lies_where_the_two_paths_begin_to_differ(
    path: str, other: str, link: tuple[str, str] | None
) -> None:
    found = Landmarks.of([row(call="resolved", path=path, other=other)])
    assert found.links == (dict([link]) if link else {})


def test_what_the_program_made_was_not_there_before() -> None:
    opened = row(call="resolved", path="/now/x", other="/v7/x")
    assert not Landmarks.of([row(call="symlink", path="/now", other="/v7"), opened]).links
    assert not Landmarks.of([row(call="rename", path="/next", other="/now"), opened]).links
    assert Landmarks.of([row(call="symlink", path="/now", other="/v7", error="EEXIST"), opened]).links


def test_links_behind_links() -> None:
    links = Links()
    assert links.add("a", "b/c") == "a"
    assert links.add("a/d/e", "f") == "b/c/d/e"
    assert links.find_file(row(call="stat"), "a/d/e/g") == "f/g"
    assert links.find_file(row(call="unlink"), "a/d/e") == "b/c/d/e"


_PARTS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join)


@given(st.dictionaries(_PARTS, _PARTS | st.just(".")), _PARTS)
def test_wherever_links_lead_it_ends_below(leads: dict[str, str], path: str) -> None:
    links = Links()
    for link in sorted(leads, key=lambda link: link.count("/")):
        links.add(link, leads[link])
    found = links.find_file(row(call="stat"), path)
    assert found == posixpath.normpath(found)
    assert ".." not in PurePosixPath(found).parts
    assert not found.startswith("/")
