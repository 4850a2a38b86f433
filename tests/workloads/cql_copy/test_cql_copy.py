"""`use: cql_copy`: what may be asked, its rows, and its command lines."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from pydantic import ValidationError

from steelyard.model.command import Command, Endpoint, Place
from steelyard.workloads.cql_copy import CqlCopy, rows

FACTS = {
    "protocol": "cql",
    "servers": "10.0.0.1:9042,10.0.0.2:9042",
    "user": "steelyard",
    "datacenter": "dc1",
    "replication": "2",
}
RING = Endpoint("10.0.0.1", 9042, FACTS, "sesame")
PLACE = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, seed=7, to=RING)


def made(**options) -> CqlCopy:
    return CqlCopy(CqlCopy.Options.model_validate({"rows": 1000} | options))


def of_file(**options) -> CqlCopy:
    return CqlCopy(CqlCopy.Options.model_validate({"file": "/data/genes.csv"} | options))


def commands(workload: CqlCopy, place: Place = PLACE) -> dict[str, Command]:
    return {phase.name: phase.command for phase in workload.phases(place)}


def statements(command: Command) -> str:
    (found,) = [word for word in command.argv if word.startswith("--execute=")]
    return found.removeprefix("--execute=")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rows": None}, "either `rows`"),
        ({"file": "/data/a.csv"}, "either `rows`"),
        ({"rows": 0}, "rows"),
        ({"columns": {"a": "int"}}, "x, y, val"),
        ({"header": True}, "x, y, val"),
        ({"rows": None, "file": "data.csv"}, "file"),
        ({"rows": None, "file": "/data/a,b.csv"}, "file"),
        ({"rows": None, "file": "/data/a'b.csv"}, "file"),
        ({"rows": None, "file": "/a.csv", "columns": {"a;b": "int"}}, "not a column name"),
        ({"rows": None, "file": "/a.csv", "columns": {"a": "int); DROP"}}, "not a CQL type"),
        ({"rows": None, "file": "/a.csv", "columns": {"a": "int"}, "key": ["b"]}, "b is not a column of"),
        ({"keyspace": 'c"; DROP'}, "keyspace"),
        ({"table": "a.b"}, "table"),
        ({"ingest_rate": 0}, "rows per second"),
        ({"ingest_rate": "quick"}, "ingest_rate"),
        ({"consistency": "MOST"}, "consistency"),
        ({"credentials": "/home/me/credentials"}, "a service provides its own"),
    ],
)
def test_what_cannot_be_is_refused(options, says):
    with pytest.raises(ValidationError, match=says):
        made(**options)


def test_only_copy_is_measured_and_a_file_is_not_made_up():
    assert [(phase.name, phase.measured) for phase in made().phases(PLACE)] == [
        ("generate", False),
        ("schema", False),
        ("copy", True),
    ]
    assert [phase.name for phase in of_file().phases(PLACE)] == ["schema", "copy"]


def test_all_options_of_copy_reach_cqlsh():
    chosen = made(
        ingest_rate=200_000, processes=3, chunk_size=70, max_batch_size=9, may_fail=4, consistency="QUORUM"
    )
    said = statements(commands(chosen)["copy"])
    assert said.startswith(
        'CONSISTENCY QUORUM; COPY "cells"."data" ("x", "y", "val") FROM \'cells.csv\' WITH '
    )
    for option in (
        "INGESTRATE=200000",
        "NUMPROCESSES=3",
        "CHUNKSIZE=70",
        "MAXBATCHSIZE=9",
        "MAXPARSEERRORS=4",
        "MAXINSERTERRORS=4",
    ):
        assert option in said.split(" WITH ")[1].split(" AND ")


def test_the_defaults_are_left_to_cqlsh():
    said = statements(commands(made())["copy"])
    assert "INGESTRATE" not in said
    assert "NUMPROCESSES" not in said


def test_a_ring_is_asked_for_its_replication_in_its_data_centre():
    said = statements(commands(made())["schema"])
    assert "{'class': 'NetworkTopologyStrategy', 'dc1': 2}" in said
    assert '("x" int, "y" int, "val" bigint, PRIMARY KEY ("x", "y"))' in said
    assert said.endswith('TRUNCATE "cells"."data"')
    changed = statements(commands(made(replication=1, truncate=False))["schema"])
    assert "'dc1': 1}" in changed
    assert "TRUNCATE" not in changed


def test_a_server_that_tells_nothing_has_its_data_in_every_data_centre():
    chosen = made(server="db1", port=9999, credentials="/home/me/credentials")
    found = commands(chosen, replace(PLACE, to=None))
    assert "'replication_factor': 1}" in statements(found["schema"])
    assert found["copy"].argv[-2:] == ("db1", "9999")
    assert "--credentials=/home/me/credentials" in found["copy"].argv
    assert not found["copy"].secrets


def test_a_file_has_the_columns_that_are_named_or_those_of_its_table():
    named = commands(
        of_file(columns={"id": "uuid", "at": "int", "v": "list<float>"}, key=["id", "at"], header=True)
    )
    assert '("id" uuid, "at" int, "v" list<float>, PRIMARY KEY ("id", "at"))' in statements(named["schema"])
    assert '("id", "at", "v") FROM \'/data/genes.csv\' WITH HEADER=true' in statements(named["copy"])
    plain = commands(of_file())
    assert "CREATE TABLE" not in statements(plain["schema"])
    assert 'COPY "cells"."data" FROM ' in statements(plain["copy"])


def test_the_password_is_on_no_command_line():
    for command in commands(made()).values():
        assert "sesame" not in str(command)
        assert "sesame" not in " ".join([*command.argv, *command.env.values()])
    assert commands(made())["copy"].secrets == {"CQL_PASSWORD": "sesame"}


def test_copies_share_the_rows_and_take_nodes_in_turn():
    chosen, copies = made(rows=10), 4
    places = [replace(PLACE, copy=copy, copies=copies) for copy in range(copies)]
    found = [commands(chosen, place) for place in places]
    parts = [tuple(map(int, one["generate"].argv[-3:-1])) for one in found]
    assert [number for first, count in parts for number in range(first, first + count)] == list(range(10))
    assert [one["copy"].env["ROWS"] for one in found] == [str(count) for _, count in parts]
    assert [one["copy"].argv[-2] for one in found] == ["10.0.0.1", "10.0.0.2"] * 2
    assert [one["schema"].argv == ("true",) for one in found] == [False, True, True, True]


def test_more_copies_than_rows_fail_with_a_sentence():
    found = commands(made(rows=1), replace(PLACE, copy=0, copies=2))["copy"]
    assert "cannot divide 1 rows among 2 copies" in found.argv[-1]


def test_no_server_fails_with_a_sentence():
    found = commands(made(), replace(PLACE, to=None))
    assert "has no server" in found["schema"].argv[-1]
    assert "has no server" in found["copy"].argv[-1]


def test_the_estimate_knows_the_rate():
    assert made(rows=100_000, ingest_rate=1000).seconds() > 100
    assert made(rows=100_000).seconds() < 20
    assert of_file().seconds() is None
    assert made(rows=1_000_000).disk() >= 37e6


def generated(tmp_path: Path, *words: object) -> str:
    target = tmp_path / "rows.csv"
    subprocess.run([sys.executable, rows.__file__, *map(str, words), str(target)], check=True)
    return target.read_text()


def test_rows_are_the_same_for_a_seed_and_in_whatever_parts(tmp_path):
    whole = generated(tmp_path, 7, 0, 25_000)
    assert whole == generated(tmp_path, 7, 0, 12_000) + generated(tmp_path, 7, 12_000, 13_000)
    assert whole != generated(tmp_path, 8, 0, 25_000)


def test_rows_are_distinct_numbers_that_fit_their_columns():
    found = [tuple(map(int, rows.row(7, number).split(","))) for number in range(200_000)]
    assert len({x for x, _, _ in found}) == len(found)
    assert len({value for _, _, value in found}) > 0.99 * len(found)
    assert all(0 <= number < 2**31 for place in found for number in place[:2])
    assert 30 < sum(len(rows.row(7, number)) for number in range(1000)) / 1000 <= 40
