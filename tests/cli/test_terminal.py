"""Whatever a stranger wrote, the terminal shows it and does nothing of it."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys

import pytest

from steelyard.cli.app import COMMANDS
from steelyard.cli.options import SiteName
from steelyard.cli.progress import Bar, Lines
from steelyard.controller.observer import Progress
from steelyard.model.metric import Mark, Metric
from steelyard.model.trial import Cell, Result, Trial, show_level
from steelyard.printable import make_printable

PAYLOAD = "\x1b]0;pwn\x07\x1b[2J\x9b31m\u202e\x7f[red]m[/red][link=file:///x]l[/link]:smile:"
ACTS = ("\x1b]", "\x1b[2J", "\x07", "\x9b", "\u202e", "\x7f")
FILE = r"""
experiment: nap
about: "PAYLOAD"
parameters: {text: ["PAYLOAD", plain]}
workload:
  use: command
  run: [sh, -c, 'printf "it is %s" "$0" >&2; test "$0" = plain && echo "rate: 5"', "${text}"]
  metrics: {rate: {regex: 'rate: (\d+)', better: higher}}
repeat: 2
disturbed: include
require: [wall.median <= 5 s]
""".replace("PAYLOAD", PAYLOAD.encode("unicode_escape").decode())


def assert_harmless(text: str) -> None:
    assert [letter for letter in text if make_printable(letter) != letter] == []


@pytest.fixture
def hostile(plans, tmp_path):
    """A run of which a stranger wrote every text, in the store of the test."""
    metric = Metric(f"rate{PAYLOAD}", "B/s", "higher", f"about{PAYLOAD}")
    cell = f"a={show_level(PAYLOAD)}"
    return plans.build(
        tmp_path / "store",
        title="hostile",
        about=PAYLOAD,
        text=f"experiment: {PAYLOAD}\n",
        parameters={"a": [PAYLOAD, "plain"]},
        metrics=[metric],
        figures=lambda cell, repetition, rng: {metric.name: rng.gauss(100, 1)},
        failures={(cell, 1): (f"crashed{PAYLOAD}", f"it said: {PAYLOAD}")},
        marks={(cell, 2): ("disturbed", f"load {PAYLOAD}")},
        warnings=[PAYLOAD],
        on=lambda cell: [PAYLOAD],
        environment={
            "site": PAYLOAD,
            "hosts": [{"name": PAYLOAD, "cores": 2}],
            "advice": [{"what": PAYLOAD}],
        },
        design={"tags": {PAYLOAD: PAYLOAD}},
    )


def test_a_run_on_a_terminal(tmp_path):
    (tmp_path / "nap.yaml").write_text(FILE)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        (sys.executable, "-m", "steelyard", "run", "nap.yaml", "--store", "store"),
        stdin=theirs, stdout=theirs, stderr=theirs,
        cwd=tmp_path, env={**os.environ, "TERM": "xterm-256color"},
    ) as running:  # fmt: skip
        os.close(theirs)
        said = b"".join(iter(lambda: _some(ours), b"")).decode()
    os.close(ours)
    assert running.returncode == 1
    assert "\x1b[" in said, "no bar: nothing was tested"
    assert [sign for sign in ACTS if sign in said] == []
    assert "[red]m[/red]" in said
    assert "it is \\x1b]0;pwn" in said


def _some(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # its last user has gone
        return b""


def test_a_run_in_a_pipe(tmp_path):
    (tmp_path / "nap.yaml").write_text(FILE)
    words = (sys.executable, "-m", "steelyard", "run", "nap.yaml", "--store", "store")
    said = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    for text in (said.stdout.decode(), said.stderr.decode()):
        assert "pwn" in text
        assert_harmless(text)


@pytest.mark.parametrize("kind", [Bar, Lines])
def test_progress(kind, hostile, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm-256color")
    seen, trial = kind(), Trial(Cell({"a": PAYLOAD}), 1)
    now = Progress(done=1, failed=1, least=2, most=2, left=3.0)
    seen.on_start(hostile.folder, now, 1)
    seen.on_trial_start(trial, 1, now)
    seen.on_trial_end(Result(trial, "failed", 1.0, {}, (), "crashed"), PAYLOAD, now)
    seen.on_trial_end(Result(trial, "ok", 1.0, {}, (Mark("disturbed", PAYLOAD),)), "", now)
    seen.on_warning(PAYLOAD)
    seen.on_wait(PAYLOAD)
    seen.on_end(hostile.folder, "failed", PAYLOAD)
    said = screen.getvalue()
    assert [sign for sign in ACTS if sign in said] == []
    assert said.count("[red]m[/red]") >= 5
    assert ":smile:" in said
    assert "\x1b]8" not in said


LOOKS = [
    ("show", "RUN"), ("show", "RUN", "--json"), ("show", "RUN", "--trial", "1"), ("status", "RUN"),
    ("status", "RUN", "--json"), ("list",), ("list", "--json"), ("compare", "RUN", "RUN"), ("resume", "RUN"),
    ("compare", "RUN", "RUN", "--json"), ("report", "RUN"), ("export", "RUN", "--as", "csv"),
    ("cancel", "RUN"),
    ("extend", "RUN", "--repeat", "9"),
    ("cluster", "status"), ("rm", "RUN", "--yes"),
]  # fmt: skip


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_commands_that_look_at_a_run(words, hostile, steelyard):
    assert words[0] in COMMANDS
    said = steelyard(*(hostile.id if word == "RUN" else word for word in words))
    assert_harmless(said.out)
    assert_harmless(said.err)
    assert said.out or said.err


MISTAKES = [
    (PAYLOAD,), (f"--{PAYLOAD}",), ("run", f"{PAYLOAD}.yaml"), ("run", "bad.yaml"), ("plan", "bad.yaml"),
    ("show", PAYLOAD), ("run", "--site", PAYLOAD, "bad.yaml"), ("install", PAYLOAD), ("catalog", PAYLOAD),
    ("export", "x", "--as", PAYLOAD), ("list", "--store", PAYLOAD), ("run", "--seed", PAYLOAD, "bad.yaml"),
]  # fmt: skip


@pytest.mark.parametrize("words", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes(words, steelyard, tmp_path):
    text = PAYLOAD.encode("unicode_escape").decode()
    (tmp_path / "bad.yaml").write_text(
        f'experiment: "{text}"\n"{text}": "{text}"\nworkload: {{use: "{text}"}}\n'
    )
    said = steelyard(*words)
    assert_harmless(said.out)
    assert_harmless(said.err)
    assert "pwn" in said.out + said.err


def test_what_is_planned_and_begun(steelyard, tmp_path):
    (tmp_path / "nap.yaml").write_text(FILE)
    for words in (("plan", "nap.yaml"), ("plan", "nap.yaml", "--json")):
        said = steelyard(*words)
        assert said.code == 0
        assert "pwn" in said.out
        assert_harmless(said.out)


def test_a_name_that_acts_is_not_completed(monkeypatch):
    monkeypatch.setattr("steelyard.spec.sites.site_names", lambda: ["fine", f"fi{PAYLOAD}"])
    assert [item.value for item in SiteName().shell_complete(None, None, "fi")] == ["fine"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_printed_as_it_is(shell, steelyard):
    said = steelyard("completion", shell)
    assert said.code == 0
    assert "\\x" not in said.out
