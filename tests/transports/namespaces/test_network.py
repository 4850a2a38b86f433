from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from patience import PATIENCE, comes
from steelyard.errors import HostError
from steelyard.hosts.lease import Lease
from steelyard.hosts.minder.processes import list_pids
from steelyard.hosts.sweep import sweep
from steelyard.transports.namespaces import network as namespaces
from steelyard.transports.namespaces.holders import capture_output, find_sshd, search_path
from steelyard.transports.namespaces.network import NEEDS, NamespaceNode, Namespaces

if TYPE_CHECKING:
    from conftest import Run

MISSING = [program for program in NEEDS if not shutil.which(program, path=search_path())]
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

SERVE = """
import socket
with socket.create_server(("", 9000)) as server:
    print("up", flush=True)
    while True:
        server.accept()[0].close()
"""
ASK = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9000), timeout=float(sys.argv[2])).close()
except OSError:
    print("silence")
else:
    print("answer")
"""


def links() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir()}


def namespace(pid: int | str) -> int:
    try:
        return Path(f"/proc/{pid}/ns/net").stat().st_ino
    except OSError:
        return 0


def held_namespace(pid: int, spaces: ExitStack) -> int:
    """Its number, which the kernel gives to the next namespace of anybody once nobody holds this one."""
    space = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    spaces.callback(os.close, space)
    return os.fstat(space).st_ino


def inhabited(inodes: set[int]) -> bool:
    """Whether a process lives in one of these network namespaces."""
    return any(namespace(pid) in inodes for pid in list_pids())


def within(run: Run, nodes: int, story: Callable[[Namespaces, Lease], Awaitable[Any]], **more: Any) -> Any:
    """Tell a story with namespaces; then nothing of them may be left."""

    async def tell(spaces: ExitStack) -> tuple[Any, set[int]]:
        async with Lease.open(run.token, log=run.folder / "minder.log") as lease:
            async with Namespaces.open(lease) as made:
                await made.add(nodes, **more)
                inodes = {held_namespace(node.pid, spaces) for node in made.nodes}
                assert len(inodes) == nodes
                told = await story(made, lease)
            assert namespaces._uplink_name(made.network) not in links()
            return told, inodes

    with ExitStack() as spaces:
        told, inodes = asyncio.run(tell(spaces))
        assert not run.bearers()
        assert not inhabited(inodes)
    assert not [
        line for line in Path("/proc/self/mounts").read_text().splitlines() if "/run/steelyard" in line
    ]
    return told


async def ask(node: NamespaceNode, whom: str, seconds: float = PATIENCE) -> str:
    return (
        await capture_output(*node.prefix, sys.executable, "-I", "-S", "-c", ASK, whom, str(seconds))
    ).strip()


async def serve(run: Run, lease: Lease, node: NamespaceNode) -> None:
    said = run.folder / f"{node.name}.out"
    argv = (*node.prefix, sys.executable, "-I", "-S", "-c", SERVE)
    await lease.start(argv, env=os.environ, cwd=run.folder, stdout=said, stderr=said)
    assert await comes(lambda: said.read_text() == "up\n"), said.read_text()


def test_nodes_have_names_and_addresses_and_reach_each_other(run: Run) -> None:
    async def story(made: Namespaces, lease: Lease) -> None:
        one, two = made.nodes
        assert [node.name for node in made.nodes] == ["n1", "n2"]
        assert [node.address for node in made.nodes] == [str(made.network[1]), str(made.network[2])]
        assert await capture_output(*one.prefix, "uname", "-n") == "n1\n"
        assert os.uname().nodename != "n1"
        assert not await capture_output(*one.prefix, "find", "/run", "-maxdepth", "1", "-name", "netns")
        await serve(run, lease, one)
        assert [await ask(two, whom) for whom in ("n1", one.address, "n2")] == ["answer", "answer", "silence"]
        _, writer = await asyncio.open_connection(one.address, 9000)
        writer.close()
        await writer.wait_closed()

    within(run, 2, story)


def test_a_node_that_is_cut_off_is_silent_until_it_is_healed(run: Run) -> None:
    async def story(made: Namespaces, lease: Lease) -> list[str]:
        one, two, three = made.nodes
        await serve(run, lease, one)
        await serve(run, lease, three)
        await made.cut("n1")
        said = [await ask(two, "n1", 0.3), await ask(two, "n3"), await ask(one, "n3", 0.3)]
        await made.heal("n1")
        return [*said, await ask(two, "n1")]

    assert within(run, 3, story) == ["silence", "answer", "silence", "answer"]


def test_who_asked_in_vain_where_a_node_is_learns_it_when_it_is_healed(run: Run) -> None:
    """Nobody asks once more: it is told."""

    async def story(made: Namespaces, _: Lease) -> None:
        one, two = made.nodes
        argv = (*two.prefix, "ip", "neigh", "show", one.address)

        def is_known_as(state: str) -> bool:
            return state in subprocess.run(argv, check=True, capture_output=True, text=True).stdout

        await made.cut("n1")
        assert await ask(two, "n1") == "silence"
        assert await comes(lambda: is_known_as("FAILED"))
        await made.heal("n1")
        assert await comes(lambda: is_known_as("lladdr"))

    within(run, 2, story)


def test_what_enters_a_node_keeps_its_directory_and_words(run: Run) -> None:
    place = run.folder / "it's a place"
    place.mkdir()

    async def story(made: Namespaces, lease: Lease) -> str:
        argv = (*made.nodes[0].prefix, "sh", "-c", 'pwd; echo "$GIVEN|$1"; exit 3', "sh", "a 'b' $c")
        out = run.folder / "out"
        env = {**os.environ, "GIVEN": "x y"}
        child = await lease.start(argv, env=env, cwd=place, stdout=out, stderr=out)
        assert (await child.wait()).code == 3
        return out.read_text()

    assert within(run, 1, story) == f"{place}\nx y|a 'b' $c\n"


def test_each_has_etc_hosts_and_run_of_its_own(run: Run) -> None:
    async def story(made: Namespaces, _: Lease) -> str:
        await capture_output(*made.nodes[0].prefix, "touch", "/run/mine")
        return await capture_output(*made.nodes[0].prefix, "cat", "/etc/hosts")

    hosts = within(run, 2, story)
    assert {"localhost", "n1", "n2", os.uname().nodename} <= set(hosts.split())
    assert not [path for name in ("mine", "steelyard") if (path := Path("/run") / name).exists()]


def test_two_runs_have_different_networks_even_when_they_choose_the_same(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, first = namespaces.find_free_subnet, list[IPv4Network]()

    def same(routes: str, rng: Any) -> IPv4Network:
        first.append(first[0] if len(first) == 1 else real(routes, rng))
        return first[-1]

    monkeypatch.setattr(namespaces, "find_free_subnet", same)

    async def story(made: Namespaces, lease: Lease) -> None:
        async with Namespaces.open(lease) as other:
            await other.add(1)
            assert first[0] == first[1] == made.network
            assert not other.network.overlaps(made.network)

    within(run, 1, story)


def test_a_rate_shapes_both_directions(run: Run) -> None:
    if not shutil.which("tc", path=search_path()):
        pytest.skip("tc is not installed")

    async def story(made: Namespaces, _: Lease) -> tuple[str, str]:
        inside = await capture_output(*made.nodes[0].prefix, "tc", "qdisc", "show", "dev", "eth0")
        hub = await capture_output("nsenter", "-t", str(made.hub), "-n", "tc", "qdisc", "show", "dev", "n1")
        return inside, hub

    try:
        said = within(run, 1, story, rate=1.25e6)
    except HostError as error:
        if "qdisc" in error.message:
            pytest.skip("this kernel has no tbf")
        raise
    assert all("tbf" in line and "rate 10Mbit" in line for line in said)


def test_many_at_once(run: Run) -> None:
    async def story(made: Namespaces, _: Lease) -> list[str]:
        return [node.address for node in made.nodes]

    assert len(set(within(run, 24, story))) == 24


# What cannot be done


def test_who_is_not_root_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    async def story(*_: Any) -> None:
        raise AssertionError

    with pytest.raises(HostError, match=r"(?s)need root.*local:N"):
        within(run, 1, story)


def test_a_missing_program_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "NEEDS", ("ip", "no-such-program"))

    async def story(*_: Any) -> None:
        raise AssertionError

    with pytest.raises(HostError, match="need no-such-program, which"):
        within(run, 1, story)


def test_what_the_kernel_refuses_is_said_in_its_words_and_leaves_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespaces, "_NODE", namespaces._NODE.replace("mount -t tmpfs", "mount -t nonsense"))
    made = list[str]()
    real = namespaces._uplink_name
    monkeypatch.setattr(namespaces, "_uplink_name", lambda network: made.append(real(network)) or made[-1])

    async def story(*_: Any) -> None:
        raise AssertionError

    with pytest.raises(HostError, match=r"host n\d: its namespaces could not be created: mount: /run"):
        within(run, 2, story)
    assert not run.bearers()
    assert made
    assert not links() & set(made)


# When the controller is killed


@pytest.mark.parametrize("via", ["ssh", "nsenter"])
@pytest.mark.parametrize(
    "minder", [False, pytest.param(True, marks=pytest.mark.full)], ids=["controller", "and-minder"]
)
def test_nothing_stays_when_the_controller_is_killed(run: Run, via: str, minder: bool) -> None:
    if via == "ssh" and not find_sshd():
        pytest.skip("no sshd is installed (apt: openssh-server)")
    program = Path(__file__).with_name("namespaces_controller.py")
    started = run.popen(sys.executable, str(program), run.id, str(run.folder), via)
    assert started.stdout
    told = json.loads(started.stdout.readline())
    hub = int(told["cut"].split()[2])
    uplink = namespaces._uplink_name(IPv4Network(f"{told['address']}/24", strict=False))
    assert uplink in links()
    inodes = {namespace(bearer.pid) for bearer in run.bearers()} | {namespace(hub)}
    inodes -= {namespace("self"), 0}
    assert len(inodes) == 3
    for pid in (*(run.minders() if minder else ()), started.pid):
        os.kill(pid, signal.SIGKILL)
    if minder:
        assert run.until(lambda: namespace(hub) == 0), "the kernel is to end who holds the namespaces"
        sweep(run=run.id)  # as `clean`, and each next run, does
    assert run.all_gone(), [Path(f"/proc/{b.pid}/cmdline").read_bytes() for b in run.bearers()]
    assert run.until(lambda: not inhabited(inodes)), subprocess.check_output(["ps", "-ef"], text=True)
    assert run.until(lambda: uplink not in links())
    if not minder:
        assert run.until(lambda: not list(run.folder.glob("scratch-*")))
