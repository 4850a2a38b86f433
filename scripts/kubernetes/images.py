"""Images for the node of the test cluster, made here: no registry is needed."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

PAUSE = "steelyard.invalid/pause:1"
TOOLS, BUSYBOX = "docker.io/library/tools:1", "docker.io/library/busybox:1"
PACKAGES = "fio,redis-server,procps,iproute2"


def make_all(binaries: Path) -> list[Path]:
    """Archives of all images, kept beside the binaries."""
    folder, pause = binaries.parent / "images", binaries / "pause"
    folder.mkdir(exist_ok=True)
    return [
        _make(folder / "pause.tar", PAUSE, lambda layer: _pack(layer, {"pause": pause}), ["/pause"]),
        _make(folder / "busybox.tar", BUSYBOX, _pack_busybox, ["/bin/sh"]),
        _make(folder / "tools.tar", TOOLS, _bootstrap, ["/bin/sh"]),
    ]


def _make(archive: Path, name: str, fill: Callable[[Path], None], command: list[str]) -> Path:
    if not archive.exists():
        layer = archive.with_suffix(".layer")
        fill(layer)
        part = archive.with_suffix(".part")
        _write_archive(part, name, layer, command)
        layer.unlink()
        part.rename(archive)
    return archive


def _bootstrap(layer: Path) -> None:
    """A small Debian with what is measured."""
    what = ("--format=tar", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(layer))
    subprocess.run(["mmdebstrap", "--quiet", *what], check=True, stdin=subprocess.DEVNULL)


def _pack_busybox(layer: Path) -> None:
    """One program under all its names, with its libraries."""
    busybox = Path("/bin/busybox").resolve()
    listed = subprocess.run(["ldd", busybox], check=False, capture_output=True, text=True).stdout
    libraries = {word.lstrip("/"): Path(word) for word in listed.split() if word.startswith("/")}
    names = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout.split()
    links = {f"bin/{name}": "busybox" for name in names if name != "busybox"}
    _pack(layer, {"bin/busybox": busybox, **libraries}, links)


def _pack(layer: Path, files: dict[str, Path], links: dict[str, str] | None = None) -> None:
    with tarfile.open(layer, "w") as tar:
        for name, mode in (("bin", 0o755), ("etc", 0o755), ("proc", 0o755), ("tmp", 0o1777)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            tar.addfile(entry)
        for name, content in {"etc/passwd": b"root:x:0:0::/:/bin/sh\n", "etc/group": b"root:x:0:\n"}.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
        for name, source in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = source.stat().st_size, 0o755
            with source.open("rb") as file:
                tar.addfile(entry, file)
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)


def _write_archive(archive: Path, name: str, layer: Path, command: list[str]) -> None:
    """An OCI archive of one layer. Source: the OCI image specification, image-layout.md."""
    digest = _digest_file(layer)
    asked = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True)
    config = {
        "architecture": asked.stdout.strip(),
        "os": "linux",
        "config": {"Cmd": command, "Env": ["PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    kind = "application/vnd.oci.image"
    blobs: dict[str, bytes] = {}

    def keep(document: object, media_type: str) -> dict[str, object]:
        content = json.dumps(document).encode()
        key = hashlib.sha256(content).hexdigest()
        blobs[key] = content
        return {"mediaType": media_type, "digest": f"sha256:{key}", "size": len(content)}

    own = {"mediaType": f"{kind}.layer.v1.tar", "digest": f"sha256:{digest}", "size": layer.stat().st_size}
    manifest = {"schemaVersion": 2, "config": keep(config, f"{kind}.config.v1+json"), "layers": [own]}
    named = keep(manifest, f"{kind}.manifest.v1+json") | {"annotations": {"io.containerd.image.name": name}}
    with tarfile.open(archive, "w") as tar:
        for path, content in {
            "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
            "index.json": json.dumps({"schemaVersion": 2, "manifests": [named]}).encode(),
            **{f"blobs/sha256/{key}": content for key, content in blobs.items()},
        }.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
        tar.add(layer, f"blobs/sha256/{digest}")


def _digest_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
