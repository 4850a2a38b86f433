"""docs/reference/store.md names every place of a run's record, and only lines that a journal can have."""

from __future__ import annotations

import inspect
import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.store.layout import SCHEMA, RunFolder, Store

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "store.md").read_text()
WORDS = {"number": "<n>", "role": "<role>-<i>", "phase": "<phase>", "host": "<host>", "label": "<host>"}
WORDS |= {"name": "<name>", "service": "<service>", "suffix": "parquet"}
JOURNAL = PAGE.split("## The journal")[1]
KINDS = {
    kind
    for row in re.findall(r"^\| (`.*?) \|", JOURNAL, re.MULTILINE)
    for kind in re.findall(r"`([a-z-]+)`", row)
}
STORES = sorted((ROOT / "tests" / "data" / "stores").glob("*/store.tar.gz"))


def list_places() -> set[str]:
    """Where `RunFolder` puts things, from the run's folder on, with the words of the page for what varies."""
    folder = RunFolder(Path("/run"))
    places = set()
    for name, member in inspect.getmembers(RunFolder):
        if (
            isinstance(member, property)
            and member.fget.__annotations__["return"] == "Path"
            and name != "path"
        ):
            places.add(getattr(folder, name))
        elif inspect.isfunction(member) and member.__annotations__.get("return") == "Path":
            given = [WORDS[each] for each in inspect.signature(member).parameters if each != "self"]
            if name != "derived_file":
                places.add(member(folder, *given))
    return {str(place.relative_to("/run")) for place in places}


@pytest.mark.parametrize("place", sorted(list_places()))
def test_every_place_of_a_run_is_on_the_page(place):
    assert re.search(rf"^\| `{re.escape(place)}/?` \|", PAGE, re.MULTILINE) or place == "services"


@pytest.mark.parametrize("name", ["runs", "snapshots", "scratch"])
def test_every_place_of_the_store_is_on_the_page(name):
    place = getattr(Store(Path("/store")), name).name
    assert re.search(rf"^\| `{place}/", PAGE, re.MULTILINE)


def test_the_version_is_that_of_the_code():
    assert f"it is {SCHEMA} now" in PAGE


def test_every_kind_of_line_on_the_page_is_written_somewhere():
    source = "".join(path.read_text() for path in (ROOT / "src" / "steelyard" / "controller").rglob("*.py"))
    assert KINDS
    assert {kind for kind in KINDS if f'"{kind}"' not in source} == set()


def list_journals(store: Path) -> Iterator[list[str]]:
    """The lines of each journal of a recorded store."""
    with tarfile.open(store) as archive:
        for member in archive.getmembers():
            if member.name.endswith("/journal.ndjson"):
                yield archive.extractfile(member).read().decode().splitlines()  # type: ignore[union-attr]


@pytest.mark.parametrize("store", STORES, ids=lambda path: path.parent.name)
def test_the_lines_of_recorded_runs_are_on_the_page(store):
    journals = list(list_journals(store))
    assert journals
    for lines in journals:
        assert {json.loads(line)["kind"] for line in lines} <= KINDS
