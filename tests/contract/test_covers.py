"""What entries say they cover: requirements that were published, by their ids."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from steelyard.spec.kinds import entries

REQUIREMENTS = Path(__file__).parents[3] / "shared" / "requirements.csv"
CLAIMS = {f"{kind.word}-{name}": kind.class_of(name).covers for kind, name in entries()}


@pytest.mark.parametrize("entry", CLAIMS)
def test_it_names_ids_each_once(entry):
    assert all(re.fullmatch(r"[A-Z][A-Za-z0-9.]{1,31}", each) for each in CLAIMS[entry])
    assert len(set(CLAIMS[entry])) == len(CLAIMS[entry])


@pytest.mark.parametrize("entry", [entry for entry, covers in CLAIMS.items() if covers])
def test_what_it_covers_was_published(entry):
    if not REQUIREMENTS.exists():
        pytest.skip("the shared list of published results is not beside this clone")
    with REQUIREMENTS.open(newline="") as lines:
        assert set(CLAIMS[entry]) <= {row["id"] for row in csv.DictReader(lines)}
