"""What the columns of host telemetry mean, for those who fill them and those who draw them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from steelyard.model.metric import Unit


class Column(NamedTuple):
    """What a column of a row means; `%` is a ratio that is shown as per cent."""

    unit: Unit
    about: str


COLUMNS: Mapping[str, Column] = {
    "t": Column("s", "end of the interval on the wall clock, seconds since 1970"),
    "m": Column("s", "end of the interval on the host's monotonic clock"),
    "cpu_busy": Column("%", "user and system time, share of all cores"),
    "cpu_user": Column("%", "time in programs, niced ones included, share of all cores"),
    "cpu_system": Column("%", "time in the kernel, interrupts included, share of all cores"),
    "cpu_iowait": Column("%", "idle with I/O outstanding, share of all cores; a hint only, see proc(5)"),
    "cpu_steal": Column("%", "time the hypervisor gave to other guests, share of all cores"),
    "runnable": Column("1", "tasks running or ready to run at this instant"),
    "blocked": Column("1", "tasks waiting for I/O at this instant"),
    "memory_used": Column("B", "total minus available"),
    "memory_available": Column("B", "memory available without swapping, as estimated by the kernel"),
    "memory_cached": Column("B", "page cache"),
    "memory_dirty": Column("B", "page cache not yet written to disk"),
    "memory_writeback": Column("B", "page cache being written to disk"),
    "swap_used": Column("B", "swap in use"),
    "disk_read": Column("B/s", "read from disks; the sum excludes stacked devices such as dm-0 and md0"),
    "disk_write": Column("B/s", "written to disks"),
    "disk_read_iops": Column("1/s", "reads completed by disks"),
    "disk_write_iops": Column("1/s", "writes completed by disks"),
    "disk_busy": Column("%", "share of time with I/O outstanding on the busiest disk"),
    "network_received": Column("B/s", "received; the sum excludes virtual interfaces such as veth and bond"),
    "network_sent": Column("B/s", "sent"),
    "loopback": Column("B/s", "through the loopback interface"),
    "pressure_cpu_some": Column("%", "share of time in which some task waited for a CPU"),
    "pressure_memory_some": Column("%", "share of time in which some task waited for memory"),
    "pressure_memory_full": Column("%", "share of time in which all tasks waited for memory"),
    "pressure_io_some": Column("%", "share of time in which some task waited for I/O"),
    "pressure_io_full": Column("%", "share of time in which all tasks waited for I/O"),
}


def column(name: str) -> Column | None:
    """What a column means; `disk_read:vda` is a device of the family `disk_read`. None when unknown."""
    return COLUMNS.get(name.partition(":")[0])
