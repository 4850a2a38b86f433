"""Archives of images as one tar archive of their files: of a root, of OCI, of `docker save`.

An image of layers is told by what lies in the archive. A layer may take away what those below it hold, by
whiteouts (Open Container Initiative, Image Format Specification 1.0, layer.md). An archive is a stranger's:
names with `..` are refused, and devices and pipes are left out, as a container has its own.
"""

from __future__ import annotations

import contextlib
import json
import lzma
import platform
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from steelyard.errors import HostError

_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_MOST_DOCUMENT = 4 << 20  # bytes of an index or manifest
_MOST_INDEXES = 4  # that name each other
_DAMAGE = (
    OSError,
    tarfile.TarError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    ValueError,
    LookupError,
    TypeError,
)
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # by what uname calls them
_HOW = "make one with `podman save --format docker-archive IMAGE > image.tar`"


def write_root(archive: Path, target: IO[bytes]) -> None:
    """Write all files of an image as one tar archive. Raises HostError that names what is wrong."""
    try:
        with tarfile.open(archive) as opened, tarfile.open(fileobj=target, mode="w|") as root:
            layers = _list_layers(opened)
            if layers is None:
                _write_layers([opened], root)
            else:
                with contextlib.ExitStack() as stack:
                    _write_layers([_open_layer(stack, opened, name) for name in layers], root)
    except _DAMAGE as error:
        raise HostError(f"image {archive} cannot be read: {error}", hint=_HOW) from error


def _list_layers(opened: tarfile.TarFile) -> list[str] | None:
    """The names of its layers, the lowest first; None for an archive that is a root itself."""
    names = {PurePosixPath(name).as_posix() for name in opened.getnames()}
    if "manifest.json" in names:
        return [str(name) for name in _read_document(opened, "manifest.json")[0]["Layers"]]
    if "oci-layout" not in names:
        return None
    manifest = _read_document(opened, "index.json")
    for _ in range(_MOST_INDEXES):  # an index may name another one, for several kinds of machines
        if "layers" not in manifest:
            manifest = _read_document(opened, _find_blob(_choose_for_here(manifest["manifests"])))
    return [_find_blob(layer) for layer in manifest["layers"]]


def _choose_for_here(descriptors: list[Any]) -> Any:
    """The one for machines such as this; the first where they do not say for which they are."""
    here = _ARCHITECTURES.get(platform.machine(), platform.machine())
    kinds = [str((one.get("platform") or {}).get("architecture", here)) for one in descriptors]
    if here not in kinds:
        raise ValueError(f"it is for {', '.join(sorted(set(kinds)))}, and not for {here}")
    return descriptors[kinds.index(here)]


def _find_blob(descriptor: Any) -> str:
    algorithm, _, digest = str(descriptor["digest"]).partition(":")
    return f"blobs/{algorithm}/{digest}"


def _read_document(opened: tarfile.TarFile, name: str) -> Any:
    return json.loads(_open_member(opened, name).read(_MOST_DOCUMENT))


def _open_member(opened: tarfile.TarFile, name: str) -> IO[bytes]:
    wanted = PurePosixPath(name)
    for member in opened:
        if PurePosixPath(member.name) == wanted and (content := opened.extractfile(member)):
            return content
    raise ValueError(f"it has no {name}")


def _open_layer(stack: contextlib.ExitStack, opened: tarfile.TarFile, name: str) -> tarfile.TarFile:
    content = stack.enter_context(_open_member(opened, name))
    return stack.enter_context(tarfile.open(fileobj=content))


def _write_layers(layers: list[tarfile.TarFile], root: tarfile.TarFile) -> None:
    """What is left of all layers, the lowest first, so that nothing is put below what is not there yet."""
    hidden = _Hidden()
    kept: list[list[tarfile.TarInfo]] = []
    for layer in reversed(layers):
        kept.append([member for name, member in _list_files(layer) if not hidden.covers(name)])
        hidden.add(layer)
    for layer, members in zip(layers, reversed(kept), strict=True):
        for member in members:
            root.addfile(member, layer.extractfile(member) if member.isreg() else None)


def _list_files(layer: tarfile.TarFile) -> Iterator[tuple[PurePosixPath, tarfile.TarInfo]]:
    """Files, links and directories of a layer by their names. Raises ValueError for names that lead out."""
    for member in layer:
        name = _check_name(member.name)
        if member.islnk():
            member.linkname = str(_check_name(member.linkname))
        is_ours = member.isreg() or member.isdir() or member.issym() or member.islnk()
        if is_ours and name.parts and not name.name.startswith(_WHITEOUT):
            member.name = str(name)
            yield name, member


def _check_name(text: str) -> PurePosixPath:
    name = PurePosixPath(text.lstrip("/"))
    if ".." in name.parts:
        raise ValueError(f"the name {text!r:.100} leads out of the image")
    return name


class _Hidden:
    """What higher layers hide of those below: files that they have too, and what they took away."""

    def __init__(self) -> None:
        self._names: set[PurePosixPath] = set()
        self._below: set[PurePosixPath] = set()

    def covers(self, name: PurePosixPath) -> bool:
        """Whether a file of that name is hidden."""
        return name in self._names or not self._below.isdisjoint(name.parents)

    def add(self, layer: tarfile.TarFile) -> None:
        """A layer. Its directories hide nothing, as both are one."""
        for member in layer.getmembers():
            name = _check_name(member.name)
            if name.name == _OPAQUE:
                self._below.add(name.parent)
            elif name.name.startswith(_WHITEOUT):
                gone = name.parent / name.name.removeprefix(_WHITEOUT)
                self._names.add(gone)
                self._below.add(gone)
            elif not member.isdir():
                self._names.add(name)
                self._below.add(name)
