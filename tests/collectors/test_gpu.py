"""GPUs, by published output of nvidia-smi: no machine of ours has one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.collectors.gpu import GpuCollector
from steelyard.plugin.collector import CollectorOptions

RECORDING = Path(__file__).parents[1] / "data" / "collectors" / "gpu.ndjson"
SAMPLES = [(s["t"], s["m"], s["raw"]) for s in map(json.loads, RECORDING.read_text().splitlines())]
GPU = GpuCollector(CollectorOptions())


def row(*lines: str) -> dict[str, float]:
    """The figures of a sample with these lines."""
    rows = list(GPU.rows([(1.0, 2.0, {"nvidia-smi": "\n".join(lines)})]))
    return {name: value for each in rows for name, value in each.items() if name not in ("t", "m")}


def test_each_device_has_columns_of_its_own_in_base_units():
    first = next(GPU.rows(SAMPLES))
    assert first == {
        "t": SAMPLES[0][0],
        "m": SAMPLES[0][1],
        "gpu_busy:0": 0.26,
        "gpu_memory_busy:0": 0.04,
        "gpu_power:0": 83.92,
        "gpu_temperature:0": 56.0,
        "gpu_clock:0": 1320.0,
        "gpu_memory_clock:0": 5001.0,
        "gpu_busy:1": 0.0,
        "gpu_memory_busy:1": 0.0,
        "gpu_memory_used:1": 0.0,
        "gpu_power:1": 28.16,
        "gpu_temperature:1": 37.0,
        "gpu_clock:1": 405.0,
        "gpu_memory_clock:1": 715.0,
    }
    assert len(list(GPU.rows(SAMPLES))) == len(SAMPLES)


def test_memory_is_in_bytes():
    assert row("0, 100, 37, 2856, 228.82, 56, 1560, 6800")["gpu_memory_used:0"] == 2856 * 2**20


@pytest.mark.parametrize(
    "none", ["[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", "", "nan", "inf", "1_0"]
)
def test_what_a_product_does_not_report_is_left_out(none: str):
    figures = row(f"0, 100, {none}, 1, {none}, 56, 1560, {none}")
    assert set(figures) == {"gpu_busy:0", "gpu_memory_used:0", "gpu_temperature:0", "gpu_clock:0"}


@pytest.mark.parametrize(
    "line",
    [
        "No devices were found",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        "Unable to determine the device handle for GPU0000:01:00.0: GPU has fallen off the bus.",
        "index, utilization.gpu [%], utilization.memory [%], memory.used [MiB], power.draw [W], 5, 6, 7",
        "0, 1, 2",
        "-1, 1, 2, 3, 4, 5, 6, 7",
        "",
    ],
)
def test_a_line_that_is_no_device_is_left_out(line: str):
    assert row(line) == {}
    assert row(line, "3, 1, 2, 3, 4, 5, 6, 7")["gpu_clock:3"] == 6.0


def test_the_query_asks_for_what_is_parsed():
    (command,) = GPU.commands(None).values()
    assert command.argv == (
        "nvidia-smi",
        "--query-gpu=index,utilization.gpu,utilization.memory,memory.used,power.draw,temperature.gpu,"
        "clocks.sm,clocks.mem",
        "--format=csv,noheader,nounits",
    )
