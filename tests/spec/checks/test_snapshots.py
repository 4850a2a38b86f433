"""`reset: snapshot` and `reset: checkpoint`: what cannot be brought back is told with its line."""

from __future__ import annotations

import pytest

from steelyard.errors import SpecError
from steelyard.spec.load import load_source
from steelyard.spec.yaml.source import read

HOOKS = "{signal: SIGUSR1, state_file: s, restore: [python3, s.py]}"
FILE = """\
experiment: kept
roles: {{server: 2, client: 1}}
services:
  web: {{use: {use}, on: server, keep: run{more}}}
workload:
  - {{phase: load, use: command, on: client, run: ["true"], measured: false}}
  - {{phase: work, use: command, on: client, run: ["true"]}}
timeline: [{{{event}}}]
reset: {reset}
"""
EVENT = "at: 1s, during: work, do: kill, service: web, node: 0"


def load(use: str = "redis", more: str = "", event: str = EVENT, reset: str = "snapshot") -> str:
    """All that is said of the file."""
    source = read(FILE.format(use=use, more=more, event=event, reset=reset), "kept.yaml")
    try:
        load_source(source)
    except SpecError as error:
        return str(error)
    return ""


def test_sound_files_have_no_faults() -> None:
    assert load() == ""
    assert load("program", f", run: [python3, s.py], checkpoint: {HOOKS}", reset="checkpoint") == ""


@pytest.mark.parametrize(
    ("use", "more", "reset"),
    [("program", ", run: [python3, s.py]", "checkpoint"), ("redis", "", "checkpoint")],
)
def test_a_checkpoint_needs_a_service_that_can_have_one(use: str, more: str, reset: str) -> None:
    assert (
        "kept.yaml:9:8  reset: 'checkpoint' needs a service that can save the state of its servers; "
        "give one of 'use: program' its 'checkpoint'"
    ) in load(use, more, reset=reset)


def test_a_snapshot_needs_a_service_that_can_have_one() -> None:
    said = load("program", ", run: [python3, s.py]")
    assert "kept.yaml:9:8  reset: 'snapshot' needs a service that supports snapshots of its data" in said


@pytest.mark.parametrize(("use", "reset"), [("redis", "snapshot"), ("program", "checkpoint")])
def test_no_event_is_in_a_phase_that_not_every_trial_has(use: str, reset: str) -> None:
    more = f", run: [python3, s.py], checkpoint: {HOOKS}" if use == "program" else ""
    said = load(use, more, EVENT.replace("during: work", "during: load"), reset)
    assert (
        f"kept.yaml:8:29  during: with 'reset: {reset}', the phase 'load' does not run in every trial"
    ) in said
