"""How tests wait for what must come; authors of plug-ins have it, too."""

from __future__ import annotations

from steelyard.testing.patience import PATIENCE, comes, until

__all__ = ["PATIENCE", "comes", "until"]
