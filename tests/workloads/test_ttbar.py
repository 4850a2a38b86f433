"""`use: ttbar`: seeds, the job that runs on hosts without Steelyard, and its last line."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from pydantic import ValidationError

from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output, Place
from steelyard.tools.find import find_missing
from steelyard.workloads.ttbar import PYTHIA, Ttbar, TtbarOptions

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
PLACE = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, seed=7)
SAID = {"events": 4, "wall": 2.0, "cpu": 1.0, "initialisation": 0.5, "failed": 0, "cross_section_mb": 5e-7}


def made(**options) -> Ttbar:
    return Ttbar(TtbarOptions.model_validate(options))


def asked(place: Place) -> dict:
    return json.loads(made().command(place).argv[-1])


def ran(place: Place, **options) -> subprocess.CompletedProcess[str]:
    if find_missing([PYTHIA]):
        pytest.skip("pythia8mc is not installed; `steelyard install pythia8mc` brings it")
    command = made(**options).command(place)
    return subprocess.run(command.argv, input=command.stdin, capture_output=True, text=True, check=False)


def test_the_rate_leaves_initialisation_out():
    line = "PYTHIA Warning: something\n" + json.dumps(SAID) + "\n"
    values = made(events=4).parse("run", Output(EXIT, line, "")).values
    assert values == {"event_rate": 2.0, "cpu_per_event": 0.25, "initialisation": 0.5}


@pytest.mark.parametrize("change", [{"events": 3}, {"wall": 0}, {"cpu": "x"}, {"initialisation": None}])
def test_other_than_what_was_asked_for_is_no_reading(change):
    with pytest.raises(ParseFailure):
        made(events=4).parse("run", Output(EXIT, json.dumps(SAID | change), ""))


def test_each_copy_draws_events_of_its_own_with_seeds_that_pythia_takes():
    seeds = [asked(replace(PLACE, copy=copy))["seed"] for copy in range(3)]
    assert len(set(seeds)) == 3
    assert 1 <= asked(replace(PLACE, seed=2**31))["seed"] <= 900_000_000


def test_the_job_needs_nothing_of_steelyard():
    assert "import steelyard" not in (made().command(PLACE).stdin or "")
    assert "from steelyard" not in (made().command(PLACE).stdin or "")


def test_the_same_seed_makes_the_same_events_and_another_does_not():
    def particles(seed: int) -> int:
        return json.loads(ran(replace(PLACE, seed=seed), events=3).stdout.splitlines()[-1])["particles"]

    first = particles(1)
    assert first == particles(1) != particles(2)
    assert first > 300, "an event has hundreds of particles"


def test_top_pairs_have_the_cross_section_of_leading_order():
    done = ran(PLACE, events=30)
    found = json.loads(done.stdout.splitlines()[-1])
    assert 3e-7 < found["cross_section_mb"] < 8e-7, "about 0.5 nb at 13 TeV"


@pytest.mark.parametrize(
    "options",
    [{"events": 0}, {"processes": []}, {"processes": ["gg2ttbar"] * 2}, {"processes": ["gg2bbbar"]}],
)
def test_what_is_no_job_is_refused(options):
    with pytest.raises(ValidationError):
        made(**options)


def test_a_host_that_lacks_the_package_is_told_how_to_get_it():
    command = made().command(PLACE)
    argv = [sys.executable, "-I", "-S", *command.argv[command.argv.index("-") :]]
    done = subprocess.run(argv, input=command.stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "`steelyard install pythia8mc`" in done.stderr
    assert "Traceback" not in done.stderr
