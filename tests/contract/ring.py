"""A ring of Cassandra on loopback addresses, for tests of what talks to one; its service deploys it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from steelyard.model.command import Endpoint
from steelyard.plugins import find
from steelyard.services.base import Service
from steelyard.testing.contract.bench import deployed_service
from steelyard.testing.contract.suite import skip_without

SMALL = {"heap": "256MiB", "jvm": ["-XX:TieredStopAtLevel=1"]}  # a quick start counts here, not speed


@contextmanager
def ring(nodes: int = 1, **options: Any) -> Iterator[Endpoint]:
    """One for as long as the block lasts. Skips where Cassandra is missing."""
    skip_without(find("services", "cassandra", Service).needs)
    with deployed_service("cassandra", {**SMALL, **options}, nodes) as endpoint:
        yield endpoint
