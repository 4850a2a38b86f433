"""Processes that keep namespaces alive, and the small programs that arrange them."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from steelyard.errors import HostError
from steelyard.hosts.agent.child import AgentChild
from steelyard.hosts.lease import Lease

READY_WITHIN = 30.0


async def start_holder(
    lease: Lease,
    kinds: Sequence[str],
    script: str,
    words: Sequence[str],
    variables: Mapping[str, str],
    *,
    network_of: int | None = None,
) -> int:
    """Start a process that keeps new namespaces, and return its pid once it has said `ready`.

    It is in the network namespace of the process `network_of`, where one is given. Should even the minder be
    killed, the kernel kills it: then nobody else is left to do so.
    """
    network = ("nsenter", "-t", str(network_of), "-n") if network_of else ()
    inside = ("setpriv", "--pdeathsig", "KILL", *network, "unshare", *kinds)
    argv = (*inside, "sh", "-c", script, "sh", *words)
    async with start_program(lease, argv, variables) as (child, says):
        try:
            async with asyncio.timeout(READY_WITHIN):
                await says.readuntil(b"ready\n")
        except asyncio.IncompleteReadError as error:
            raise _explain_failure("its namespaces could not be created", error.partial) from error
        except TimeoutError as error:
            raise HostError(f"its namespaces were not ready within {READY_WITHIN:g} s") from error
    return child.pid


async def capture_output(*argv: str) -> str:
    """What a program prints that takes a moment. Raises HostError with its words when it fails.

    Not the minder starts it: whatever ends there takes orphans of far agents with it, which are below it too.
    """
    env = {**os.environ, "PATH": search_path()}
    process = await asyncio.create_subprocess_exec(*argv, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=env)
    try:
        async with asyncio.timeout(READY_WITHIN):
            said, _ = await process.communicate()
    except TimeoutError as error:
        raise HostError(f"`{shlex.join(argv)}` did not end within {READY_WITHIN:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise _explain_failure(f"`{shlex.join(argv)}` failed", said)
    return said.decode(errors="replace")


@asynccontextmanager
async def start_program(
    lease: Lease, argv: Sequence[str], variables: Mapping[str, str]
) -> AsyncIterator[tuple[AgentChild, asyncio.StreamReader]]:
    """A program with what it says on both its outputs; it goes on when the block ends. Raises StartError."""
    says, (theirs, ours) = asyncio.StreamReader(), os.pipe()
    pipe = os.fdopen(theirs, "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(says), pipe
    )
    place = f"/proc/{os.getpid()}/fd/{ours}"  # by this name the minder opens the pipe too
    env = {"PATH": search_path(), **variables}
    try:
        try:
            child = await lease.start(argv, env=env, cwd="/", stdout=place, stderr=place)
        finally:
            os.close(ours)
        yield child, says
    finally:
        transport.close()


def _explain_failure(what: str, said: bytes) -> HostError:
    words = " ".join(said.decode(errors="replace").split())[:300]
    hint = "the kernel or this container may forbid this; `--site local:N` needs no namespaces"
    return HostError(f"{what}: {words or 'it said nothing'}", hint=hint)


def require_programs(what: str, programs: Sequence[str], hint: str) -> None:
    """Raise HostError that says what needs those of them that are missing, and `hint`."""
    missing = [program for program in programs if not shutil.which(program, path=search_path())]
    if missing:
        message = f"{what} need {', '.join(missing)}, which this machine does not have"
        raise HostError(message, hint=hint)


def find_sshd() -> str | None:
    """Where sshd is; it must be called by its full path."""
    return shutil.which("sshd", path=search_path())


def search_path() -> str:
    """PATH, and where distributions put programs of root's."""
    return f"{os.environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin"
