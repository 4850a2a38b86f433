"""Hostile folders from a fake host."""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from steelyard.hosts.archive import ArchiveBounds, ArchiveError, pack, unpack


def entry(name, kind=tarfile.REGTYPE, content=b"", linkname="", **more):
    made = tarfile.TarInfo(name)
    made.type, made.size, made.linkname = kind, len(content), linkname
    for key, value in more.items():
        setattr(made, key, value)
    return made, content


def archive(*entries):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as out:
        for made, content in entries:
            out.addfile(made, io.BytesIO(content))
    return io.BytesIO(raw.getvalue())


LINK, HARD, FOLDER = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE

HOSTILE = {
    "absolute": [entry("/tmp/evil", content=b"x")],
    "above": [entry("../evil", content=b"x")],
    "above, later": [entry("a/../../evil", content=b"x")],
    "absolute link": [entry("l", LINK, linkname="/etc/passwd")],
    "link above": [entry("a/l", LINK, linkname="../../evil")],
    "hard link above": [entry("l", HARD, linkname="../victim")],
    "hard link to what is not of it": [entry("l", HARD, linkname="none")],
    "hard link to a link": [entry("s", LINK, linkname="x"), entry("l", HARD, linkname="s")],
    "up again behind a link": [
        entry("a/l", LINK, linkname=".."),
        entry("x", LINK, linkname="a/l/../victim"),
    ],
    "up again behind a link of a link": [
        entry("a/b/k", LINK, linkname="../.."),
        entry("a/l", LINK, linkname="b/k"),
        entry("a/x", LINK, linkname="l/../victim"),
    ],
    "up again behind what becomes a link later": [
        entry("a/x", LINK, linkname="b/../victim"),
        entry("a/b", LINK, linkname=".."),
        entry("y", LINK, linkname="a/b/../victim"),
    ],
    "device": [entry("d", tarfile.CHRTYPE)],
    "pipe": [entry("p", tarfile.FIFOTYPE)],
    "the folder itself as a file": [entry(".", content=b"x")],
    "a file for a folder": [entry("a", content=b"x"), entry("a/b", content=b"x")],
}


@pytest.mark.parametrize("entries", HOSTILE.values(), ids=HOSTILE)
def test_what_leads_outside_is_refused(tmp_path, entries):
    (tmp_path / "victim").write_text("safe")
    with pytest.raises(ArchiveError):
        unpack(archive(*entries), tmp_path / "target")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["target", "victim"]
    assert (tmp_path / "victim").stat().st_nlink == 1


def test_nothing_is_written_through_a_link(tmp_path):
    (tmp_path / "target" / "real").mkdir(parents=True)
    entries = [entry("l", LINK, linkname="real"), entry("l/file", content=b"x")]
    with pytest.raises((ArchiveError, OSError)):
        unpack(archive(*entries), tmp_path / "target")
    assert list((tmp_path / "target" / "real").iterdir()) == []


def test_nothing_is_written_through_a_link_that_was_there(tmp_path):
    (tmp_path / "victim").mkdir()
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "l").symlink_to(tmp_path / "victim")
    with pytest.raises(ArchiveError):
        unpack(archive(entry("l/file", content=b"x")), tmp_path / "target")
    unpack(archive(entry("l", content=b"x")), tmp_path / "target")  # the link itself is replaced
    assert list((tmp_path / "victim").iterdir()) == []


def test_nothing_is_unpacked_through_a_link(tmp_path):
    (tmp_path / "victim").mkdir()
    (tmp_path / "target").symlink_to("victim")
    with pytest.raises(ArchiveError, match="through a link"):
        unpack(archive(entry("f", content=b"x")), tmp_path / "target")
    assert list((tmp_path / "victim").iterdir()) == []


def test_what_comes_later_takes_the_place_of_a_link(tmp_path):
    unpack(archive(entry("l", LINK, linkname="x"), entry("l", content=b"later")), tmp_path / "t")
    assert (tmp_path / "t" / "l").read_bytes() == b"later"
    assert not (tmp_path / "t" / "l").is_symlink()


def test_a_link_may_lead_up_and_down_within(tmp_path):
    inner = [
        entry("a/b/f", content=b"x"),
        entry("a/c/l", LINK, linkname="../b/f"),
        entry("a/up", LINK, linkname=".."),
    ]
    unpack(archive(*inner), tmp_path / "t")
    assert (tmp_path / "t" / "a" / "c" / "l").read_bytes() == b"x"
    assert (tmp_path / "t" / "a" / "up").resolve() == tmp_path / "t"


PARTS = st.sampled_from(["a", "b", "c"])
INNER = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
ANY = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=6).map("/".join)
ENTRIES = st.one_of(
    st.builds(lambda name: entry(name, FOLDER), INNER),
    st.builds(lambda name: entry(name, content=b"x"), INNER),
    st.builds(lambda name, to: entry(name, LINK, linkname=to), INNER, ANY),
    st.builds(lambda name, to: entry(name, HARD, linkname=to), INNER, INNER),
)


@given(st.lists(st.lists(ENTRIES, max_size=8), min_size=1, max_size=2))
@example([[entry("a/b", LINK, linkname=".."), entry("c", LINK, linkname="a/b/../a")]])
@settings(max_examples=300, deadline=None)
def test_no_tree_of_links_leads_outside(archives):
    """Two archives may come into one folder, one after the other."""
    with tempfile.TemporaryDirectory() as made:
        target = Path(made).resolve() / "above" / "target"
        target.parent.mkdir()
        for entries in archives:
            with contextlib.suppress(ArchiveError, OSError):
                unpack(archive(*entries), target)
        assert [path.name for path in target.parent.iterdir()] == ["target"]
        for above, folders, files in os.walk(target):
            for name in (*folders, *files):
                real = Path(os.path.realpath(Path(above) / name))
                assert real.is_relative_to(target), f"{name} in {above} leads to {real}"


def test_it_may_not_be_too_large(tmp_path):
    with pytest.raises(ArchiveError, match="more than"):
        unpack(archive(entry("f", content=b"x" * 1000)), tmp_path / "t", ArchiveBounds(size=999))
    with pytest.raises(ArchiveError, match="more than"):
        unpack(archive(*(entry(f"f{n}") for n in range(4))), tmp_path / "u", ArchiveBounds(entries=3))


def test_headers_may_not_flood_us(tmp_path):
    class Endless:
        def __init__(self):
            head = tarfile.TarInfo("x")
            head.type, head.size = tarfile.GNUTYPE_LONGNAME, 1 << 33
            self.head, self.given = head.tobuf(tarfile.GNU_FORMAT), 0

        def read(self, size):
            self.given += size
            head, self.head = self.head, b""
            return head + b"a" * (size - len(head))

    source = Endless()
    with pytest.raises(ArchiveError, match="incomplete"):
        unpack(source, tmp_path / "t")
    assert source.given < 100 << 20


def test_set_user_id_does_not_come_along(tmp_path):
    unpack(archive(entry("f", content=b"x", mode=0o6777)), tmp_path / "t")
    assert (tmp_path / "t" / "f").stat().st_mode & 0o7022 == 0


@given(st.binary(max_size=3000), st.integers(0, 2000))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_broken_archive_is_refused_or_harmless(tmp_path, noise, place):
    raw = archive(entry("a", FOLDER), entry("a/f", content=b"x" * 700), entry("l", LINK, linkname="a")).read()
    broken = raw[:place] + noise + raw[place + len(noise) :]
    (tmp_path / "base").mkdir(exist_ok=True)
    with contextlib.suppress(ArchiveError, OSError):
        unpack(io.BytesIO(broken), tmp_path / "base" / "target")
    assert [path.name for path in tmp_path.iterdir()] == ["base"]


def test_a_folder_survives_the_way(tmp_path):
    folder = tmp_path / "here"
    (folder / "-x\ny").mkdir(parents=True)
    (folder / "-x\ny" / "ü").write_bytes(os.urandom(2_000_000))
    os.link(folder / "-x\ny" / "ü", folder / "hard")
    (folder / "link").symlink_to("-x\ny/ü")
    raw = io.BytesIO()
    pack(folder, raw)
    unpack(io.BytesIO(raw.getvalue()), tmp_path / "back")
    assert (tmp_path / "back" / "hard").read_bytes() == (folder / "hard").read_bytes()
    assert (tmp_path / "back" / "link").readlink() == (folder / "link").readlink()
