"""The files that a run began with, and whether they are still what they were."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steelyard.model.experiment import Experiment
from steelyard.model.keys.plugin_use import is_file
from steelyard.plugins import source_files
from steelyard.spec.service_kinds import variants
from steelyard.untrusted import read_content


def describe_file(file: Path) -> dict[str, str]:
    """Where an experiment's file lies, and the digest of what stands in it, for the journal."""
    return {"path": str(file.absolute()), "digest": _digest(file)}


def describe_change(recorded: Any, copy: Path) -> str:
    """A sentence where a run that goes on by its `copy` began with a file that says something else by now."""
    path = _find_changed(recorded)
    if not path:
        return ""
    return (
        f"{path} has changed since this run began; the run continues with its copy, {copy};"
        f" use `steelyard run {path}` to measure the changed file"
    )


def describe_plugins(experiment: Experiment) -> list[dict[str, str]]:
    """The same of each file of the plug-ins that lie beside the experiment."""
    names = dict.fromkeys(name for name in _iter_plugins(experiment) if is_file(name))
    return [describe_file(file) for name in names for file in source_files(name)]


def describe_plugin_changes(recorded: Any) -> Iterator[str]:
    """A sentence for each file of a plug-in that is another by now: a run has no copy of those."""
    for each in recorded if isinstance(recorded, list) else ():
        if path := _find_changed(each):
            yield (
                f"{path} has changed since this run began; the remaining trials use the changed plug-in;"
                " start a new run to measure it in all trials"
            )


def _iter_plugins(experiment: Experiment) -> Iterator[str]:
    yield from (use.plugin for use in experiment.workload)
    yield from (one.plugin for use in experiment.services.values() for one in variants(use, experiment))
    yield from (entry.plugin for entry in experiment.timeline)
    yield from (use.plugin for use in experiment.collect)


def _find_changed(recorded: Any) -> str:
    """The path of a file in a record, if it is there and says something else by now."""
    if not isinstance(recorded, dict) or not (path := str(recorded.get("path", ""))):
        return ""
    now = _digest(Path(path))
    return path if now and now != recorded.get("digest") else ""


def _digest(file: Path) -> str:
    """Of a file; empty where it cannot be read."""
    try:
        return hashlib.sha256(read_content(file)).hexdigest()
    except OSError:
        return ""
