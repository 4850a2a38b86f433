"""`use: db12`: what the job's last line says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import PurePosixPath

import pytest

from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output, Place
from steelyard.workloads.db12 import Db12, Db12Options

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
PLACE = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, seed=7, copy=3)
SAID = {"score": 50.0, "cpu": 10.0, "wall": 12.0, "iterations": 2, "db12": "1.0.4", "python": "3.11.7"}


def read(**change):
    line = json.dumps(SAID | change)
    return Db12(Db12Options(iterations=2)).parse("run", Output(EXIT, f"\n{line}\n", "WARNING: raw norm"))


def test_times_are_those_of_an_iteration():
    assert read().values == {"score": 50.0, "cpu_per_iteration": 5.0, "wall_per_iteration": 6.0}


def test_whether_the_score_was_corrected_is_a_fact():
    assert read().facts == {"db12": "1.0.4", "python": "3.11.7", "corrected": False}
    assert read(score=45.0).facts["corrected"] is True


@pytest.mark.parametrize("change", [{"iterations": 1}, {"cpu": 0}, {"score": "fast"}, {"python": 3}])
def test_damage_is_no_reading(change):
    with pytest.raises(ParseFailure):
        read(**change)


def test_each_copy_draws_numbers_of_its_own():
    command = Db12(Db12Options(iterations=2, correction=False)).command(PLACE)
    assert json.loads(command.argv[-1]) == {"iterations": 2, "correction": False, "seed": 10}
    assert "steelyard." not in (command.stdin or "")


def test_a_host_that_lacks_the_package_is_told_how_to_get_it():
    command = Db12(Db12Options()).command(PLACE)
    argv = [sys.executable, "-I", "-S", *command.argv[command.argv.index("-") :]]
    done = subprocess.run(argv, input=command.stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "`steelyard install db12`" in done.stderr
    assert "Traceback" not in done.stderr
