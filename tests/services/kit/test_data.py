"""What a server may do to the host on which root starts it: it is another user each time, who can write
nowhere else, and what it plants leads root nowhere."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from steelyard.errors import HostError
from steelyard.hosts.unused.accounts import is_unnamed
from steelyard.services.kit.data import DataDirectory, give, lend, make_data, take_back
from steelyard.services.kit.private_files import write_private

databases = loaded(Path(__file__).parents[1] / "test_databases.py")
contract = databases.contract
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root's servers run as somebody else")
SECRET = "what only root may read"


def as_server(data: DataDirectory, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program as the user of a server, as one that was taken over would."""
    argv = data.account_command(*words).argv
    return subprocess.run(argv, capture_output=True, text=True, check=False, **options)


def permitted(data: DataDirectory, place: Path, how: str) -> set[Path]:
    """What a server's user may write to (`-w`) or read (`-r`), of all that lies below a directory."""
    paths = "\n".join(str(path) for path in (place, *place.rglob("*")) if not path.is_symlink())
    ask = f'while read -r path; do [ {how} "$path" ] && echo "$path"; done; true'
    return set(map(Path, as_server(data, "sh", "-c", ask, input=paths).stdout.splitlines()))


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.full] * (name == "ceph")) for name in contract.ENTERING]
)
def test_a_server_can_write_to_its_data_alone_and_read_nothing_of_another(name):
    async def test(made, service, endpoint):
        one, other = (service.data[host.name] for host in made.hosts)
        assert one.account != other.account
        assert is_unnamed(int(one.account))
        for data, host in ((one, made.hosts[0]), (other, made.hosts[1])):
            inside = permitted(data, made.place / host.name, "-w")
            assert data.path in inside
            assert all(path.is_relative_to(data.path) for path in inside)
        elsewhere = permitted(one, made.place / made.hosts[1].name, "-r")
        assert {path.name for path in elsewhere} <= {"s2n-netbench-driver-server-tcp"}

    databases.with_service(name, {"fsync": False} if name == "postgresql" else {}, test)


@pytest.mark.parametrize("trick", ["a link", "a pipe", "a file of root's", "nothing"])
def test_what_comes_back_from_a_server_has_root_read_nothing_else(trick):
    async def test(made):
        service, (host,) = made.service("redis", {}), made.hosts
        secret, place = made.place / "secret", service.scratch(host) / "kept" / "one"
        secret.write_text(SECRET)
        data = (await make_data(service, [host]))[host.name]
        await lend(service.make_runner(host, "lend"), data, place)
        as_server(data, "sh", "-ec", f"mkdir -p {place}/deep; echo rows > {place}/deep/rows")
        plant = {"a link": ("ln", "-s", str(secret)), "a pipe": ("mkfifo",)}
        if trick in plant:
            as_server(data, *plant[trick], f"{place}/deep/more")
        elif trick != "nothing":
            os.link(secret, Path(place) / "deep" / "more")  # as a kernel lets it that protects no links
        if trick == "nothing":
            await take_back(service.make_runner(host, "back"), data, place)
            assert (Path(place) / "deep" / "rows").read_text() == "rows\n"
        else:
            with pytest.raises(HostError, match=r"not its own files: .*/deep/more"):
                await take_back(service.make_runner(host, "back"), data, place)
        assert not permitted(data, Path(place), "-w") - {Path(place) / "deep" / "rows"}
        moved = as_server(data, "mv", str(place), str(data.path / "away"))
        assert moved.returncode != 0, "nor can it be exchanged"

    contract.with_bench(test, hosts=1)


def test_what_is_given_to_a_server_is_its_own_and_a_link_in_it_leads_nowhere():
    async def test(made):
        service, (host,) = made.service("redis", {}), made.hosts
        secret, place = made.place / "secret", Path(service.scratch(host)) / "incoming"
        secret.write_text(SECRET)
        data = (await make_data(service, [host]))[host.name]
        await host.make_directory(service.scratch(host) / "incoming")
        (place / "deep").mkdir()
        (place / "deep" / "rows").write_text("rows")
        (place / "deep" / "link").symlink_to(secret)
        assert as_server(data, "ls", str(place)).returncode != 0
        await give(service.make_runner(host, "give"), data, service.scratch(host) / "incoming")
        owners = {path.lstat().st_uid for path in (place, *place.rglob("*"))}
        assert owners == {int(data.account)}
        assert secret.stat().st_uid == 0
        assert as_server(data, "mv", str(place / "deep" / "rows"), str(data.path)).returncode == 0

    contract.with_bench(test, hosts=1)


def test_a_link_in_the_way_of_a_configuration_has_root_write_nowhere():
    async def test(made):
        service, (host,) = made.service("redis", {}), made.hosts
        victim = made.place / "victim"
        victim.write_text(SECRET)
        data = (await make_data(service, [host]))[host.name]
        link = service.scratch(host) / "redis.conf"
        as_server(data, "ln", "-s", str(victim), str(link))
        await write_private(service, host, data, {link.name: "requirepass x"})
        assert victim.read_text() == SECRET
        assert victim.stat().st_uid == 0
        assert not Path(link).is_symlink()

    contract.with_bench(test, hosts=1)


def test_links_among_the_data_of_redis_lead_root_neither_to_read_nor_to_write():
    async def test(made, service, endpoint):
        (server,), data = service.servers, service.data["local"]
        secret, victim = made.place / "secret", made.place / "victim"
        for path in (secret, victim):
            path.write_text(SECRET)
            path.chmod(0o600)
        as_server(data, "ln", "-sf", str(secret), str(data.path / "dump.rdb"))
        with pytest.raises(Exception, match="Permission denied"):
            await service._primaries()._copy(server, lambda host: None, "taken")
        files = (path for path in made.place.rglob("*") if path.is_file() and not path.is_symlink())
        kept = [path for path in files if path not in (secret, victim)]
        assert not any(SECRET.encode() in path.read_bytes() for path in kept)
        incoming = Path(service.scratch(server.host) / "incoming")
        incoming.mkdir()
        (incoming / "dump.rdb").write_bytes(b"REDIS0010")
        as_server(data, "ln", "-s", str(victim), str(data.path / "dump.rdb.new"))
        with pytest.raises(Exception, match="Permission denied"):
            await service._primaries()._restart_from_dump(server)
        assert victim.read_text() == SECRET
        assert victim.stat().st_uid == 0

    databases.with_service("redis", {}, test, hosts=1)


def test_what_a_server_leaves_running_is_found_by_the_token_of_its_run():
    async def test(made: Any, service: Any, endpoint: Any) -> None:
        there = made.running()
        assert {server.process.pid for server in service.servers} <= set(there)

    databases.with_service("redis", {}, test)
