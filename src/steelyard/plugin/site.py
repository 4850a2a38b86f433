"""What a site is made of: it leases hosts."""

from __future__ import annotations

from steelyard.model.keys.uses import Prices
from steelyard.sites.base import Capability, Restriction, Site, SiteOptions

__all__ = ["Capability", "Prices", "Restriction", "Site", "SiteOptions"]
