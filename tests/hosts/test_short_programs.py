from __future__ import annotations

from pathlib import Path

from steelyard.hosts.short_programs import find_log_errors, tail

# As Cassandra 5.0.6 ended whose seed was frozen; lines of stacks and of the shutdown are cut.
LOG = """INFO  2026-11-22 21:42:38,801 [main] Gossiper - Starting shadow gossip round
ERROR 2026-11-22 21:42:39,830 [main] CassandraDaemon - Exception encountered during startup
java.lang.RuntimeException: Unable to gossip with any peers
\tat org.apache.cassandra.gms.Gossiper.doShadowRound(Gossiper.java:2059)
INFO  2026-11-22 21:42:39,834 [StorageServiceShutdownHook] Gossiper - Announcing shutdown
"""
SHUTDOWN = (
    "INFO  2026-11-22 21:42:51,322 [StorageServiceShutdownHook] HintsService - Paused hints dispatch\n" * 20
)


def test_the_last_errors_of_a_log_are_told_that_its_end_does_not_show(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(LOG + SHUTDOWN)
    assert find_log_errors(log).splitlines() == LOG.splitlines()[1:3]
    assert "Unable to gossip" not in tail(log)
    log.write_text(LOG)
    assert find_log_errors(log) == "", "the end shows it"


def test_errors_of_other_servers_are_known_too(tmp_path: Path) -> None:
    log = tmp_path / "log"
    fatal = '2026-11-22 21:42:39.830 UTC [4711] FATAL:  could not open file "pg_hba.conf": Permission denied'
    errors = [f"[{number}] ERROR: {'x' * 1000}" for number in range(5)]
    log.write_text("\n".join([*errors, fatal, SHUTDOWN]))
    said = find_log_errors(log)
    assert said.endswith(fatal)
    assert len(said) < 1000
    assert "[4]" in said
    assert "[3]" not in said, "errors that differ in numbers alone are told once"


def test_only_the_end_of_a_huge_log_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("ERROR: long ago\n" + "all is well\n" * 100_000)
    assert find_log_errors(log) == ""
    assert tail(log).endswith("all is well")
    assert len(tail(log)) <= 1200
    assert tail(tmp_path / "none") == find_log_errors(tmp_path / "none") == ""
