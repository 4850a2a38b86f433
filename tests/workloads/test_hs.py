"""`use: hs`: the kernels, the reference, and the mean of their ratios."""

from __future__ import annotations

import json
import subprocess
from math import sqrt
from pathlib import Path, PurePosixPath

import pytest
from pydantic import ValidationError

from steelyard.errors import NothingMeasured, ParseFailure
from steelyard.model.command import Exit, Output, Place
from steelyard.workloads import hs
from steelyard.workloads.hs import Hs, HsOptions
from steelyard.workloads.hs.kernels import KERNELS

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
REFERENCE = json.loads(Path(hs.__file__).with_name("reference.json").read_text())
SAID = {
    "primes": "    events per second:  {}\n",
    "queens": "stress-ng: metrc: [7] cpu   1860   1.00   1.00   0.00   {}   1873.31\n",
    "sha512": "+H:16384\n+F:7:sha512:{}\n",
    "rsa2048": "+F2:2:2048:{}:75114.000000\n",
    "lzma": "Avr:     11856   100  10559  10562\nTot:             100   7584   {}\n",
}


def made(*kernels: str, **options) -> Hs:
    chosen = {"kernels": list(kernels), **options} if kernels else options
    return Hs(HsOptions.model_validate(chosen))


def output(folder: Path, rates: dict[str, object]) -> Output:
    raw = {f"{name}.txt": folder / f"{name}.txt" for name in rates}
    for name, rate in rates.items():
        raw[f"{name}.txt"].write_text(SAID[name].format(rate))
    return Output(EXIT, "", "", raw)


def test_every_kernel_has_a_reference_and_its_source_is_stated():
    assert set(REFERENCE["rates"]) == set(KERNELS)
    assert all(rate > 0 for rate in REFERENCE["rates"].values())
    for key in ("about", "date", "cpu", "system", "versions"):
        assert REFERENCE[key]


def test_the_score_is_the_geometric_mean_of_the_ratios(tmp_path):
    rates = {"primes": 2 * REFERENCE["rates"]["primes"], "sha512": 0.5 * REFERENCE["rates"]["sha512"]}
    values = made("primes", "sha512").parse("run", output(tmp_path, rates)).values
    assert values == pytest.approx({"score": 1.0, "primes": 2.0, "sha512": 0.5})
    rates["sha512"] *= 2
    assert made("primes", "sha512").parse("run", output(tmp_path, rates)).values["score"] == pytest.approx(
        sqrt(2)
    )


@pytest.mark.parametrize("name", SAID)
def test_each_tool_is_read_where_it_says_its_rate(name, tmp_path):
    reading = made(name).parse("run", output(tmp_path, {name: 1234}))
    assert reading.facts["rates"] == {name: 1234.0}


@pytest.mark.parametrize("rate", ["", "nan", "x"])
@pytest.mark.parametrize("name", SAID)
def test_no_rate_is_no_reading(name, rate, tmp_path):
    with pytest.raises(ParseFailure, match=f"kernel {name}"):
        made(name).parse("run", output(tmp_path, {name: rate}))


@pytest.mark.parametrize("name", SAID)
def test_a_kernel_that_completed_nothing_is_told(name, tmp_path):
    with pytest.raises(NothingMeasured, match=f"kernel {name} completed nothing"):
        made(name).parse("run", output(tmp_path, {name: 0}))


def test_kernels_run_in_order_and_one_that_fails_is_quoted(tmp_path):
    for name, script in (("sysbench", "echo fine"), ("openssl", "echo no such cipher; exit 3")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    place = Place(PurePosixPath(tmp_path), PurePosixPath(tmp_path), 2, 2**30, 1)
    command = made("primes", "sha512", "queens").command(place)
    env = {**command.env, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(command.argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "no such cipher\n"
    assert (tmp_path / "primes.txt").read_text() == "fine\n"
    assert not (tmp_path / "queens.txt").exists()


def test_it_says_that_it_is_not_hs06():
    assert "NOT HS06" in (Hs.__doc__ or "").partition("\n")[0]


@pytest.mark.parametrize("kernels", [[], ["primes", "primes"], ["spec"]])
def test_unknown_kernels_are_refused(kernels):
    with pytest.raises(ValidationError):
        HsOptions.model_validate({"kernels": kernels})
    with pytest.raises(ValidationError):
        made(duration="1500ms")
