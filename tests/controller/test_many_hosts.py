"""Trials on many hosts: who runs what, in how many copies, and what becomes of their figures and failures."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard import api
from steelyard.errors import HostLost, UsageError
from steelyard.hosts.base import ClockOffset
from steelyard.model.command import Command
from steelyard.testing import FakeHost, FakeSite, Said

DATA = Path(__file__).parents[1] / "data"
SCORE = {"score": {"regex": r"score (\d+)", "better": "higher"}}


def score(command: Command) -> Said:
    return Said(stdout="score 5", wall=0.1)


def ran(site: FakeSite, told: Any = None, **more: Any) -> api.Run:
    workload = {"use": "command", "run": ["bench"], "metrics": SCORE, **more.pop("workload", {})}
    tree = {"experiment": "many", "telemetry": "off", "workload": workload, "repeat": 1}
    tree |= {"disturbed": "exclude", **more}
    return api.run(tree, site=site, observer=told)


def test_copies_run_on_the_hosts_that_on_picks_and_their_scores_add_up() -> None:
    site = FakeSite(score, hosts=4)
    run = ran(site, roles={"server": 1, "client": 3}, workload={"on": "client[:2]", "copies": 3})
    assert [len(host.started) for host in site.hosts] == [0, 3, 3, 0]
    (trial,) = run.record.trials
    assert (trial.result.copies, trial.result.on) == (6, ("fake-1", "fake-2"))
    folder = run.record.folder.trial(1)
    assert {path.parent.name for path in folder.rglob("stdout")} == {"run.0", "run.1", "run.2"}
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {"client-0", "client-1"}


def test_cores_means_one_copy_for_each_core() -> None:
    site = FakeSite(score, hosts=2)
    ran(site, workload={"copies": "cores"})
    assert [len(host.started) for host in site.hosts] == [host.cores for host in site.hosts]


def test_each_level_may_have_hosts_and_copies_of_its_own() -> None:
    site = FakeSite(score, hosts=4)
    run = ran(
        site,
        roles={"client": 4},
        parameters={"machines": [1, 4], "copies": [1, 2]},
        workload={"on": "client[:${machines}]", "copies": "${copies}"},
    )
    found = {trial.result.trial.cell.key: trial.result.copies for trial in run.record.trials}
    assert found == {
        "machines=1 copies=1": 1,
        "machines=1 copies=2": 2,
        "machines=4 copies=1": 4,
        "machines=4 copies=2": 8,
    }


def test_a_site_that_is_too_small_is_told_before_there_is_a_run(own_place: Path) -> None:
    with pytest.raises(UsageError, match="role 'client' cannot be filled: the roles need 5 hosts"):
        ran(FakeSite(score, hosts=4), roles={"server": 1, "client": 4})
    assert not list(own_place.rglob("journal.ndjson"))


def test_the_first_failing_copy_fails_the_trial_and_is_named() -> None:
    site = FakeSite(score, hosts=3)
    site.hosts[1].behave = lambda command: Said(stderr="no licence", code=3)
    run = ran(site)
    (trial,) = run.record.trials
    assert trial.result.category == "crashed"
    assert trial.message.startswith("host-1 on fake-1: run: bench ended with code 3; output: no licence")


def test_every_host_is_in_the_record_with_its_roles() -> None:
    run = ran(FakeSite(score, hosts=2), roles={"server": 1, "client": {"hosts": 1, "shares": "server"}})
    hosts = run.record.environment["hosts"]
    assert [(host["name"], host["roles"]) for host in hosts] == [("fake-0", ["server-0", "client-0"])]
    assert hosts[0]["cores"] == 4


def recorded(run: api.Run) -> dict[str, Any]:
    facts: dict[str, Any] = run.record.trials[0].facts["run_start"]
    return facts


class Late(FakeHost):
    """A host whose programs begin later than they were let go, and whose clock is an hour ahead."""

    late = 0.02

    async def read_clock_offset(self) -> ClockOffset:
        return ClockOffset(3600.0, 0.001)

    async def start(self, command: Command, streams: Any, *, cwd: Any, at: int | None = None) -> Any:
        return await super().start(command, streams, cwd=cwd, at=at + round(self.late * 1e9) if at else None)


def test_skew_is_told_in_our_time_whatever_the_hosts_clocks_say() -> None:
    site = FakeSite(score, hosts=2)
    site.hosts[1].__class__ = Late
    facts = recorded(ran(site, start={"skew": "50ms"}))
    assert facts["skew"] == pytest.approx(0.02, abs=1e-3)
    assert facts["started"]["host-1"] == pytest.approx(0.02, abs=1e-3)
    assert facts["clocks_within"] == 0.001


def test_more_skew_than_the_file_allows_is_a_disturbance() -> None:
    site = FakeSite(score, hosts=2)
    site.hosts[1].__class__ = Late
    trial, again = ran(site, start={"skew": "5ms"}, disturbed="replace").record.trials
    assert (trial.result.is_disturbed, again.result.trial.repetition) == (True, 2), "so it was made again"
    assert trial.marks[0].reason == (
        "start skew 20.0 ms (by clocks known within 1.00 ms) is more than 5.00 ms; host-1 started last"
    )


def test_without_together_nobody_waits() -> None:
    site = FakeSite(score, hosts=2)
    assert ran(site, start={"together": False}).record.trials[0].facts == {"run": {}}


class VeryLate(Late):
    """It begins when another has done half of its work."""

    late = 0.5


IPERF3 = (DATA / "contract" / "iperf3" / "1" / "run" / "stdout").read_text()


def streamed(late: type[FakeHost]) -> Any:
    site = FakeSite(lambda command: Said(stdout=IPERF3, wall=1.0), hosts=2)
    site.hosts[1].__class__ = late
    stream = {"use": "iperf3", "server": "10.0.0.9", "duration": "1s", "direction": "both"}
    tree = {"experiment": "streams", "telemetry": "off", "workload": stream, "repeat": 1}
    return api.run(tree, site=site).record


def test_copies_at_different_times_are_told_with_what_their_rates_mean() -> None:
    record = streamed(VeryLate)
    window = record.trials[0].facts["run_window"]
    assert window["by"] == "samples"
    assert window["common"] == pytest.approx(0.5, abs=0.01), "by one clock, whatever that of the host says"
    assert window["whole"] == pytest.approx(1.5, abs=0.01)
    (text,) = record.warnings
    assert "different times: sent_throughput, received_throughput of all is the sum" in text


def test_copies_at_the_same_time_are_told_of_nothing() -> None:
    record = streamed(Late)
    assert "run_window" not in record.trials[0].facts
    assert not record.warnings


class Silent(FakeHost):
    """A host that never tells its time."""

    async def read_clock_offset(self) -> ClockOffset:
        await asyncio.sleep(3600)
        raise AssertionError


class NeverReady(FakeHost):
    """A host on which a program never gets as far as to wait for its instant."""

    async def start(self, command: Command, streams: Any, *, cwd: Any, at: int | None = None) -> Any:
        await asyncio.sleep(3600)


@pytest.mark.parametrize(
    ("kind", "says"),
    [(Silent, "fake-1 did not report its time"), (NeverReady, "fake-1 was not ready for the common start")],
)
def test_a_host_that_hangs_before_the_start_fails_the_trial_in_bounded_time(
    kind: type[FakeHost], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("lockstep", "copies"):
        monkeypatch.setattr(f"steelyard.controller.trial.{module}.ANSWER_WITHIN", 0.2)
    site = FakeSite(score, hosts=3)
    site.hosts[1].__class__ = kind
    (trial,) = ran(site).record.trials
    assert trial.result.category == "host-failed"
    assert trial.message.startswith(says)


class Gone(FakeHost):
    """A host that is lost during the first trial."""

    async def start(self, command: Command, streams: Any, *, cwd: Any, at: int | None = None) -> Any:
        raise HostLost(f"{self.name} does not answer any more")

    async def check(self) -> None:
        if self.started:
            raise HostLost(f"{self.name} cannot be reached again")
        self.started.append(Command(("once",)))


def test_a_lost_host_fails_its_trial_and_one_that_stays_lost_ends_the_run(own_place: Path) -> None:
    site = FakeSite(score, hosts=2)
    site.hosts[1].__class__ = Gone
    with pytest.raises(HostLost, match="fake-1 cannot be reached again"):
        ran(site, repeat=5)
    run = api.last()
    assert [(t.result.category, t.message) for t in run.record.trials] == [
        ("host-failed", "fake-1 does not answer any more")
    ]
    assert run.record.journal[-1]["state"] == "failed"


def test_what_each_copy_said_is_kept_beside_the_sum() -> None:
    run = ran(FakeSite(score, hosts=2))
    content = json.loads((run.record.folder.trial(1) / "metrics.json").read_text())
    assert content["values"]["score"] == 10
    assert content["copies"] == {
        f"run host-{n}": {"wall": 0.1, "user": 0.0, "system": 0.0, "peak_memory": 0.0, "score": 5.0}
        for n in (0, 1)
    }


def test_a_program_with_ranks_is_one_copy_started_by_the_sites_launcher() -> None:
    site = FakeSite(score, hosts=3)
    run = ran(site, roles={"node": 3}, workload={"on": "node[:2]", "ranks": 4})
    assert [len(host.started) for host in site.hosts] == [1, 0, 0]
    argv = site.hosts[0].started[0].argv
    assert argv[0] == "mpirun"
    assert argv[-1] == "bench"
    assert argv[argv.index("-n") + 1] == "8"
    assert run.record.trials[0].result.metrics["score"] == 5


@pytest.mark.skipif(not shutil.which("mpirun"), reason="mpirun is not installed")
def test_real_ranks(real: Callable[..., api.Run]) -> None:
    script = 'echo "rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE"'
    run = real("local:2", workload={"script": script, "ranks": 2})
    (trial,) = run.record.trials
    assert trial.result.status == "ok", trial.message
    (said,) = run.record.folder.trial(1).rglob("stdout")
    assert sorted(said.read_text().split("\n"))[1:] == [f"rank {n} of 4" for n in range(4)]


@pytest.fixture
def real(told: Any) -> Callable[..., api.Run]:
    def run(site: str, **more: Any) -> api.Run:
        workload = {"use": "command", "script": "pwd; sleep 0.05", **more.pop("workload", {})}
        tree = {"experiment": "real", "telemetry": "off", "workload": workload, "repeat": 1}
        tree |= {"disturbed": "exclude", **more}
        return api.run(tree, site=site, observer=told)

    return run


def test_local_hosts_have_scratch_directories_of_their_own_and_start_together(
    real: Callable[..., api.Run], own_place: Path
) -> None:
    run = real("local:4", workload={"copies": 2})
    (trial,) = run.record.trials
    assert trial.result.status == "ok", trial.message
    said = [path.read_text().strip() for path in run.record.folder.trial(1).rglob("stdout")]
    assert len(said) == len(set(said)) == 8
    assert not any(Path(place).exists() for place in said)
    assert recorded(run)["skew"] >= 0
    assert [host["address"] for host in run.record.environment["hosts"]] == [
        f"127.0.0.{n}" for n in range(1, 5)
    ]
