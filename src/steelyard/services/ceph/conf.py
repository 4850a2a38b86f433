"""ceph.conf of one host, and how much memory its daemons take. Pure.

Source: https://docs.ceph.com/en/pacific, "Configuration", "BlueStore configuration reference" and "Messenger
v2". Everything that a daemon writes lies in the host's scratch; it opens no socket for administration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from steelyard.plugin import HostError
from steelyard.services.ceph.daemons import CephDaemon
from steelyard.services.ceph.options import CephOptions

CONF, CONTROL = "ceph.conf", "control.py"
"""Names of files that daemons read and may not change."""
_MIB = 2**20
_TAKES = {"mon": 192 * _MIB, "mgr": 96 * _MIB, "mds": 192 * _MIB, "rgw": 256 * _MIB}  # at rest, and some
_LEAST, _BASE = 320 * _MIB, 256 * _MIB  # of a storage daemon: all, and what is no cache
_SELF_TUNING = 1024 * _MIB  # with less, Ceph's own tuning of caches finds no room
_SMALL_CACHE = 64 * _MIB
_RESERVE, _RESERVED = 0.05, 512 * _MIB  # that is left free: a share, and what is written in some seconds
_QUIET = ("rocksdb", "bdev", "bluestore", "bluefs", "paxos", "mgr", "osd", "mon", "mds", "rgw")


@dataclass(frozen=True, slots=True)
class CephCluster:
    """What all hosts agree on. `domain`: what keeps one copy at most; `size`: copies or parts."""

    fsid: str
    monitors: tuple[CephDaemon, ...]
    domain: str
    size: int
    encrypted: bool

    @property
    def mon_host(self) -> str:
        """Where everybody begins."""
        return ",".join(f"[{monitor.where}]" for monitor in self.monitors)


@dataclass(frozen=True, slots=True)
class CephHostFiles:
    """Where a host's daemons read and write."""

    conf: PurePosixPath
    data: PurePosixPath


def ceph_conf(
    cluster: CephCluster,
    options: CephOptions,
    host: tuple[str, str],
    daemons: Sequence[CephDaemon],
    files: CephHostFiles,
    memory: int,
) -> str:
    """The file of a host, which is given by its name and address."""
    name, address = host
    everywhere = {
        **_identity(cluster, address),
        **_places(files),
        **_pool_defaults(cluster, options),
        **_caches(daemons, memory),
        **{f"debug_{part}": "0" for part in _QUIET},
        **options.settings,
    }
    sections = {"global": everywhere}
    for daemon in daemons:
        sections[daemon.entity] = _own(daemon, name, files.conf, encrypted=cluster.encrypted)
        if daemon.kind == "rgw":
            sections[daemon.entity]["rgw_enable_apis"] = "s3" if options.face == "s3" else "swift, swift_auth"
    return _write(sections)


def client_conf(cluster: CephCluster, keyring: str) -> str:
    """The file of a client that mounts the file system."""
    mode = "secure" if cluster.encrypted else "crc secure"
    modes = {"ms_client_mode": mode, "ms_mon_client_mode": mode}
    settings = {"mon_host": cluster.mon_host, "keyring": keyring, "admin_socket": "", "log_file": ""}
    return _write({"global": {**settings, **modes}})


def _identity(cluster: CephCluster, address: str) -> dict[str, Any]:
    mode = "secure" if cluster.encrypted else "crc secure"
    six = ":" in address
    return {
        "fsid": cluster.fsid,
        "mon_host": cluster.mon_host,
        "public_addr": address,
        "cluster_addr": address,
        "ms_bind_msgr1": "false",
        "ms_bind_msgr2": "true",
        "ms_bind_ipv4": str(not six).lower(),
        "ms_bind_ipv6": str(six).lower(),
        **{
            f"ms_{part}_mode": mode for part in ("cluster", "service", "client", "mon_cluster", "mon_service")
        },
        "ms_mon_client_mode": mode,
        **{f"auth_{part}_required": "cephx" for part in ("cluster", "service", "client")},
        "auth_allow_insecure_global_id_reclaim": "false",
    }


def _places(files: CephHostFiles) -> dict[str, Any]:
    data = files.data
    return {
        "keyring": files.conf / "keyring.$name",
        "admin_socket": "",
        "run_dir": data,
        "crash_dir": data / "crash",
        "log_file": "",
        "log_to_stderr": "true",
        "err_to_stderr": "true",
        "mon_cluster_log_to_file": "false",
        "mon_data": data / "mon",
        "mgr_data": data / "mgr",
        "mds_data": data / "mds",
        "osd_data": data / "osd.$id",
        "rgw_data": data / "rgw",
        # The manager's modules in Python take 300 MB and ten seconds, and nothing here needs them.
        "mgr_module_path": data / "modules",
    }


def _pool_defaults(cluster: CephCluster, options: CephOptions) -> dict[str, Any]:
    copies = cluster.size if not options.is_erasure_coded else min(cluster.size, 3)
    return {
        "osd_pool_default_size": copies,
        "osd_pool_default_pg_num": 8,
        "osd_pool_default_pg_autoscale_mode": "off",
        "osd_crush_chooseleaf_type": 0 if cluster.domain == "osd" else 1,
        "osd_crush_initial_weight": 1,  # all are of one size
        "mon_allow_pool_size_one": "true",
        "mon_warn_on_pool_no_redundancy": "false",
        "mon_osd_min_down_reporters": 1,  # a cluster of two has no second witness
        "bluestore_block_size": int(options.osd_size),
        "bluestore_block_create": "true",
        # Once a second, so that what moves is seen while it moves, and what is full before it breaks.
        "mgr_stats_period": 1,
        "mgr_tick_period": 1,
        "osd_heartbeat_interval": 1,
        "osd_mon_report_interval": 1,
        **_full_ratios(int(options.osd_size)),
    }


def _full_ratios(size: int) -> dict[str, Any]:
    """When a storage daemon rejects writes: one without any space breaks, and it looks once a second."""
    full = 1 - max(_RESERVE, min(_RESERVED, size // 3) / size)
    steps = {"full": 0.0, "backfillfull": 0.03, "nearfull": 0.08}
    ratios = {f"mon_osd_{name}_ratio": f"{full - less:.3f}" for name, less in steps.items()}
    # From here on it drops what comes, until the monitors have told clients to wait.
    return {**ratios, "osd_failsafe_full_ratio": f"{full + 0.1 * (1 - full):.3f}", "mon_tick_interval": 1}


def _caches(daemons: Iterable[CephDaemon], memory: int) -> dict[str, Any]:
    each = storage_memory(daemons, memory)
    common = {"rocksdb_cache_size": _SMALL_CACHE, "mds_cache_memory_limit": _SMALL_CACHE * 2}
    if each >= _SELF_TUNING:
        return {**common, "osd_memory_target": each}
    return {**common, "bluestore_cache_autotune": "false", "bluestore_cache_size": each - _BASE}


def storage_memory(daemons: Iterable[CephDaemon], memory: int) -> int:
    """Bytes for each storage daemon of a host that gives all of them so much. Raises HostError."""
    kinds = [daemon.kind for daemon in daemons]
    others, count = sum(_TAKES.get(kind, 0) for kind in kinds), max(1, kinds.count("osd"))
    if (each := (memory - others) // count) < _LEAST:
        least = (others + count * _LEAST) // _MIB
        listed = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        raise HostError(
            f"its daemons ({listed}) need {least} MiB of memory, and its share is {memory // _MIB} MiB",
            hint="use fewer `osds` for each host, or hosts with more memory",
        )
    return each


def _own(daemon: CephDaemon, host: str, conf: PurePosixPath, *, encrypted: bool) -> dict[str, Any]:
    first, last = daemon.ports
    if daemon.kind == "rgw":
        where = daemon.where.removeprefix("v2:")
        tls = f"beast ssl_endpoint={where} ssl_certificate={conf / 'identity.pem'}"
        return {"rgw_frontends": tls if encrypted else f"beast endpoint={where}"}
    if daemon.kind == "mon":
        return {"keyring": conf / "keyring.mon"}
    place = {"crush_location": f"root=default host={host}"} if daemon.kind == "osd" else {}
    return {"ms_bind_port_min": first, "ms_bind_port_max": last, **place}


def _write(sections: Mapping[str, Mapping[str, Any]]) -> str:
    lines: list[str] = []
    for section, settings in sections.items():
        lines += [f"[{section}]", *(f"{name} = {value}" for name, value in settings.items())]
    return "\n".join(lines) + "\n"
