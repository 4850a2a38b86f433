from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

import object_store
from patience import PATIENCE, comes
from steelyard.errors import HostError, HostLost, StoreError, UnknownName, UsageError
from steelyard.model.command import Command
from steelyard.model.snapshot import Snapshot, SnapshotNode, StoredFile
from steelyard.model.tool import RCLONE
from steelyard.snapshots.store import GRACE, SnapshotStore, make_local_runner

RUN = make_local_runner()
LARGE = 100_000  # bytes; enough for a link
FILES = {"ks/t 1/nb-1-Data.db": b"d" * LARGE, "ks/t 1/TOC.txt": b"toc\n", "ks/empty": b"", "top $(x)": b"*"}


@pytest.fixture
def directory(tmp_path):
    return written(tmp_path / "data dir", FILES)


@pytest.fixture(params=["directory", pytest.param("s3", marks=pytest.mark.full)])
def vault(request, tmp_path):
    if request.param == "directory":
        return SnapshotStore.from_place(str(tmp_path / "va ult"))
    return SnapshotStore.from_place(f"s3://bucket/{uuid.uuid4()}/in", request.getfixturevalue("s3"))


@pytest.fixture
def shared(tmp_path):
    """A vault in a directory, and the directory."""
    place = tmp_path / "va ult"
    return SnapshotStore.from_place(str(place)), place


@pytest.fixture(scope="module")
def buckets(tmp_path_factory):
    """Where the object store has its buckets: objects are files there."""
    return tmp_path_factory.mktemp("s3")


@pytest.fixture(scope="module")
def s3(buckets) -> Iterator[dict[str, str]]:
    """An object store with a bucket, as a user's environment would describe it."""
    with object_store.serving(buckets) as keys:
        yield keys


def written(folder: Path, files: dict[str, bytes]) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def held(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def stored(content: bytes, path: str = "x") -> StoredFile:
    return StoredFile(path=path, size=len(content), digest=hashlib.sha256(content).hexdigest())


def in_vault(place: Path, file: StoredFile) -> Path:
    return place / "files" / file.digest[:2] / file.digest


def snapshot_of(name: str, *files: StoredFile) -> Snapshot:
    return Snapshot(
        name=name, service="s", version="1", taken=1.0, nodes=(SnapshotNode(host="a", files=files),)
    )


def keep(vault: SnapshotStore, directory: Path):
    return asyncio.run(vault.keep(RUN, PurePosixPath(directory)))


def taken(vault: SnapshotStore, directory: Path, name: str) -> Snapshot:
    snapshot = snapshot_of(name, *keep(vault, directory).files)
    asyncio.run(vault.publish(RUN, snapshot))
    return snapshot


def fetched(vault: SnapshotStore, files, target: Path, cache: Path | None = None) -> dict[str, bytes]:
    target.mkdir(exist_ok=True)
    at = PurePosixPath(cache) if cache else None
    asyncio.run(vault.fetch(RUN, files, PurePosixPath(target), at))
    return held(target)


def aged(*paths: Path, minutes: int = GRACE + 5) -> None:
    for path in paths:
        moment = time.time() - 60 * minutes
        os.utime(path, (moment, moment))


def leftovers(place: Path) -> list[Path]:
    return list(place.rglob("*.part"))


# Keep and fetch, both kinds.


def test_a_snapshot_goes_in_and_comes_out(vault, directory, tmp_path):
    kept = keep(vault, directory)
    assert {file.path: file for file in kept.files} == {
        path: stored(content, path) for path, content in FILES.items()
    }
    assert kept.copied == sum(map(len, FILES.values()))
    snapshot = snapshot_of("20260101-000000-1", *kept.files)
    assert asyncio.run(vault.list_names(RUN)) == []
    asyncio.run(vault.publish(RUN, snapshot))
    assert asyncio.run(vault.list_names(RUN)) == ["20260101-000000-1"]
    assert asyncio.run(vault.read(RUN, "20260101-000000-1")) == snapshot
    asyncio.run(vault.check(RUN, snapshot))
    assert fetched(vault, kept.files, tmp_path / "tar get") == FILES
    assert held(directory) == FILES
    assert leftovers(tmp_path) == []


def test_what_is_there_already_is_not_copied_again(vault, directory):
    first = keep(vault, directory)
    assert keep(vault, directory) == (first.files, 0)
    written(directory, {"more": b"some more", "the same": FILES["top $(x)"]})
    assert keep(vault, directory).copied == len(b"some more")


def test_the_newest_name_comes_last(vault, directory):
    for name in ("20260103-a", "20260101-z", "20260102-m"):
        taken(vault, directory, name)
    assert asyncio.run(vault.list_names(RUN)) == ["20260101-z", "20260102-m", "20260103-a"]


def test_many_files_in_many_directories(vault, tmp_path):
    files = {f"ks {n % 3}/t{n % 7}/f{n}": f"{n}".encode() * (n * 3) for n in range(300)}
    directory = written(tmp_path / "data", files)
    assert fetched(vault, keep(vault, directory).files, tmp_path / "target") == files


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_any_shell_will_do(shared, directory, tmp_path, monkeypatch, shell):
    if (program := shutil.which(shell)) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to(program)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    snapshot = taken(shared[0], directory, "n1")
    assert fetched(shared[0], snapshot.nodes[0].files, tmp_path / "target") == FILES
    assert asyncio.run(shared[0].list_names(RUN)) == ["n1"]
    (directory / "-x").touch()
    with pytest.raises(HostError, match="'-x' is an odd name"):
        keep(shared[0], directory)
    in_vault(shared[1], snapshot.nodes[0].files[0]).unlink()
    with pytest.raises(HostError, match="is missing"):
        fetched(shared[0], snapshot.nodes[0].files, tmp_path / "target")
    assert leftovers(tmp_path) == []


def test_an_empty_directory_has_nothing_to_keep(vault, tmp_path):
    (tmp_path / "data" / "ks").mkdir(parents=True)
    assert keep(vault, tmp_path / "data") == ((), 0)
    assert fetched(vault, (), tmp_path / "target") == {}
    asyncio.run(vault.check(RUN, snapshot_of("nothing")))


def test_no_file_may_be_missing(vault, directory, tmp_path):
    files = (*keep(vault, directory).files, stored(b"never kept", "ks/lost"))
    for attempt in (vault.check(RUN, snapshot_of("n", *files)), vault.publish(RUN, snapshot_of("n", *files))):
        with pytest.raises(HostError, match=r"ks/lost \([0-9a-f]{64}\) is missing") as raised:
            asyncio.run(attempt)
        assert vault.place in str(raised.value)
    lost = r"1 file is missing or damaged:\n  ks/lost \([0-9a-f]{64}\) is missing"
    with pytest.raises(HostError, match=lost):
        fetched(vault, files, tmp_path / "target")
    assert held(tmp_path / "target") == {}
    assert asyncio.run(vault.list_names(RUN)) == []


def test_a_name_is_taken_once(vault, directory):
    snapshot = taken(vault, directory, "n1")
    with pytest.raises(StoreError, match="the name 'n1' already exists in"):
        asyncio.run(vault.publish(RUN, snapshot))
    with pytest.raises(StoreError, match="the name 'files' already exists"):
        asyncio.run(vault.publish(RUN, snapshot_of("files", *snapshot.nodes[0].files)))


def test_an_unknown_name_tells_those_that_exist(vault, directory):
    taken(vault, directory, "20260101-a")
    with pytest.raises(UnknownName, match=r"did you mean '20260101-a'\?") as raised:
        asyncio.run(vault.read(RUN, "20260101-b"))
    assert f"{vault.place}; it has 20260101-a" in raised.value.hint
    for odd in ("../up", "", "20260101-a/..", "files"):
        with pytest.raises(UnknownName):
            asyncio.run(vault.read(RUN, odd))
    with pytest.raises(UnknownName):
        asyncio.run(vault.remove(RUN, ["20260101-a", "other"]))
    assert asyncio.run(vault.list_names(RUN)) == ["20260101-a"]


def test_removing_sweeps_what_no_other_snapshot_has(vault, tmp_path):
    both, own = b"both" * 9, b"own" * 7
    first = taken(vault, written(tmp_path / "1", {"a": both, "b": own}), "1")
    second = taken(vault, written(tmp_path / "2", {"a": both}), "2")
    assert asyncio.run(vault.remove(RUN, ["1"])) == 0  # too young to be swept
    assert asyncio.run(vault.list_names(RUN)) == ["2"]
    asyncio.run(vault.check(RUN, first))
    aged(*(path for path in tmp_path.rglob("*") if path.is_file() and len(path.name) == 64))
    assert asyncio.run(vault.remove(RUN, [], grace=0)) == len(own)
    with pytest.raises(HostError, match=r"b .* is missing"):
        asyncio.run(vault.check(RUN, first))
    assert fetched(vault, second.nodes[0].files, tmp_path / "target") == {"a": both}


def test_two_nodes_keep_at_once(vault, tmp_path):
    contents = [{f"f{n}": bytes([n]) * 70_000 for n in range(start, start + 40)} for start in (0, 0, 20)]
    directories = [written(tmp_path / f"node{n}", files) for n, files in enumerate(contents)]

    async def at_once():
        return await asyncio.gather(*(vault.keep(RUN, PurePosixPath(place)) for place in directories))

    for kept, content, number in zip(asyncio.run(at_once()), contents, range(3), strict=True):
        assert fetched(vault, kept.files, tmp_path / f"target{number}") == content
        assert len(kept.files) == 40


def test_two_recover_at_once_while_another_snapshot_is_removed(vault, tmp_path):
    """Each has all of its files, also those that the snapshot shares which goes meanwhile."""
    common = {f"f{number}": bytes([number]) * 100_000 for number in range(8)}
    first = taken(vault, written(tmp_path / "a", {**common, "own": b"1"}), "n1")
    taken(vault, written(tmp_path / "b", {**common, "own": b"2"}), "n2")
    targets = [tmp_path / "x", tmp_path / "y"]

    async def together() -> None:
        for target in targets:
            target.mkdir()
        files = [file for node in first.nodes for file in node.files]
        fetches = (vault.fetch(make_local_runner(), files, PurePosixPath(target)) for target in targets)
        await asyncio.gather(*fetches, vault.remove(make_local_runner(), ["n2"], grace=0))

    asyncio.run(together())
    assert [held(target) for target in targets] == [{**common, "own": b"1"}] * 2
    assert asyncio.run(vault.list_names(make_local_runner())) == ["n1"]


def test_a_cache_spares_the_vault_and_is_left_alone(vault, directory, tmp_path):
    files = keep(vault, directory).files
    only_cached = stored(b"c" * LARGE, "cached only")
    cache = written(tmp_path / "ca che", {only_cached.digest: b"c" * LARGE, "other": b"x"})
    found = fetched(vault, (*files, only_cached), tmp_path / "target", cache)
    assert found == {**FILES, "cached only": b"c" * LARGE}
    assert held(cache) == {only_cached.digest: b"c" * LARGE, "other": b"x"}
    assert fetched(vault, files, tmp_path / "again", tmp_path / "no such cache") == FILES


def test_what_a_cache_has_damaged_comes_from_the_vault(vault, directory, tmp_path):
    files = keep(vault, directory).files
    cache = written(tmp_path / "cache", {file.digest: b"wrong" for file in files})
    assert fetched(vault, files, tmp_path / "target", cache) == FILES
    assert all(content == b"wrong" for content in held(cache).values())


# What is refused.


def test_symbolic_links_and_special_files_are_refused(vault, directory):
    (directory / "ks" / "li nk").symlink_to("/etc/passwd")
    os.mkfifo(directory / "pipe")
    with pytest.raises(HostError) as raised:
        keep(vault, directory)
    assert f"cannot save {directory}: {vault.place}: " in str(raised.value)
    assert "'ks/li nk' is a symbolic link" in str(raised.value)
    assert "'pipe' is not a regular file" in str(raised.value)


@pytest.mark.parametrize("name", ["-rf", "a\nb", "it's", 'a"b', "a\\b", "a\tb", "ü", os.fsdecode(b"\xff")])
def test_odd_names_are_refused(shared, directory, name):
    (directory / "ks" / name).touch()
    with pytest.raises(HostError, match="is an odd name"):
        keep(shared[0], directory)


def test_a_directory_that_is_not_there(shared, tmp_path):
    with pytest.raises(HostError, match="No such file or directory"):
        keep(shared[0], tmp_path / "nowhere")
    with pytest.raises(HostError, match="No such file or directory"):
        asyncio.run(shared[0].fetch(RUN, [stored(b"x")], PurePosixPath(tmp_path / "nowhere")))


@pytest.mark.parametrize(
    "place",
    ["", "/", "/.", "relative/path", "~/vault", "s3://", "s3://Bucket", "s3://b/x", "s3://bucket/../up",
     "s3://bucket/a b", "s3://bucket/$(x)", "http://bucket", "/a\nb"],
)  # fmt: skip
def test_what_is_no_place(place):
    with pytest.raises(UsageError, match="is not a valid place for snapshots") as raised:
        SnapshotStore.from_place(place)
    assert "s3://bucket/prefix" in raised.value.hint


# Faults of a directory.


def test_all_faults_are_told_and_nothing_is_laid(shared, tmp_path):
    vault, place = shared
    contents = {f"d/f{n}": f"content {n}".encode() for n in range(8)}
    files = keep(vault, written(tmp_path / "data", contents)).files
    in_vault(place, files[0]).unlink()
    in_vault(place, files[1]).write_bytes(b"short")
    flipped = bytearray(in_vault(place, files[2]).read_bytes())
    flipped[3] ^= 1
    in_vault(place, files[2]).write_bytes(flipped)
    target = written(tmp_path / "target", {"d/f5": b"was there before"})
    with pytest.raises(HostError) as raised:
        fetched(vault, files, target)
    told = str(raised.value)
    assert f"in {place} 3 files are missing or damaged" in told
    assert f"d/f0 ({files[0].digest}) is missing" in told
    assert f"d/f1 ({files[1].digest}) has 5 bytes, expected 9" in told
    assert f"d/f2 ({files[2].digest}) has the right size but different content" in told
    assert held(target) == {"d/f5": b"was there before"}
    assert sorted(path.name for path in target.rglob("*")) == ["d", "f5"]


def test_only_the_first_faults_are_told(shared, tmp_path):
    files = [stored(f"{n}".encode(), f"f{n}") for n in range(9)]
    keep(shared[0], written(tmp_path / "data", {"x": b"x"}))
    with pytest.raises(HostError, match=r"9 files are missing or damaged(.|\n)*and 4 more"):
        asyncio.run(shared[0].check(RUN, snapshot_of("n", *files)))


def test_a_place_that_does_not_exist(shared):
    vault, place = shared
    assert asyncio.run(vault.list_names(RUN)) == []
    assert asyncio.run(vault.remove(RUN, [])) == 0
    with pytest.raises(UnknownName, match="'latest'") as raised:
        asyncio.run(vault.read(RUN, "latest"))
    assert "it has none" in raised.value.hint
    with pytest.raises(HostError, match="No such file or directory"):
        asyncio.run(vault.check(RUN, snapshot_of("n", stored(b"x"))))
    assert not place.exists()


def test_a_place_is_private(shared, directory):
    snapshot = taken(shared[0], directory, "n1")
    place = shared[1]
    assert place.stat().st_mode & 0o777 == 0o700
    assert (place / "n1" / "manifest.json").stat().st_mode & 0o777 == 0o600
    assert in_vault(place, snapshot.nodes[0].files[0]).parent.stat().st_mode & 0o777 == 0o700


def test_large_files_are_links_and_small_ones_copies(shared, directory):
    kept = {file.path: file for file in keep(shared[0], directory).files}
    large, small = "ks/t 1/nb-1-Data.db", "ks/t 1/TOC.txt"
    assert (directory / large).samefile(in_vault(shared[1], kept[large]))
    with (directory / small).open("ab") as file:
        file.write(b"appended")
    assert in_vault(shared[1], kept[small]).read_bytes() == FILES[small]


def test_other_file_systems_are_copied_to(directory, tmp_path):
    with small_file_system(tmp_path / "other", "16m") as place:
        vault = SnapshotStore.from_place(str(place / "vault"))
        kept = keep(vault, directory)
        assert fetched(vault, kept.files, tmp_path / "target") == FILES
        assert in_vault(place / "vault", kept.files[1]).stat().st_nlink == 1


def test_a_truncated_file_of_the_vault_is_kept_anew(shared, directory, tmp_path):
    vault, place = shared
    kept = keep(vault, directory)
    file = next(file for file in kept.files if file.size == LARGE)
    in_vault(place, file).unlink()  # or the file that it is a link of would be truncated, too
    in_vault(place, file).write_bytes(b"d")
    assert keep(vault, directory) == (kept.files, LARGE)
    assert fetched(vault, kept.files, tmp_path / "target") == FILES


def test_a_full_place(directory, tmp_path):
    written(directory, {"large": os.urandom(3 << 20)})
    with small_file_system(tmp_path / "small", "1m") as place:
        with pytest.raises(HostError, match="No space left on device") as raised:
            keep(SnapshotStore.from_place(str(place)), directory)
        assert str(place) in raised.value.message
        assert leftovers(place) == []
        assert held(place) == {}


def test_a_place_that_is_full_when_the_manifest_is_written(directory, tmp_path):
    with small_file_system(tmp_path / "small", "1m") as place:
        vault = SnapshotStore.from_place(str(place))
        snapshot = snapshot_of("n1", *keep(vault, directory).files)
        with contextlib.suppress(OSError), (place / "ballast").open("wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4096))
        with pytest.raises(HostError, match=r"cannot publish snapshot 'n1'.*No space left on device"):
            asyncio.run(vault.publish(RUN, snapshot))
        assert not (place / "n1").exists()
        assert asyncio.run(vault.list_names(RUN)) == []


def test_a_full_target(shared, tmp_path):
    vault, _ = shared
    files = keep(vault, written(tmp_path / "data", {"d/large": os.urandom(3 << 20)})).files
    with small_file_system(tmp_path / "small", "1m") as target:
        with pytest.raises(HostError, match="No space left on device"):
            fetched(vault, files, target)
        assert list(target.iterdir()) == []


def test_a_place_that_may_only_be_read(directory, tmp_path):
    with small_file_system(tmp_path / "small", "4m") as place:
        vault = SnapshotStore.from_place(str(place / "vault"))
        snapshot = taken(vault, directory, "n1")
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        for attempt in (
            vault.keep(RUN, PurePosixPath(directory)),
            vault.publish(RUN, replaced(snapshot, "n2")),
            vault.remove(RUN, ["n1"]),
            SnapshotStore.from_place(str(place / "new")).keep(RUN, PurePosixPath(directory)),
        ):
            with pytest.raises(HostError, match="Read-only file system") as raised:
                asyncio.run(attempt)
            assert str(place) in raised.value.message
        assert asyncio.run(vault.read(RUN, "n1")) == snapshot
        assert fetched(vault, snapshot.nodes[0].files, tmp_path / "target") == FILES


def replaced(snapshot: Snapshot, name: str) -> Snapshot:
    return snapshot.model_copy(update={"name": name})


@contextlib.contextmanager
def small_file_system(path: Path, size: str) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    path.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={size},mode=700", "steelyard-test", str(path)]
    made = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


# What is ended in the middle.


@pytest.fixture
def stuck(tmp_path):
    """A runner whose commands get stuck when they flush to disk, and the file that tells that they have."""
    reached = tmp_path / "reached"
    program = (
        written(tmp_path / "bin", {"sync": f"#!/bin/sh\n>'{reached}'\nexec sleep 300\n".encode()}) / "sync"
    )
    program.chmod(0o755)
    path = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    return path, reached


def test_a_keep_that_is_killed_does_no_harm(shared, directory, tmp_path, stuck):
    vault, place = shared
    path, reached = stuck

    async def killed(command: Command) -> str:
        process = await asyncio.create_subprocess_exec(
            *command.argv, stdin=-1, stdout=-1, env={**os.environ, **path}, start_new_session=True
        )
        said = asyncio.create_task(process.communicate((command.stdin or "").encode()))
        ended = asyncio.create_task(comes(reached.exists))
        await asyncio.wait({said, ended}, return_when=asyncio.FIRST_COMPLETED)
        if reached.exists():
            os.killpg(process.pid, signal.SIGKILL)
        ended.cancel()
        out, _ = await said
        if process.returncode:
            raise HostError("killed")
        return out.decode()

    with pytest.raises(HostError, match="killed"):
        asyncio.run(vault.keep(killed, PurePosixPath(directory)))
    [left] = leftovers(place)
    truncated = next(path for path in left.rglob("*") if path.is_file())
    truncated.unlink()
    truncated.write_bytes(b"half")
    assert asyncio.run(vault.list_names(RUN)) == []
    snapshot = taken(vault, directory, "n1")
    assert fetched(vault, snapshot.nodes[0].files, tmp_path / "target") == FILES
    asyncio.run(vault.remove(RUN, []))
    assert leftovers(place) == [left]
    aged(left)
    asyncio.run(vault.remove(RUN, []))
    assert leftovers(place) == []
    asyncio.run(vault.check(RUN, snapshot))


def test_a_keep_that_is_cancelled_clears_up(shared, directory, stuck):
    vault, place = shared
    path, reached = stuck

    async def cancelled():
        slow = lambda command: RUN(replace(command, env=path))  # noqa: E731
        task = asyncio.create_task(vault.keep(slow, PurePosixPath(directory)))
        assert await comes(reached.exists)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert leftovers(place) == []
    assert held(place) == {}


def test_of_two_that_publish_one_name_one_does(shared, directory):
    vault, place = shared
    files = keep(vault, directory).files
    ones = [replaced(snapshot_of("n1", *files), "n1").model_copy(update={"origin": str(n)}) for n in range(4)]

    async def at_once():
        return await asyncio.gather(*(vault.publish(RUN, one) for one in ones), return_exceptions=True)

    ended = asyncio.run(at_once())
    assert ended.count(None) == 1
    assert asyncio.run(vault.read(RUN, "n1")) == ones[ended.index(None)]
    assert leftovers(place) == []


def test_a_file_that_changes_meanwhile_is_told(shared, directory):
    async def growing(command: Command) -> str:
        said = await RUN(command)
        if command.argv[2].endswith('survey "$@"'):
            with (directory / "ks/empty").open("ab") as file:
                file.write(b"not empty any more")
        return said

    with pytest.raises(HostError, match="ks/empty changed meanwhile"):
        asyncio.run(shared[0].keep(growing, PurePosixPath(directory)))
    keep(shared[0], directory)


# Sweeping, in a directory.


def test_files_that_are_kept_again_count_as_new(shared, directory):
    vault, place = shared
    files = keep(vault, directory).files
    aged(*(in_vault(place, file) for file in files))
    keep(vault, directory)
    assert asyncio.run(vault.remove(RUN, [])) == 0
    asyncio.run(vault.check(RUN, snapshot_of("n", *files)))
    aged(*(in_vault(place, file) for file in files))
    written(place, {"files/README": b"somebody's"})
    aged(place / "files" / "README")
    assert asyncio.run(vault.remove(RUN, [])) == sum(map(len, FILES.values()))
    assert (place / "files" / "README").exists()


def test_what_is_kept_while_a_sweep_is_on_stays(shared, directory):
    vault, place = shared
    files = keep(vault, directory).files
    aged(*(in_vault(place, file) for file in files))

    async def interrupted(command: Command) -> str:
        if command.argv[2].endswith('sweep "$@"'):
            await vault.keep(RUN, PurePosixPath(directory))
        return await RUN(command)

    assert asyncio.run(vault.remove(interrupted, [])) == 0
    asyncio.run(vault.check(RUN, snapshot_of("n", *files)))


def test_two_sweeps_at_once(shared, directory):
    vault, place = shared
    files = keep(vault, directory).files
    aged(*(in_vault(place, file) for file in files))

    async def interrupted(command: Command) -> str:
        if command.argv[2].endswith('sweep "$@"'):
            in_vault(place, files[0]).unlink()
        return await RUN(command)

    assert asyncio.run(vault.remove(interrupted, [])) == sum(file.size for file in files[1:])


def test_complaints_about_files_are_no_silence(shared, directory):
    vault, _ = shared
    files = keep(vault, directory).files

    async def complaining(command: Command) -> str:
        if command.argv[2].endswith('sizes "$@"'):
            return f"stat: cannot statx '{files[0].digest}': Stale file handle\n"
        return await RUN(command)

    with pytest.raises(HostError, match=f"{shared[1]} cannot be used: stat: .*: Stale file handle"):
        asyncio.run(vault.check(complaining, snapshot_of("n", *files)))


def test_what_cannot_be_read_keeps_the_sweep_from_starting(shared, directory):
    vault, place = shared
    taken(vault, directory, "good")
    snapshot = taken(vault, directory, "bad")
    (place / "bad" / "manifest.json").write_text('{"schema": 1, "name": "bad"')
    aged(*(in_vault(place, file) for file in snapshot.nodes[0].files))
    with pytest.raises(StoreError, match=r"bad/manifest.json is not a snapshot manifest"):
        asyncio.run(vault.remove(RUN, ["good"]))
    assert asyncio.run(vault.list_names(RUN)) == ["bad", "good"]
    assert asyncio.run(vault.remove(RUN, ["bad"])) == 0
    assert asyncio.run(vault.list_names(RUN)) == ["good"]


def test_a_manifest_of_another_name_is_refused(shared, directory):
    taken(shared[0], directory, "n1")
    shutil.copytree(shared[1] / "n1", shared[1] / "n2")
    with pytest.raises(StoreError, match="belongs to another snapshot, 'n1'"):
        asyncio.run(shared[0].read(RUN, "n2"))


def test_what_has_no_manifest_is_no_snapshot(shared, directory):
    taken(shared[0], directory, "n1")
    for odd in ("half", ".hidden", "o dd", "manifest"):
        (shared[1] / odd).mkdir()
    shutil.copy(shared[1] / "n1" / "manifest.json", shared[1] / "o dd")
    assert asyncio.run(shared[0].list_names(RUN)) == ["n1"]


# What a stranger may have put into a vault.


@pytest.fixture
def planted(shared, directory, tmp_path):
    """A vault with a snapshot, and its manifest for whoever plants something else instead."""
    taken(shared[0], directory, "n1")
    manifest = shared[1] / "n1" / "manifest.json"
    manifest.rename(tmp_path / "sound")
    return manifest


def read_by_name(place: Path) -> Snapshot:
    """Without looking first what is there, as if it had been swapped since."""
    vault = SnapshotStore.from_place(str(place))
    return asyncio.run(asyncio.wait_for(vault._read(RUN, "n1"), PATIENCE))


@pytest.mark.parametrize("kind", ["a pipe", "a link to a pipe", "a link to a device", "a link to a file"])
def test_a_manifest_that_is_no_file_is_not_waited_for(planted, tmp_path, kind):
    os.mkfifo(tmp_path / "pipe")
    targets = {"a link to a pipe": tmp_path / "pipe", "a link to a device": Path("/dev/zero")}
    if kind == "a pipe":
        os.mkfifo(planted)
    else:
        planted.symlink_to(targets.get(kind, tmp_path / "sound"))
    vault = SnapshotStore.from_place(str(planted.parents[1]))
    assert asyncio.run(vault.list_names(RUN)) == []
    with pytest.raises((HostError, StoreError), match="manifest"):
        read_by_name(planted.parents[1])


def test_a_manifest_of_any_size_costs_no_more_than_the_largest(planted):
    with planted.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(StoreError, match=r"n1/manifest.json is too large: 64 MiB"):
        read_by_name(planted.parents[1])


def test_a_snapshot_that_is_a_link_leads_nowhere(planted, tmp_path):
    (tmp_path / "sound").rename(planted)
    planted.parent.rename(tmp_path / "elsewhere")
    planted.parent.symlink_to(tmp_path / "elsewhere")
    vault = SnapshotStore.from_place(str(planted.parents[1]))
    assert asyncio.run(vault.list_names(RUN)) == []
    with pytest.raises(HostError, match="'n1' is a symbolic link"):
        read_by_name(planted.parents[1])
    with pytest.raises(HostError, match="'n1' is a symbolic link"):
        asyncio.run(vault.publish(RUN, snapshot_of("n1")))
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["manifest.json"]


def test_a_file_that_is_a_link_is_missing(shared, directory, tmp_path):
    files = keep(shared[0], directory).files
    place = in_vault(shared[1], files[0])
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HostError, match="1 file is missing or damaged"):
        fetched(shared[0], files, tmp_path / "target")
    aged(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").stat().st_mtime
    keep(shared[0], directory)
    assert (tmp_path / "elsewhere").stat().st_mtime == before
    assert not place.is_symlink()


def test_nothing_is_written_through_a_link(shared, directory, tmp_path):
    """Where the vault's file system has no links, files are moved into place."""
    digits = {file.digest[:2] for file in keep(shared[0], directory).files}
    shutil.rmtree(shared[1] / "files")
    (shared[1] / "files").mkdir()
    (tmp_path / "elsewhere").mkdir()
    for two in digits:
        (shared[1] / "files" / two).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HostError):
        keep(shared[0], directory)
    assert list((tmp_path / "elsewhere").iterdir()) == []


# Object stores.


def test_keys_go_nowhere_but_into_secrets():
    keys = {
        "AWS_ACCESS_KEY_ID": "the-id",
        "AWS_SECRET_ACCESS_KEY": "the-key",
        "AWS_SESSION_TOKEN": "the-token",
    }
    seen: list[Command] = []

    async def leaky(command: Command) -> str:
        seen.append(command)
        raise HostLost("lost: the-id the-key the-token", hint="nothing")

    vault = SnapshotStore.from_place("s3://bucket/prefix/", {**keys, "AWS_REGION": "eu-1", "OTHER": "x"})
    with pytest.raises(HostLost, match=r"s3://bucket/prefix/: lost: \*\*\* \*\*\* \*\*\*") as raised:
        asyncio.run(vault.list_names(leaky))
    assert raised.value.__cause__ is None
    assert raised.value.hint == "nothing"
    [command] = seen
    assert not any(key in f"{command!r} {command.argv} {command.env} {vault!r}" for key in keys.values())
    assert set(keys.values()) <= set(command.secrets.values())
    assert command.secrets["RCLONE_CONFIG_VAULT_ENV_AUTH"] == "false"
    assert command.secrets["RCLONE_CONFIG_VAULT_PROVIDER"] == "AWS"
    assert "x" not in command.secrets.values()
    assert vault.needs == (RCLONE,)


def test_without_a_key_hosts_use_their_own():
    secrets = SnapshotStore.from_place("s3://bucket")._means.secrets
    assert secrets["RCLONE_CONFIG_VAULT_ENV_AUTH"] == "true"
    assert "RCLONE_CONFIG_VAULT_ACCESS_KEY_ID" not in secrets
    assert SnapshotStore.from_place("/a/b").needs == ()


@pytest.mark.full
def test_a_wrong_key_is_told_without_it(s3, directory):
    vault = SnapshotStore.from_place("s3://bucket/x", {**s3, "AWS_SECRET_ACCESS_KEY": "not-the-right-one"})
    with pytest.raises(
        HostError, match=r"cannot list snapshots: s3://bucket/x: (.|\n)*SignatureDoesNotMatch"
    ) as no:
        asyncio.run(vault.list_names(RUN))
    assert "not-the-right-one" not in str(no.value)
    with pytest.raises(HostError, match=f"cannot save {directory}: s3://bucket/x: "):
        keep(vault, directory)
    assert leftovers(directory.parent) == []


@pytest.mark.full
def test_an_object_store_leaves_nothing_in_the_home(s3, directory, tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    vault = SnapshotStore.from_place("s3://bucket/home", s3)
    snapshot = taken(vault, directory, "n1")
    fetched(vault, snapshot.nodes[0].files, tmp_path / "target")
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.full
def test_a_damaged_object_is_told_and_kept_anew(s3, buckets, directory, tmp_path):
    vault, place = SnapshotStore.from_place("s3://bucket/damaged", s3), buckets / "bucket" / "damaged"
    kept = keep(vault, directory)
    file = next(file for file in kept.files if file.path == "ks/t 1/TOC.txt")
    in_vault(place, file).write_bytes(b"TOC\n")
    with pytest.raises(HostError, match=r"ks/t 1/TOC.txt .* different content"):
        fetched(vault, kept.files, tmp_path / "target")
    assert list((tmp_path / "target").iterdir()) == []
    in_vault(place, file).write_bytes(b"short"[:2])
    assert keep(vault, directory) == (kept.files, file.size)
    assert fetched(vault, kept.files, tmp_path / "target") == FILES


@pytest.mark.full
def test_objects_that_somebody_looked_for_are_not_swept(s3, buckets, directory):
    vault, place = SnapshotStore.from_place("s3://bucket/looked", s3), buckets / "bucket" / "looked"
    files = keep(vault, directory).files
    aged(*(path for path in place.rglob("*") if path.is_file()))
    assert keep(vault, directory).copied == 0
    assert asyncio.run(vault.remove(RUN, [])) == 0
    asyncio.run(vault.check(RUN, snapshot_of("n", *files)))
    aged(*(path for path in place.rglob("*") if path.is_file()))
    assert asyncio.run(vault.remove(RUN, [])) == sum(map(len, FILES.values()))
    assert held(place) == {}


# Here.


def test_commands_run_here():
    said = asyncio.run(RUN(Command(("cat",), stdin="an answer")))
    assert said == "an answer"
    secret = Command(("sh", "-c", 'printf %s "$X$Y"'), env={"X": "a"}, secrets={"Y": "b"})
    assert asyncio.run(RUN(secret)) == "ab"
    with pytest.raises(HostError, match=r"^oh no$"):
        asyncio.run(RUN(Command(("sh", "-c", "echo oh no >&2; exit 3"))))
    with pytest.raises(HostError, match="false exited with code 1"):
        asyncio.run(RUN(Command(("false",))))
    with pytest.raises(HostError, match="cannot run no-such-program: No such file"):
        asyncio.run(RUN(Command(("no-such-program",))))
