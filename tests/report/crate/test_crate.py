"""A published run: what a crate says of itself is true, and a stranger's crate harms nobody."""

from __future__ import annotations

import json
import stat
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.findings import Findings
from steelyard.errors import StoreError, UsageError
from steelyard.report.crate.metadata import Publication
from steelyard.report.crate.write import write_crate
from steelyard.store import crates
from steelyard.store.crates import unpack_crate
from steelyard.store.reader import RunRecord

OURS = Publication("CC-BY-4.0", ("Ada Lovelace <https://orcid.org/0000-0002-1825-0097>", "Grace Hopper"))


@pytest.fixture
def record(build):
    return build(parameters={"outstanding": [1, 8]}, require=["write_bandwidth >= 1 MB/s"])


def iterate_references(value):
    """The ids that a document refers to without describing them there."""
    if isinstance(value, dict):
        if set(value) == {"@id"}:
            yield value["@id"]
        for item in value.values():
            yield from iterate_references(item)
    elif isinstance(value, list):
        for item in value:
            yield from iterate_references(item)


def read(folder):
    document = json.loads((folder / "ro-crate-metadata.json").read_text())
    return document, {entity["@id"]: entity for entity in document["@graph"]}


def test_a_crate_describes_every_file_and_nothing_else(record, tmp_path):
    folder = write_crate(Findings(record), tmp_path / "crate", OURS)
    document, entities = read(folder)
    assert document["@context"] == "https://w3id.org/ro/crate/1.2/context"
    assert entities["ro-crate-metadata.json"]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.2"}
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    described = {name for name, entity in entities.items() if entity["@type"] == "File"}
    assert described == files - {"ro-crate-metadata.json"}
    assert {part["@id"] for part in entities["./"]["hasPart"]} == described
    for name in described:
        assert int(entities[name]["contentSize"]) == (folder / name).stat().st_size
    outside = {name for name in iterate_references(document) if name not in entities}
    assert outside == {"https://w3id.org/ro/crate/1.2"}, "everything else is described"


def test_it_says_who_what_when_and_how_much(record, tmp_path):
    _, entities = read(write_crate(Findings(record), tmp_path / "crate", OURS))
    root, run = entities["./"], entities["#run"]
    assert root["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    assert [entities[one["@id"]]["name"] for one in root["author"]] == ["Ada Lovelace", "Grace Hopper"]
    assert root["keywords"] == "SKA1"
    assert run["startTime"] <= run["endTime"]
    figure = entities[root["variableMeasured"][0]["@id"]]
    summary = Findings(record).summary.cells[0].metrics["write_bandwidth"].summary
    assert (figure["value"], figure["unitText"]) == (summary.median, "B/s")
    assert (figure["minValue"], figure["maxValue"]) == (summary.interval.low, summary.interval.high)


def test_licence_and_author_may_stand_in_the_file(build, tmp_path):
    record = build(tags={"license": "MIT", "author": "Ada"})
    _, entities = read(write_crate(Findings(record), tmp_path / "crate", Publication("", ())))
    assert "https://spdx.org/licenses/MIT" in entities
    assert entities["#Ada"]["name"] == "Ada"
    with pytest.raises(UsageError, match="licence"):
        write_crate(Findings(build()), tmp_path / "other", Publication("", ()))


def test_a_directory_that_is_there_is_left_alone(record, tmp_path):
    (tmp_path / "crate").mkdir()
    with pytest.raises(StoreError, match="there already"):
        write_crate(Findings(record), tmp_path / "crate", OURS)
    assert list((tmp_path / "crate").iterdir()) == []
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


def test_a_zip_is_read_again_as_the_same_run(record, tmp_path):
    path = write_crate(Findings(record), tmp_path / "crate.zip", OURS)
    again = unpack_crate(path, tmp_path)
    assert again.id == record.id
    assert RunRecord(again).counts == record.counts
    assert again.imported_from() == "a published crate"
    second = write_crate(Findings(RunRecord(again)), tmp_path / "second", OURS)
    assert (second / "journal.ndjson").read_bytes() == record.folder.journal.read_bytes()


def pack(path, *members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content, mode in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, content)
    return path


JOURNAL = ("journal.ndjson", b'{"kind":"run-started","run":"../../evil","seq":1}\n', 0o644)


def test_names_that_lead_outside_and_links_are_left_in_the_archive(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    path = pack(
        tmp_path / "a.zip",
        JOURNAL,
        ("../outside", b"x", 0o644),
        ("/outside", b"x", 0o644),
        ("a/../../outside", b"x", 0o644),
        ("link", b"/etc/passwd", stat.S_IFLNK | 0o777),
        ("fifo", b"", stat.S_IFIFO | 0o644),
    )
    folder = unpack_crate(path, place)
    assert folder.path == place / "crate", "an id that is none names no directory"
    assert [one.name for one in folder.path.iterdir()] == ["journal.ndjson"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.zip", "place"]


def test_a_flood_ends_early(tmp_path, monkeypatch):
    monkeypatch.setattr(crates, "MOST_BYTES", 1 << 20)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("journal.ndjson", b"\0" * (64 << 20))
    with pytest.raises(StoreError, match="more than"):
        unpack_crate(path, tmp_path)
    monkeypatch.setattr(crates, "MOST_FILES", 2)
    many = pack(tmp_path / "many.zip", *((f"f{number}", b"", 0o644) for number in range(3)))
    with pytest.raises(StoreError, match="more than 2 files"):
        unpack_crate(many, tmp_path / "b")


@given(st.binary(max_size=400))
def test_whatever_is_no_crate_is_said_to_be_none(tmp_path_factory, content):
    place = tmp_path_factory.mktemp("place")
    (place / "x.zip").write_bytes(content)
    with pytest.raises(StoreError):
        unpack_crate(place / "x.zip", place)


def test_a_damaged_crate_is_an_error(record, tmp_path):
    data = bytearray(write_crate(Findings(record), tmp_path / "c.zip", OURS).read_bytes())
    data[200:260] = bytes(60)
    (tmp_path / "d.zip").write_bytes(data)
    with pytest.raises(StoreError):
        unpack_crate(tmp_path / "d.zip", tmp_path)
