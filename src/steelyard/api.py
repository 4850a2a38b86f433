"""What Python programs and notebooks use; `steelyard/__init__.py` hands these names on."""

from __future__ import annotations

import html
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from steelyard.analysis.findings import Findings
from steelyard.analysis.summary import RunSummary
from steelyard.controller import run as runs
from steelyard.controller.choices import RunChoices
from steelyard.controller.observer import Observer
from steelyard.model.experiment import Experiment
from steelyard.sites.base import Site
from steelyard.spec.change import dump
from steelyard.spec.load import check
from steelyard.spec.load import load as load_file
from steelyard.spec.stores import choose_store
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord
from steelyard.units import show


class Run:
    """A run that was made: its figures, its report, its record. In a notebook it shows as a table."""

    def __init__(self, folder: RunFolder) -> None:
        self.record = RunRecord(folder)

    @property
    def id(self) -> str:
        """The run's id."""
        return self.record.id

    @cached_property
    def findings(self) -> Findings:
        """The summary, the judged requirements, the comparison and what was derived, each computed once."""
        return Findings(self.record)

    @property
    def summary(self) -> RunSummary:
        """The statistics of every cell and metric."""
        return self.findings.summary

    def rows(self) -> list[dict[str, Any]]:
        """One dict per trial: parameters, repetition, status, marks, metrics in base units.

        `pandas.DataFrame(run.rows())` makes a frame of it.
        """
        return [
            {
                **trial.result.trial.cell.parameters,
                "repetition": trial.result.trial.repetition,
                "status": trial.result.status,
                "marks": "; ".join(mark.reason for mark in trial.marks),
                **trial.result.metrics,
            }
            for trial in self.record.trials
        ]

    def report(self, path: str | Path | None = None) -> Path:
        """Write the HTML report; by default into the run's own folder. Raises StoreError."""
        from steelyard.report import html as page

        return page.write(
            self.findings, Path(path) if path else self.record.folder.derived_file("report.html")
        )

    def __repr__(self) -> str:
        return f"<Run {self.id}: {len(self.record.trials)} trials>"

    def __str__(self) -> str:
        """The table of cells, the requirements and what to doubt, as `steelyard show` prints them."""
        from steelyard.report.table import result_lines

        return "\n".join(result_lines(self.findings, columns=None))

    def _repr_html_(self) -> str:
        """Medians with their intervals, one row per cell."""
        summary = self.summary
        names = [metric.name for metric in summary.metrics]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in ("cell", "n", *names))
        rows = []
        for cell in summary.cells:
            figures = (self._figure(cell.metrics.get(name)) for name in names)
            texts = (cell.cell.key, str(cell.n), *figures)
            rows.append("".join(f"<td>{html.escape(text)}</td>" for text in texts))
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"

    @staticmethod
    def _figure(found: Any) -> str:
        if found is None or found.shown_summary is None:
            return "–"
        unit, interval = found.metric.unit, found.shown_summary.interval
        ends = f" [{show(interval.low, unit)}, {show(interval.high, unit)}]" if interval else ""
        return f"{found.sign}{show(found.shown_summary.median, unit)}{ends}" + (
            f" {found.disturbance}" if found.disturbance else ""
        )


def run(
    experiment: Experiment | Mapping[str, Any] | str | Path,
    *,
    store: str | Path | None = None,
    site: str | Site[Any] | None = None,
    scratch: str | Path | None = None,
    beside: bool = False,
    observer: Observer | None = None,
) -> Run:
    """Run an experiment: an `Experiment`, the same as a mapping, or the path of a file.

    Blocks until it has ended. Raises SpecError with all problems, Interrupted, SteelyardError.
    """
    options, text, origin = _load_experiment(experiment)
    where = choose_store(str(store) if store else None)
    choices = RunChoices(site, Path(scratch) if scratch else None, beside)
    return Run(runs.start(options, text, where, choices=choices, observer=observer, origin=origin))


def resume(run: str = "last", *, store: str | Path | None = None, observer: Observer | None = None) -> Run:
    """Go on with a run that was interrupted. Raises as `run`."""
    where = choose_store(str(store) if store else None)
    return Run(runs.resume(where.find(run), where, observer=observer))


def load(run: str, *, store: str | Path | None = None) -> Run:
    """A run from the store, by id, by a part of it, or `last`. Raises UnknownName."""
    return Run(choose_store(str(store) if store else None).find(run))


def last(*, store: str | Path | None = None) -> Run:
    """The newest run of the store. Raises UnknownName when there is none."""
    return load("last", store=store)


def _load_experiment(
    given: Experiment | Mapping[str, Any] | str | Path,
) -> tuple[Experiment, str, Path | None]:
    if isinstance(given, str | Path):
        experiment, text = load_file(Path(given))
        return experiment, text, Path(given).absolute()
    experiment = given if isinstance(given, Experiment) else Experiment(**given)
    check(experiment)
    return experiment, dump(experiment.to_tree()), None
