"""`use: etcd_perf`: what is asked, and what real output says."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from pydantic import ValidationError

from steelyard.errors import ParseFailure
from steelyard.model.command import Endpoint, Exit, Output, Place
from steelyard.workloads.etcd_perf import EtcdPerf

DATA = Path(__file__).parents[1] / "data" / "etcd"
EXIT = Exit(0, None, 61.0, 1.0, 1.0, 0, 0.0)
CLUSTER = {"protocol": "etcd", "servers": "10.0.0.1:1,10.0.0.2:1", "user": "root"}


def made(**options) -> EtcdPerf:
    return EtcdPerf(EtcdPerf.Options.model_validate(options))


def command(to: Endpoint | None, copy: int = 0, **options):
    place = Place(PurePosixPath("/scratch"), PurePosixPath("/raw"), 2, 2**30, 1, copy, 3, to=to)
    return made(**options).command(place)


def parse(text: str):
    return made().parse("run", Output(EXIT, text, "")).values


def test_a_cluster_that_is_fit():
    assert parse((DATA / "perf-pass.txt").read_text()) == {
        "throughput": 150,
        "slowest": 0.079502,
        "deviation": 0.003389,
        "errors": 0,
        "passed": 1,
    }


def test_one_that_is_too_slow_is_a_result():
    """Its server was stopped for three seconds."""
    assert parse((DATA / "perf-fail.txt").read_text()) == {
        "throughput": 144,
        "slowest": 3.021744,
        "deviation": 0.216726,
        "errors": 0,
        "passed": 0,
    }


def test_errors_and_a_low_throughput_are_told():
    """A member was killed, and another one frozen."""
    values = parse((DATA / "perf-errors.txt").read_text())
    assert values["errors"] == 3
    assert values["throughput"] == 127
    assert values["slowest"] > 10
    assert values["passed"] == 0


@pytest.mark.parametrize(
    "lost", ["PASS: Throughput is 150 writes/s\n", "PASS: Stddev is 0.003389s\n", "\nPASS\n"]
)
def test_what_is_not_whole_is_no_reading(lost):
    text = (DATA / "perf-pass.txt").read_text()
    assert lost in text
    with pytest.raises(ParseFailure, match=r"no verdict|0 lines match"):
        parse(text.replace(lost, ""))


def test_two_answers_to_one_question_are_no_reading():
    text = (DATA / "perf-pass.txt").read_text()
    with pytest.raises(ParseFailure, match="2 lines match"):
        parse(text.replace("PASS: Stddev", "PASS: Stddev is 0.1s\nPASS: Stddev"))


def test_its_password_is_a_secret_and_nothing_else():
    found = command(Endpoint("10.0.0.1", 1, CLUSTER, "sesame", "PEM"), copy=2, load="m")
    assert found.secrets == {"ETCDCTL_USER": "root:sesame"}
    assert "sesame" not in " ".join([*found.argv, *found.env.values(), repr(found)])
    assert found.env == {"ETCDCTL_ENDPOINTS": "https://10.0.0.1:1,https://10.0.0.2:1", "AUTHORITY": "PEM"}
    assert found.argv[-4:] == ("--load", "m", "--prefix", "steelyard-2-")


def test_a_cluster_of_ones_own():
    found = command(None, server="a.example:2379,b.example:2379")
    assert found.env == {"ETCDCTL_ENDPOINTS": "http://a.example:2379,http://b.example:2379"}
    assert not found.secrets
    assert "no server" in command(None).argv[-1]


@pytest.mark.parametrize("options", [{"load": "huge"}, {"server": "a.example"}, {"server": "a:1; rm"}])
def test_what_cannot_be_asked_is_refused(options):
    with pytest.raises(ValidationError):
        made(**options)
