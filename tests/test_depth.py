"""An entry is shallow: at most two of our own classes stand above it, the longest way."""

from __future__ import annotations

import pytest

from steelyard import plugins
from steelyard.events.base import Event
from steelyard.services.base import Service
from steelyard.sites.base import Site
from steelyard.workloads.base import Workload

MOST = 2
KINDS = [("workloads", Workload), ("services", Service), ("events", Event), ("sites", Site)]


def depth(entry: type) -> int:
    """How many of our classes stand above one, the longest way; a mixin stands beside its neighbours."""
    ours = [base for base in entry.__bases__ if base.__module__.startswith("steelyard.")]
    return 1 + max(map(depth, ours)) if ours else 0


@pytest.mark.parametrize(("kind", "base"), KINDS)
def test_at_most_two_of_our_classes_stand_above_an_entry(kind, base):
    entries = {name: plugins.find(kind, name, base) for name in plugins.builtin_names(kind)}
    assert entries
    assert not {name: depth(entry) for name, entry in entries.items() if depth(entry) > MOST}
