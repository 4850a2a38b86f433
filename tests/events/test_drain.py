"""Nodes under hosts are drained, and uncordoned whatever happens; servers there must end with the trial."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.errors import UsageError
from steelyard.events.base import EventContext
from steelyard.events.drain import Drain, DrainOptions
from steelyard.events.uncordon import Uncordon, UncordonOptions
from steelyard.spec.load import check_tree


class Pod:
    """A host on a node; it keeps what was done to it."""

    comes_back_empty = True

    def __init__(self, name: str) -> None:
        self.name, self.done, self.mates = name, list[str](), tuple[Pod, ...]()

    def list_node_hosts(self) -> tuple[Pod, ...]:
        return (self, *self.mates)

    async def drain_node(self) -> str:
        self.done.append("drained")
        return f"node of {self.name}"

    async def uncordon_node(self) -> None:
        self.done.append("uncordoned")


def store(*hosts: Pod) -> Any:
    return SimpleNamespace(processes=lambda: [SimpleNamespace(host=host) for host in hosts])


def context(hosts: tuple[Any, ...], services: dict[str, Any], lasting: set[str]) -> EventContext:
    return EventContext(services, lambda _: hosts, {}, Path("logs"), lasting_services=frozenset(lasting))


def drain(*hosts: Any, lasting: set[str] | None = None, services: Any = None, **options: Any) -> Drain:
    about = context(hosts, services or {}, lasting or set())
    return Drain(DrainOptions.model_validate({"on": "db", **options}), about)


def test_nodes_stay_cordoned_until_the_end_of_the_trial() -> None:
    pods = Pod("a"), Pod("b")

    async def story() -> None:
        draining = drain(*pods)
        draining.check()
        assert await draining.happen() == {"nodes": ["node of a", "node of b"]}
        assert [pod.done for pod in pods] == [["drained"]] * 2
        await draining.heal()

    asyncio.run(story())
    assert [pod.done for pod in pods] == [["drained", "uncordoned"]] * 2


def test_or_for_as_long_as_was_said() -> None:
    pod = Pod("a")
    facts = asyncio.run(drain(pod, length="1ms").happen())
    assert pod.done == ["drained", "uncordoned"]
    assert facts["revive_time"] >= 0


def test_or_until_they_are_uncordoned() -> None:
    pod = Pod("a")
    event = Uncordon(UncordonOptions(on="db"), context((pod,), {}, set()))
    event.check()
    assert asyncio.run(event.happen()) == {"hosts": ["a"]}
    assert pod.done == ["uncordoned"]


@pytest.mark.parametrize("options", [{"lasting": {"store"}}, {"length": "5s"}])
def test_servers_on_the_node_must_end_with_the_trial(options: dict[str, Any]) -> None:
    pod, mate = Pod("a"), Pod("mate")
    pod.mates = (mate,)
    with pytest.raises(UsageError, match="store has a server on host mate, which comes back without"):
        drain(pod, services={"store": store(mate)}, **options).check()
    drain(pod, services={"store": store(mate)}).check()


def test_a_host_without_a_node_is_refused() -> None:
    machine = SimpleNamespace(name="n1")
    with pytest.raises(UsageError, match="host n1 is on no node that can be drained"):
        drain(machine).check()
    with pytest.raises(UsageError, match="host n1 is on no node that can be drained"):
        Uncordon(UncordonOptions(on="db"), context((machine,), {}, set())).check()


@pytest.mark.parametrize("event", ["drain", "uncordon"])
def test_the_file_must_allow_it(event: str) -> None:
    tree = {
        "experiment": "e",
        "allow": "drain",
        "roles": {"db": 1},
        "workload": {"use": "command", "run": ["true"], "on": "db"},
        "timeline": [{"do": event, "on": "db"}],
    }
    assert not check_tree(tree)[1]
    del tree["allow"]
    (fault,) = check_tree(tree)[1]
    assert fault.path == ("timeline", 0, "do")
    assert "add `allow: drain` to the file" in fault.message
