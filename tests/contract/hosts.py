"""Every kind of host that the contract tests run over.

To add one: an asynccontextmanager that takes a `Setting` and yields the opened host, and a `Kind` in `KINDS`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import sshd
from kube_cluster import KubeCluster
from patience import PATIENCE
from steelyard.hosts.agent.agent import AgentTimeouts
from steelyard.hosts.agent.probe import find_probe
from steelyard.hosts.base import Host
from steelyard.hosts.lease import Lease
from steelyard.hosts.local import LocalHost
from steelyard.hosts.shell import ShellHost
from steelyard.hosts.token import Token
from steelyard.hosts.transport import Transport
from steelyard.transports.kubernetes.api import ApiServer
from steelyard.transports.kubernetes.kubeconfig import read_access
from steelyard.transports.kubernetes.transport import PodPlace, PodTransport
from steelyard.transports.namespaces.holders import find_sshd, search_path
from steelyard.transports.namespaces.hosts import NsenterNode, open_ssh_nodes
from steelyard.transports.namespaces.network import NEEDS, Namespaces
from steelyard.transports.piped import PipedTransport
from steelyard.transports.ssh.transport import SshTransport

CALM = AgentTimeouts(beat_interval=0.5, silence_timeout=PATIENCE, hello_timeout=PATIENCE)


SLEEPING_JOB = {
    "metadata": {"name": "sleeping"},
    "spec": {
        "completions": 1,
        "ttlSecondsAfterFinished": 0,
        "activeDeadlineSeconds": 3600,
        "template": {
            "spec": {"containers": [{"name": "main", "image": "tools:1", "command": ["sleep", "3600"]}]},
        },
    },
}


@dataclass(frozen=True)
class Setting:
    """What a factory may use: the run's token, a file for the log, an empty folder that is removed."""

    token: Token
    log: Path
    folder: Path


Factory = Callable[[Setting], AbstractAsyncContextManager[Host]]


@dataclass(frozen=True)
class Kind:
    """A kind of host. `missing` says what this machine lacks for it, or nothing."""

    name: str
    open: Factory
    missing: Callable[[], str] = lambda: ""
    marks: tuple[pytest.MarkDecorator, ...] = ()
    far: bool = True  # an agent acts there, not the minder

    def parameter(self) -> object:
        return pytest.param(self, id=self.name, marks=self.marks)


def piped(setting: Setting, shell: str = "sh") -> Transport:
    return PipedTransport("n1", "127.0.0.1", shell=shell)


def shell_host(transport: Callable[[Setting], Transport], agent: str, **options: object) -> Factory:
    """A far host behind a transport; `agent` is sh or probe."""

    @asynccontextmanager
    async def open_(setting: Setting) -> AsyncIterator[Host]:
        with pytest.MonkeyPatch.context() as patch:
            if agent == "sh":
                patch.setenv("STEELYARD_PROBE", "none")
            way = transport(setting)
            async with ShellHost.open(way, setting.token, setting.log, pace=CALM, **options) as host:
                assert host._agent.hello.kind == agent, setting.log.read_text()
                yield host

    return open_


def lacks_program(*names: str) -> Callable[[], str]:
    return lambda: ", ".join(f"{name} is not installed" for name in names if shutil.which(name) is None)


def lacks_probe() -> str:
    system = os.uname()
    built = find_probe(system.sysname, system.machine)
    return "" if built else "steelyard-probe was not built for this machine: make probe"


def both_agents(name: str, transport: Callable[[Setting], Transport], **more: object) -> list[Kind]:
    """A kind of host once with each agent."""
    missing = more.pop("missing", lambda: "")
    return [
        Kind(f"{name}-sh", shell_host(transport, "sh"), missing, **more),
        Kind(f"{name}-probe", shell_host(transport, "probe"), lambda: missing() or lacks_probe(), **more),
    ]


def under(shell: str) -> Kind:
    name = shell.replace(" ", "").replace("--", "-")
    program = shell.split(maxsplit=1)[0]
    factory = shell_host(lambda setting: piped(setting, shell), "sh")
    return Kind(name, factory, lacks_program(program), (pytest.mark.full,))


@asynccontextmanager
async def local(setting: Setting) -> AsyncIterator[Host]:
    async with LocalHost.open(setting.token, setting.log) as host:
        yield host


def ssh(agent: str) -> Factory:
    """A real sshd on a loopback port."""

    @asynccontextmanager
    async def open_(setting: Setting) -> AsyncIterator[Host]:
        with sshd.Sshd(setting.folder.with_name(f"{setting.folder.name}-sshd")) as server:
            way = shell_host(lambda _: SshTransport("n1", server.login()), agent)
            async with way(setting) as host:
                yield host

    return open_


def no_sshd() -> str:
    return "" if find_sshd() else "no sshd is installed (apt: openssh-server)"


def pod(agent: str) -> Factory:
    """A pod of a stand-in cluster, which holds it by a process that only sleeps."""

    @asynccontextmanager
    async def open_(setting: Setting) -> AsyncIterator[Host]:
        with KubeCluster.running() as cluster:
            access = read_access(str(cluster.write_kubeconfig(setting.folder.with_name("kubeconfig"))))
            async with ApiServer.open(access) as server:
                await server.create(server.path("batch/v1/jobs"), SLEEPING_JOB)
                place = PodPlace("sleeping", 0)
                way = shell_host(lambda _: PodTransport("n1", server, place, connect_within=PATIENCE), agent)
                async with way(setting) as host:
                    yield host

    return open_


def namespaces(via: str) -> Factory:
    """A network namespace. What holds it bears another token, for it is none of the host's own programs."""

    @asynccontextmanager
    async def open_(setting: Setting) -> AsyncIterator[Host]:
        async with Lease.open(Token.of(f"{setting.token.run}-holders"), log=setting.log) as holders:
            if via == "ssh":
                more = {"rate": None, "lost_after": PATIENCE}
                async with open_ssh_nodes(holders, 1, setting.token, setting.log, **more) as (far,):
                    yield far
            else:
                own = Lease.open(setting.token, log=setting.log)
                async with Namespaces.open(holders) as wiring, own as lease:
                    await wiring.add(1)
                    (node,) = wiring.nodes
                    yield NsenterNode(lease, node, wiring)

    return open_


def no_namespaces() -> str:
    missing = [name for name in NEEDS if not shutil.which(name, path=search_path())]
    if os.geteuid() != 0:
        return "network namespaces need root"
    return f"not installed: {', '.join(missing)}" if missing else ""


KINDS = [
    Kind("local", local, far=False),
    *both_agents("piped", piped),
    Kind("piped-shared", shell_host(piped, "sh", shares_files=True), marks=(pytest.mark.full,)),
    under("dash"),
    under("bash --posix"),
    under("busybox ash"),
    Kind("ssh-sh", ssh("sh"), no_sshd, marks=(pytest.mark.full,)),
    Kind("ssh-probe", ssh("probe"), lambda: no_sshd() or lacks_probe()),
    Kind("pod-sh", pod("sh")),
    Kind("pod-probe", pod("probe"), lacks_probe, (pytest.mark.full,)),
    Kind("netns-ssh", namespaces("ssh"), lambda: no_namespaces() or no_sshd(), (pytest.mark.full,)),
    Kind("netns-nsenter", namespaces("nsenter"), no_namespaces, (pytest.mark.full,), far=False),
]
