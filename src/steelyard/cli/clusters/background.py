"""Have a controller on this machine go on by itself, as a job of a scheduler would."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from steelyard.cli.clusters.show import ClusterObserver, say
from steelyard.cli.terminal import echo
from steelyard.cluster.clusters import OUR_FAILURE
from steelyard.cluster.launch import LaunchOptions
from steelyard.controller.observer import Progress
from steelyard.errors import SteelyardError, UsageError
from steelyard.store.layout import RunFolder


class BackgroundObserver(ClusterObserver):
    """Tells the parent which run it is, and from then on talks to the run's log."""

    def __init__(self, asked: LaunchOptions, tell: Callable[[Mapping[str, Any]], None]) -> None:
        super().__init__(asked.name, logs=Path(asked.logs) if asked.logs else None, output=False)
        self._tell = tell

    def on_start(self, folder: RunFolder, progress: Progress, seed: int) -> None:
        """It has hosts, and begins."""
        self.announce_run(folder)
        with folder.job_log.open("ab") as log:
            sys.stdout.flush()
            sys.stderr.flush()
            for stream in (1, 2):
                os.dup2(log.fileno(), stream)
        self._tell({"run": folder.id})


def run_in_background(work: Callable[[ClusterObserver], object], asked: LaunchOptions) -> int:
    """Do the work in a child that outlives us; print its run once it has begun. The exit code."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        os.close(reading)
        os._exit(_run_child(work, asked, writing))
    os.close(writing)
    with os.fdopen(reading) as answer:
        told: dict[str, Any] = json.loads(answer.read() or "{}")
    if "run" in told:
        echo(told["run"])
        return 0
    os.waitpid(child, 0)
    if told.get("usage"):
        raise UsageError(str(told.get("said")))
    say(str(told.get("said", "the cluster ended before it started")))
    return OUR_FAILURE


def _run_child(work: Callable[[ClusterObserver], object], asked: LaunchOptions, writing: int) -> int:
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)

    def tell(what: Mapping[str, Any]) -> None:
        with suppress(OSError):
            os.write(writing, json.dumps(what).encode())
            os.close(writing)

    try:
        work(BackgroundObserver(asked, tell))
    except SteelyardError as error:
        say(str(error))
        tell({"said": str(error), "usage": isinstance(error, UsageError)})
        return error.exit_code
    except BaseException as error:
        tell({"said": f"{type(error).__name__}: {error}"})
        return OUR_FAILURE
    return 0
