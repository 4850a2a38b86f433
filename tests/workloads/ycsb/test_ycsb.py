"""`use: ycsb`: what may be asked, and what its commands and metrics are."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from pydantic import ValidationError

from steelyard.analysis.importance import select_primary
from steelyard.model.command import Command, Endpoint, Place
from steelyard.model.protocol import ClientBinding, WireProtocol
from steelyard.services.base import Service, ServiceOptions
from steelyard.workloads.ycsb import Ycsb

REDIS = Endpoint("10.0.0.1", 6379, {"protocol": "redis", "arrangement": "independent"}, "sesame")
RING = Endpoint(
    "10.0.0.1",
    9042,
    {
        "protocol": "cql",
        "servers": "10.0.0.1:9042,10.0.0.2:9042",
        "user": "steelyard",
        "datacenter": "dc1",
        "replication": "3",
    },
    "sesame",
)


def made(**options) -> Ycsb:
    content = {"do": "both", "records": 1000, "operations": 100, **options}
    return Ycsb(
        Ycsb.Options.model_validate({key: value for key, value in content.items() if value is not None})
    )


def place(to: Endpoint | None = REDIS, copy: int = 0, copies: int = 1) -> Place:
    return Place(PurePosixPath("/scratch"), PurePosixPath("/raw"), 2, 2**30, 1, copy, copies, to=to)


def commands(workload: Ycsb, where: Place) -> dict[str, Command]:
    return {phase.name: phase.command for phase in workload.phases(where)}


def properties(command: Command) -> dict[str, str]:
    words = command.argv
    pairs = (words[at + 1].partition("=") for at, word in enumerate(words) if word == "-p")
    return {name: value for name, _, value in pairs}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"records": None}, "records"),
        ({"operations": None}, "either operations or duration"),
        ({"duration": "5s"}, "either operations or duration"),
        ({"operations": None, "duration": "1.5s"}, "whole number of seconds"),
        ({"operations": None, "duration": "5s", "omit": "5s"}, "leaves nothing"),
        ({"do": "load"}, "remove operations"),
        ({"mix": "g"}, "mix"),
        ({"mix": {"read": 0}}, "needs an operation"),
        ({"mix": {"reed": 1}}, "reed"),
        ({"server": "10.0.0.1"}, "protocol"),
        ({"server": "10.0.0.1; rm", "protocol": "redis"}, "list of servers"),
        ({"protocol": "memcached", "mix": "e"}, "does not support scans"),
        ({"rate": "0.5/s"}, "at least one"),
        ({"rate": "5 MiB/s"}, "2000/s"),
        ({"interval": "0s"}, "whole number of seconds"),
        ({"consistency": "MOST"}, "consistency"),
        ({"database": "a;b"}, "database"),
        ({"protocol": "rediss"}, "'rediss' is not one of cql, .*redis; did you mean 'redis'"),
    ],
)
def test_what_cannot_be_is_refused(options, says):
    with pytest.raises(ValidationError, match=says):
        made(**options)


def test_a_service_that_declares_a_binding_is_all_it_takes(monkeypatch):
    """The protocols of the options, of the schema and of `to:` are what services say that they speak."""

    class Theirs(Service[ServiceOptions]):
        speaks = WireProtocol(
            "kv", 4711, (ClientBinding("ycsb", "org.example.Kv", "/kv/ycsb", can_scan=False),)
        )

    theirs = {"kvstore": Theirs.speaks, "silent": WireProtocol("mute", 1)}
    monkeypatch.setattr("steelyard.tools.bindings.read_declarations", lambda *_: theirs)
    assert Ycsb.find_services() == {"kvstore"}
    assert Ycsb.Options.model_json_schema()["properties"]["protocol"]["anyOf"][0]["enum"] == ["kv"]
    own = commands(made(protocol="kv", server="a.example"), place(None))["run"]
    assert "org.example.Kv" in own.argv
    assert properties(own)["servers"] == "a.example:4711"
    with pytest.raises(ValidationError, match="kv does not support scans"):
        made(protocol="kv", mix="e")


@pytest.mark.parametrize(
    ("do", "stages"), [("load", ["create", "load"]), ("run", ["run"]), ("both", ["create", "load", "run"])]
)
def test_the_last_stage_is_measured(do, stages):
    workload = made(do=do, operations=None if do == "load" else 100)
    phases = workload.phases(place())
    assert [phase.name for phase in phases] == stages
    assert [phase.measured for phase in phases] == [False] * (len(stages) - 1) + [True]


def test_copies_load_disjoint_parts_that_cover_everything():
    workload, copies = made(records=1003, operations=70), 7
    parts = [properties(commands(workload, place(copy=n, copies=copies))["load"]) for n in range(copies)]
    ranges = [range(int(p["insertstart"]), int(p["insertstart"]) + int(p["insertcount"])) for p in parts]
    assert sorted(number for one in ranges for number in one) == list(range(1003))
    assert {p["recordcount"] for p in parts} == {"1003"}
    runs = [properties(commands(workload, place(copy=n, copies=copies))["run"]) for n in range(copies)]
    assert [run["operationcount"] for run in runs] == ["10"] * 7
    assert [(run["copy"], run["copies"]) for run in runs] == [(str(n), "7") for n in range(7)]


def test_a_rate_is_divided_without_loss():
    runs = [commands(made(rate="1000/s"), place(copy=n, copies=3))["run"] for n in range(3)]
    assert sum(int(properties(run)["target"]) for run in runs) == 1000
    assert {properties(run)["measurement.interval"] for run in runs} == {"both"}


def test_a_load_that_only_prepares_is_not_slowed_down():
    assert "target" not in properties(commands(made(rate="9/s"), place())["load"])
    alone = made(do="load", operations=None, rate="9/s")
    assert properties(commands(alone, place())["load"])["target"] == "9"
    assert alone.seconds() > 1000 / 9


def test_one_copy_makes_the_table_for_all():
    first, second = (commands(made(), place(copy=n, copies=2))["create"] for n in range(2))
    assert "steelyard.ycsb.Redis" in first.argv
    assert second.argv == ("true",)
    assert "create" not in commands(made(create=False), place())


def test_more_copies_than_records_fail_with_a_sentence():
    found = commands(made(records=2, operations=9), place(copy=2, copies=3))["load"]
    assert "cannot divide" in found.argv[-1]


def test_a_password_is_a_secret_and_nothing_else():
    for command in commands(made(), place()).values():
        assert command.secrets == {"YCSB_PASSWORD": "sesame"}
        assert "sesame" not in " ".join([*command.argv, *command.env.values(), repr(command)])


def test_a_ring_is_told_by_its_service():
    chosen = {"consistency": "QUORUM", "write_consistency": "ALL"}
    found = properties(commands(made(**chosen), place(RING))["create"])
    assert found["servers"] == "10.0.0.1:9042,10.0.0.2:9042"
    assert (found["user"], found["cql.datacenter"], found["cql.replication"]) == ("steelyard", "dc1", "3")
    assert (found["cql.read_consistency"], found["cql.write_consistency"]) == ("QUORUM", "ALL")


@pytest.mark.parametrize(
    ("arrangement", "copy", "servers"),
    [
        ("independent", 0, "10.0.0.1:1"),
        ("independent", 3, "10.0.0.2:1"),
        ("replicas", 3, "10.0.0.1:1"),
        ("cluster", 3, "10.0.0.1:1,10.0.0.2:1"),
    ],
)
def test_which_redis_a_copy_talks_to(arrangement, copy, servers):
    facts = {"protocol": "redis", "arrangement": arrangement, "servers": "10.0.0.1:1,10.0.0.2:1"}
    found = properties(commands(made(), place(Endpoint("10.0.0.1", 1, facts), copy, 4))["run"])
    assert found["servers"] == servers
    assert found["redis.cluster"] == ("true" if arrangement == "cluster" else "false")


def test_servers_of_ones_own_have_usual_ports():
    own = {
        "protocol": "cql",
        "server": "a.example,b.example:9043",
        "user": "me",
        "password_file": "/etc/secret",
    }
    found = properties(commands(made(**own), place(None))["run"])
    assert found["servers"] == "a.example:9042,b.example:9043"
    assert (found["user"], found["password_file"]) == ("me", "/etc/secret")


@pytest.mark.parametrize(
    ("to", "mix", "says"),
    [
        (None, "a", "no server"),
        (Endpoint("10.0.0.1", 1, {"protocol": "xrootd"}), "a", "no binding for 'xrootd'"),
        (Endpoint("10.0.0.1", 1, {"protocol": "memcached"}), "e", "does not support scans"),
    ],
)
def test_what_cannot_run_says_why_and_fails(to, mix, says):
    command = commands(made(mix=mix), place(to))["run"]
    assert says in command.argv[-1]
    assert "exit 2" in command.argv[2]


@pytest.mark.parametrize(
    ("mix", "shares", "distribution"),
    [
        ("A", {"read": "0.5", "update": "0.5"}, "zipfian"),
        ("b", {"read": "0.95", "update": "0.05"}, "zipfian"),
        ("c", {"read": "1.0"}, "zipfian"),
        ("d", {"read": "0.95", "insert": "0.05"}, "latest"),
        ("e", {"scan": "0.95", "insert": "0.05"}, "zipfian"),
        ("f", {"read": "0.5", "readmodifywrite": "0.5"}, "zipfian"),
        ({"read": 3, "insert": 1}, {"read": "3.0", "insert": "1.0"}, "zipfian"),
    ],
)
def test_the_mixes_are_those_of_ycsb(mix, shares, distribution):
    found = properties(commands(made(mix=mix), place())["run"])
    asked = {name.removesuffix("proportion"): value for name, value in found.items() if "proportion" in name}
    assert {name: value for name, value in asked.items() if value != "0.0"} == shares
    assert len(asked) == 5, "YCSB has shares of its own for what is left out"
    assert found["requestdistribution"] == distribution


def test_an_index_is_kept_for_scans_alone():
    assert properties(commands(made(mix="e"), place())["load"])["redis.index"] == "true"
    assert properties(commands(made(mix="a"), place())["load"])["redis.index"] == "false"


def test_a_run_by_the_clock_has_no_other_end():
    timed = made(operations=None, duration="30s", rate="2000/s")
    found = properties(commands(timed, place(copies=2))["run"])
    assert (found["operationcount"], found["maxexecutiontime"]) == (str(2**31 - 1), "30")
    assert found["expected_operations"] == "30000"
    assert timed.seconds() > 30


def test_metrics_are_those_of_the_measured_stage():
    names = {metric.name for metric in made(mix="f", rate="9/s").metrics()}
    assert {"read_p99", "update_p99", "read_modify_write_p99", "read_scheduled_p99", "rate_reached"} <= names
    assert "insert_p99" not in names
    assert "read_modify_write_failures" not in names, "YCSB does not tell"
    names = {metric.name for metric in made(do="load", operations=None, mix="f").metrics()}
    assert {"insert_p99", "insert_failures"} <= names
    assert "read_p99" not in names


def test_with_a_rate_latencies_from_when_an_operation_was_due_lead():
    names = [metric.name for metric in select_primary(made(mix="a", rate="9/s").metrics())]
    due = ["read_scheduled_p50", "read_scheduled_p99", "update_scheduled_p50", "update_scheduled_p99"]
    assert names[:5] == [*due, "throughput"]
    assert not {"read_p50", "read_p99", "read_mean", "read_max"} & set(names), "they do not see who waits"
    names = [metric.name for metric in select_primary(made(mix="c").metrics())]
    assert names[:3] == ["throughput", "read_p50", "read_p99"]
