"""Where snapshots lie: a directory that the hosts share, or a bucket of an object store.

::

    PLACE/files/<first two digits>/<SHA-256>    every file once, whoever has it
    PLACE/<name>/manifest.json                  written last: a snapshot is there as a whole or not at all

Files bear their SHA-256 as their name. So what is there already is not copied again, nodes with the same data
share it, and what was damaged is noticed when it is fetched. The work is done on the hosts, by `vault.sh`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from steelyard.errors import HostError, StoreError, UnknownName
from steelyard.model.command import Command
from steelyard.model.snapshot import LARGEST, NAME, Snapshot, StoredFile
from steelyard.model.tool import Tool
from steelyard.snapshots import listing
from steelyard.snapshots.backend import StoreBackend, choose_backend

__all__ = ["GRACE", "Runner", "SavedFiles", "SnapshotStore", "make_local_runner"]

GRACE = 720  # minutes: longer than from a snapshot's first kept file to its manifest

Runner = Callable[[Command], Awaitable[str]]
"""Runs a command on a host, with its `stdin` and `secrets`, and gives what it printed. Raises HostError with
what it said on standard error where it fails."""


class SavedFiles(NamedTuple):
    """What came of keeping a directory. `copied`: bytes that were not in the vault already."""

    files: tuple[StoredFile, ...]
    copied: int


class SnapshotStore:
    """A place for snapshots.

    Methods act on the host where `run` runs commands; `directory` and `target` are paths there. They raise
    HostError that names the place and what went wrong.
    """

    def __init__(self, place: str, means: StoreBackend) -> None:
        self.place, self._means = place, means

    @staticmethod
    def from_place(place: str, secrets: Mapping[str, str] | None = None) -> SnapshotStore:
        """The vault in an absolute directory, or at `s3://bucket/prefix`. Raises UsageError for other places.

        `secrets` opens an object store, in the words of its own tools: AWS_ACCESS_KEY_ID,
        AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL; others
        are ignored. Without a key the hosts use what they have: a role, `~/.aws`.
        """
        return SnapshotStore(place, choose_backend(place, secrets or {}))

    @property
    def needs(self) -> tuple[Tool, ...]:
        """What must be installed on the hosts."""
        return self._means.needs

    async def keep(self, run: Runner, directory: PurePosixPath) -> SavedFiles:
        """Keep all files below a directory; they are on disk when this returns.

        They must never change: large ones become links where the vault is on the same file system. Symbolic
        links, special files and odd names are refused.
        """
        what = f"save {directory}"
        files = listing.parse_survey(await self._run_function(run, what, "survey", str(directory)), directory)
        if not files:
            return SavedFiles((), 0)
        held = await self._read_sizes(run, what, files, "refresh", f"{uuid.uuid4()}.part")
        lacking = list({file.digest: file for file in files if held.get(file.digest) != file.size}.values())
        if lacking:
            await self._store(run, what, directory, lacking)
        return SavedFiles(files, sum(file.size for file in lacking))

    async def fetch(
        self,
        run: Runner,
        files: Sequence[StoredFile],
        target: PurePosixPath,
        cache: PurePosixPath | None = None,
    ) -> None:
        """Lay files at their paths below a directory that exists, each checked by its SHA-256: all or none.

        `cache` is a directory on the host where some may lie, named by their SHA-256; what is damaged there
        comes from the vault. HostError tells which files are not right.
        """
        what = f"fetch files to {target}"
        cached = await self._find_cached(run, what, files, cache) if cache else {}
        wrong = await self._place_files(run, what, files, target, cached)
        if cached and wrong:
            sound = {digest: path for digest, path in cached.items() if digest not in wrong}
            wrong = await self._place_files(run, what, files, target, sound)
        if wrong:
            faulty = [file for file in files if file.digest in wrong]
            raise self._explain_faults(what, faulty, await self._read_sizes(run, what, faulty))

    async def check(self, run: Runner, snapshot: Snapshot) -> None:
        """Make sure, quickly, that all files of a snapshot are there, with their sizes."""
        what = f"use snapshot '{snapshot.name}'"
        files = [file for node in snapshot.nodes for file in node.files]
        held = await self._read_sizes(run, what, files)
        if faulty := [file for file in files if held.get(file.digest) != file.size]:
            raise self._explain_faults(what, faulty, held)

    async def publish(self, run: Runner, snapshot: Snapshot) -> None:
        """Make a snapshot known, all of whose files were kept. Raises StoreError where its name is taken."""
        if snapshot.name == listing.FILES or snapshot.name in await self.list_names(run):
            hint = "snapshots are never replaced; choose another name"
            raise StoreError(f"the name '{snapshot.name}' already exists in {self.place}", hint=hint)
        await self.check(run, snapshot)
        what = f"publish snapshot '{snapshot.name}'"
        await self._run_function(run, what, "publish", self._root, snapshot.name, stdin=snapshot.to_text())

    async def list_names(self, run: Runner) -> list[str]:
        """Of all complete snapshots, the newest last. None where the place does not exist."""
        said = await self._run_function(run, "list snapshots", "names", self._root)
        return sorted(name for name in said.splitlines() if NAME.fullmatch(name) and name != listing.FILES)

    async def read(self, run: Runner, name: str) -> Snapshot:
        """What a snapshot consists of. Raises UnknownName, and StoreError for a manifest that is none."""
        self._check_known([name], await self.list_names(run))
        return await self._read(run, name)

    async def remove(self, run: Runner, names: Sequence[str], grace: int = GRACE) -> int:
        """Remove snapshots, and all files that no other one refers to; the bytes that are gone.

        Files kept in the last `grace` minutes stay, since a snapshot of them may be in the making. Raises
        UnknownName, or StoreError where one that is to stay cannot be read, before anything is removed.
        """
        known = await self.list_names(run)
        self._check_known(names, known)
        stay = [await self._read(run, name) for name in known if name not in names]
        if names:
            await self._run_function(run, "remove snapshots", "withdraw", self._root, *names)
        return await self._sweep(run, {digest for one in stay for digest in one.digests}, grace)

    @property
    def _root(self) -> str:
        return self._means.root

    async def _run_function(
        self, run: Runner, what: str, function: str, *words: str, stdin: str | None = None
    ) -> str:
        try:
            return await run(self._means.command(function, words, stdin))
        except HostError as error:
            # Whatever it says, it must not tell keys; so what it came from is not shown either.
            said = self._means.redact_secrets(error.message.strip())
            raise type(error)(f"cannot {what}: {self.place}: {said}", hint=error.hint) from None

    async def _read_sizes(
        self, run: Runner, what: str, files: Sequence[StoredFile], function: str = "sizes", *words: str
    ) -> dict[str, int]:
        """Of those that are there, by digest."""
        if not files:
            return {}
        wanted = listing.format_places(files)
        return listing.parse_sizes(
            await self._run_function(run, what, function, self._root, *words, stdin=wanted), self.place
        )

    async def _store(
        self, run: Runner, what: str, directory: PurePosixPath, files: Sequence[StoredFile]
    ) -> None:
        words = self._root, str(directory), *sorted({file.digest[:2] for file in files})
        said = await self._run_function(run, what, "store", *words, stdin=self._means.staging_list(files))
        stored = listing.parse_sizes(said, self.place)
        if changed := [file.path for file in files if stored.get(file.digest) != file.size]:
            raise HostError(f"cannot {what}: {', '.join(changed[:5])} changed meanwhile")

    async def _find_cached(
        self, run: Runner, what: str, files: Sequence[StoredFile], cache: PurePosixPath
    ) -> dict[str, PurePosixPath]:
        wanted = "".join(f"{file.digest}\n" for file in files)
        said = await self._run_function(run, what, "cached", str(cache), stdin=wanted)
        return {digest: cache / digest for digest in said.splitlines()}

    async def _place_files(
        self,
        run: Runner,
        what: str,
        files: Sequence[StoredFile],
        target: PurePosixPath,
        cached: Mapping[str, PurePosixPath],
    ) -> set[str]:
        """Digests of the files that are not right; then none was laid."""
        if not files:
            return set()
        laid = self._means.target_list(files, cached)
        said = await self._run_function(run, what, "fetch", self._root, str(target), stdin=laid)
        return listing.find_faulty(said, files)

    def _explain_faults(self, what: str, files: Sequence[StoredFile], held: Mapping[str, int]) -> HostError:
        faults = [
            f"\n  {file.path} ({file.digest}) {listing.describe_fault(file, held)}" for file in files[:5]
        ]
        more = f"\n  and {len(files) - 5} more" if len(files) > 5 else ""
        count = f"{len(files)} file{'s are' if len(files) > 1 else ' is'} missing or damaged"
        hint = "use another snapshot, or restore these files"
        return HostError(f"cannot {what}: in {self.place} {count}:{''.join(faults)}{more}", hint=hint)

    async def _read(self, run: Runner, name: str) -> Snapshot:
        where = f"{self.place}/{name}/manifest.json"
        words = self._root, name, str(LARGEST + 1)
        said = await self._run_function(run, f"read snapshot '{name}'", "manifest", *words)
        snapshot = Snapshot.from_text(said, where)
        if snapshot.name != name:
            raise StoreError(f"{where} belongs to another snapshot, '{snapshot.name}'")
        return snapshot

    def _check_known(self, names: Sequence[str], known: Sequence[str]) -> None:
        for name in names:
            if name not in known:
                there = f"it has {', '.join(known[-10:])}" if known else "it has none"
                raise UnknownName("snapshot", name, known, hint=f"looked in {self.place}; {there}")

    async def _sweep(self, run: Runner, referred: set[str], grace: int) -> int:
        what, words = "remove files that belong to no snapshot", (self._root, str(grace))
        said = await self._run_function(run, what, "old", *words)
        spared = referred | listing.parse_digests(said, self.place)
        sizes = listing.parse_sizes(said, self.place)
        wanted = "".join(f"{digest[:2]}/{digest}\n" for digest in sizes if digest not in spared)
        if not wanted:
            return 0
        gone = await self._run_function(run, what, "sweep", *words, stdin=wanted)
        return sum(sizes[digest] for digest in listing.parse_digests(gone, self.place))


def make_local_runner() -> Runner:
    """Runs commands on this machine."""
    return _run_locally


async def _run_locally(command: Command) -> str:
    given, env = (command.stdin or "").encode(), {**os.environ, **command.variables}
    try:
        process = await asyncio.create_subprocess_exec(
            *command.argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=env,
            cwd=command.cwd,
            start_new_session=True,
        )
    except OSError as error:
        raise HostError(f"cannot run {command.argv[0]}: {error.strerror}") from error
    try:
        said, complaint = await process.communicate(given)
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGTERM)  # it then removes what is half done
            await process.wait()
    if process.returncode:
        why = complaint.decode(errors="replace").strip()
        raise HostError(why or f"{command.argv[0]} exited with code {process.returncode}")
    return said.decode(errors="replace")
