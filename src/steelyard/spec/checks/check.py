"""Checks that reach beyond one key: names, plug-ins and their options, metrics."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial
from typing import Any

from pydantic import ValidationError

from steelyard.errors import PlugInError, SpecError, SteelyardError, UnknownName, suggest_name
from steelyard.model import space
from steelyard.model.experiment import Experiment
from steelyard.model.expression import Expression, ExpressionError, find_names
from steelyard.model.keys.find import Find
from steelyard.model.keys.machine import ALLOWED
from steelyard.model.keys.program import SCRIPT, split_scripts
from steelyard.model.keys.requirement import Requirement
from steelyard.model.keys.uses import WorkloadUse
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell
from steelyard.spec.bind import bind_options, workload_class
from steelyard.spec.checks.alerts import alert_faults
from steelyard.spec.checks.collect import CollectChecker
from steelyard.spec.checks.compare import against_faults, compare_faults, ratio_faults
from steelyard.spec.checks.computed import computed_faults
from steelyard.spec.checks.directory import directory_faults
from steelyard.spec.checks.engines import engine_faults
from steelyard.spec.checks.find import knee_metric_faults, repeat_faults, search_faults
from steelyard.spec.checks.references import References, self_names
from steelyard.spec.checks.services import ServiceChecker
from steelyard.spec.checks.snapshots import snapshot_faults
from steelyard.spec.checks.timeline import TimelineChecker
from steelyard.spec.engines import give_engine
from steelyard.spec.faults import Fault, Path, explain_errors
from steelyard.spec.metrics import MOST_CELLS_TRIED, computed_metrics, measured_metrics
from steelyard.spec.placement import PlacementChecker
from steelyard.spec.service_kinds import kind_faults, option_path, variants

_PLACING = frozenset({"on", "grow_into", "copies", "ranks", "wrap", "machine"})


class Checker:
    """Looks for faults in an experiment.

    `broken` names the top-level keys that are known to be wrong, `guessed` the parameters whose levels are,
    `lost` the computed metrics that could not be read.
    What depends on them is not looked at, so that one mistake gives one message.
    """

    def __init__(
        self,
        experiment: Experiment,
        *,
        broken: Set[str] = frozenset(),
        guessed: Set[str] = frozenset(),
        lost: Set[str] = frozenset(),
    ) -> None:
        self.experiment, self.broken, self.guessed, self.lost = experiment, broken, guessed, lost
        self.has_valid_parameters = "parameters" not in broken
        self.several = len(experiment.workload) > 1
        self.cells: tuple[Cell, ...] = ()
        self.placement = PlacementChecker(experiment)
        self.services = ServiceChecker(experiment, self.placement.check_selection)
        self.timeline = TimelineChecker(experiment)
        self.references = References(experiment)
        self.collect = CollectChecker(experiment, self.placement.check_selection, broken)

    def faults(self) -> Iterator[Fault]:
        """All faults, in no particular order."""
        space_faults = list(self._space_faults())
        yield from space_faults
        if self.broken.isdisjoint({"repeat", "find"}):
            yield from repeat_faults(self.experiment)
        yield from self._condition_faults()
        if self.broken.isdisjoint({"roles", "services"}):
            yield from self.placement.role_faults()
        if not space_faults and self.has_valid_parameters:
            yield from self._make_cells()
        if self.broken.isdisjoint({"roles", "allow"}):
            yield from self._machine_faults()
        yield from self._comparison_faults()
        if self.broken.isdisjoint({"roles", "services"}):
            for name in self.experiment.services:
                yield from self._service_faults(name)
            yield from self.references.service_faults()
            for index in range(len(self.experiment.timeline)):
                yield from self._event_faults(index)
            if "timeline" not in self.broken:
                yield from snapshot_faults(self.experiment)
        yield from self.collect.faults() if self.experiment.collect else ()
        if "workload" in self.broken:
            return
        wrong = [
            fault for index in range(len(self.experiment.workload)) for fault in self._workload_faults(index)
        ]
        yield from wrong
        if self.has_valid_parameters and not wrong and "metrics" not in self.broken:
            yield from self._all_metric_faults()

    def _machine_faults(self) -> Iterator[Fault]:
        """What roles say of their machines, which the file must allow."""
        for name, role in self.experiment.roles.items():
            path: Path = ("roles", name, "machine")
            if role.machine and ALLOWED not in self.experiment.allow:
                message = "machine: these settings change whole machines, for all who use them"
                yield Fault(path, f"{message}; add `allow: {ALLOWED}` to the file")
            if role.machine:
                look = partial(self.placement.machine_faults, name)
                yield from self._cell_faults(path, role.machine.settings(), look)

    def _space_faults(self) -> Iterator[Fault]:
        if self.broken.isdisjoint({"parameters", "zip", "sample", "find"}):
            wrong = list(search_faults(self.experiment, self.broken, self.guessed))
            yield from wrong
            if all(fault.path[0] != "find" for fault in wrong):  # else nobody knows which bounds are searched
                yield from (Fault(path, message) for path, message in space.problems(self.experiment))

    def _condition_faults(self) -> Iterator[Fault]:
        if isinstance(self.experiment.where, str):
            yield from self._expression_faults(("where",), self.experiment.where)
        for index, require in enumerate(self.experiment.require):
            if require.where:
                yield from self._expression_faults(("require", index, "where"), require.where)
        yield from self._derive_faults()

    def _comparison_faults(self) -> Iterator[Fault]:
        """What `compare` and `against` say of parameters and cells."""
        yield from compare_faults(self.experiment, self.cells, self.broken, self.guessed)
        for index, require in enumerate(self.experiment.require):
            if require.against is None:
                continue
            unknown = list(self._expression_faults(("require", index, "against"), require.against))
            yield from unknown
            if self.cells and not unknown and not any(self._expression_faults((), str(require.where))):
                yield from against_faults(require, index, self.cells)

    def _derive_faults(self) -> Iterator[Fault]:
        """The parameters that entries of `derive` name."""
        for index, entry in enumerate(self.experiment.derive if self.has_valid_parameters else ()):
            for name in entry.parameters():
                yield from self._parameter_faults(("derive", index, entry.name), name)

    def _expression_faults(self, path: Path, text: str) -> Iterator[Fault]:
        if self.has_valid_parameters:
            for name in sorted(Expression.parse(text).names):
                yield from self._parameter_faults(path, name)

    def _parameter_faults(self, path: Path, name: str) -> Iterator[Fault]:
        if name not in self.experiment.parameters:
            hint = suggest_name(name, self.experiment.parameters)
            yield Fault(path, f"'{name}' is not a parameter{hint}{self._parameter_hint(hint)}")

    def _reference_faults(self, path: Path, name: str, own: tuple[str, ...] = ()) -> Iterator[Fault]:
        """A name in options: of a parameter, or a reference, which nothing but options can hold."""
        if name in own and name not in self.experiment.parameters:
            return
        placing = not _PLACING.isdisjoint(path)
        if "." not in name or placing:
            yield from self._parameter_faults(path, name)
        elif self.broken.isdisjoint({"roles", "services"}):
            yield from self.references.name_faults(path, name, own)

    def _parameter_hint(self, hint: str) -> str:
        if hint:
            return ""
        listed = ", ".join(self.experiment.parameters)
        return f"; parameters are {listed}" if listed else "; this experiment has no parameters"

    def _make_cells(self) -> Iterator[Fault]:
        if self.guessed or not self.broken.isdisjoint({"where", "zip", "sample", "seed", "find"}):
            return
        try:
            self.cells = space.cells(self.experiment, self.experiment.seed or 0)
        except ExpressionError as error:
            if not any(self._condition_faults()):
                yield Fault(("where",), f"where: {error.message}")
            return
        if not self.cells:
            yield Fault(("where",), "where: no combination of levels satisfies it, so nothing would run")

    def _service_faults(self, name: str) -> Iterator[Fault]:
        use, path = self.experiment.services[name], ("services", name)
        own = self_names(use, self.experiment)
        options, _ = split_scripts(use.options) if own else (use.options, "")
        for one in variants(use, self.experiment) if own else ():
            place = option_path(use, one.use, (SCRIPT,))
            yield from self.references.script_faults((*path, *place), one.options.get(SCRIPT), own)
        for fault in kind_faults(use, self.experiment) if self.has_valid_parameters else ():
            yield Fault((*path, *fault.path), fault.message, fault.at_key)
        may_vary = {"use": use.use, "on": use.on, "grow_into": use.grow_into, **options}
        may_vary |= use.conditions
        yield from self._cell_faults(path, may_vary, partial(self.services.service_faults, name), own)

    def _event_faults(self, index: int) -> Iterator[Fault]:
        options = self.experiment.timeline[index].options
        wrap = getattr(self.experiment.services.get(str(options.get("service"))), "wrap", None)
        may_vary = {**options, "wrap": wrap.settings()} if wrap else options
        yield from self._cell_faults(
            ("timeline", index), may_vary, partial(self.timeline.entry_faults, index)
        )

    def _cell_faults(
        self,
        path: Path,
        tree: Mapping[str, Any],
        look: Callable[[Cell], Iterable[Fault]],
        own: tuple[str, ...] = (),
    ) -> Iterator[Fault]:
        """A part whose tree names what is no parameter, or that does not fit in some cell; each key once."""
        try:
            named = list(find_names(tree))
        except ExpressionError as error:
            yield Fault((*path, *error.path), error.message)
            return
        unknown = [fault for place, of in named for fault in self._reference_faults((*path, *place), of, own)]
        varies = any("." not in of for _, of in named)
        if unknown or (varies and not self.cells):
            yield from unknown if self.has_valid_parameters else ()
            return
        cells = self._sample_cells() if varies else (self._any_cell(),)
        yield from _drop_repeats(fault for cell in cells for fault in look(cell))

    def _workload_faults(self, index: int) -> Iterator[Fault]:
        use = self.experiment.workload[index]
        path: Path = ("workload", index) if self.several else ("workload",)
        try:
            kind = workload_class(use.plugin)
        except (UnknownName, PlugInError) as error:
            separator = " " if error.message.endswith("?") else "; "
            yield Fault((*path, "use"), separator.join(filter(None, (error.message, error.hint))))
            return
        open_options = {key: value for key, value in use.options.items() if key not in kind.verbatim}
        try:
            named = [*find_names(open_options), *self.placement.names(use, ())]
        except ExpressionError as error:
            yield Fault((*path, *error.path), f"{error.message}")
            return
        unknown = [fault for place, name in named for fault in self._reference_faults((*path, *place), name)]
        if self.has_valid_parameters:
            yield from unknown
        for key in kind.verbatim & use.options.keys():
            yield from self.references.script_faults((*path, key), use.options[key])
        sound = not unknown and not self.guessed and bool(self.cells)
        tried = self._sample_cells() if sound else (self._any_cell({name for _, name in named}),)
        yield from self._option_faults(use, path, tried, sound=sound)
        if self.broken.isdisjoint({"roles", "services"}):
            yield from self.placement.workload_faults(use, path)
            yield from self._placement_faults(use, path) if sound else ()

    def _placement_faults(self, use: WorkloadUse, path: Path) -> Iterator[Fault]:
        """What names no parameter is the same in all cells."""
        varies = any("${" in str(value) for value in use.settings().values())
        cells = self._sample_cells() if varies else self.cells[:1]
        yield from _drop_repeats(
            fault for cell in cells for fault in self.placement.cell_faults(use, path, cell)
        )

    def _option_faults(
        self, use: WorkloadUse, path: Path, tried: Iterable[Cell], *, sound: bool
    ) -> Iterator[Fault]:
        """Try the options in some cells; each fault is told once, and none that hangs on stand-ins."""
        seen: set[Path] = set()
        for cell in tried:
            for fault in self._cell_option_faults(use, cell, sound=sound):
                if fault.path not in seen and (sound or not _has_template(use, fault.path)):
                    seen.add(fault.path)
                    yield Fault((*path, *fault.path), fault.message, fault.at_key)

    def _sample_cells(self) -> Iterator[Cell]:
        """The first cells, and some more that hold levels which the first did not."""
        seen: set[tuple[str, Any]] = set()
        left = 2 * MOST_CELLS_TRIED
        for number, cell in enumerate(self.cells):
            shown = map(repr, cell.parameters.values())  # 1 and true are equal
            levels = tuple(zip(cell.parameters, shown, strict=True))
            if left and (number < MOST_CELLS_TRIED or not seen.issuperset(levels)):
                left -= 1
                seen.update(levels)
                yield cell

    def _any_cell(self, names: Set[str] = frozenset()) -> Cell:
        """A cell to try options with when the real ones cannot be told; unknown names stand for 1."""
        known = {name: next(iter(levels.values()), 1) for name, levels in self.experiment.parameters.items()}
        return Cell({**dict.fromkeys(names, 1), **known})

    def _cell_option_faults(self, use: WorkloadUse, cell: Cell, *, sound: bool) -> Iterator[Fault]:
        kind = workload_class(use.plugin)
        model = kind.Options
        try:
            options = bind_options(use, cell.parameters)
        except ExpressionError as error:
            if sound:
                yield Fault(error.path, f"{error.message}, with {cell.key}")
            return
        try:
            workload = give_engine(kind(model.model_validate(options), cell.parameters))
        except ValidationError as error:
            where = f", with {cell.key}" if sound and options != use.options else ""
            for fault in explain_errors(error, options, model):
                yield Fault(fault.path, fault.message + (where if not fault.at_key else ""), fault.at_key)
        except SteelyardError as error:
            yield Fault(("engine",), "; ".join(filter(None, (error.message, error.hint))))
        else:
            yield from engine_faults(workload, use, cell)
            if self.broken.isdisjoint({"roles", "services"}):
                yield from directory_faults(workload, self.experiment)

    def _all_metric_faults(self) -> Iterator[Fault]:
        try:
            own = measured_metrics(self.experiment, self.cells or (self._any_cell(),))
        except (ExpressionError, SpecError):
            return  # the options fit in no cell that could be told; that has been said
        yield from computed_faults(self.experiment, own, self.lost)
        if self.broken.isdisjoint({"alert", "services"}):
            yield from alert_faults(self.experiment, own)
        declared = own | computed_metrics(self.experiment)
        until = self.experiment.repeat.until
        if until and "repeat" not in self.broken:
            yield from self._metric_faults(("repeat", "until", "metric"), "metric", until.metric, declared)
        for index, entry in enumerate(self.experiment.derive):
            if name := getattr(entry.settings, "metric", None):
                yield from self._metric_faults(
                    ("derive", index, entry.name, "metric"), "derive", name, declared
                )
        for index, name in enumerate(self.experiment.compare.metrics if self.experiment.compare else ()):
            yield from self._metric_faults(("compare", "metrics", index), "compare", name, declared)
        for index, require in enumerate(self.experiment.require):
            path, requirement = ("require", index, "that"), Requirement.parse(require.that)
            if require.against is None or requirement.metric not in declared:
                yield from self._requirement_faults(path, "require", requirement, declared)
            else:
                yield from ratio_faults(path, requirement, declared[requirement.metric])
        if find := self.experiment.find:
            yield from self._search_metric_faults(find, declared)

    def _search_metric_faults(self, find: Find, declared: dict[str, Metric]) -> Iterator[Fault]:
        if find.requirement:
            yield from self._requirement_faults(("find", "while"), "find", find.requirement, declared)
        else:
            yield from self._metric_faults(("find", "of"), "find", find.metric, declared)
            yield from knee_metric_faults(find, declared)

    def _requirement_faults(
        self, path: Path, key: str, found: Requirement, declared: dict[str, Metric]
    ) -> Iterator[Fault]:
        if found.metric in self.lost:
            return
        wrong = list(self._metric_faults(path, key, found.metric, declared))
        yield from wrong or _check_unit(path, key, found, declared[found.metric])

    def _metric_faults(self, path: Path, key: str, name: str, declared: dict[str, Metric]) -> Iterator[Fault]:
        scalars = [metric for metric in declared.values() if metric.kind == "scalar"]
        if name not in self.lost and name not in (metric.name for metric in scalars):
            hint = suggest_name(name, [metric.name for metric in scalars])
            listed = hint or f"; its metrics include {', '.join(itertools.islice(declared, 12))}"
            yield Fault(path, f"{key}: the workload has no metric '{name}'{listed}")


def _drop_repeats(found: Iterable[Fault]) -> Iterator[Fault]:
    """The first fault of each key."""
    seen: set[Path] = set()
    for fault in found:
        if fault.path not in seen:
            seen.add(fault.path)
            yield fault


def _check_unit(path: Path, key: str, requirement: Requirement, metric: Metric) -> Iterator[Fault]:
    unit = "1" if metric.unit == "%" else metric.unit
    bound = requirement.bound
    if bound.unit != unit and bound.value != 0:
        its = "has no unit" if bound.unit == "1" else f"is in {bound.unit}"
        message = f"'{requirement.text}': {metric.name} is in {metric.unit}, but the bound {its}"
        yield Fault(path, f"{key}: {message}")


def _has_template(use: WorkloadUse, path: Path) -> bool:
    """Whether an option holds `${…}`."""
    return bool(path) and any("${" in text for text in _iter_texts(use.options.get(str(path[0]))))


def _iter_texts(value: Any) -> Iterator[str]:
    """All strings in an option's value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _iter_texts(part)
