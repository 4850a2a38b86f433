"""Show a cluster while it lives: the application's output as it comes, everything else on standard error."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from steelyard.cli.terminal import echo
from steelyard.controller.machine.lock_files import MEASURES
from steelyard.controller.observer import Observer, Progress
from steelyard.model.trial import Result
from steelyard.store.layout import RunFolder

LOOK_EVERY = 0.1
_MOST_AT_ONCE = 1 << 20
_INTENDED = (MEASURES, "some trials were disturbed but still count")


class ClusterObserver(Observer):
    """Says what happens. `close` must be called: a thread copies what the application prints."""

    def __init__(self, name: str, *, logs: Path | None = None, output: bool = True) -> None:
        self._name, self._logs, self._output = name, logs, output
        self._printing: OutputPrinter | None = None
        self._begun = False

    def announce_run(self, folder: RunFolder) -> None:
        """Its run is known, whether or not it has hosts."""
        if self._begun:
            return
        self._begun = True
        say(f"cluster {self._name} is run {folder.id}")
        if self._logs:
            link_logs(self._logs, self._name, folder)

    def on_start(self, folder: RunFolder, progress: Progress, seed: int) -> None:
        """Its controller is at work."""
        self.announce_run(folder)
        if self._output and self._printing is None:
            self._printing = OutputPrinter(folder)
            self._printing.start()

    def on_trial_end(self, result: Result, message: str, progress: Progress) -> None:
        """The application, or the database before it."""
        self.flush()
        if message:
            say(message.partition("; output: ")[0] if result.category == "crashed" else message)

    def on_warning(self, text: str) -> None:
        """All but those of measuring: that a database and who uses it share a machine is intended."""
        if not any(said in text for said in _INTENDED):
            say(f"warning: {text}")

    def on_wait(self, text: str) -> None:
        """The job, the database, its snapshots."""
        say(text)

    def on_end(self, folder: RunFolder, state: str, reason: str) -> None:
        """Anything but a good end is told."""
        self.flush()
        if state != "complete":
            say(f"run {folder.id} {state}: {reason}")

    def flush(self) -> None:
        """All that was printed so far is shown."""
        if self._printing:
            self._printing.show()

    def close(self) -> None:
        """Show the rest."""
        if self._printing:
            self._printing.close()
            self._printing = None


class OutputPrinter(threading.Thread):
    """Copies both streams of the application from the record, where they arrive from any host."""

    def __init__(self, folder: RunFolder) -> None:
        super().__init__(name="application-output", daemon=True)
        self._folder, self._read = folder, dict[Path, int]()
        self._end, self._turn = threading.Event(), threading.Lock()

    def run(self) -> None:
        """Until it is closed."""
        while not self._end.wait(LOOK_EVERY):
            self.show()

    def close(self) -> None:
        """Show the rest, and end."""
        self._end.set()
        self.join()
        self.show()

    def show(self) -> None:
        """What is new."""
        with self._turn:
            for name, stream in (("stdout", sys.stdout), ("stderr", sys.stderr)):
                for path in sorted(self._folder.path.glob(f"trials/*/app-0/*/{name}")):
                    self._copy(path, stream.buffer)

    def _copy(self, path: Path, target: BinaryIO) -> None:
        with suppress(OSError, ValueError), path.open("rb") as file:
            file.seek(self._read.get(path, 0))
            while part := file.read(_MOST_AT_ONCE):
                target.write(part)
                self._read[path] = file.tell()
            target.flush()


def say(text: str) -> None:
    """A line on standard error."""
    echo(text, err=True)


def link_logs(logs: Path, name: str, folder: RunFolder) -> None:
    """`LOGS/<name>-<run>` leads to the run's folder, where all logs lie; that it cannot is no failure."""
    place = logs / f"{name}-{folder.id}"
    try:
        logs.mkdir(parents=True, exist_ok=True)
        place.symlink_to(folder.path.absolute(), target_is_directory=True)
    except OSError as error:
        say(f"warning: cannot link the logs in {logs}: {error.strerror}; they are in {folder.path}")
    else:
        say(f"logs are in {place}")
