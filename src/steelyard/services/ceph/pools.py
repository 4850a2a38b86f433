"""The pools of a cluster, and what the monitors are told to have them. Pure.

Source: https://docs.ceph.com/en/pacific, "Pools", "Erasure code" and "Create a Ceph file system".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from steelyard.plugin import HostError
from steelyard.services.ceph.options import CephOptions

POOL, METADATA, FILE_SYSTEM = "data", "metadata", "files"
_BUCKETS = "default.rgw.buckets.data"  # of gateways, which make all others themselves
_PROFILE = "steelyard"
_MOST = 3  # copies by default
_OBJECT, _UNIT = 2**22, 2**16  # bytes: of an object by default, and the least of a stripe
Words = Mapping[str, Any]


def choose_domain(options: CephOptions, hosts: int) -> tuple[Literal["host", "osd"], int]:
    """What must not hold two copies or parts of an object, and how many there are. Raises HostError."""
    storage = hosts * options.osds
    size = options.pieces or min(_MOST, hosts if options.failure_domain == "host" else storage)
    domain = options.failure_domain or ("host" if hosts >= size else "osd")
    if (there := hosts if domain == "host" else storage) < size:
        what = "k + m" if options.is_erasure_coded else "size"
        each = "hosts" if domain == "host" else "storage daemons"
        hint = "use more hosts or `osds`, or fewer copies or parts"
        raise HostError(f"{what} is {size}, which needs {size} {each}; there are {there}", hint=hint)
    return domain, size


def data_pool(options: CephOptions) -> str:
    """Where clients' data goes."""
    return _BUCKETS if options.has_gateways else POOL


def list_pool_commands(options: CephOptions, domain: str) -> Iterator[Words]:
    """For the monitors, in order: the data pool, and the file system."""
    pool, is_coded = data_pool(options), options.is_erasure_coded
    if is_coded:
        profile = [f"k={options.k}", f"m={options.m}", f"crush-failure-domain={domain}"]
        yield {"prefix": "osd erasure-code-profile set", "name": _PROFILE, "profile": profile}
    kind = (
        {"pool_type": "erasure", "erasure_code_profile": _PROFILE}
        if is_coded
        else {"pool_type": "replicated"}
    )
    yield {"prefix": "osd pool create", "pool": pool, "pg_num": options.pg_num, **kind}
    if options.min_size:
        yield {"prefix": "osd pool set", "pool": pool, "var": "min_size", "val": str(options.min_size)}
    if options.face == "cephfs":
        yield from _list_file_system_commands(is_coded=is_coded)
    else:
        application = "rgw" if options.has_gateways else "rados"
        yield {"prefix": "osd pool application enable", "pool": pool, "app": application}


def _list_file_system_commands(*, is_coded: bool) -> Iterator[Words]:
    if is_coded:
        yield {"prefix": "osd pool set", "pool": POOL, "var": "allow_ec_overwrites", "val": "true"}
    yield {"prefix": "osd pool create", "pool": METADATA, "pg_num": 8, "pool_type": "replicated"}
    yield {"prefix": "fs new", "fs_name": FILE_SYSTEM, "metadata": METADATA, "data": POOL, "force": is_coded}


def file_layout(options: CephOptions) -> list[tuple[str, int]]:
    """How files are divided into objects, one value after the other; empty where that is as Ceph has it."""
    if not {"object_size", "stripe_count", "stripe_unit"} & options.model_fields_set:
        return []
    size = int(options.object_size or _OBJECT)
    # A unit must divide the size at each moment: the smallest divides all.
    steps = [("stripe_unit", _UNIT), ("object_size", size), ("stripe_count", options.stripe_count or 1)]
    return [*steps, ("stripe_unit", int(options.stripe_unit or size))]
