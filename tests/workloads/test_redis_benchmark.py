"""`use: redis_benchmark`: options, commands, and what the recorded output does not show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from pydantic import ValidationError

from steelyard.errors import ParseFailure
from steelyard.model.command import Endpoint, Exit, Output, Place
from steelyard.workloads.redis_benchmark import RedisBenchmark, RedisBenchmarkOptions

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
SERVERS = "10.0.0.1:7000,10.0.0.2:7000"
TO = Endpoint("10.0.0.1", 7000, {"servers": SERVERS, "arrangement": "independent"}, "s3cret")
PLACE = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, 1, address="10.0.0.9", to=TO)
RECORDED = Path(__file__).parents[1] / "data" / "contract" / "redis_benchmark"


def made(**options) -> RedisBenchmark:
    return RedisBenchmark(RedisBenchmarkOptions.model_validate(options))


def argv(place: Place = PLACE, **options) -> str:
    return " ".join(made(**options).phases(place)[1].command.argv)


def emptied(place: Place) -> str:
    return made().phases(place)[0].command.env["EMPTY"]


def arranged(how: str) -> Place:
    return replace(PLACE, to=replace(TO, facts={**TO.facts, "arrangement": how}))


def read(text: str, **options):
    return made(**options).parse("run", Output(EXIT, text, ""))


def test_all_options_reach_the_command_line():
    found = argv(
        tests=["set", "lrange_100"],
        requests=7000,
        clients=3,
        pipeline=4,
        data_size="1KiB",
        keyspace=99,
        threads=2,
        cluster=True,
    )
    for words in (
        "-h 10.0.0.1 -p 7000",
        "-t set,lrange_100",
        "-n 7000",
        "-c 3",
        "-P 4",
        "-d 1024",
        "-r 99",
        "--threads 2",
    ):
        assert words in found
    assert found.endswith("--cluster")
    assert "-r " not in argv(keyspace=None)
    assert "--threads" not in argv()


def test_the_password_is_a_secret_of_the_command_and_nowhere_else():
    for phase in made().phases(PLACE):
        assert phase.command.secrets == {"REDISCLI_AUTH": "s3cret"}
        assert phase.command.variables["REDISCLI_AUTH"] == "s3cret"
        assert "s3cret" not in f"{phase.command} {phase.command.argv} {phase.command.env}"
    without = replace(PLACE, to=replace(TO, password=None))
    assert made().phases(without)[1].command.secrets == {}
    assert "s3cret" not in repr(PLACE)


def test_servers_that_are_reached_by_tls_must_be_of_the_authority_that_the_service_tells():
    prepare, run = (phase.command for phase in made().phases(replace(PLACE, to=replace(TO, authority="PEM"))))
    assert prepare.env["TLS"] == "--tls --cacert authority.pem"
    assert run.argv[5:8] == ("--tls", "--cacert", "authority.pem")
    assert prepare.env["AUTHORITY"] == run.env["AUTHORITY"] == "PEM"
    assert "--tls" not in argv()


def test_copies_are_spread_where_servers_are_independent_and_stay_with_a_primary():
    second = replace(PLACE, copy=1)
    assert "-h 10.0.0.2" in argv(second)
    assert "-h 10.0.0.1" in argv(replace(arranged("replicas"), copy=1))
    assert "--cluster" in argv(arranged("cluster"))
    assert "--cluster" not in argv(arranged("cluster"), cluster=False)


def test_only_the_first_copy_empties_and_only_what_is_ours():
    assert emptied(PLACE) == SERVERS.replace(",", " ")
    assert emptied(arranged("replicas")) == "10.0.0.1:7000", "a replica is read only"
    assert emptied(replace(PLACE, copy=1)) == ""
    own = made(server="far", port=1).phases(replace(PLACE, to=None))
    assert own[0].command.env == {"HOST": "far", "PORT": "1", "EMPTY": ""}


def test_without_a_server_it_is_a_failure_that_says_what_to_do():
    for phase in made().phases(replace(PLACE, to=None)):
        assert "name a service with 'to:'" in phase.command.argv[-1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tests": []}, "at least one test"),
        ({"tests": ["set", "set"]}, "each only once"),
        ({"tests": ["flushall"]}, "Input should be"),
        ({"data_size": "2GiB"}, "less than or equal"),
        ({"server": "a b"}, "not a host name"),
    ],
)
def test_what_cannot_be_is_refused(options, said):
    with pytest.raises(ValidationError, match=said):
        made(**options)


PART = """====== {title} ======
  1000 requests completed in 0.10 seconds
  keep alive: 1

Latency by percentile distribution:
0.000% <= 0.010 milliseconds (cumulative count 100)
50.000% <= 0.020 milliseconds (cumulative count 600)
99.900% <= 0.400 milliseconds (cumulative count 999)
100.000% <= 2.000 milliseconds (cumulative count 1000)

Cumulative distribution of latencies:
80.000% <= 0.103 milliseconds (cumulative count 800)
100.000% <= 2.103 milliseconds (cumulative count 1000)

Summary:
  throughput summary: 10000.50 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        0.050     0.010     0.020     0.300     0.350     2.000
"""


def test_the_histogram_has_all_points_that_are_told_and_the_exact_percentiles():
    reading = read(PART.format(title="SET"), tests=["set"], requests=1000)
    assert reading.values == {
        "set_rate": 10000.5,
        "set_latency_p50": 20e-6,
        "set_latency_p95": 300e-6,
        "set_latency_p99": 350e-6,
        "set_latency_p999": 400e-6,
        "set_latency_mean": 50e-6,
        "set_latency_max": 2e-3,
    }
    bins = {10e-6: 100, 20e-6: 500, 103e-6: 200, 300e-6: 150, 350e-6: 40, 400e-6: 9, 2e-3: 1}
    assert reading.histograms["set_latency"] == pytest.approx(bins)
    assert reading.facts["keep alive"] == "1"


def test_tests_are_told_apart_by_their_titles():
    titles = (
        "LPUSH",
        "LPUSH (needed to benchmark LRANGE)",
        "LRANGE_100 (first 100 elements)",
        "MSET (10 keys)",
    )
    parts = [PART.format(title=title).replace("10000.50", f"{n}.00") for n, title in enumerate(titles, 1)]
    found = read("".join(parts), tests=["mset", "lpush", "lrange_100"], requests=1000).values
    assert [found[f"{name}_rate"] for name in ("lpush", "lrange_100", "mset")] == [1, 3, 4]


def test_the_progress_of_a_test_is_no_part_of_it():
    text = f"SET: rps=0.0 (overall: 45000.0) avg_msec=0.099\r   \r{PART.format(title='SET')}"
    assert read(text, tests=["set"], requests=1000).values["set_rate"] == 10000.5


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1000 requests", "999 requests"),
        ("cumulative count 800", "cumulative count 1"),
        ("     2.000\n", ""),
        ("throughput summary", "summary"),
        ("====== SET", "====== GET"),
        ("milliseconds", "fortnights"),
    ],
)
def test_damage_is_no_reading(old, new):
    text = PART.format(title="SET")
    assert old in text
    with pytest.raises(ParseFailure):
        read(text.replace(old, new), tests=["set"], requests=1000)


def test_output_that_breaks_off_anywhere_is_no_other_reading():
    text = (RECORDED / "0" / "run" / "stdout").read_text()
    whole = read(text, requests=5000)
    for end in range(0, len(text), 37):
        try:
            found = read(text[:end], requests=5000)
        except ParseFailure:
            continue
        assert found == whole
