from __future__ import annotations

import pytest

from steelyard.analysis.claims import Claim, by_kind, claims_of, source, span


def claim(world: str, share: float, name: str = "coverage.mad") -> Claim:
    return Claim(name, world, "n=6", share, 1000, 1, "2026-11-23")


FOUND = [claim("normal sd 3", 0.9614), claim("bimodal x", 0.25), claim("normal sd 5", 0.99)]


def test_a_claim_is_said_with_its_source() -> None:
    assert span(FOUND) == "25 to 99 %"
    assert span(FOUND[:1]) == "96.1 %"
    assert by_kind(FOUND) == "96.1 to 99 % on normal and 25 % on bimodal data"
    assert by_kind(FOUND[:1]) == "96.1 % on normal data"
    assert source(FOUND) == "(coverage.mad, simulated 2026-11-23)"


def test_what_was_not_simulated_cannot_be_claimed() -> None:
    assert claims_of("coverage.mad", "bimodal")
    with pytest.raises(LookupError, match=r"no simulation coverage\.luck"):
        claims_of("coverage.luck")
