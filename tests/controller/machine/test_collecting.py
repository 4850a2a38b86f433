"""Collectors beside a real trial: who is looked at, what is kept, what is said when nothing is there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import steelyard
from steelyard.collectors.base import Collector, CollectorOptions
from steelyard.controller.machine.collecting import Collecting
from steelyard.controller.machine.sampler import CollectorSource
from steelyard.controller.placement import Placement
from steelyard.errors import HostError
from steelyard.hosts.local import LocalHost
from steelyard.hosts.token import Token
from steelyard.model.column import Column, find_column
from steelyard.model.command import Command, Endpoint
from steelyard.model.experiment import Experiment
from steelyard.model.keys.collect import CollectorUse, list_collectors
from steelyard.store.layout import RunFolder
from steelyard.store.telemetry import read_parquet
from steelyard.testing import FakeHost, FakeSite, Said

has_pressure = pytest.mark.skipif(
    not Path("/proc/pressure/cpu").exists(), reason="this kernel tells no pressure (CONFIG_PSI)"
)


def listed(folder: RunFolder, *collect: Any, machines: bool = True, **more: Any) -> list[Path]:
    """The files of samples that the collectors of a trial on three hosts would write."""
    hosts = [FakeHost(lambda _: Said(), name=f"h{n}", machine=f"m{n}" if machines else "m") for n in range(3)]
    tree = {"experiment": "x", "roles": {"db": 2, "client": 1}, "collect": list(collect), **more}
    experiment = Experiment.model_validate({**tree, "workload": {"use": "command", "run": ["x"], "on": "db"}})
    collecting = Collecting(experiment, Placement.of(experiment.claims, hosts), folder)
    return [sampler.path.relative_to(folder.trial(7)) for sampler in collecting.make_samplers(7)]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path)


def test_telemetry_is_there_unless_it_is_off(folder: RunFolder) -> None:
    every = [Path(f"telemetry/h{n}.ndjson") for n in range(3)]
    assert listed(folder) == every
    assert listed(folder, "telemetry") == every
    assert listed(folder, "pressure")[:3] == every
    assert listed(folder, telemetry="off") == []


def test_an_entry_picks_its_hosts_and_its_name(folder: RunFolder) -> None:
    off = {"telemetry": "off"}
    on = {"use": "pressure", "on": "db[1]", "as": "second"}
    assert listed(folder, on, **off) == [Path("collected/second/h1.ndjson")]
    assert listed(folder, {"use": "pressure", "on": "client"}, **off) == [
        Path("collected/pressure/h2.ndjson")
    ]
    assert listed(folder, {"use": "telemetry", "on": "db"}) == [
        Path(f"telemetry/h{n}.ndjson") for n in range(2)
    ]


def test_a_machine_is_looked_at_once(folder: RunFolder) -> None:
    assert listed(folder, "pressure", machines=False) == [
        Path("telemetry/h0.ndjson"),
        Path("collected/pressure/h0.ndjson"),
    ]


def test_the_short_form_is_the_long_one() -> None:
    def collectors(**more: Any) -> tuple[CollectorUse, ...]:
        tree = {"experiment": "x", "workload": {"use": "command", "run": ["x"]}, **more}
        experiment = Experiment.model_validate(tree)
        assert list_collectors(Experiment.model_validate(experiment.to_tree())) == list_collectors(experiment)
        return list_collectors(experiment)

    (short,), (long,) = (
        collectors(telemetry={"every": "2s"}),
        collectors(collect={"use": "telemetry", "every": "2s"}),
    )
    assert (short.use, short.table, float(short.options["every"])) == ("telemetry", "telemetry", 2.0)
    assert (long.use, long.options) == ("telemetry", {"every": "2s"})
    assert collectors(telemetry="off") == ()


@has_pressure
def test_a_trial_has_a_table_with_what_its_columns_mean(measure: Callable[..., steelyard.Run]) -> None:
    run = measure("sleep 1", collect={"use": "pressure", "every": "100ms"})
    (table,) = run.record.collector_tables(1)
    assert (table.collector, table.label) == ("pressure", "local")
    assert len(read_parquet(table.path)["cpu_some"]) >= 2
    assert table.columns()["cpu_some"].unit == "%"
    assert not table.path.with_suffix(".ndjson").exists()
    assert run.record.telemetry(1) == {}
    assert run.record.design["collect"] == [{"use": "pressure", "every": "100ms"}]


def test_a_collector_that_reads_nothing_is_told_once(
    measure: Callable[..., steelyard.Run], told: Any
) -> None:
    options = {"use": "pressure", "cgroup": "/there/is/none", "every": "100ms"}
    run = measure("sleep 0.6", collect=options, repeat=2)
    assert run.record.warnings == [
        "collector pressure read nothing on local; `steelyard schema pressure` lists its options"
    ]
    assert all(result.status == "ok" for result in run.record.results)


class Telling(Collector[CollectorOptions]):
    """What commands print; one of them is told something that nobody else may see."""

    def commands(self, endpoint: Any) -> dict[str, Command]:
        tell = ("sh", "-c", 'test "$WORD" = secret && echo told')
        return {
            "open": Command(("echo", "said")),
            "secret": Command(tell, secrets={"WORD": "secret"}),
            "wrong": Command(tell, secrets={"WORD": "other"}),
            "missing": Command(("no-such-program",)),
        }

    def columns(self, samples: Any = ()) -> dict[str, Column]:
        return {}

    def rows(self, samples: Any) -> Any:
        return iter(())


def test_commands_are_read_and_secrets_are_in_no_command_line(tmp_path: Path, own_place: Path) -> None:
    async def take() -> Any:
        async with LocalHost.open(Token.of("test"), tmp_path / "log") as host:
            return await CollectorSource(Telling(CollectorOptions()), host).take()

    assert asyncio.run(take()) == {"open": "said\n", "secret": "told\n"}
    assert [path.name for path in (own_place / "tmp").iterdir() if "collect" in path.name] == []


def deployed(*servers: tuple[FakeHost, str, int]) -> Any:
    """A service `web` that is ready, with these servers; without any, one that runs elsewhere."""
    context = SimpleNamespace(name="web", hosts=(FakeHost(lambda _: Said(), name="first"),))
    entries = [SimpleNamespace(host=host, address=address, port=port) for host, address, port in servers]
    web = SimpleNamespace(context=context, servers=entries, endpoint=lambda: Endpoint("10.0.0.9", 80))
    return SimpleNamespace(services=[web], metered_services=dict)


def watching(folder: RunFolder, *hosts: FakeHost) -> Collecting:
    tree = {
        "experiment": "x",
        "services": {"web": {"use": "program", "run": ["x"]}},
        "workload": {"use": "command", "run": ["x"]},
        "collect": {"use": "prometheus", "from": "web", "metrics": ["a"]},
        "telemetry": "off",
    }
    experiment = Experiment.model_validate(tree)
    return Collecting(experiment, Placement.of(experiment.claims, hosts), folder)


def test_each_server_of_a_service_is_looked_at_from_its_own_host(folder: RunFolder) -> None:
    a, b = (FakeHost(lambda _: Said(), name=name, machine=name) for name in "ab")

    def names(*servers: tuple[FakeHost, str, int]) -> list[str]:
        return [one.path.name for one in watching(folder, a, b).make_samplers(1, deployed(*servers))]

    assert names((a, "10.0.0.1", 80), (b, "10.0.0.2", 80)) == ["a.ndjson", "b.ndjson"]
    assert names((a, "10.0.0.1", 80), (a, "10.0.0.1", 81)) == ["a-80.ndjson", "a-81.ndjson"]
    assert names() == ["first.ndjson"]
    assert list(watching(folder, a, b).make_samplers(1)) == []


@pytest.mark.parametrize(
    ("collect", "message", "hint"),
    [
        ("gpu", "collector gpu needs nvidia-smi, which fake does not have", "install it there"),
        (
            {"use": "prometheus", "from": "web", "metrics": ["a"]},
            "collector prometheus needs curl, which fake does not have",
            "`steelyard install curl` installs it",
        ),
    ],
)
def test_a_missing_tool_ends_the_run_before_its_first_trial(
    tmp_path: Path, collect: Any, message: str, hint: str
) -> None:
    site = FakeSite(lambda _: Said())

    async def which(program: str) -> None:
        return None

    site.host.which = which  # type: ignore[method-assign]
    tree = {
        "experiment": "x",
        "services": {"web": {"use": "program", "run": ["x"]}},
        "workload": {"use": "command", "run": ["x"]},
        "collect": collect,
    }
    with pytest.raises(HostError, match=message) as caught:
        steelyard.run(tree, site=site, store=tmp_path)
    assert hint in caught.value.hint
    assert site.host.started == []


def test_a_collector_that_starts_a_program_has_its_table(
    measure: Callable[..., steelyard.Run], own_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`nvidia-smi` is played: no machine of ours has a GPU."""
    played = own_place / "bin" / "nvidia-smi"
    played.parent.mkdir()
    played.write_text("#!/bin/sh\necho '0, 35, 12, [N/A], 83.92, 56, 1320, 5001'\n")
    played.chmod(0o755)
    monkeypatch.setenv("PATH", f"{played.parent}:{os.environ['PATH']}")
    run = measure("sleep 1", collect={"use": "gpu", "every": "200ms"})
    (table,) = run.record.collector_tables(1)
    values = read_parquet(table.path)
    assert set(values["gpu_busy:0"]) == {0.35}
    assert "gpu_memory_used:0" not in values
    assert find_column(table.columns(), "gpu_power:0") == Column("W", "power that the board draws")
