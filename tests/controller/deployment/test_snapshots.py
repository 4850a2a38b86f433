"""Data of services kept and brought back: for the next repetition, for another run, beside a workload."""

from __future__ import annotations

import shlex
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from run_records import found, told_of
from steelyard import api
from steelyard.model.snapshot import Snapshot
from steelyard.services.kit.capabilities import Vaults
from steelyard.services.redis import Redis

pytestmark = [
    pytest.mark.skipif(
        not shutil.which("redis-server") or not shutil.which("redis-cli"), reason="redis is not installed"
    ),
    pytest.mark.usefixtures("emptied_scratch"),
]
Lines = list[dict[str, Any]]
CLI = (
    "REDISCLI_AUTH=$STEELYARD_SERVICE_PASSWORD redis-cli --no-auth-warning "
    '-h "$STEELYARD_SERVICE_ADDRESS" -p "$STEELYARD_SERVICE_PORT"'
)
LOAD = f"{CLI} set a 1; {CLI} set b 2; echo loaded >> $LOADED"
COUNT = f"echo found: $({CLI} dbsize); {CLI} set more 3; {CLI} del a"
FOUND = {"found": {"regex": r"found: (\d+)$"}}


@pytest.fixture
def measured(told: Any, tmp_path: Path) -> Callable[..., api.Run]:
    """Count the keys of a Redis, and change some, so that the next repetition would see it."""

    def run(
        *, service: dict[str, Any] | None = None, script: str = COUNT, load: str = LOAD, **more: Any
    ) -> api.Run:
        entries = [
            {
                "phase": "count",
                "use": "command",
                "on": "client",
                "to": "store",
                "script": script,
                "metrics": FOUND,
            }
        ]
        if load:
            env = {"LOADED": str(tmp_path / "loaded")}
            first = {"phase": "load", "use": "command", "on": "client", "to": "store", "measured": False}
            entries.insert(0, {**first, "script": load, "env": env})
        tree = {
            "experiment": "kept",
            "roles": {"server": 1, "client": 1},
            "services": {"store": {"use": "redis", "on": "server", **(service or {})}},
            "workload": entries,
            "telemetry": "off",
            "repeat": 3,
            "disturbed": "exclude",
            **more,
        }
        return api.run(tree, site="local:2", observer=told)

    return run


def loads(tmp_path: Path) -> int:
    return len((tmp_path / "loaded").read_text().splitlines())


@pytest.mark.parametrize("keep", ["trial", "run"])
def test_repetitions_begin_with_the_same_data_which_are_loaded_once(
    measured: Callable[..., api.Run], tmp_path: Path, keep: str
) -> None:
    run = measured(service={"keep": keep}, reset="snapshot")
    assert found(run) == [2, 2, 2]
    assert loads(tmp_path) == 1
    (taken,) = told_of(run, "snapshot-taken")
    assert (taken["service"], taken["rows"], taken["copied"] > 0) == ("store", 2, True)
    assert {"freeze", "copy"} <= taken["steps"].keys()
    assert [line["snapshot"] for line in told_of(run, "snapshot-recovered")] == [taken["snapshot"]] * 3


def test_writes_that_not_all_nodes_have_are_warned_of(
    measured: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Redis.snapshot

    async def late(self: Redis, vaults: Vaults, name: str) -> Snapshot:
        return (await whole(self, vaults, name)).model_copy(update={"waiting": ("local-0",)})

    monkeypatch.setattr(Redis, "snapshot", late)
    run = measured(reset="snapshot", repeat=1)
    assert told_of(run, "snapshot-taken")[0]["waiting"] == ["local-0"]
    (warning,) = (line["text"] for line in told_of(run, "warning") if "snapshot" in line["text"])
    assert "local-0 still held writes for other nodes" in warning


def test_what_a_snapshot_leaves_out_is_named(
    measured: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Redis.snapshot
    left_out = ("function ks.f(int)", "trigger ks.t.log")

    async def without(self: Redis, vaults: Vaults, name: str) -> Snapshot:
        return (await whole(self, vaults, name)).model_copy(update={"left_out": left_out})

    monkeypatch.setattr(Redis, "snapshot", without)
    run = measured(reset="snapshot", repeat=1)
    (taken,) = told_of(run, "snapshot-taken")
    assert taken["left_out"] == list(left_out)
    (warning,) = (line["text"] for line in told_of(run, "warning") if "snapshot" in line["text"])
    assert (
        f"snapshot {taken['snapshot']} of store leaves out function ks.f(int), trigger ks.t.log: " in warning
    )


def test_without_it_they_do_not(measured: Callable[..., api.Run], tmp_path: Path) -> None:
    assert found(measured()) == [2, 3, 3]
    assert loads(tmp_path) == 3


def test_cells_that_load_other_data_have_their_own(measured: Callable[..., api.Run], tmp_path: Path) -> None:
    load = f"{CLI} set a 1; [ $keys = 1 ] || {CLI} set b 2; echo loaded >> $LOADED"
    run = measured(load=load, reset="snapshot", parameters={"keys": [1, 2]}, repeat=2)
    by_cell = {
        trial.result.trial.cell.parameters["keys"]: trial.result.metrics["found"]
        for trial in run.record.trials
    }
    assert by_cell == {1: 1, 2: 2}
    assert loads(tmp_path) == 2


def test_saved_at_the_end_and_recovered_by_another_run(
    measured: Callable[..., api.Run], tmp_path: Path
) -> None:
    place = str(tmp_path / "shared")
    first = measured(service={"save": {"into": place}}, repeat=1)
    (taken,) = told_of(first, "snapshot-taken")
    assert taken["place"] == place
    second = measured(service={"recover": {"from": place}, "keep": "trial"}, load="", repeat=2)
    assert found(second) == [2, 2], "b, and what the first run added"
    assert [line["snapshot"] for line in told_of(second, "snapshot-recovered")] == [taken["snapshot"]] * 2


def test_after_a_failure_nothing_is_saved_unless_asked(
    measured: Callable[..., api.Run], tmp_path: Path
) -> None:
    for when, count in (("success", 0), ("always", 1)):
        place = tmp_path / when
        run = measured(service={"save": {"into": str(place), "when": when}}, script="exit 7", repeat=1)
        assert run.record.trials[0].result.status == "failed"
        assert len(list(place.glob("*/manifest.json"))) == count


def test_what_is_not_there_or_was_damaged_is_named(measured: Callable[..., api.Run], tmp_path: Path) -> None:
    place = tmp_path / "shared"
    absent = measured(service={"recover": {"from": str(place)}}, load="", repeat=1)
    assert "there is no snapshot in" in absent.record.trials[0].message
    measured(service={"save": {"into": str(place)}}, repeat=1)
    unknown = measured(service={"recover": {"from": str(place), "snapshot": "20200101"}}, load="", repeat=1)
    assert "20200101" in unknown.record.trials[0].message
    (kept,) = (path for path in (place / "files").rglob("*") if path.is_file())
    content = bytearray(kept.read_bytes())
    content[len(content) // 2] ^= 1
    kept.chmod(0o600)
    kept.write_bytes(content)
    damaged = measured(service={"recover": {"from": str(place)}}, load="", repeat=1)
    (trial,) = damaged.record.trials
    assert trial.result.category == "service-failed"
    assert "dump.rdb" in trial.message, trial.message


@pytest.mark.parametrize("path", ["x/dump.rdb", "redis.conf"])
def test_a_manifest_with_other_files_is_refused_while_the_server_lives(
    measured: Callable[..., api.Run], tmp_path: Path, path: str
) -> None:
    place = tmp_path / "shared"
    measured(service={"save": {"into": str(place)}}, repeat=1)
    (manifest,) = place.glob("*/manifest.json")
    manifest.write_text(manifest.read_text().replace('"dump.rdb"', f'"{path}"'))
    run = measured(service={"recover": {"from": str(place)}}, load="", repeat=1)
    (trial,) = run.record.trials
    assert "was rejected, and nothing was recovered" in trial.message
    assert "has files other than dump.rdb" in trial.message


def test_as_an_event_beside_a_workload(
    measured: Callable[..., api.Run], lasting: Callable[[int], list[str]], tmp_path: Path
) -> None:
    place = tmp_path / "shared"
    run = measured(
        script=f"echo found: $({CLI} dbsize); {shlex.join(lasting(2))}",
        timeline=[
            {"during": "count", "at": "300ms", "do": "snapshot", "service": "store"},
            {"during": "count", "at": "400ms", "do": "snapshot", "service": "store", "into": str(place)},
        ],
        repeat=1,
    )
    first, second = told_of(run, "event-ended")
    assert first["facts"]["rows"] == second["facts"]["rows"] == 2
    assert "copy_time" in first["facts"]
    assert [path.parent.name for path in place.glob("*/manifest.json")] == [second["facts"]["snapshot"]]


def test_two_that_want_one_port_are_told_before_anything_starts(
    measured: Callable[..., api.Run], tmp_path: Path
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        run = measured(service={"port": port}, repeat=1)
    (trial,) = run.record.trials
    assert trial.result.category == "service-failed"
    assert str(port) in trial.message
    assert "in use" in trial.message, trial.message
