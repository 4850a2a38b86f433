"""What the program's line says: how each case ended, and the shares that follow from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.plugin import ParseFailure
from steelyard.workloads.kit.document import JsonNode

COUNTED = ("passed", "failed", "timed_out")
_OUTCOMES = (*COUNTED, "unsupported", "not_applicable")


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case as an identity (`root` or `user`) ran it. What it expected and got is empty if it passed."""

    group: str
    case: str
    identity: str
    outcome: str
    rule: str
    expected: str
    got: str

    @property
    def is_counted(self) -> bool:
        """Whether it says anything about the file system's conformance."""
        return self.outcome in COUNTED

    def describe(self) -> dict[str, str]:
        """For the record's facts: what was expected by which rule, and what came."""
        shown = {"as": self.identity, "rule": self.rule, "expected": self.expected, "got": self.got}
        return {"case": f"{self.group}.{self.case}", **{key: text for key, text in shown.items() if text}}


def read_results(document: JsonNode, groups: Sequence[str]) -> list[CaseResult]:
    """All cases. Raises ParseFailure, also for groups other than those asked for."""
    results = [_read_case(node) for node in document.child("results").nodes()]
    seen = {result.group for result in results}
    if seen != set(groups):
        wrong = ", ".join(sorted(seen ^ set(groups)))[:200]
        raise ParseFailure(f"{document.where}: these groups are missing or were not requested: {wrong}")
    return results


def _read_case(node: JsonNode) -> CaseResult:
    outcome = node.child("outcome").text()
    if outcome not in _OUTCOMES:
        raise ParseFailure(f"{node.where}: outcome {outcome[:40]!r} is not one of {', '.join(_OUTCOMES)}")
    group, case, identity = (node.child(key).text() for key in ("group", "case", "as"))
    rule, expected, got = (node.child(key, default="").text() for key in ("rule", "expected", "got"))
    return CaseResult(group, case, identity, outcome, rule, expected, got)


def compute_shares(results: Sequence[CaseResult]) -> dict[str, float]:
    """The metrics: counts, the share that passed, and that share of each group which has counted cases.

    Raises ParseFailure when no case could be tried.
    """
    counted = [result for result in results if result.is_counted]
    if not counted:
        reason = next((result.got for result in results), "")
        raise ParseFailure(f"no case could be tried here: {reason[:200]}")
    tests = Counter(result.group for result in counted)
    passed = Counter(result.group for result in counted if result.outcome == "passed")
    shares = {f"{group}_passed": passed[group] / tests[group] for group in tests}
    return {
        "scripts": float(len(tests)),
        "tests": float(len(counted)),
        "passed": float(passed.total()),
        "passed_share": passed.total() / len(counted),
        "unsupported": float(sum(result.outcome == "unsupported" for result in results)),
        **shares,
    }


def describe_results(results: Sequence[CaseResult]) -> Mapping[str, object]:
    """Facts: failures and what is unsupported by name, with what was expected; the table by group."""
    outcomes = {name: [each for each in results if each.outcome == name] for name in _OUTCOMES}
    return {
        "table": tabulate(results),
        "failures": [each.describe() for each in (*outcomes["failed"], *outcomes["timed_out"])],
        "unsupported_cases": [each.describe() for each in outcomes["unsupported"]],
        "not_applicable": len(outcomes["not_applicable"]),
    }


def tabulate(results: Sequence[CaseResult]) -> dict[str, str]:
    """`passed/tests` of each group, in order, as a published table has it."""
    groups = dict.fromkeys(result.group for result in results)
    tests = Counter(result.group for result in results if result.is_counted)
    passed = Counter(result.group for result in results if result.outcome == "passed")
    return {group: f"{passed[group]}/{tests[group]}" for group in groups}
