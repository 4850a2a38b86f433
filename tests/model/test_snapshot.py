from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import StoreError
from steelyard.model.snapshot import LARGEST, NAME, SCHEMA, Snapshot, SnapshotNode, StoredFile, snapshot_name

DIGEST = "0123456789abcdef" * 4
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
LABELS = st.text(max_size=20).filter(str.isprintable)
PARTS = st.text(string.ascii_letters + string.digits + "._ +=@", min_size=1, max_size=12)
PATHS = st.lists(PARTS.filter(lambda part: part not in (".", "..")), min_size=1, max_size=4).map("/".join)
FILES = st.builds(
    StoredFile,
    path=PATHS,
    size=st.integers(0, 2**50),
    digest=st.text("0123456789abcdef", min_size=64, max_size=64),
)


def beside(files: list[StoredFile]) -> tuple[StoredFile, ...]:
    """Each in a directory of its own, so that none is in the way of another."""
    return tuple(
        file.model_copy(update={"path": f"{number}/{file.path}"}) for number, file in enumerate(files)
    )


NODES = st.builds(
    SnapshotNode,
    host=LABELS.filter(bool),
    tokens=st.just(()),
    files=st.lists(FILES, max_size=4).map(beside),
    rows=st.dictionaries(LABELS, st.integers(0, 2**60), max_size=3),
)


def in_a_ring(nodes: list[SnapshotNode]) -> tuple[SnapshotNode, ...]:
    """Each with a token of its own."""
    return tuple(
        node.model_copy(update={"tokens": (str(-(2**63) + place),)}) for place, node in enumerate(nodes)
    )


SNAPSHOTS = st.builds(
    Snapshot,
    name=st.from_regex(NAME, fullmatch=True),
    service=st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True),
    version=st.from_regex(r"[A-Za-z0-9._+~-]{0,12}", fullmatch=True),
    taken=st.floats(0, 1e10),
    replication=st.dictionaries(LABELS, st.integers(1, 5), max_size=3),
    definitions=st.lists(st.text(max_size=30), max_size=3).map(tuple),
    nodes=st.lists(NODES, max_size=3, unique_by=lambda node: node.host).map(in_a_ring),
    steps=st.dictionaries(LABELS, st.floats(0, 1e6), max_size=3),
    left_out=st.lists(LABELS, max_size=3).map(tuple),
)


def manifest(**changes: object) -> dict[str, object]:
    """A sound one, as JSON has it, with some keys changed."""
    file = StoredFile(path="ks/t/a", size=3, digest=DIGEST)
    nodes = tuple(
        SnapshotNode(host=host, tokens=(token,), files=(file,), rows={"ks.t": 10})
        for host, token in (("a", "-7"), ("b", "7"))
    )
    sound = Snapshot(name="n1", service="s", version="1", taken=1.0, replication={"ks": 2}, nodes=nodes)
    return {**json.loads(sound.to_text()), **changes}


def read(document: object) -> Snapshot:
    return Snapshot.from_text(json.dumps(document), "PLACE/n1/manifest.json")


@given(SNAPSHOTS)
def test_what_is_written_is_read(snapshot):
    assert Snapshot.from_text(snapshot.to_text(), "x") == snapshot


@given(st.text(max_size=200) | ANY_JSON.map(json.dumps))
def test_a_stranger_s_text_is_a_snapshot_or_a_store_error(text):
    with pytest.raises(StoreError, match="PLACE is not a snapshot manifest: "):
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
    with pytest.raises(ValueError, match="is not a plain file path"):
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


HOSTILE = {
    "host": ["", "a\x1b[2J", "a\nb", "x" * 257, "a\u202eb", None, 7],
    "tokens": [["1; true"], ["9" * 21], ["x"], [1], ["\u0663"], ["1\n"], "12", ["1"] * 4097],
    "files": [[0], {}, [{"path": "a", "size": 2**51, "digest": DIGEST}], [{"path": "a", "size": 1.5}]],
    "rows": [{"ks.t": -1}, {"ks.t": 2**61}, {"ks.t": "1"}, {"a\nb": 1}, []],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key in HOSTILE for value in HOSTILE[key]])
def test_a_node_s_fields_have_a_form_and_a_bound(key: str, value: object):
    document = manifest()
    document["nodes"][0][key] = value  # type: ignore[index]
    with pytest.raises(StoreError, match=f"nodes.0.{key}"):
        read(document)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("service", "../redis"), ("service", "Redis"), ("service", ""), ("service", "a" * 65),
        ("version", "5.0; true"), ("version", "\u00b2.0"), ("version", "1" * 65),
        ("taken", -1.0), ("taken", 1e12), ("spread", 1e300), ("steps", {"copy": 1e300}),
        ("replication", {"ks": 0}), ("replication", {"ks": 10**18}), ("replication", {"k\x1b": 1}),
        ("copied", -1), ("copied", 2**61), ("waiting", ["a\rb"]), ("left_out", ["a\x1b[1m"]),
        ("definitions", ["x" * (1 << 21)]), ("definitions", [None]), ("origin", "a\x00"),
    ],
)  # fmt: skip
def test_every_field_has_a_form_and_a_bound(key: str, value: object):
    with pytest.raises(StoreError, match=key):
        read(manifest(**{key: value}))


@pytest.mark.parametrize("paths", [["a", "a"], ["a", "a/b"], ["a/b/c", "a"], ["a/b/c", "a/b"]])
def test_no_file_is_in_the_way_of_another(paths: list[str]):
    files = [{"path": path, "size": 1, "digest": DIGEST} for path in paths]
    with pytest.raises(StoreError, match="occurs more than once"):
        read(manifest(nodes=[{"host": "a", "files": files}]))


@pytest.mark.parametrize("twice", ["host", "tokens"])
def test_no_host_and_no_token_is_there_twice(twice: str):
    document = manifest()
    first, second = document["nodes"]  # type: ignore[misc]
    second[twice] = first[twice]
    with pytest.raises(StoreError, match="occurs more than once"):
        read(document)


@pytest.mark.parametrize("many", ["0,", "[],", '{"":0},'])
def test_what_would_fill_the_memory_is_not_read(many: str):
    for text in (" " * (LARGEST + 1), '{"nodes": [' + many * (1 << 21) + "0]}"):
        with pytest.raises(StoreError, match="PLACE is too large: "):
            Snapshot.from_text(text, "PLACE")


def test_many_faults_are_counted():
    surprises = {f"key {number}": 0 for number in range(2000)}
    with pytest.raises(StoreError, match="it has 2000 faults"):
        read(manifest(**surprises))


def test_a_stranger_s_key_is_told_without_its_control_characters():
    with pytest.raises(StoreError) as raised:
        read(manifest(**{"\x1b]0;mine\x07": 1}))
    assert raised.value.message.isprintable()
    assert r"\x1b]0;mine" in raised.value.message


def test_a_newer_schema_is_refused_with_what_to_do():
    with pytest.raises(StoreError, match=f"has schema {SCHEMA + 1}, expected {SCHEMA}") as raised:
        read(manifest(schema=SCHEMA + 1))
    assert "update your Steelyard" in raised.value.hint


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
