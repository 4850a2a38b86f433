from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import StoreError
from steelyard.model.snapshot import NAME, SCHEMA, Snapshot, SnapshotNode, StoredFile, snapshot_name

DIGEST = "0123456789abcdef" * 4
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
LABELS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20)
PARTS = st.text(string.ascii_letters + string.digits + "._ +=@", min_size=1, max_size=12)
PATHS = st.lists(PARTS.filter(lambda part: part not in (".", "..")), min_size=1, max_size=4).map("/".join)
FILES = st.builds(
    StoredFile,
    path=PATHS,
    size=st.integers(0, 2**60),
    digest=st.text("0123456789abcdef", min_size=64, max_size=64),
)
NODES = st.builds(
    SnapshotNode,
    host=LABELS,
    tokens=st.lists(st.integers().map(str), max_size=3).map(tuple),
    files=st.lists(FILES, max_size=4).map(tuple),
    rows=st.dictionaries(st.text(max_size=10), st.integers(0, 2**60), max_size=3),
)
SNAPSHOTS = st.builds(
    Snapshot,
    name=st.from_regex(NAME, fullmatch=True),
    service=LABELS,
    version=LABELS,
    taken=st.floats(0, 1e10),
    replication=st.dictionaries(st.text(max_size=10), st.integers(1, 5), max_size=3),
    definitions=st.lists(st.text(max_size=30), max_size=3).map(tuple),
    nodes=st.lists(NODES, max_size=3).map(tuple),
    steps=st.dictionaries(LABELS, st.floats(0, 1e6), max_size=3),
)


def manifest(**changes: object) -> dict[str, object]:
    """A sound one, as JSON has it, with some keys changed."""
    file = StoredFile(path="ks/t/a", size=3, digest=DIGEST)
    node = SnapshotNode(host="a", files=(file,), rows={"ks.t": 10})
    sound = Snapshot(
        name="n1", service="s", version="1", taken=1.0, replication={"ks": 2}, nodes=(node, node)
    )
    return {**json.loads(sound.to_text()), **changes}


def read(document: object) -> Snapshot:
    return Snapshot.from_text(json.dumps(document), "PLACE/n1/manifest.json")


@given(SNAPSHOTS)
def test_what_is_written_is_read(snapshot):
    assert Snapshot.from_text(snapshot.to_text(), "x") == snapshot


@given(st.text(max_size=200) | ANY_JSON.map(json.dumps))
def test_a_stranger_s_text_is_a_snapshot_or_a_store_error(text):
    with pytest.raises(StoreError, match="PLACE is no manifest of a snapshot: "):
        Snapshot.from_text(text, "PLACE")


@given(st.sampled_from(sorted(manifest())), ANY_JSON)
def test_whatever_stands_in_one_key(key, value):
    assert safe_or_told(manifest(**{key: value}), "PLACE/n1/manifest.json")


@given(st.sampled_from(["path", "size", "digest"]), st.text(max_size=80) | ANY_JSON)
def test_whatever_stands_in_a_file(key, value):
    document = manifest()
    document["nodes"][0]["files"][0][key] = value  # type: ignore[index]
    assert safe_or_told(document, f"nodes.0.files.0.{key}")


def safe_or_told(document: object, place: str) -> bool:
    try:
        found = read(document)
    except StoreError as error:
        return place in error.message
    return safe(found)


def safe(snapshot: Snapshot) -> bool:
    """Whether it can be handed to a shell's list and laid below a directory."""
    files = [file for node in snapshot.nodes for file in node.files]
    names = [part for file in files for part in file.path.split("/")]
    return (
        NAME.fullmatch(snapshot.name) is not None
        and all(part not in ("", ".", "..") and not part.startswith("-") for part in names)
        and not any(set(file.path) & set("\n\t\r\0\\'\"") for file in files)
        and all(set(file.digest) <= set("0123456789abcdef") and len(file.digest) == 64 for file in files)
        and all(type(file.size) is int and file.size >= 0 for file in files)
    )


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "..", "../x", "a/../b", "a//b", "a/", "./a", "-rf", "a/-rf", "a\nb", "a\0b", "a\\b",
     "it's", 'a"b', "a\x1b[31m", "a\u2028b"],
)  # fmt: skip
def test_paths_that_leave_their_directory_or_are_odd(path):
    with pytest.raises(ValueError, match="is no plain path of a file"):
        StoredFile(path=path, size=1, digest=DIGEST)


@pytest.mark.parametrize(
    "path", ["a", "a b/c d", "ks/t-1/nb-1-big-Data.db", "a/.hidden", "a/b=c+d@e", "x/..y"]
)
def test_paths_that_are_plain(path):
    assert StoredFile(path=path, size=0, digest=DIGEST).path == path


@pytest.mark.parametrize(
    "digest", ["", "abc", DIGEST.upper(), DIGEST + "0", DIGEST[:-1] + "g", DIGEST + "\n"]
)
def test_digests_that_are_none(digest):
    with pytest.raises(ValueError):
        StoredFile(path="a", size=1, digest=digest)


@pytest.mark.parametrize("name", ["", ".", "..", "-x", ".x", "a/b", "a b", "a\n", "x" * 129, "latest\n"])
def test_names_that_are_none(name):
    with pytest.raises(StoreError, match="name: "):
        read(manifest(name=name))


def test_faults_are_told_together():
    with pytest.raises(StoreError) as raised:
        read(
            manifest(name="../x", nodes=[{"host": "a", "files": [{"path": "/x", "size": -1, "digest": "q"}]}])
        )
    for place in ("name", "nodes.0.files.0.path", "nodes.0.files.0.size", "nodes.0.files.0.digest"):
        assert f"{place}: " in raised.value.message


def test_a_newer_schema_is_refused_with_what_to_do():
    with pytest.raises(StoreError, match=f"has schema {SCHEMA + 1}, this is for {SCHEMA}") as raised:
        read(manifest(schema=SCHEMA + 1))
    assert "update this one" in raised.value.hint


def test_an_unknown_key_is_refused():
    with pytest.raises(StoreError, match="surprise"):
        read(manifest(surprise=1))


def test_sums_over_nodes():
    snapshot = read(manifest())
    assert (snapshot.size, snapshot.rows, snapshot.digests) == (6, 10, {DIGEST})
    assert read(manifest(replication={"other": 2})).rows == 20


@given(st.floats(0, 4e9), st.text(max_size=100))
def test_names_made_of_a_moment_and_a_job(moment, job):
    assert NAME.fullmatch(snapshot_name(moment, job))


def test_names_sort_by_time():
    assert snapshot_name(1_000_000_000, "17") == "20010909-014640-17"
    assert snapshot_name(0.0, "job 1/x") == "19700101-000000-job-1-x"
    assert snapshot_name(1_000_000_000, "9") < snapshot_name(1_000_000_001, "1")
