"""The page on Kubernetes shows the Role that is tried and tested."""

from __future__ import annotations

from pages import ROOT, blocks
from steelyard.provision.kubernetes.access import ROLE, read_role

PAGE = ROOT / "docs" / "how-to" / "kubernetes.md"


def without_comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_the_role_is_the_one_that_doctor_tries() -> None:
    (shown,) = [block for block in blocks(PAGE, "yaml") if block.startswith("# ./role.yaml")]
    assert without_comments(shown) == without_comments(ROLE.read_text())


def test_it_allows_no_more_than_jobs_and_what_becomes_of_them() -> None:
    changing = {str(each) for each in read_role() if each.verb not in ("get", "list")}
    assert changing == {"create jobs", "delete jobs", "create pods", "create pods/exec"}
