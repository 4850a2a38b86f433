"""What fio can be told: its option names by kind of value, and those that a trial may not use.

The names are those of `fio --cmdhelp=all` and `--enghelp=ENGINE` of fio 3.33, aliases included. An
option of a newer fio is refused until its name is added here: a misspelt name must not pass for a new one.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

ValueKind = Literal["flag", "number", "time", "text"]

_FLAG = """
allow_file_create allow_mounted_write allrandrepeat atomic block_error_percentiles blocksize_unaligned
bs_unaligned buffered cgroup_nodelete clat_percentiles create_fsync create_on_open create_only
create_serialize dedupe_global direct disable_bw disable_bw_measurement disable_clat disable_lat
disable_slat disk_util do_verify end_fsync error_dump exitall exitall_on_error experimental_verify
file_append fill_device fill_fs fsync_on_close group_reporting gtod_reduce ignore_zone_limits invalidate
lat_percentiles latency_run log_alternate_epoch log_max_value log_offset log_prio log_store_compressed
log_unix_epoch new_group norandommap overwrite per_job_logs pre_read randrepeat rate_ignore_thinktime
read_beyond_wp read_iolog_chunked refill_buffers replay_no_stall scramble_buffers serialize_overlap
slat_percentiles stats stonewall thread time_based trim_verify_zero unique_filename unlink unlink_each_loop
verify_dump verify_fatal verify_only verify_state_load verify_state_save wait_for_previous zero_buffers
"""
_NUMBER = """
ba blockalign blocksize blocksize_range bs bsrange buffer_compress_chunk buffer_compress_percentage
bwavgtime cgroup_weight cpumask dedupe_percentage dedupe_working_set_percentage fdatasync fileoffset
filesize flow flow_id flow_sleep fsync gid gtod_cpu hugepage-size io_limit io_size iodepth iodepth_batch
iodepth_batch_complete iodepth_batch_complete_max iodepth_batch_complete_min iodepth_batch_submit
iodepth_low iopsavgtime job_max_open_zones log_alternate_epoch_clock_id log_avg_msec log_compression
log_entries log_hist_coarseness log_hist_msec loops max_open_zones nice nr_files nrfiles
number_ios numjobs offset offset_align offset_increment openfiles percentage_random prio prioclass rate
rate_cycle rate_iops rate_iops_min rate_min ratecycle ratemin replay_align replay_scale replay_time_scale
rwmixread rwmixwrite significant_figures size sync_file_range thinktime_blocks trim_backlog_batch
trim_percentage uid verify_async verify_backlog_batch verify_interval verify_offset write_barrier
zonecapacity zonerange zonesize zoneskip
"""
_TIME = """
latency_target latency_window max_latency ramp_time runtime ss_dur ss_ramp startdelay steadystate_duration
steadystate_ramp_time thinktime thinktime_iotime thinktime_spin timeout
"""
_TEXT = """
bssplit buffer_pattern cgroup clocksource continue_on_error cpus_allowed cpus_allowed_policy dedupe_mode
description directory exec_postrun exec_prerun exit_what fadvise_hint fallocate file_service_type filename
filename_format ignore_error io_submit_mode ioengine iomem ioscheduler kb_base latency_percentile lockfile
lockmem log_compression_cpus mem merge_blktrace_file merge_blktrace_iters merge_blktrace_scalars name
numa_cpu_nodes numa_mem_policy opendir percentile_list profile random_distribution random_generator randseed
rate_process read_iolog readwrite replay_redirect replay_skip rw rw_sequencer ss steadystate sync
thinktime_blocks_type trim_backlog unified_rw_reporting unit_base verify verify_backlog verify_pattern
wait_for write_bw_log write_hint write_hist_log write_iolog write_iops_log write_lat_log
zone_reset_frequency zone_reset_threshold zonemode
"""

_ENGINE_FLAG = """
fixedbufs force_async hipri nonvectored nowait registerfiles sqthread_poll thp uncached
userspace_reap
"""
_ENGINE_NUMBER = """
cmdprio cmdprio_class cmdprio_percentage hipri_percentage sqthread_poll_cpu
"""
_ENGINE_TEXT = """
cmdprio_bssplit stat_type
"""


def _list_kinds() -> dict[str, ValueKind]:
    kinds: dict[str, ValueKind] = dict.fromkeys(f"{_FLAG} {_ENGINE_FLAG}".split(), "flag")
    kinds |= dict.fromkeys(f"{_NUMBER} {_ENGINE_NUMBER}".split(), "number")
    kinds |= dict.fromkeys(_TIME.split(), "time")
    kinds |= dict.fromkeys(f"{_TEXT} {_ENGINE_TEXT}".split(), "text")
    return kinds


KINDS = MappingProxyType(_list_kinds())

# Engines that work on files; the synchronous ones keep one I/O outstanding whatever depth is asked for. All
# other engines of fio talk to a network, a device or a program.
_SYNCHRONOUS = """
falloc filecreate filedelete filestat ftruncate mmap psync pvsync pvsync2 splice sync vsync
"""
SYNCHRONOUS = frozenset(_SYNCHRONOUS.split())
ENGINES = SYNCHRONOUS | {"libaio", "io_uring", "posixaio", "null"}

DIRECTIONS = MappingProxyType(
    {
        "read": ("read",),
        "randread": ("read",),
        "write": ("write",),
        "randwrite": ("write",),
        "trim": ("trim",),
        "randtrim": ("trim",),
        "rw": ("read", "write"),
        "readwrite": ("read", "write"),
        "randrw": ("read", "write"),
        "trimwrite": ("write", "trim"),
        "randtrimwrite": ("write", "trim"),
    }
)

_RUNS = "it runs a program; use a `before_each` step or a `command` workload"
_LEAVES = "it reaches outside the trial's scratch directory"
_LOGS = "it writes outside the record; latencies are recorded as a histogram from fio's own bins"
_REPLAYS = "it reads a trace from outside the scratch directory"
_HOST = "it changes the host for other users"
REFUSED = MappingProxyType(
    {
        "exec_prerun": _RUNS,
        "exec_postrun": _RUNS,
        "directory": "set it next to `job:`; the files are in the scratch directory there",
        "opendir": _LEAVES,
        "allow_mounted_write": _LEAVES,
        "name": "the key under `jobs:` names the job",
        "write_bw_log": _LOGS,
        "write_hist_log": _LOGS,
        "write_iolog": _LOGS,
        "write_iops_log": _LOGS,
        "write_lat_log": _LOGS,
        "read_iolog": _REPLAYS,
        "replay_redirect": _REPLAYS,
        "merge_blktrace_file": _REPLAYS,
        "profile": "it replaces the options that you give",
        "unified_rw_reporting": "metrics are reported per direction",
        "group_reporting": "jobs are merged after the depth of each one is checked",
        "ioscheduler": _HOST,
        "cgroup": _HOST,
        "cgroup_weight": _HOST,
        "cgroup_nodelete": _HOST,
        "uid": "a trial runs as the user who started it",
        "gid": "a trial runs as the user who started it",
    }
)
