"""What the columns of host telemetry mean."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.plugin.collector import Column

COLUMNS: Mapping[str, Column] = {
    "cpu_busy": Column("%", "user and system time, share of all cores", "rate"),
    "cpu_user": Column("%", "time in programs, niced ones included, share of all cores", "rate"),
    "cpu_system": Column("%", "time in the kernel, interrupts included, share of all cores", "rate"),
    "cpu_iowait": Column(
        "%", "idle with I/O outstanding, share of all cores; a hint only, see proc(5)", "rate"
    ),
    "cpu_steal": Column("%", "time the hypervisor gave to other guests, share of all cores", "rate"),
    "runnable": Column("1", "tasks running or ready to run at this instant"),
    "blocked": Column("1", "tasks waiting for I/O at this instant"),
    "memory_used": Column("B", "total minus available"),
    "memory_available": Column("B", "memory available without swapping, as estimated by the kernel"),
    "memory_cached": Column("B", "page cache"),
    "memory_dirty": Column("B", "page cache not yet written to disk"),
    "memory_writeback": Column("B", "page cache being written to disk"),
    "swap_used": Column("B", "swap in use"),
    "disk_read": Column(
        "B/s", "read from disks; the sum excludes stacked devices such as dm-0 and md0", "rate"
    ),
    "disk_write": Column("B/s", "written to disks", "rate"),
    "disk_read_iops": Column("1/s", "reads completed by disks", "rate"),
    "disk_write_iops": Column("1/s", "writes completed by disks", "rate"),
    "disk_busy": Column("%", "share of time with I/O outstanding on the busiest disk", "rate"),
    "network_received": Column(
        "B/s", "received; the sum excludes virtual interfaces such as veth and bond", "rate"
    ),
    "network_sent": Column("B/s", "sent", "rate"),
    "loopback": Column("B/s", "through the loopback interface", "rate"),
    "pressure_cpu_some": Column("%", "share of time in which some task waited for a CPU", "rate"),
    "pressure_memory_some": Column("%", "share of time in which some task waited for memory", "rate"),
    "pressure_memory_full": Column("%", "share of time in which all tasks waited for memory", "rate"),
    "pressure_io_some": Column("%", "share of time in which some task waited for I/O", "rate"),
    "pressure_io_full": Column("%", "share of time in which all tasks waited for I/O", "rate"),
}
