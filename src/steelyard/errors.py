"""Every exception that Steelyard raises on purpose, in one tree.

::

    SteelyardError            exit 3   something could not be done; the text says what to do next
    ├── UsageError            exit 2   the file or the command is wrong
    │   ├── SpecError                  an experiment file has problems, all listed at once
    │   ├── UnknownName                no plug-in, run, metric … of that name; "did you mean"
    │   └── UnitError                  '5 parsec' is not a duration (also a ValueError)
    ├── PlugInError           exit 3   a plug-in exists but cannot be imported or breaks its contract
    ├── StoreError            exit 3   a record cannot be read or written
    │   ├── StoreFull                  no space is left where the records lie
    │   └── RunBusy                    the run is being driven by another process just now
    ├── HostError             exit 3   a host, its scratch or its minder failed
    │   ├── HostLost                   a host does not answer any more
    │   │   └── HostDown               an event took the host away; it is to come back
    │   └── ControllerUnreachable      the controller of a run does not answer
    ├── TrialFailure                   one trial failed; carries its category, never ends a run
    ├── ParseFailure                   a tool's output could not be understood (also a ValueError)
    │   └── NothingMeasured            the tool ran its time, and what it measures did not happen in it
    └── Interrupted           exit 130 Ctrl-C or a signal ended the run; it can be resumed
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SteelyardError(Exception):
    """Base of all. `exit_code` is what the command line ends with; `hint` says what to do next."""

    exit_code = 3

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(SteelyardError):
    """The file or the command is wrong; nothing was run."""

    exit_code = 2


class SpecError(UsageError):
    """An experiment file has problems. `problems` are printable lines in the order of the file."""

    def __init__(self, problems: Iterable[object]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        lines = [str(problem) for problem in self.problems]
        lines.append(f"{count} problem{'' if count == 1 else 's'}. Nothing was run.")
        super().__init__("\n".join(lines))


class UnknownName(UsageError):
    """No such name; `allowed` are those that exist."""

    def __init__(self, kind: str, name: str, allowed: Iterable[str], *, hint: str = "") -> None:
        self.kind, self.name, self.allowed = kind, name, tuple(allowed)
        super().__init__(f"unknown {kind} '{name}'{suggest_name(name, self.allowed)}", hint=hint)


class UnitError(UsageError, ValueError):
    """A value with a unit could not be read."""


class PlugInError(SteelyardError):
    """A plug-in exists but cannot be imported, or breaks the contract of its kind."""


class StoreError(SteelyardError):
    """A record cannot be read or written."""


class StoreFull(StoreError):
    """No space is left where the records lie."""


class RunBusy(StoreError):
    """The run is being driven by another process just now."""


class HostError(SteelyardError):
    """A host, its scratch directory or its minder failed."""


class HostLost(HostError):
    """A host does not answer any more; what ran there ends itself."""


class HostDown(HostLost):
    """An event killed the host; healing the event brings it back."""


class ControllerUnreachable(HostError):
    """The controller of a run does not answer."""


class TrialFailure(SteelyardError):
    """One trial failed. `category` is one of `steelyard.model.trial.FailureCategory`."""

    def __init__(self, category: str, message: str) -> None:
        super().__init__(message)
        self.category = category


class ParseFailure(SteelyardError, ValueError):
    """A tool's output could not be understood; the message quotes where it went wrong."""


class NothingMeasured(ParseFailure):
    """A tool ran its time, and what it measures did not happen once. `longer` names the option to raise."""

    def __init__(self, nothing: str, *, longer: str = "`duration`") -> None:
        super().__init__(f"{nothing} in the time of the trial: give a longer {longer}")


class Interrupted(SteelyardError):
    """A signal ended the run in good order; `steelyard resume` goes on with it."""

    exit_code = 130


def suggest_name(name: str, allowed: Iterable[str]) -> str:
    """`; did you mean 'fio'?` for the nearest allowed name, or an empty string."""
    near = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""
