"""What every event must declare; and that one which acts on a service heals what it did."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import PurePosixPath
from typing import Any, ClassVar

from steelyard.events.base import Event, EventContext
from steelyard.hosts.base import Host
from steelyard.model.keys.timeline import OWN_KEYS
from steelyard.services.base import Service
from steelyard.testing.contract.bench import Bench, with_bench
from steelyard.testing.contract.services import find_least_options
from steelyard.testing.contract.suite import (
    Contract,
    Parameters,
    check_declaration,
    check_metrics,
    skip_without,
)
from steelyard.testing.patience import PATIENCE


class EventContract(Contract):
    """What every event must do.

    `service` is the plug-in on which events with a `service` act here; with it, their examples happen for
    real, on two hosts of this machine.
    """

    kind = "events"
    base = Event
    service: ClassVar[str] = ""

    @classmethod
    def parameters(cls) -> Parameters:
        """A `name`, and the examples that can happen on the `service`."""
        return {"name": sorted(cls.names), "happening": cls._list_happening()}

    @classmethod
    def _list_happening(cls) -> list[Any]:
        return [one for one in cls.number_examples() if cls.service and cls._acts(*one.values[0])]

    @classmethod
    def _acts(cls, name: str, index: int) -> bool:
        """Whether an example acts on a service that is capable of it."""
        kind = cls.find(name)
        capability = kind.capability or Service
        return "service" in kind.examples[index] and issubclass(cls._service_class(), capability)

    @classmethod
    def _service_class(cls) -> Any:
        from steelyard.spec.bind import service_class

        return service_class(cls.service)

    def test_it_declares_itself(self, name: str) -> None:
        kind = self.find(name)
        assert kind.examples
        check_declaration(kind, 60)
        assert not set(kind.Options.model_fields) & set(OWN_KEYS), "the timeline takes these keys for its own"

    def test_its_figures_have_unit_and_direction(self, name: str) -> None:
        check_metrics(self.find(name).metrics)

    def test_one_that_disrupts_also_heals(self, name: str) -> None:
        kind = self.find(name)
        assert not kind.is_disruptive or kind.heal is not Event.heal, "every event that harms also heals"

    def test_it_happens_and_heals_more_than_once(self, happening: tuple[str, int]) -> None:
        name, index = happening
        kind, service_kind = self.find(name), self._service_class()
        skip_without(service_kind.needs)

        async def test(made: Bench) -> None:
            service = made.service(self.service, find_least_options(service_kind))
            async with service.deploy():
                event = kind(
                    kind.Options.model_validate(kind.examples[index]),
                    make_context(made, service, kind.examples[index]["service"]),
                )
                event.check()
                async with AsyncExitStack() as scope:
                    scope.push_async_callback(event.heal)
                    facts = await event.happen()
                    assert {metric.name for metric in kind.metrics} <= set(facts)
                    await event.heal()
                assert await settles(service)
            assert await made.is_empty()

        with_bench(test)


async def settles(service: Service[Any]) -> bool:
    """Whether all servers of a service come to do their work."""
    deadline = time.monotonic() + PATIENCE
    while not await service.is_settled() and time.monotonic() < deadline:  # noqa: ASYNC110 - nothing tells us
        await asyncio.sleep(0.01)
    return await service.is_settled()


def make_context(made: Bench, service: Service[Any], name: str) -> EventContext:
    """What an event is given: one service, which outlives the trial, on the hosts of a role of that name."""

    def choose(text: str) -> tuple[Host, ...]:
        first, _, rest = text.partition("[")
        at = rest.rstrip("]")
        return made.hosts[int(at) : int(at) + 1] if at.isdigit() and first else made.hosts

    scratch: Mapping[str, PurePosixPath] = {
        host.name: PurePosixPath(made.place / host.name) for host in made.hosts
    }
    return EventContext({name: service}, choose, scratch, made.place / "logs", frozenset({name}))
