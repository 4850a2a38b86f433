"""Which skews of a common start are proven, given what is known of the hosts' clocks."""

from __future__ import annotations

import pytest

from steelyard.controller.trial.lockstep import Punctuality
from steelyard.model.keys.uses import Start

WANTED = Start.model_validate({"skew": "5ms"})


def begun(doubt: float, **started: float) -> Punctuality:
    """Copies `a…` on one host, `b…` on another."""
    hosts = {name: name[0] for name in started}
    return Punctuality(started, started, hosts, dict.fromkeys(sorted(set(hosts.values())), doubt))


def test_a_skew_beyond_what_the_clocks_leave_in_doubt_is_a_disturbance():
    start = begun(0.001, a=0.0, b=0.0075)
    assert start.min_skew == pytest.approx(0.0055)
    (mark,) = start.marks(WANTED)
    assert mark.kind == "disturbed"
    said = "start skew 7.50 ms (by clocks known within 2.00 ms) is more than 5.00 ms; b started last"
    assert mark.reason == said
    assert not start.warnings(WANTED)


def test_a_skew_within_the_doubt_is_no_proof_and_a_warning_says_so():
    start = begun(0.002, a=0.0, b=0.0075)
    assert not start.marks(WANTED)
    (text,) = start.warnings(WANTED)
    assert "it is unknown whether copies began within 5.00 ms of each other" in text
    assert start.facts()["skew_doubt"] == 0.004
    assert begun(0.002, a=0.0, b=0.004).warnings(WANTED), "it may have been 8 ms"


def test_a_skew_that_keeps_to_the_bound_with_all_doubt_says_nothing():
    start = begun(0.001, a=0.0, b=0.003)
    assert not start.marks(WANTED)
    assert not start.warnings(WANTED)
    assert not begun(9.0, a=0.0, b=1.0).warnings(Start()), "nothing was asked for"


def test_copies_of_one_host_share_its_clock():
    start = begun(1.0, a0=0.0, a1=0.006)
    assert (start.doubt, start.min_skew) == (0.0, 0.006)
    (mark,) = start.marks(WANTED)
    assert mark.reason == "start skew 6.00 ms is more than 5.00 ms; a1 started last"
    assert begun(1.0, a0=0.0, a1=0.006, b=0.001).marks(WANTED), "the pair of one host proves it"
