"""Tests that change what all share, such as settings of the kernel, run one after the other."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("groups")
def test_a_group_goes_to_one_worker(request: pytest.FixtureRequest) -> None:
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("tests run one after the other, or by another plan than `--dist loadgroup`")
    assert request.node.nodeid.endswith("@groups"), (
        "pytest-xdist does not know this pytest: see pyproject.toml"
    )
