"""The page on Kubernetes shows the Role that is tried and tested."""

from __future__ import annotations

import pytest

from pages import ROOT, blocks
from steelyard.provision.kubernetes.access import LEAST, ROLES, read_role, role_path

PAGE = ROOT / "docs" / "how-to" / "kubernetes.md"


def without_comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("name", sorted(path.stem for path in ROLES.iterdir()))
def test_a_role_is_the_one_that_is_tried(name: str) -> None:
    (shown,) = [block for block in blocks(PAGE, "yaml") if block.startswith(f"# ./{name}.yaml")]
    assert without_comments(shown) == without_comments(role_path(name).read_text())


def test_it_allows_no_more_than_jobs_and_what_becomes_of_them() -> None:
    changing = {str(each) for each in read_role(LEAST) if each.verb not in ("get", "list")}
    assert changing == {"create jobs", "delete jobs", "create pods", "create pods/exec"}
