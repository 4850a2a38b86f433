"""What entries say they cover: requirements that were published, by their ids."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from steelyard.spec.kinds import entries

REQUIREMENTS = Path(__file__).parents[3] / "shared" / "requirements.csv"
ENTRIES = [pytest.param(kind, name, id=f"{kind.word}-{name}") for kind, name in entries()]


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_it_covers_what_was_published(kind, name):
    covers = kind.class_of(name).covers
    assert all(re.fullmatch(r"[A-Z][A-Za-z0-9.]{1,31}", each) for each in covers)
    assert len(set(covers)) == len(covers)
    if covers and not REQUIREMENTS.exists():
        pytest.skip("the shared list of published results is not beside this clone")
    with REQUIREMENTS.open(newline="") as lines:
        published = {row["id"] for row in csv.DictReader(lines)}
    assert set(covers) <= published
