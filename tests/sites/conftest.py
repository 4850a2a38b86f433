"""What several files of tests here share for a whole session, as it takes long to make."""

from __future__ import annotations

from pathlib import Path

from loading import loaded

htcondor_pool = loaded(Path(__file__).with_name("htcondor_pool.py")).htcondor_pool
