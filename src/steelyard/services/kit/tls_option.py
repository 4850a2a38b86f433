"""Whether clients talk to a service by TLS: an option of all services that can."""

from __future__ import annotations

from pydantic import Field

from steelyard.services.base import ServiceOptions

ENCRYPTED = "with `tls`, by default beyond loopback"
"""What a service with this option says of its listeners."""


class TlsOption(ServiceOptions):
    """See `kit.certificates.is_encrypted` for the default."""

    tls: bool | None = Field(
        None,
        description="Whether clients use TLS. Default: yes, unless all hosts have loopback addresses.",
    )
