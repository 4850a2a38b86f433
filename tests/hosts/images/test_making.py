"""Images made on a host: whole or not at all, once, and nothing is written outside of them."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from steelyard.errors import HostError
from steelyard.hosts.images.making import MadeImage, list_images, make_image, read_image, remove_image
from steelyard.hosts.shell import ShellHost
from steelyard.model.keys.image import ImageRecipe
from steelyard.testing.contract.bench import with_bench
from steelyard.testing.contract.environments import make_image as make_small_image
from steelyard.transports.piped import PipedTransport

RECIPE = ImageRecipe(suite="bookworm", packages=("fio", "bc"), files={"/etc/mine": "mine\n"})
# Makes an archive as mmdebstrap does, of a directory that is there, and keeps its words.
MMDEBSTRAP = """#!/bin/sh
echo "$@" >> "$FAKE/words"
[ ! -e "$FAKE/fails" ] || { echo "E: no such release" >&2; exit 25; }
for word; do case $word in *.tar) tar -C "$FAKE/root" -cf "$word" . ;; esac; done
"""
STATUS = "Package: fio\nStatus: ok\nVersion: 3.33-3\n\nPackage: bc\nVersion: 1.07\nDepends: x (>= 1)\n"


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for mmdebstrap, and a cache of our own."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "mmdebstrap"
    program.write_text(MMDEBSTRAP)
    program.chmod(0o755)
    root = make_small_image(tmp_path / "root")
    (root / "var/lib/dpkg").mkdir(parents=True)
    (root / "var/lib/dpkg/status").write_text(STATUS)
    (root / "var/run").symlink_to(tmp_path / "outside")
    (root / "etc/link").symlink_to(tmp_path / "outside/file")
    (tmp_path / "outside").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def list_names(folder: Path | PurePosixPath) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def make(recipe: ImageRecipe) -> MadeImage:
    """Make it on this machine."""
    made: list[MadeImage] = []

    async def act(bench) -> None:
        host = bench.hosts[0]
        assert await read_image(host, recipe) is None
        made.append(await make_image(host, recipe, bench.place / "logs"))
        assert await read_image(host, recipe) == made[0]

    with_bench(act, hosts=1)
    return made[0]


def test_it_has_its_packages_and_files_and_says_what_it_is_made_of(fake):
    made = make(RECIPE)
    root = Path(made.root)
    assert root == fake / "cache/steelyard/images" / RECIPE.digest / "root"
    assert (root / "etc/mine").read_text() == "mine\n"
    assert (root / "mark").is_file()
    assert made.packages == {"fio": "3.33-3", "bc": "1.07"}
    assert made.size > 0
    assert len(made.sha256) == 64
    words = (fake / "words").read_text()
    assert "--include=bc,fio bookworm " in words
    assert list_names(root.parent.parent) == [RECIPE.digest], "what it was made with is gone"


def test_one_that_fails_says_why_and_leaves_nothing(fake):
    (fake / "fails").touch()
    with pytest.raises(HostError, match="E: no such release"):
        make(RECIPE)
    assert list_names(fake / "cache/steelyard/images") == []


@pytest.mark.parametrize("path", ["/var/run/x", "/var/run/new/x"])
def test_a_link_that_leads_out_is_not_followed(fake, path):
    with pytest.raises(HostError, match=f"{path} leads out of the image"):
        make(ImageRecipe(suite="bookworm", files={path: "bad"}))
    assert list_names(fake / "outside") == []
    made = make(ImageRecipe(suite="bookworm", files={"/etc/link": "good"}))
    assert (Path(made.root) / "etc/link").read_text() == "good"
    assert list_names(fake / "outside") == []


def test_a_host_without_mmdebstrap_is_named(fake, monkeypatch):
    (fake / "bin/mmdebstrap").unlink()
    (fake / "bin/sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(fake / "bin"))
    with pytest.raises(HostError, match="which local does not have"):
        make(RECIPE)


def test_a_damaged_one_is_said():
    with pytest.raises(HostError, match="is damaged"):
        MadeImage.parse(PurePosixPath("/cache/x/root"), "sha256 \nkilobytes many\n")


@pytest.mark.full
def test_a_real_one_is_made(tmp_path, monkeypatch):
    if not shutil.which("mmdebstrap"):
        pytest.skip("mmdebstrap is not installed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = make(ImageRecipe(suite="bookworm", packages=("hello",), files={"/etc/mine": "mine\n"}))
    assert made.packages["hello"]
    said = subprocess.run([f"{made.root}/usr/bin/hello"], capture_output=True, text=True, check=True)
    assert "Hello" in said.stdout


def pack(place: Path) -> Path:
    """A small image as a tar archive."""
    archive = place / "root.tar"
    subprocess.run(["tar", "-C", place / "root", "-cf", archive, "."], check=True)
    return archive


def test_an_archive_is_unpacked_and_its_content_names_it(fake):
    recipe = ImageRecipe(archive="root.tar", files={"/etc/mine": "mine\n"})
    before = recipe.digest, hash(recipe)
    recipe.learn_content("1" * 64)
    assert recipe.digest != before[0]
    assert hash(recipe) == before[1]
    made: list[MadeImage] = []

    async def act(bench) -> None:
        made.append(await make_image(bench.hosts[0], recipe, bench.place / "logs", pack(fake)))
        assert await list_images(bench.hosts[0]) == made
        await remove_image(bench.hosts[0], made[0])
        assert await list_images(bench.hosts[0]) == []

    with_bench(act, hosts=1)
    assert made[0].what == "root.tar"
    assert not (fake / "words").exists(), "mmdebstrap has nothing to do"
    assert list_names(fake / "cache/steelyard/images") == []


def test_an_archive_goes_to_a_host_that_does_not_share_files(fake, run):
    recipe = ImageRecipe(archive="root.tar")

    async def act() -> None:
        transport = PipedTransport("far", "127.0.0.1")
        async with ShellHost.open(transport, run.token, run.folder / "log") as host:
            assert not host.shares_files
            made = await make_image(host, recipe, fake / "logs", pack(fake))
            assert (Path(made.root) / "mark").read_text() == "in the image\n"

    asyncio.run(act())
    assert list_names(fake / "cache/steelyard/images") == [recipe.digest], "what was brought is gone"


def test_a_part_of_an_archive_leaves_nothing(fake):
    archive = pack(fake)
    archive.write_bytes(archive.read_bytes()[:9000])

    async def act(bench) -> None:
        with pytest.raises(HostError, match=r"image-.* failed on local: .*tar"):
            await make_image(bench.hosts[0], ImageRecipe(archive="root.tar"), bench.place / "logs", archive)

    with_bench(act, hosts=1)
    assert list_names(fake / "cache/steelyard/images") == []
