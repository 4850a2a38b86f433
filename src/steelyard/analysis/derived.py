"""What can be derived from a run's figures: what its experiment asked for, or what its data support."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from steelyard.analysis.damage import guard_record
from steelyard.analysis.machines import hosts
from steelyard.analysis.setters import (
    basis,
    copies_setter,
    has_copy_per_core,
    hosts_setter,
    is_failure_rate,
    machine_setter,
)
from steelyard.analysis.summary import RunSummary
from steelyard.errors import SteelyardError, StoreError, UsageError
from steelyard.store.reader import RunRecord
from steelyard.units import Share

if TYPE_CHECKING:  # these load numpy, which showing most runs does not need
    from steelyard.analysis.cost import CostTable
    from steelyard.analysis.failures import FailureTable
    from steelyard.analysis.knee import KneeStudy
    from steelyard.analysis.limit import LimitStudy
    from steelyard.analysis.ranking import RankingTable
    from steelyard.analysis.scaling import Scaling

    DerivedResult: TypeAlias = Scaling | KneeStudy | LimitStudy | CostTable | RankingTable | FailureTable

MANY = 2000
"""Cells up to which data are searched for what they support; what is asked for is always derived."""
MOST_EACH = 24
"""Results of one kind: a ranking comes once for each combination of the other parameters."""
Asked = Mapping[str, Any]


class DerivedResults(NamedTuple):
    """`notes` say what was asked for and could not be derived, and why."""

    results: tuple[DerivedResult, ...]
    notes: tuple[str, ...]


def derive(record: RunRecord, summary: RunSummary) -> DerivedResults:
    """Derive what the experiment's `derive` asks for, in its order; without it, what the data support.

    What `find` searched for, a limit or a knee, comes first in any case.

    What cannot be derived is a note and never an error: the run's own figures are worth showing all the
    same. Raises StoreError when the record is damaged.
    """
    with guard_record(record.id):
        wanted = record.design.get("derive")
        entries = [_parse_entry(one) for one in wanted] if wanted else _find_supported(record, summary)
        results, notes = _search_results(record, summary)
        for name, asked in entries:
            title = name.replace("_", " ")
            try:
                made = _MAKERS[name](record, summary, asked)
            except StoreError:
                raise
            except SteelyardError as error:
                notes += [f"{title}: {error.message}"] if wanted else []
                continue
            results += made[:MOST_EACH]
            if len(made) > MOST_EACH:
                notes.append(f"{title}: only the first {MOST_EACH} of {len(made)} tables are shown")
        return DerivedResults(tuple(results), tuple(notes))


def _parse_entry(entry: Mapping[str, Any]) -> tuple[str, Asked]:
    """The one thing that an entry of `derive` asks for, and its settings."""
    return next((name, settings) for name, settings in entry.items() if settings is not None)


def _find_supported(record: RunRecord, summary: RunSummary) -> list[tuple[str, Asked]]:
    """What the data support by themselves. A knee is not among it: its tolerance is for people to say."""
    if len(summary.cells) > MANY:
        return []
    checks = {
        "efficiency_loss": copies_setter(summary) is not None and has_copy_per_core(record, summary),
        "speedup": hosts_setter(summary) is not None,
        "cost": bool(record.design.get("prices")) or any(host.price for host in hosts(record).values()),
        "ranking": machine_setter(summary, hosts(record)) is not None,
        "failure_rate": _has_failures(record),
    }
    return [(name, {}) for name, there in checks.items() if there]


def _has_failures(record: RunRecord) -> bool:
    figures = (figure for trial in record.trials for figure in trial.result.metrics.items())
    return any(value > 0 and is_failure_rate(name) for name, value in figures)


def _search_results(record: RunRecord, summary: RunSummary) -> tuple[list[DerivedResult], list[str]]:
    """What `find` searched for: a limit, or a knee, which there may be too few levels for."""
    find = record.design.get("find")
    if not find or not summary.cells:
        return [], []
    if find["goal"] == "knee":
        try:
            return list(_knee(record, summary, find)), []
        except UsageError as error:
            return [], [f"knee: {error.message}"]
    from steelyard.analysis.limit import limit_study

    return [limit_study(record, summary)], []


def _loss(record: RunRecord, summary: RunSummary, asked: Asked) -> tuple[DerivedResult, ...]:
    from steelyard.analysis.scaling import scaling

    over = asked.get("over") or copies_setter(summary)
    if over is None:
        raise UsageError("no parameter of the run sets the number of copies")
    metric = asked.get("metric")
    return (scaling(record, summary, over=over, by="copies", question="loss", metric=metric),)


def _speedup(record: RunRecord, summary: RunSummary, asked: Asked) -> tuple[DerivedResult, ...]:
    from steelyard.analysis.scaling import scaling

    over = asked.get("over") or hosts_setter(summary) or copies_setter(summary)
    if over is None:
        raise UsageError("no parameter of the run sets the number of hosts or copies")
    by, metric = basis(summary, over), asked.get("metric")
    return (scaling(record, summary, over=over, by=by, question="speedup", metric=metric),)


def _knee(_: RunRecord, summary: RunSummary, asked: Asked) -> tuple[DerivedResult, ...]:
    from steelyard.analysis.knee import knee_study
    from steelyard.stats.knee import TOLERANCE

    tolerance = asked.get("tolerance")
    share = TOLERANCE if tolerance is None else float(Share.parse(str(tolerance)))
    return (knee_study(summary, parameter=asked["parameter"], metric=asked.get("metric"), tolerance=share),)


def _cost(record: RunRecord, summary: RunSummary, asked: Asked) -> tuple[DerivedResult, ...]:
    from steelyard.analysis.cost import costs

    return (costs(record, summary, metric=asked.get("metric")),)


def _ranking(record: RunRecord, summary: RunSummary, asked: Asked) -> tuple[DerivedResult, ...]:
    from steelyard.analysis.ranking import rankings

    return rankings(record, summary, of=asked.get("of"), metric=asked.get("metric"))


def _failures(_: RunRecord, summary: RunSummary, __: Asked) -> tuple[DerivedResult, ...]:
    from steelyard.analysis.failures import failure_rates

    return failure_rates(summary)


_MAKERS: Mapping[str, Callable[[RunRecord, RunSummary, Asked], tuple[DerivedResult, ...]]] = {
    "efficiency_loss": _loss,
    "speedup": _speedup,
    "knee": _knee,
    "cost": _cost,
    "ranking": _ranking,
    "failure_rate": _failures,
}
