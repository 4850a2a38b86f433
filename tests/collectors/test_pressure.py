from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from host_files import read_files
from steelyard.collectors.pressure import PressureCollector, PressureOptions

RECORDING = Path(__file__).parents[1] / "data" / "collectors" / "pressure.ndjson"
SAMPLES = [(s["t"], s["m"], s["raw"]) for s in map(json.loads, RECORDING.read_text().splitlines())]
MACHINE = PressureCollector(PressureOptions())


def total(sample, resource: str, tasks: str) -> int:
    lines = sample[2][f"/proc/pressure/{resource}"].splitlines()
    return next(int(line.rpartition("=")[2]) for line in lines if line.startswith(tasks))


def test_a_share_is_the_stalled_time_of_the_interval():
    row = next(MACHINE.rows(SAMPLES))
    stalled = (total(SAMPLES[1], "cpu", "some") - total(SAMPLES[0], "cpu", "some")) / 1e6
    assert row["cpu_some"] == pytest.approx(min(1.0, stalled / (SAMPLES[1][1] - SAMPLES[0][1])))
    assert 0 < row["cpu_some"] <= 1


def test_averages_are_the_kernels_as_ratios():
    row = next(MACHINE.rows(SAMPLES))
    said = SAMPLES[1][2]["/proc/pressure/io"].splitlines()[0]
    assert f"avg10={row['io_some_avg10'] * 100:.2f} avg60={row['io_some_avg60'] * 100:.2f}" in said


# As Documentation/accounting/psi.rst has the file of interrupts, which has no line `some`.
IRQ = "full avg10=1.50 avg60=0.25 avg300=0.00 total={}\n"


def test_interrupts_have_one_line():
    path = "/proc/pressure/irq"
    samples = [(1.0, 1.0, {path: IRQ.format(1000)}), (3.0, 3.0, {path: IRQ.format(501000)})]
    assert list(MACHINE.rows(samples)) == [
        {"t": 3.0, "m": 3.0, "irq_full": 0.25, "irq_full_avg10": 0.015, "irq_full_avg60": 0.0025}
    ]


@pytest.mark.parametrize(
    ("cgroup", "path"),
    [("/", "/sys/fs/cgroup/cpu.pressure"), ("/a/b.slice/", "/sys/fs/cgroup/a/b.slice/cpu.pressure")],
)
def test_a_control_group_has_files_of_its_own(cgroup: str, path: str):
    group = PressureCollector(PressureOptions(cgroup=cgroup))
    assert path in group.files()
    raw = [{path: text.replace("1000", "9000")} for text in (IRQ.format(0), IRQ.format(5))]
    assert next(group.rows([(1.0, 1.0, raw[0]), (2.0, 2.0, raw[1])]))["cpu_full_avg10"] == 0.015


@pytest.mark.parametrize("cgroup", ["", "a", "/a/../b", "/..", "/a*", "/a\0b"])
def test_no_path_leads_out_of_the_control_groups(cgroup: str):
    with pytest.raises(ValidationError, match="control group"):
        PressureOptions(cgroup=cgroup)


def test_this_machine_is_read():
    raw = read_files(MACHINE.files())
    if not raw:
        pytest.skip("this kernel tells no pressure (CONFIG_PSI)")
    (row,) = MACHINE.rows([(0.0, 0.0, raw), (1.0, 1.0, raw)])
    assert row["cpu_some"] == 0.0
    assert "memory_full_avg10" in row
