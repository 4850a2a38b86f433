"""Definitions of keyspaces: how often their rows are kept, and fitted to another ring."""

from __future__ import annotations

import pytest

from steelyard.services.cassandra.schema import adapt_definitions, parse_replications

# As DESCRIBE SCHEMA WITH INTERNALS of Cassandra 5.0.6 gives them; the last two from its documentation.
TOPOLOGY = (
    "CREATE KEYSPACE scores WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': '3'}  "
    "AND durable_writes = true;"
)
TWO_CENTRES = TOPOLOGY.replace("'datacenter1': '3'", "'fast': '2', 'shared': '1'")
SIMPLE = (
    "CREATE KEYSPACE \"Odd\" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '2'} "
    "AND durable_writes = false;"
)
TRANSIENT = TOPOLOGY.replace("'3'", "'3/1'")
TABLE = "CREATE TABLE scores.t (k int PRIMARY KEY) WITH comment = 'CREATE KEYSPACE x WITH replication = {}';"


def test_how_often_a_row_is_kept():
    assert parse_replications([TOPOLOGY, SIMPLE, TABLE]) == {"scores": 3, "Odd": 2}
    assert parse_replications([TWO_CENTRES]) == {"scores": 3}
    assert parse_replications([TRANSIENT]) == {"scores": 3}
    assert parse_replications([TABLE]) == {}


@pytest.mark.parametrize(
    ("definition", "nodes", "told"),
    [
        (TOPOLOGY, 5, "{'class': 'NetworkTopologyStrategy', 'here': '3'}"),
        (TOPOLOGY, 2, "{'class': 'NetworkTopologyStrategy', 'here': '2'}"),
        (TWO_CENTRES, 5, "{'class': 'NetworkTopologyStrategy', 'here': '2'}"),
        (SIMPLE, 1, "{'class': 'SimpleStrategy', 'replication_factor': '1'}"),
        (TRANSIENT, 4, "{'class': 'NetworkTopologyStrategy', 'here': '3'}"),
    ],
)
def test_fitted_to_a_ring(definition: str, nodes: int, told: str):
    (found,) = adapt_definitions([definition], "here", nodes)
    before, _, after = definition.partition("{")
    assert found == before + told + after.partition("}")[2]


@pytest.mark.parametrize(
    "definition",
    [
        TABLE,
        SIMPLE.replace("SimpleStrategy", "evil.SimpleStrategy"),
        SIMPLE.replace("SimpleStrategy", "LocalStrategy"),
        SIMPLE.replace("'class'", "'class': 'evil.Class', 'class'"),
        SIMPLE.replace("'class': 'SimpleStrategy', ", ""),
        "CREATE KEYSPACE x WITH replication = {}",
    ],
)
def test_all_else_stays_as_it_is(definition: str):
    assert adapt_definitions([definition], "here", 1) == (definition,)


def test_a_number_of_copies_may_be_anything():
    assert parse_replications([SIMPLE.replace("'2'", f"'{'9' * 5000}'")]) == {"Odd": 1}
