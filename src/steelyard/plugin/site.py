"""What a site is made of: it leases hosts."""

from __future__ import annotations

from steelyard.model.engine import Engine, EngineJob, EngineSubmission
from steelyard.model.keys.uses import Prices
from steelyard.sites.base import Capability, Restriction, Site, SiteOptions

__all__ = [
    "Capability",
    "Engine",
    "EngineJob",
    "EngineSubmission",
    "Prices",
    "Restriction",
    "Site",
    "SiteOptions",
]
