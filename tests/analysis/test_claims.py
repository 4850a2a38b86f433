from __future__ import annotations

import pytest

from steelyard.analysis.claims import (
    SimulationClaim,
    format_by_kind,
    format_source,
    format_span,
    select_claims,
)


def claim(world: str, share: float, name: str = "coverage.mad") -> SimulationClaim:
    return SimulationClaim(name, world, "n=6", share, 1000, 1, "2026-11-23")


FOUND = [claim("normal sd 3", 0.9614), claim("bimodal x", 0.25), claim("normal sd 5", 0.99)]


def test_a_claim_is_said_with_its_source() -> None:
    assert format_span(FOUND) == "25 to 99 %"
    assert format_span(FOUND[:1]) == "96.1 %"
    assert format_by_kind(FOUND) == "96.1 to 99 % on normal and 25 % on bimodal data"
    assert format_by_kind(FOUND[:1]) == "96.1 % on normal data"
    assert format_source(FOUND) == "(coverage.mad, simulated 2026-11-23)"


def test_what_was_not_simulated_cannot_be_claimed() -> None:
    assert select_claims("coverage.mad", "bimodal")
    with pytest.raises(LookupError, match=r"no simulation coverage\.luck"):
        select_claims("coverage.luck")
