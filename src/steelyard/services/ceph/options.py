"""Options of `use: ceph` under `services`."""

from __future__ import annotations

import re
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.plugin import Size
from steelyard.plugin.service import ServiceOptions

SMALLEST_OSD = 2**30  # bytes; about a third of it is the storage daemon's own
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_OURS = re.compile(
    r"(fsid|keyring|.*_host|.*_addr|.*_data|ms_(bind|.*_mode).*|auth_.*|log_.*|admin_socket|run_dir"
    r"|crash_dir|public_.*|cluster_.*|crush_location|rgw_(frontends|enable_apis)|bluestore_block_.*)"
)


class CephOptions(ServiceOptions):
    """Which face the cluster shows, how it keeps data, and how large it is."""

    face: Literal["rados", "cephfs", "s3", "swift"] = Field(
        "rados",
        description="How clients use it: rados, its own protocol; cephfs, a file system mounted through "
        "FUSE; s3 or swift, an object gateway.",
    )
    pool: Literal["replicated", "erasure"] = Field(
        "replicated",
        description="How the data pool keeps an object: as `size` copies, or as `k` data parts with `m` "
        "coding parts.",
    )
    size: int | None = Field(
        None,
        ge=1,
        le=16,
        description="Copies of each object, with `pool: replicated`. Default: 3, or the number of storage "
        "daemons.",
    )
    k: int = Field(2, ge=2, le=16, description="Data parts of each object, with `pool: erasure`.")
    m: int = Field(
        1,
        ge=1,
        le=16,
        description="Coding parts of each object, with `pool: erasure`: so many may be lost.",
    )
    min_size: int | None = Field(
        None,
        ge=1,
        le=32,
        description="Copies or parts of an object without which the pool rejects requests. Default: as Ceph "
        "chooses.",
    )
    pg_num: int = Field(32, ge=1, le=32768, description="Placement groups of the data pool, a power of two.")
    failure_domain: Literal["host", "osd"] | None = Field(
        None,
        description="What must not hold two copies or parts of an object. Default: host, or osd where there "
        "are fewer hosts than copies.",
    )
    mons: Literal[1, 3] | None = Field(
        None, description="Monitors, on the first hosts. Default: 3, or 1 on fewer than three hosts."
    )
    osds: int = Field(1, ge=1, le=16, description="Storage daemons on each host.")
    osd_size: Size = Field(
        Size(4 * 2**30), description="Size of each storage daemon's file in bytes, at least 1 GiB."
    )
    gateways: int = Field(
        1, ge=1, le=256, description="Object gateways, on the first hosts, with `face: s3` or `swift`."
    )
    object_size: Size | None = Field(
        None,
        description="Size in bytes of the objects into which cephfs divides files, a multiple of 64 KiB. "
        "Default: 4 MiB.",
    )
    stripe_count: int | None = Field(
        None, ge=1, le=64, description="Number of objects over which cephfs stripes a file. Default: 1."
    )
    stripe_unit: Size | None = Field(
        None,
        description="Bytes of a file in one object before the next object follows, with `stripe_count`: a "
        "divisor of `object_size`. Default: `object_size`.",
    )
    tls: bool | None = Field(
        None,
        description="Whether messages are encrypted: by TLS between clients and gateways, by the secure mode "
        "of Ceph's protocol elsewhere. Default: yes, unless all hosts have loopback addresses.",
    )
    settings: dict[str, Any] = Field(
        default_factory=dict,
        description="Additional settings for ceph.conf, such as `mon_osd_down_out_interval: 60`.",
    )
    port: int | None = Field(
        None,
        ge=1,
        le=65000,
        description="Port of the monitors; with `face: s3` or `swift`, of the gateways. Default: free.",
    )

    @property
    def has_gateways(self) -> bool:
        """Whether clients come to gateways."""
        return self.face in ("s3", "swift")

    @property
    def is_erasure_coded(self) -> bool:
        """Whether the data pool keeps parts of objects, not copies."""
        return self.pool == "erasure"

    @property
    def pieces(self) -> int | None:
        """Copies or parts of each object, where that is said."""
        return self.k + self.m if self.is_erasure_coded else self.size

    @field_validator("settings")
    @classmethod
    def _check_settings(cls, settings: dict[str, Any]) -> dict[str, Any]:
        for name, value in settings.items():
            if not _NAME.fullmatch(name):
                raise ValueError(f"'{name}' is not a setting; write words with underscores")
            if _OURS.fullmatch(name):
                raise ValueError(f"'{name}' is set by the service itself; remove it")
            if not isinstance(value, str | int | float) or len(str(value).splitlines()) > 1:
                raise ValueError(f"{name}: {value!r} is not a single text or number")
        return settings

    @model_validator(mode="after")
    def _check_pool(self) -> Self:
        if self.pg_num & (self.pg_num - 1):
            raise ValueError(f"pg_num: {self.pg_num} is not a power of two")
        least = self.k if self.is_erasure_coded else 1
        if self.min_size and not least <= self.min_size <= (self.pieces or self.min_size):
            raise ValueError(f"min_size: {self.min_size} is not from {least} to {self.pieces or 'size'}")
        if not SMALLEST_OSD <= self.osd_size <= 2**50:
            raise ValueError(f"osd_size: {self.osd_size} is less than 1 GiB or more than 1 PiB")
        return self

    @model_validator(mode="after")
    def _check_face(self) -> Self:
        layout = {"object_size", "stripe_count", "stripe_unit"} & self.model_fields_set
        if layout and self.face != "cephfs":
            raise ValueError(f"{min(layout)}: only `face: cephfs` divides files; remove it, or change `face`")
        if "gateways" in self.model_fields_set and not self.has_gateways:
            raise ValueError("gateways: only `face: s3` and `face: swift` have gateways")
        unit = 2**16
        if (size := int(self.object_size or 2**22)) % unit or not unit <= size <= 2**30:
            raise ValueError(f"object_size: {size} is not a multiple of 64 KiB up to 1 GiB")
        if (part := int(self.stripe_unit or size)) % unit or not part or size % part:
            raise ValueError(f"stripe_unit: {part} is not a multiple of 64 KiB that divides {size}")
        return self
