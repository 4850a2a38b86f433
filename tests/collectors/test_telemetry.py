from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host_files import read_files
from steelyard.collectors.telemetry import COLUMNS, TelemetryCollector, parse, rates
from steelyard.model.column import CLOCKS, Column, find_column
from steelyard.plugin.collector import CollectorOptions

RECORDING = Path(__file__).parents[1] / "data" / "collectors" / "telemetry.ndjson"
SAMPLES = [json.loads(line) for line in RECORDING.read_text().splitlines()]
TELEMETRY = TelemetryCollector(CollectorOptions())
rows, reduce_sample = TELEMETRY.rows, TELEMETRY.reduce
TABLE = list(rows((s["t"], s["m"], s["raw"]) for s in SAMPLES))


def column(name: str) -> Column | None:
    return find_column({**CLOCKS, **TELEMETRY.columns()}, name)


def disk(sample: dict[str, Any], name: str) -> list[int]:
    line = next(line for line in sample["raw"]["/proc/diskstats"].splitlines() if f" {name} " in line)
    return [int(field) for field in line.split()[3:]]


def test_a_row_for_each_interval_of_a_real_recording() -> None:
    assert len(TABLE) == len(SAMPLES) - 1
    assert [row["m"] for row in TABLE] == [sample["m"] for sample in SAMPLES[1:]]


def test_disk_rates_are_those_of_the_kernels_counters() -> None:
    first, second, row = SAMPLES[0], SAMPLES[1], TABLE[0]
    seconds = second["m"] - first["m"]
    before, after = disk(first, "vda"), disk(second, "vda")
    assert row["disk_read:vda"] == pytest.approx((after[2] - before[2]) * 512 / seconds)
    assert row["disk_write:vda"] == pytest.approx((after[6] - before[6]) * 512 / seconds)
    assert row["disk_read_iops"] == pytest.approx((after[0] - before[0]) / seconds)
    assert row["disk_write"] == row["disk_write:vda"] > 100e6  # fio was writing


def test_the_shares_of_the_cpus_add_up() -> None:
    before, after = (sample["raw"]["/proc/stat"].split()[1:9] for sample in SAMPLES[:2])
    spent = [int(b) - int(a) for a, b in zip(before, after, strict=True)]
    row = TABLE[0]
    assert row["cpu_user"] == pytest.approx((spent[0] + spent[1]) / sum(spent))
    assert row["cpu_system"] == pytest.approx((spent[2] + spent[5] + spent[6]) / sum(spent))
    assert row["cpu_busy"] == pytest.approx(row["cpu_user"] + row["cpu_system"])


def test_every_column_has_a_unit_and_a_sentence() -> None:
    names = {name for row in TABLE for name in row}
    assert names >= {
        "t",
        "m",
        "cpu_busy",
        "runnable",
        "memory_used",
        "disk_busy",
        "network_sent",
        "pressure_io_some",
    }
    assert all(column(name) for name in names)
    assert column("disk_read:vda") is COLUMNS["disk_read"]
    assert column("nonsense") is None


def test_shares_lie_between_nothing_and_all() -> None:
    shares = [
        value for row in TABLE for name, value in row.items() if (column(name) or CLOCKS["t"]).unit == "%"
    ]
    assert shares
    assert all(0 <= share <= 1 for share in shares)


@pytest.mark.parametrize("sample", SAMPLES)
def test_what_is_kept_parses_the_same_and_is_smaller(sample: dict[str, Any]) -> None:
    kept = reduce_sample(sample["raw"])
    assert parse(kept) == parse(sample["raw"])
    assert "intr" not in kept["/proc/stat"]
    assert len(str(kept)) < len(str(sample["raw"])) / 2


def test_a_counter_that_went_back_leaves_a_gap() -> None:
    row = rates({"disk_read:sda": 5000.0, "loopback": 10.0}, {"disk_read:sda": 7.0, "loopback": 30.0}, 2.0)
    assert row == {"loopback": 10.0}


def test_a_new_device_counts_from_the_next_row_on() -> None:
    one, two, three = (
        {"disk_read:a": 1.0},
        {"disk_read:a": 3.0, "disk_read:b": 9e9},
        {"disk_read:b": 9e9 + 4},
    )
    assert rates(one, two, 1.0) == {"disk_read:a": 2.0, "disk_read": 2.0}
    assert rates(two, three, 2.0) == {"disk_read:b": 2.0, "disk_read": 2.0}


def test_no_time_no_rates() -> None:
    assert rates({"loopback": 1.0}, {"loopback": 2.0}, 0.0) == {}
    assert list(rows([(1.0, 5.0, {}), (2.0, 5.0, {})])) == []


def test_iowait_may_go_back_without_spoiling_the_shares() -> None:
    cpu = dict.fromkeys(("cpu_user", "cpu_system", "cpu_idle", "cpu_iowait", "cpu_steal"), 10.0)
    row = rates(cpu, {**cpu, "cpu_user": 11.0, "cpu_idle": 13.0, "cpu_iowait": 9.5}, 1.0)
    assert row["cpu_user"] == 0.25
    assert row["cpu_iowait"] == 0.0


def test_missing_files_leave_their_columns_out() -> None:
    kept = {path: SAMPLES[0]["raw"][path] for path in ("/proc/stat", "/proc/meminfo")}
    names = set(parse(kept))
    assert "cpu_user" in names
    assert not {name for name in names if name.startswith(("disk", "network", "pressure", "unreadable"))}


def test_an_odd_file_is_named_and_the_others_are_read() -> None:
    raw = {**SAMPLES[0]["raw"], "/proc/diskstats": "8 0 sda " + "x " * 17}
    figures = parse(raw)
    assert figures["unreadable"] == ["/proc/diskstats"]
    assert "cpu_user" in figures


def line(name: str, sectors: int) -> str:
    return f" 8 0 {name} 1 0 {sectors} 0 0 0 0 0 0 500 0 0 0 0 0 0 0\n"


def test_whole_disks_only_and_stacked_ones_are_not_added() -> None:
    # Names as the kernel's drivers give them; partition, then the case that only looks like one.
    names = ["sda", "sda1", "nvme0n1", "nvme0n1p12", "mmcblk0", "mmcblk0p1", "xvda1", "dm-1", "dm-10", "md0"]
    before, after = ("".join(line(n, s) for n in [*names, "loop0", "ram1", "sr0", "zram0"]) for s in (0, 2))
    row = rates(parse({"/proc/diskstats": before}), parse({"/proc/diskstats": after}), 1.0)
    devices = {name.partition(":")[2] for name in row if ":" in name}
    assert devices == {"sda", "nvme0n1", "mmcblk0", "xvda1", "dm-1", "dm-10", "md0"}
    assert row["disk_read"] == 4 * 1024


def test_interfaces_that_carry_each_other_are_not_added() -> None:
    def text(count: int) -> str:
        fields = " ".join([str(count), *["0"] * 7, str(2 * count), *["0"] * 7])
        head = "Inter-| Receive\n face |bytes\n"
        return head + "".join(
            f"{name:>6}: {fields}\n" for name in ("lo", "eth0", "bond0", "veth12", "eth0.100")
        )

    row = rates(parse({"/proc/net/dev": text(0)}), parse({"/proc/net/dev": text(1000)}), 1.0)
    assert row["network_received"] == row["network_received:eth0"] == 1000
    assert row["network_sent"] == 2000
    assert row["loopback"] == 2000
    assert row["network_received:bond0"] == 1000


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(TELEMETRY.files(), st.text())), st.floats())
def test_no_text_is_too_odd(raw: dict[str, str], seconds: float) -> None:
    figures = parse(raw)
    assert set(figures.get("unreadable", [])) <= set(raw)
    rates(figures, parse(SAMPLES[0]["raw"]), seconds)
    rates(parse(SAMPLES[0]["raw"]), figures, seconds)
    assert reduce_sample(raw).keys() == raw.keys()


@given(st.data())
def test_no_damage_to_a_real_sample_is_too_odd(data: st.DataObject) -> None:
    raw = dict(SAMPLES[0]["raw"])
    path = data.draw(st.sampled_from(sorted(raw)))
    words = raw[path].split(" ")
    words[data.draw(st.integers(0, len(words) - 1))] = data.draw(
        st.sampled_from(["-1", "9" * 400, "x", "\n", "\0"])
    )
    rates(parse(raw), parse(SAMPLES[1]["raw"]), 1.0)


def test_this_machine_is_read_whole() -> None:
    figures = parse(read_files(TELEMETRY.files()))
    assert "unreadable" not in figures
    assert figures["cpu_user"] > 0
    assert figures["memory_total"] > figures["memory_available"] > 0
