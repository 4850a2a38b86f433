"""`reset: checkpoint`: each repetition begins with the state that running servers had, for real."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from run_records import found, told_of
from steelyard import api
from steelyard.services.program import ProgramService

pytestmark = pytest.mark.usefixtures("emptied_scratch")
# It adds what clients send to a sum, in memory alone, and answers with the sum.
SERVER = """
import os, signal, socket, sys
total = int(open("state").read()) if "--resume" in sys.argv else int(os.environ["FIRST"])
def save(*_):
    with open("state.new", "w") as file: file.write(str(total))
    os.rename("state.new", "state")
signal.signal(signal.SIGUSR1, save)
server = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("serves", flush=True)
while True:
    client, _ = server.accept()
    with client, client.makefile("rw") as lines:
        total += int(lines.readline())
        lines.write(f"found: {total}\\n")
"""
ADD = 'exec 3<>"/dev/tcp/$STEELYARD_SERVICE_ADDRESS/$STEELYARD_SERVICE_PORT"; echo "$AMOUNT" >&3; cat <&3'
RUN = ["python3", "-c", SERVER, "${self.address}", "${port}"]
HOOKS = {"signal": "SIGUSR1", "state_file": "state", "restore": [*RUN, "--resume"]}


def make_entry(phase: str, amount: str, **more: Any) -> dict[str, Any]:
    return {
        "phase": phase,
        "use": "command",
        "on": "client",
        "to": "store",
        "run": ["bash", "-c", ADD],
        "env": {"AMOUNT": amount},
        "metrics": {"found": {"regex": r"found: (\d+)$"}},
        **more,
    }


@pytest.fixture
def measured(told: Any) -> Callable[..., api.Run]:
    """Prepare a sum, then add 1 and read it: what came of another repetition would show."""

    def run(
        service: dict[str, Any], amount: str = "100", script: dict[str, Any] | None = None, **more: Any
    ) -> api.Run:
        prepare = {**make_entry("prepare", amount), "measured": False}
        del prepare["metrics"]
        about = {"use": "program", "on": "server", "run": RUN, "env": {"FIRST": "5"}, "checkpoint": HOOKS}
        ready = {"ready": {"line": "^serves"}, "authentication": "nothing"}
        tree = {
            "experiment": "kept",
            "roles": {"server": 1, "client": 1},
            "services": {"store": {**about, **ready, **service}},
            "workload": [prepare, make_entry("add", "1", **(script or {}))],
            "telemetry": "off",
            "repeat": 3,
            "disturbed": "exclude",
            "reset": "checkpoint",
            **more,
        }
        return api.run(tree, site="local:2", observer=told)

    return run


@pytest.mark.parametrize("keep", ["trial", "run"])
def test_repetitions_go_on_from_the_same_state_which_is_made_once(
    measured: Callable[..., api.Run], keep: str
) -> None:
    run = measured({"keep": keep})
    assert found(run) == [106, 106, 106]
    (taken,) = told_of(run, "checkpoint-taken")
    assert (taken["service"], taken["bytes"]) == ("store", 3)
    assert [line["bytes"] for line in told_of(run, "checkpoint-restored")] == [3, 3, 3]


def test_a_server_that_lives_on_has_nothing_of_another_cell(measured: Callable[..., api.Run]) -> None:
    levels = {"parameters": {"amount": [100, 200]}, "order": "as-written", "repeat": 2}
    run = measured({"keep": "run"}, amount="${amount}", **levels)
    assert found(run) == [106, 106, 206, 206]


def test_a_server_with_other_settings_begins_with_its_own(measured: Callable[..., api.Run]) -> None:
    levels = {"parameters": {"first": [5, 7]}, "order": "as-written", "repeat": 2}
    run = measured({"keep": "run", "env": {"FIRST": "${first}"}}, **levels)
    assert found(run) == [106, 106, 108, 108]


def test_a_checkpoint_of_the_trial_does_not_replace_it(measured: Callable[..., api.Run]) -> None:
    """The server's own file is another one afterwards."""
    later = [{"at": "0s", "during": "add", "do": "checkpoint", "service": "store"}]
    run = measured({"keep": "run"}, timeline=later)
    assert found(run) == [106, 106, 106]


def test_a_kept_state_that_was_harmed_is_refused_and_made_anew(
    measured: Callable[..., api.Run], enterable_scratch: Path
) -> None:
    """By the first repetition alone."""
    harm = (
        f"find {enterable_scratch} -path '*/snapshots*/files/*' -type f -exec sh -c 'echo 9 >\"$0\"' {{}} \\;"
    )
    script = {"run": ["bash", "-c", f'{ADD}; [ -e "$MARK" ] || {harm}; touch "$MARK"']}
    mark = enterable_scratch.parent / f"{enterable_scratch.name}.harmed"
    try:
        run = measured({"keep": "run"}, script={**script, "env": {"AMOUNT": "1", "MARK": str(mark)}})
    finally:
        mark.unlink(missing_ok=True)
    ends = [(trial.result.status, trial.message) for trial in run.record.trials]
    assert [status for status, _ in ends] == ["ok", "failed", "ok"], ends
    assert "missing or damaged" in ends[1][1], ends
    assert len(told_of(run, "checkpoint-taken")) == 2


def test_one_that_does_not_save_fails_the_trial(measured: Callable[..., api.Run]) -> None:
    hooks = {"command": ["sh", "-c", "echo full >&2; exit 4"], "state_file": "s", "restore": ["x"]}
    run = measured({"checkpoint": hooks}, repeat=1)
    (trial,) = run.record.trials
    assert trial.result.status != "ok"
    assert "service store: checkpoint failed" in trial.message
    assert "full" in trial.message


def test_it_says_what_can_be_checkpointed() -> None:
    assert ProgramService.is_checkpointable({"checkpoint": HOOKS})
    assert not ProgramService.is_checkpointable({"checkpoint": None})
    assert not ProgramService.is_checkpointable({})
