"""What every site must do, run over every site there is."""

from __future__ import annotations

import os
import shutil

from steelyard.plugins import builtin_names
from steelyard.testing.contract import SiteContract

HAS_NAMESPACES = os.geteuid() == 0 and shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin")


class TestSites(SiteContract):
    """Ours; those that need a scheduler, a cloud or other machines have tests of their own."""

    names = builtin_names("sites")
    leases = {"local": {}} | ({"netns": {"via": "nsenter"}} if HAS_NAMESPACES else {})
