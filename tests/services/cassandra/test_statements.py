"""Which statements of a snapshot's manifest a real node lets pass, and that none of the others is run."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from steelyard.errors import HostError
from steelyard.services.cassandra import Cassandra
from steelyard.services.cassandra.home import CASSANDRA
from steelyard.services.cassandra.schema import parse_replications
from steelyard.tools.find import install_directory

snapshots = loaded(Path(__file__).with_name("test_snapshots.py"))
rings = snapshots.rings

RICH = {
    "settings": {
        "materialized_views_enabled": True,
        "user_defined_functions_enabled": True,
        "dynamic_data_masking_enabled": True,
        "sasi_indexes_enabled": True,
    }
}
SCHEMA = (
    "CREATE TYPE mine.place (x int, y int)",
    "CREATE TABLE mine.t (k int, c int, at frozen<place>, v text, gone int, back int, s text static, "
    "m text MASKED WITH mask_replace('no.body'), old 'org.apache.cassandra.db.marshal.Int32Type', "
    "PRIMARY KEY (k, c)) WITH comment = 'it''s; ALTER TABLE x.y; see a.b.C' "
    "AND compaction = {'class': 'LeveledCompactionStrategy'} "
    "AND compression = {'class': 'org.apache.cassandra.io.compress.ZstdCompressor'}",
    "ALTER TABLE mine.t DROP gone",
    "ALTER TABLE mine.t DROP back",
    "ALTER TABLE mine.t ADD back int",
    "CREATE INDEX by_v ON mine.t (v)",
    "CREATE INDEX by_c ON mine.t (c) USING 'sai'",
    "CREATE CUSTOM INDEX by_m ON mine.t (m) USING 'org.apache.cassandra.index.sasi.SASIIndex' "
    "WITH OPTIONS = {'analyzer_class': 'org.apache.cassandra.index.sasi.analyzer.StandardAnalyzer'}",
    "CREATE MATERIALIZED VIEW mine.by_s AS SELECT k, c, v FROM mine.t WHERE c > 0 AND k IS NOT NULL "
    "AND v IS NOT NULL PRIMARY KEY (v, k, c)",
    "CREATE FUNCTION mine.twice (x int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS 'return x * 2;'",
    "CREATE FUNCTION mine.plus (x int, y int) CALLED ON NULL INPUT RETURNS int LANGUAGE java "
    "AS 'return x + y;'",
    "CREATE AGGREGATE mine.total (int) SFUNC plus STYPE int INITCOND 0",
)
HERE = "{'class': 'SimpleStrategy', 'replication_factor': '1'}"
COPIES = "'class': 'SimpleStrategy', 'replication_factor': '1'"
T = "CREATE TABLE mine.new (k int PRIMARY KEY"
MAKES = "is not a definition of a keyspace, table, type, index or view"
FOREIGN = "evil.Class, which is no strategy, index or type of Cassandra's own"
OTHER = "which is no strategy, index or type of Cassandra's own"
EVIL = {
    "CREATE ROLE mallory WITH SUPERUSER = true AND LOGIN = true AND PASSWORD = 'x'": MAKES,
    "GRANT ALL ON ALL KEYSPACES TO steelyard": MAKES,
    "ALTER ROLE cassandra WITH LOGIN = true": MAKES,
    "INSERT INTO system_auth.roles (role, can_login, is_superuser) VALUES ('mallory', true, true)": MAKES,
    "BEGIN BATCH INSERT INTO system_auth.roles (role) VALUES ('mallory') APPLY BATCH": MAKES,
    "CREATE FUNCTION mine.f () CALLED ON NULL INPUT RETURNS int LANGUAGE java AS 'return 1;'": MAKES,
    "CREATE AGGREGATE mine.a (int) SFUNC plus STYPE int": MAKES,
    "CREATE TRIGGER t ON mine.t USING 'org.apache.cassandra.triggers.X'": OTHER,
    "DROP TABLE mine.t": MAKES,
    "TRUNCATE mine.t": MAKES,
    "USE system_auth": MAKES,
    "SELECT * FROM system_auth.roles": MAKES,
    "DESCRIBE SCHEMA": MAKES,
    "ALTER KEYSPACE system_auth WITH replication = " + HERE: MAKES,
    f"{T}); CREATE ROLE mallory": "is none that Cassandra understands",
    f"{T}) /* */ ; -- more\n CREATE ROLE mallory": "is none that Cassandra understands",
    f"{T}": "is none that Cassandra understands",
    "": "is none that Cassandra understands",
    "\0": "is none that Cassandra understands",
    "CREATE TABLE new (k int PRIMARY KEY)": "is none that Cassandra understands",
    f"CREATE TYPE mine.deep (x {'frozen<' * 50_000}int{'>' * 50_000})": "is none that Cassandra understands",
    "CREATE TABLE system_auth.x (k int PRIMARY KEY)": "system_auth, which Cassandra keeps for itself",
    "CREATE TABLE SYSTEM_AUTH.x (k int PRIMARY KEY)": "system_auth, which Cassandra keeps for itself",
    'CREATE TABLE "System_Auth".x (k int PRIMARY KEY)': "System_Auth, which Cassandra keeps for itself",
    "CREATE INDEX i ON system_auth.roles (is_superuser)": "system_auth, which Cassandra keeps for itself",
    "ALTER TABLE system_auth.roles ADD x int": "system_auth, which Cassandra keeps for itself",
    "CREATE KEYSPACE IF NOT EXISTS system_auth WITH replication = "
    + HERE: "which Cassandra keeps for itself",
    "CREATE TABLE others.x (k int PRIMARY KEY)": "the keyspace others, which no statement before it makes",
    "ALTER TABLE mine.t RENAME k TO q": "changes a table otherwise",
    "ALTER TABLE mine.t WITH comment = 'x'": "changes a table otherwise",
    "ALTER TABLE mine.t ALTER v TYPE blob": "changes a table otherwise",
    "ALTER TABLE mine.t ALTER v MASKED WITH DEFAULT": "changes a table otherwise",
    "CREATE CUSTOM INDEX i ON mine.t (v) USING 'evil.Class'": FOREIGN,
    "CREATE CUSTOM INDEX i ON mine.t (v) USING $$evil.Class$$": FOREIGN,
    "CREATE CUSTOM INDEX i ON mine.t (v) USING 'org.apache.cassandra.index.sasi.SASIIndex' "
    "WITH OPTIONS = {'analyzer_class': 'evil.Class'}": FOREIGN,
    f"CREATE KEYSPACE e WITH replication = {{'class': 'evil.Class', {COPIES}}}": FOREIGN,
    "CREATE KEYSPACE e WITH replication = {'class': 'evil.Class', 'replication_factor': '1'}": FOREIGN,
    "CREATE KEYSPACE e WITH replication = {'class': 'steelyard.cassandra.Node'}": OTHER,
    "CREATE KEYSPACE e WITH replication = {'class': 'org.apache.cassandra.tools.NodeTool'}": OTHER,
    f"{T}) WITH compaction = {{'class': 'evil.Class'}}": FOREIGN,
    f"{T}) WITH compression = {{'chunk_length_in_kb': 4, 'class': 'evil.Class'}}": FOREIGN,
    f"{T}) WITH compression = {{'sstable_compression': 'evil.Class'}}": FOREIGN,
    f"{T}, v 'evil.Class')": FOREIGN,
    f"{T}, \"=\" 'evil.Class')": FOREIGN,
    f"{T}, v frozen<tuple<\"(\", 'evil.Class'>>)": FOREIGN,
    f"{T}, v frozen<list<'evil.Class'>>)": FOREIGN,
    f"{T}, v 'org.apache.cassandra.db.marshal.ListType(evil.Class)')": FOREIGN,
    "CREATE TYPE mine.e (x 'evil.Class')": FOREIGN,
    "ALTER TABLE mine.t ADD e 'evil.Class'": FOREIGN,
    "CREATE MATERIALIZED VIEW mine.e AS SELECT * FROM mine.t WHERE k = ('evil.Class') 'x' "
    "AND c IS NOT NULL PRIMARY KEY (k, c)": FOREIGN,
    f"{T}, v text MASKED WITH mine.twice(1))": "masks a column by mine.twice, a function",
}


def trigger(place: Path) -> None:
    """A class that Cassandra takes for a trigger, in the directory where it looks for them."""
    place.mkdir()
    source = place / "Quiet.java"
    source.write_text(
        "public class Quiet implements org.apache.cassandra.triggers.ITrigger { public java.util.Collection"
        "<org.apache.cassandra.db.Mutation> augment(org.apache.cassandra.db.partitions.Partition p)"
        " { return java.util.List.of(); } }"
    )
    lib = install_directory(CASSANDRA) / "lib"
    compiler = ("java", "-cp", f"{lib}/*", "org.eclipse.jdt.internal.compiler.batch.Main")
    (jar,) = map(str, lib.glob("cassandra-all-*.jar"))
    words = ("-source", "17", "-target", "17", "-nowarn", "-cp", jar, "-d", str(place))
    subprocess.run((*compiler, *words, str(source)), check=True)
    with zipfile.ZipFile(place / "quiet.jar", "w") as archive:
        archive.write(place / "Quiet.class", "Quiet.class")


async def make(service: Cassandra) -> None:
    with rings.client(service) as found:
        for statement in SCHEMA:
            await rings.known_to_all(found, statement)
        found.run("CREATE TRIGGER quiet ON mine.t USING 'Quiet'")
        await rings.known_to_all(found, "INSERT INTO mine.t (k, c, v, back) VALUES (1, 2, 'even', 3)")


def roles(service: Cassandra) -> int:
    with rings.client(service) as found:
        return int(found.run("SELECT role FROM system_auth.roles"))


def test_what_defines_passes_and_nothing_else_is_run(tmp_path: Path, enterable: Path) -> None:
    """One ring for all of it: what is refused changes nothing."""
    rings.contract.needed("cassandra")
    trigger(enterable / "triggers")
    jvm = [*rings.SMALL["jvm"], f"-Dcassandra.triggers_dir={enterable / 'triggers'}"]

    async def test(made: Any, service: Cassandra) -> None:
        await make(service)
        kept = snapshots.Kept(tmp_path / "vault")
        sound = await kept.keep(service, "sound")
        assert sound.left_out == (
            "function mine.plus(int, int)",
            "function mine.twice(int)",
            "aggregate mine.total(int)",
            "trigger mine.t.quiet",
        )
        await refuse_evil(service, kept)
        await refuse_all_at_once(service, kept)
        await refuse_files_of_roles(service, tmp_path)
        await kept.bring(service, "sound")
        assert_is_whole(service)
        again = await kept.keep(service, "again")
        assert again.definitions == sound.definitions
        assert again.left_out == ()

    rings.with_ring(1, test, keyspaces=["mine"], jvm=jvm, **RICH)


def assert_is_whole(service: Cassandra) -> None:
    with rings.client(service) as found:
        assert found.run("SELECT k FROM mine.t WHERE v = 'even'") == 1
        assert found.run("SELECT k FROM mine.by_s WHERE v = 'even'") == 1
        dropped = "SELECT column_name FROM system_schema.dropped_columns WHERE keyspace_name = 'mine'"
        assert found.run(dropped) == 2
        assert found.run("SELECT trigger_name FROM system_schema.triggers") == 0
        assert (
            found.run("SELECT function_name FROM system_schema.functions WHERE keyspace_name = 'mine'") == 0
        )


async def refuse_evil(service: Cassandra, kept: Any) -> None:
    """Five at a time, since so many are told, each behind all that is sound."""
    before = roles(service)
    sound = kept.snapshots["sound"]
    for first in range(0, len(EVIL), 5):
        some = list(EVIL.items())[first : first + 5]
        texts = (*sound.definitions, *(statement for statement, _ in some))
        told = {"definitions": texts, "replication": parse_replications(texts)}
        kept.snapshots["evil"] = sound.model_copy(update=told)
        with pytest.raises(HostError) as caught:
            await kept.bring(service, "evil")
        for number, (statement, why) in enumerate(some, len(sound.definitions) + 1):
            sentence = rf"statement {number} of its manifest \(.*\) .*{re.escape(why)}"
            assert re.search(sentence, caught.value.message), (statement[:100], caught.value.message)
        assert caught.value.message.startswith("snapshot sound: statement ")
        assert caught.value.message.endswith("; nothing was recovered")
    assert roles(service) == before
    with rings.client(service) as found:
        assert found.run("SELECT k FROM mine.t") == 1
        assert found.run("SELECT trigger_name FROM system_schema.triggers") == 1, "nothing was dropped"


async def refuse_all_at_once(service: Cassandra, kept: Any) -> None:
    sound = kept.snapshots["sound"]
    texts = ("CREATE ROLE mallory", *sound.definitions, "DROP ROLE cassandra")
    kept.snapshots["evil"] = sound.model_copy(update={"definitions": texts})
    with pytest.raises(HostError) as caught:
        await kept.bring(service, "evil")
    assert f"statement 1 of its manifest ('CREATE ROLE mallory') {MAKES}" in caught.value.message
    assert f"statement {len(texts)} of its manifest ('DROP ROLE cassandra') {MAKES}" in caught.value.message


async def refuse_files_of_roles(service: Cassandra, place: Path) -> None:
    """Should a manifest's check fail to see them: they would bring a role without any statement."""
    before = roles(service)
    (place / "incoming" / "0" / "system_auth" / "roles").mkdir(parents=True)
    (server,) = service.servers
    with rings.client(service) as found:
        found.run("CREATE KEYSPACE tmp WITH replication = " + HERE)
    with pytest.raises(HostError, match="files of system_auth, no keyspace of users"):
        await service.watch.recover([], {server.address: str(place / "incoming")}, 60, own=True)
    assert roles(service) == before


def test_a_table_that_no_ring_would_recover_is_named_when_its_snapshot_is_taken(tmp_path: Path) -> None:
    async def test(made: Any, service: Cassandra) -> None:
        with rings.client(service) as found:
            found.run(
                "CREATE FUNCTION mine.hide (x text) CALLED ON NULL INPUT RETURNS text LANGUAGE java "
                "AS 'return null;'"
            )
            found.run("CREATE TABLE mine.t (k int PRIMARY KEY, v text MASKED WITH mine.hide())")
        kept = snapshots.Kept(tmp_path / "vault")
        with pytest.raises(HostError) as caught:
            await kept.keep(service, "n1")
        assert "snapshot n1 was not taken because no ring could recover it: " in caught.value.message
        assert "masks a column by mine.hide, a function" in caught.value.message
        assert "CREATE TABLE mine.t" in caught.value.message

    rings.with_ring(1, test, keyspaces=["mine"], **RICH)
