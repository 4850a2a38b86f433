"""`--notify`: what became of a run is told elsewhere, too."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from steelyard.cli.terminal import echo
from steelyard.controller.observer import BothObservers, Observer, Progress
from steelyard.errors import SteelyardError
from steelyard.model.keys.alert import Alert
from steelyard.notices.targets import VARIABLE, Target, list_targets
from steelyard.store.layout import RunFolder, Store

if TYPE_CHECKING:  # what only runs need that somebody is told of
    from steelyard.analysis.findings import Findings
    from steelyard.notices.notice import Event, Notice
    from steelyard.suites.summary import SuiteSummary

_EVENTS: dict[str, Event] = {
    "passed": "finished",
    "not-met": "not-met",
    "undecided": "undecided",
    "failed": "failed",
    "interrupted": "interrupted",
    "not-run": "undecided",
}


class Notifier(Observer):
    """Tells each target what becomes of a run; where there is none, nothing."""

    def __init__(self, targets: Sequence[Target], rules: Iterable[Alert] = ()) -> None:
        self._targets = targets
        self._named = {rule.notify: list_targets([rule.notify]) for rule in rules if rule.notify}
        self._folder: RunFolder | None = None
        self._state = ""

    def observe(self, observer: Observer) -> Observer:
        """The observer, and this one beside it where anybody is to be told."""
        return BothObservers(self, observer) if self._targets or self._named else observer

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Tell of a run that the block cannot carry out, unless who reads it here ended it."""
        try:
            yield
        except SteelyardError as error:
            is_known = self._state in ("failed", "interrupted") and not _is_ours(error)
            if self._targets and self._folder and is_known:
                from steelyard.notices.outcomes import describe_error

                self._tell(describe_error(error, self._folder))
            raise

    def tell_outcome(self, findings: Findings, exit_code: int) -> None:
        """Tell what a run came to, and what its history says of that."""
        if not self._targets:
            return
        from steelyard.notices.outcomes import describe_outcome, find_regression

        self._tell(describe_outcome(findings, exit_code))
        store = Store(findings.record.folder.path.parents[1])
        if regression := find_regression(findings.record, store):
            self._tell(regression)

    def tell_suite(self, summary: SuiteSummary) -> None:
        """Tell what a suite of experiments came to."""
        if not self._targets:
            return
        from steelyard.notices.notice import Notice
        from steelyard.suites.report import format_answer, suite_lines

        title = f"{summary.name}: {format_answer(summary)}"
        text = "\n".join([title, *suite_lines(summary)])
        self._tell(Notice(_EVENTS[summary.worst], title, text, summary.id, summary.name))

    def on_start(self, folder: RunFolder, progress: Progress, seed: int) -> None:
        """Which run it is."""
        self._folder = folder

    def on_end(self, folder: RunFolder, state: str, reason: str) -> None:
        """How it ended."""
        self._folder, self._state = folder, state

    def on_alert(self, folder: RunFolder, rule: Alert, trial: str, *, holds: bool) -> None:
        """In a thread, as the trial goes on; the rule's own target wins."""
        from steelyard.notices.notice import Notice

        how = "holds" if holds else "holds no more"
        title = f"{folder.title}: {rule.when} {how}, in {trial}"
        notice = Notice("alert", title, f"{title}\n{folder.id}", folder.id, folder.title)
        targets = self._named.get(rule.notify or "", self._targets)
        threading.Thread(target=self._tell, args=(notice, targets), daemon=True).start()

    def _tell(self, notice: Notice, targets: Sequence[Target] | None = None) -> None:
        from steelyard.notices.send import send

        for target in self._targets if targets is None else targets:
            if reason := send(notice, target):
                echo(f"cannot notify {target.label}: {reason}", err=True)


def _is_ours(error: SteelyardError) -> bool:
    """Whether Ctrl-C ended it, so that who did it knows."""
    return error.exit_code == 130 and error.message.endswith("was interrupted")


def make_notifier(given: Sequence[str], *, rules: Iterable[Alert] = (), detach: bool = False) -> Notifier:
    """For `--notify`, else STEELYARD_NOTIFY, and for the experiment's rules. Raises UsageError, UnknownName.

    Who follows a job tells of it, and the job itself only where nobody does: then it inherits the targets.
    """
    targets = list_targets(given)
    inherited = os.environ.pop(VARIABLE, "")
    if detach:
        os.environ[VARIABLE] = "\n".join(given) or inherited
        return Notifier(())
    return Notifier(targets, rules)


def read_rules(folder: RunFolder) -> tuple[Alert, ...]:
    """The rules of a run that goes on; none where its record cannot be read, which is said elsewhere."""
    from steelyard.controller.design_document import load_experiment
    from steelyard.store.reader import RunRecord

    try:
        return load_experiment(RunRecord(folder)).alert
    except SteelyardError:
        return ()
