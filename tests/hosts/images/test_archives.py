"""Archives of images: what their layers leave, and what is refused."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import HostError
from steelyard.hosts.images.archives import write_root


def entry(name, kind=tarfile.REGTYPE, link="", content=b""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(content)
    return info, io.BytesIO(content)


def pack(*entries):
    """A tar archive of names with text, a link (`-> target`), or None for a directory."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in entries:
            if text is None:
                archive.addfile(*entry(name, tarfile.DIRTYPE))
            elif text.startswith("-> "):
                archive.addfile(*entry(name, tarfile.SYMTYPE, text[3:]))
            else:
                archive.addfile(*entry(name, content=text.encode()))
    return packed.getvalue()


def pack_files(**files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            archive.addfile(*entry(name, content=content))
    return packed.getvalue()


LOWER = pack(
    ("etc/", None), ("etc/a", "old"), ("etc/b", "b"), ("lib", "-> usr/lib"), ("var/log/x", "x"), ("c/d", "d")
)
UPPER = pack(
    ("./etc/a", "new"), ("etc/.wh.b", ""), ("var/log/.wh..wh..opq", ""), ("var/log/y", "y"), ("c", "file")
)
LEFT = {"etc": None, "etc/a": "new", "lib": "-> usr/lib", "var/log/y": "y", "c": "file"}


def docker(*layers):
    names = [f"{at}/layer.tar" for at in range(len(layers))]
    manifest = json.dumps([{"Layers": names}]).encode()
    return pack_files(**dict(zip(names, layers, strict=True)), **{"manifest.json": manifest})


def oci(*layers, kinds=()):
    """With an index in the index, as there is for several kinds of machines; it is of the last."""

    def describe(name, **platform):
        return {"digest": f"sha256:{name}", **({"platform": platform} if platform else {})}

    blobs = {f"blobs/sha256/l{at}": layer for at, layer in enumerate(layers)}
    manifest = {"layers": [describe(f"l{at}") for at in range(len(layers))]}
    blobs["blobs/sha256/m"] = json.dumps(manifest).encode()
    others = [describe("other", os="linux", architecture=kind) for kind in kinds[:-1]]
    own = describe("m", os="linux", architecture=kinds[-1]) if kinds else describe("m")
    blobs["blobs/sha256/i"] = json.dumps({"manifests": [*others, own]}).encode()
    return pack_files(
        **{"oci-layout": b"{}", "index.json": json.dumps({"manifests": [describe("i")]}).encode()}, **blobs
    )


def flatten(place: Path, content: bytes):
    """All files of an image with their text."""
    path = place / "image.tar"
    path.write_bytes(content)
    target = io.BytesIO()
    write_root(path, target)
    target.seek(0)
    with tarfile.open(fileobj=target) as root:
        return {
            one.name: f"-> {one.linkname}"
            if one.issym()
            else None
            if one.isdir()
            else root.extractfile(one).read().decode()
            for one in root
        }


@pytest.mark.parametrize(("machine", "kind"), [("x86_64", "amd64"), ("aarch64", "arm64"), ("s390x", "s390x")])
def test_of_several_kinds_the_one_for_this_machine_is_taken(tmp_path, monkeypatch, machine, kind):
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert flatten(tmp_path, oci(LOWER, UPPER, kinds=("riscv64", "unknown", kind))) == LEFT


def test_an_image_for_other_machines_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(HostError, match="it is for amd64, s390x, and not for arm64"):
        flatten(tmp_path, oci(LOWER, kinds=("s390x", "amd64")))


@pytest.mark.parametrize("form", [docker, oci])
def test_layers_hide_what_lies_below(tmp_path, form):
    assert flatten(tmp_path, form(LOWER, UPPER)) == LEFT


def test_a_root_is_an_image_of_one_layer(tmp_path):
    assert flatten(tmp_path, LOWER)["etc/b"] == "b"


def test_compressed_layers_are_read(tmp_path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.addfile(*entry("x", content=b"compressed"))
    assert flatten(tmp_path, docker(packed.getvalue())) == {"x": "compressed"}


def test_a_file_that_comes_back_after_its_directory_was_taken_away_is_there(tmp_path):
    middle = pack((".wh.etc", ""))
    assert flatten(tmp_path, docker(LOWER, middle, pack(("etc/new", "new"))))["etc/new"] == "new"
    assert "etc/a" not in flatten(tmp_path, docker(LOWER, middle, pack(("etc/new", "new"))))


def test_devices_and_pipes_are_left_out(tmp_path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(entry("dev/null", tarfile.CHRTYPE)[0])
        archive.addfile(entry("pipe", tarfile.FIFOTYPE)[0])
        archive.addfile(*entry("kept", content=b"kept"))
    assert flatten(tmp_path, packed.getvalue()) == {"kept": "kept"}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (pack(("a/../../etc/passwd", "x")), "leads out of the image"),
        (b"no archive", "cannot be read"),
        (pack_files(**{"manifest.json": b"[]"}), "cannot be read"),
        (pack_files(**{"manifest.json": b'[{"Layers": ["nowhere"]}]'}), "it has no nowhere"),
        (pack_files(**{"oci-layout": b"{}"}), "it has no index.json"),
        (docker(b"no layer"), "cannot be read"),
        (oci(LOWER)[:3000], "cannot be read"),
    ],
)
def test_what_is_no_image_is_one_clear_error(tmp_path, content, says):
    with pytest.raises(HostError, match=says) as caught:
        flatten(tmp_path, content)
    assert str(tmp_path / "image.tar") in caught.value.message
    assert "podman save" in caught.value.hint


@given(st.sampled_from([docker(LOWER, UPPER), oci(LOWER, UPPER)]), st.data())
def test_any_damage_is_an_error_or_an_image(tmp_path_factory, content, data):
    at = data.draw(st.integers(0, len(content) - 1))
    damaged = content[:at] + data.draw(st.binary(min_size=1, max_size=8)) + content[at + 1 :]
    try:
        names = flatten(tmp_path_factory.mktemp("image"), damaged)
    except (HostError, UnicodeDecodeError):
        return
    assert not [name for name in names if ".." in Path(name).parts or name.startswith("/")]
