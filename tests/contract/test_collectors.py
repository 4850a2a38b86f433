"""What every collector must do, run over every collector there is.

A recording is `tests/data/collectors/<name>.ndjson`; `about.json` beside it says where each comes from.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.plugins import builtin_names
from steelyard.testing.contract import CollectorContract
from steelyard.testing.contract.collectors import check_table


class TestCollectors(CollectorContract):
    """Ours."""

    names = builtin_names("collectors")
    absent = {"pressure": "irq_.*"}  # noqa: RUF012 - as the suite declares it

    @classmethod
    def data(cls):
        return Path(__file__).parents[1] / "data" / "collectors"


@pytest.mark.parametrize("name", sorted(TestCollectors.names))
@given(st.data())
def test_no_text_is_too_odd(name: str, data: st.DataObject) -> None:
    samples = TestCollectors.read_recording(name)
    texts = st.fixed_dictionaries({}, optional=dict.fromkeys(samples[0][2], st.text()))
    t, m, _ = samples[1]
    check_table(TestCollectors.make(name), [samples[0], (t, m, data.draw(texts)), samples[2]])
