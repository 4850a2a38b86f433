"""`use: program`: servers of the user's, good and bad."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from patience import PATIENCE
from steelyard.errors import HostError, SpecError
from steelyard.hosts.base import Host
from steelyard.hosts.shell import ShellHost
from steelyard.hosts.short_programs import explain_missing_file
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.plugins import find
from steelyard.services.base import Service
from steelyard.services.kit.context import ServiceContext
from steelyard.services.kit.ports import list_listening_ports
from steelyard.services.program import ProgramService
from steelyard.sites.local import Local, LocalOptions
from steelyard.spec.bind import make_service
from steelyard.transports.piped import PipedTransport

KIND = find("services", "program", Service)
SLEEP = "exec sleep 1000"
LASTING = """
import signal, socket, sys, time
def end(*_): print("in order", flush=True); sys.exit()
signal.signal(signal.SIGTERM, end)
server = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("serves", flush=True)
try: time.sleep(1000)
except KeyboardInterrupt: end()
"""


@pytest.fixture
def serving(place: Path) -> Callable[..., None]:
    """Deploy a server on this machine, and look at it."""

    def run(
        options: dict[str, Any], look: Callable[[Service[Any]], Awaitable[None]], known: Any = None
    ) -> Service[Any]:
        async def deploy() -> Service[Any]:
            async with Local(LocalOptions()).lease(Token.of("test-program"), place / "log", 1) as hosts:
                service = make_service(KIND, options, context(place, hosts, known or {}), known or {})
                await hosts[0].make_scratch(service.scratch(hosts[0]))
                async with service.deploy():
                    await look(service)
                return service

        return asyncio.run(deploy())

    return run


@pytest.mark.parametrize("stop", ["SIGINT", "SIGTERM"])
def test_on_a_host_behind_an_agent_it_ends_by_its_signal_and_is_read(place, monkeypatch, stop):
    """What a shell starts in the background ignores SIGINT; this one does not."""
    monkeypatch.setenv("STEELYARD_PROBE", "none")
    options = {
        "run": ["python3", "-c", LASTING, "${self.address}", "${port}"],
        "ready": {"line": "^serves"},
        "stop": {"signal": stop, "within": f"{PATIENCE:g}s"},
        "authentication": "a token",
    }

    async def deploy() -> Service[Any]:
        transport = PipedTransport("n1", "127.0.0.1", shell="sh")
        async with ShellHost.open(transport, Token.of("test-program"), place / "log") as host:
            service = make_service(KIND, options, context(place, (host,), {"experiment.dir": "/nowhere"}), {})
            await host.make_scratch(service.scratch(host))
            async with service.deploy():
                assert await service.is_settled()
            missing = await explain_missing_file(
                host, Command(("sh", "/nowhere/server.sh", "/bin/sh")), "/nowhere"
            )
            assert "/nowhere/server.sh is not on n1; put the experiment in a directory" in missing
            return service

    service = asyncio.run(deploy())
    assert service.complaints == []
    assert "in order" in (place / "logs" / "n1-program.log").read_text()


def context(place: Path, hosts: tuple[Host, ...], known: Any) -> ServiceContext:
    scratch = {host.name: PurePosixPath(place / host.name) for host in hosts}
    return ServiceContext("web", hosts, scratch, place / "logs", (), "x", ready_timeout=PATIENCE, known=known)


async def nothing(service: Service[Any]) -> None:
    """It is ready; that is all."""


async def never(service: Service[Any]) -> None:
    pytest.fail("it was never ready")


@pytest.mark.parametrize(
    "options",
    [
        {"script": f"echo almost; echo 'now: ready' >&2; {SLEEP}", "ready": {"line": "^now: re"}},
        {"script": f"touch there; {SLEEP}", "ready": {"command": ["test", "-e", "there"]}},
        {
            "script": f"touch there; {SLEEP}",
            "env": {"A": "b"},
            "ready": {"command": ["sh", "-c", "[ $A = b ]"]},
        },
        {
            "run": ["python3", "-m", "http.server", "--bind", "${self.address}", "${port}"],
            "ready": {"url": "/"},
        },
    ],
)
def test_it_is_ready_by_its_output_by_http_or_by_a_command(serving, options):
    serving(options, nothing)


def test_it_listens_on_ports_that_are_free_and_tells_them(serving):
    script = """python3 - <<'END'
import os, socket, time
free = [socket.create_server(("127.0.0.1", int(port))) for port in os.environ["PORTS"].split()]
time.sleep(1000)
END"""
    options = {"script": script, "ports": ["admin"], "env": {"PORTS": "${self.admin_port} ${port}"}}
    options["script"] = (
        f'[ "${{port}}" = "$STEELYARD_SELF_PORT" ] && [ "$admin_port" = ${{self.admin_port}} ]\n{script}'
    )

    async def look(service: Service[Any]) -> None:
        endpoint = service.endpoint()
        admin = int(endpoint.facts["admin_port"])
        assert {endpoint.port, admin} <= await list_listening_ports(service.servers[0].host)
        env = service.servers[0].command.env
        assert (env["STEELYARD_SELF_PORT"], env["STEELYARD_KV_PORT"]) == (str(endpoint.port), "6379")
        assert "bound" not in endpoint.facts

    serving(options, look, {"kv.port": 6379})


def test_one_that_listens_at_every_address_is_told_of(serving):
    async def look(service: Service[Any]) -> None:
        assert service.endpoint().facts["bound"] == "every address of its host"

    serving({"run": ["python3", "-m", "http.server", "--bind", "0.0.0.0", "${port}"]}, look)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"script": "echo no config >&2; exit 3"}, r"ended with code 3 before it was ready; .*no config"),
        (
            {"script": SLEEP, "ready": {"command": ["false"], "within": "300ms"}},
            "waiting for `false` to exit with code 0; its log is empty",
        ),
    ],
)
def test_one_that_does_not_come_up_says_why(serving, options, says):
    with pytest.raises(HostError, match=f"(?s){says}"):
        serving(options, never)


@pytest.mark.parametrize(
    ("options", "ready", "printed", "says"),
    [
        (
            {"script": f"echo begins; {SLEEP}"},
            {},
            "begins",
            r"waiting for something to listen on 127.0.0.1:\d+; its log ends: begins",
        ),
        (
            {"script": f"echo begins; {SLEEP}"},
            {"line": "^listens"},
            "begins",
            r"waiting for a line of its output that matches '\^listens'; its log ends: begins",
        ),
        (
            {"run": ["python3", "-m", "http.server", "--bind", "127.0.0.1", "${port}"]},
            {"url": "/no-such-file"},
            " 404 ",
            r"waiting for http://127.0.0.1:\d+/no-such-file to answer with 2xx or 3xx; .* 404 ",
        ),
    ],
)
def test_one_that_runs_but_is_not_ready_says_what_is_missing(
    serving, monkeypatch, options, ready, printed, says
):
    """Its time counts from when it has printed something, however long a busy machine takes for that."""
    real = ProgramService.ready

    async def print_first(service: ProgramService) -> None:
        (server,) = service.servers
        while printed not in server.describe_log():
            assert server.exit is None, server.describe_log()
            assert not await service.is_answering(server)
            await asyncio.sleep(0.01)
        await real(service)

    monkeypatch.setattr(ProgramService, "ready", print_first)
    with pytest.raises(HostError, match=f"(?s)not ready within 0.3 s, {says}"):
        serving({**options, "ready": {**ready, "within": "300ms"}}, never)


def test_it_ends_by_its_own_signal(serving, place):
    script = """trap 'echo ends in order; exit 0' USR1; trap '' TERM
echo up; while :; do sleep 0.05; done"""
    options = {"script": script, "ready": {"line": "up"}, "stop": {"signal": "USR1"}}
    service = serving(options, nothing)
    assert service.complaints == []
    assert "ends in order" in (place / "logs" / "local-program.log").read_text()


def test_one_that_ignores_its_signal_is_killed_with_a_warning(serving):
    options = {
        "script": "trap '' TERM; echo up; while :; do sleep 0.05; done",
        "ready": {"line": "up"},
        "stop": {"within": "200ms"},
    }
    service = serving(options, nothing)
    assert service.complaints == [
        "service web: program on local did not end within 0.2 s of SIGTERM and was killed"
    ]


def test_what_it_asks_for_decides_whether_it_is_open():
    own = KIND(KIND.Options(run=("x",)), context(Path("/x"), (), {}))
    assert own.is_open()
    asking = KIND(KIND.Options(run=("x",), authentication="a token"), context(Path("/x"), (), {}))
    assert not asking.is_open()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "give either 'run: \\[program"),
        ({"run": ["x"], "ready": {"line": "("}}, "is not a regular expression"),
        ({"run": ["x"], "ready": {"url": "http://x/"}}, "is not a path such as /health"),
        ({"run": ["x"], "ready": {"line": "a", "url": "/"}}, "not line and url"),
        ({"run": ["x"], "stop": {"signal": "TURM"}}, "'TURM' is not a signal"),
        ({"run": ["x"], "ports": ["Admin port"]}, "Admin port"),
    ],
)
def test_a_mistake_in_its_options_is_told(options, says):
    with pytest.raises(SpecError, match=says):
        make_service(KIND, options, context(Path("/x"), (), {}), {})
