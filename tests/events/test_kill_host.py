"""What comes back when whole hosts were killed: they themselves, and the servers that were on them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.errors import HostLost, UsageError
from steelyard.events.base import EventContext
from steelyard.events.kill_host import KillHost, KillHostOptions


class Machine:
    """A host that can be killed; it keeps what was done to it."""

    comes_back_empty = False

    def __init__(self, name: str) -> None:
        self.name, self.done = name, list[str]()

    async def kill_host(self) -> None:
        self.done.append("killed")

    async def revive(self) -> None:
        self.done.append("revived")


class Store:
    """A service with a server on some hosts."""

    def __init__(self, *hosts: Machine) -> None:
        self.hosts, self.restarted = hosts, list[str]()

    def processes(self) -> list[Any]:
        return [SimpleNamespace(host=host) for host in self.hosts]

    async def kill(self, host: str) -> None:
        raise AssertionError

    async def restart(self, host: str) -> None:
        self.restarted.append(host)


class Mount:
    """A service that cannot be restarted."""

    def __init__(self, *hosts: Machine) -> None:
        self.hosts = hosts

    def processes(self) -> list[Any]:
        return [SimpleNamespace(host=host) for host in self.hosts]


def event(
    hosts: tuple[Machine, ...], services: dict[str, Any], lasting: set[str], **options: Any
) -> KillHost:
    context = EventContext(services, lambda _: hosts, {}, Path("logs"), lasting_services=frozenset(lasting))
    return KillHost(KillHostOptions.model_validate({"on": "db", **options}), context)


def test_hosts_that_were_killed_for_a_while_have_all_their_servers_again() -> None:
    one, two = Machine("n1"), Machine("n2")
    both, other = Store(one, two), Store(two)
    made = event((one,), {"both": both, "other": other}, set(), length="1ms")
    made.check()
    facts = asyncio.run(made.happen())
    assert facts["hosts"] == ["n1"]
    assert facts["revive_time"] >= 0
    assert (one.done, two.done) == (["killed", "revived"], [])
    assert (both.restarted, other.restarted) == (["n1"], [])


def test_at_the_end_only_servers_that_outlive_the_trial_are_restarted() -> None:
    host = Machine("n1")
    lasting, passing = Store(host), Store(host)
    made = event((host,), {"lasting": lasting, "passing": passing}, {"lasting"})
    assert asyncio.run(made.happen()) == {"hosts": ["n1"]}
    assert (host.done, lasting.restarted) == (["killed"], [])
    asyncio.run(made.heal())
    assert host.done == ["killed", "revived"]
    assert (lasting.restarted, passing.restarted) == (["n1"], [])


def test_a_server_that_nothing_can_restart_is_not_killed() -> None:
    one, two = Machine("n1"), Machine("n2")
    with pytest.raises(UsageError, match="service share has a server on host n1, and cannot restart it"):
        event((one,), {"share": Mount(one)}, set()).check()
    event((one,), {"share": Mount(two)}, set()).check()


class Pod(Machine):
    """A host that loses its files when it is killed."""

    comes_back_empty = True


@pytest.mark.parametrize(("lasting", "options"), [({"store"}, {}), (set(), {"length": "5s"})])
def test_servers_are_not_restarted_on_a_host_without_their_files(
    lasting: set[str], options: dict[str, Any]
) -> None:
    pod = Pod("db-0")
    with pytest.raises(UsageError, match="store has a server on host db-0, which comes back without") as told:
        event((pod,), {"store": Store(pod)}, lasting, **options).check()
    assert "`keep: trial`" in told.value.hint


def test_servers_that_end_with_their_trial_may_die_with_such_a_host() -> None:
    pod = Pod("db-0")
    store = Store(pod)
    killing = event((pod,), {"store": store, "mount": Mount(pod)}, set())
    killing.check()

    async def story() -> None:
        await killing.happen()
        await killing.heal()

    asyncio.run(story())
    assert (pod.done, store.restarted) == (["killed", "revived"], [])


def test_one_that_does_not_come_back_is_told_when_the_others_are_there() -> None:
    class Broken(Machine):
        async def revive(self) -> None:
            raise HostLost("guest n1 did not boot")

    one, two = Broken("n1"), Machine("n2")
    made = event((one, two), {}, set())
    with pytest.raises(HostLost, match="guest n1 did not boot"):
        asyncio.run(made.heal())
    assert two.done == ["revived"]
