"""A service that asks for no password, where somebody else works: refused, or open in so many words."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from accounts import Account
from ended_process import END_AS_READ
from steelyard import api
from steelyard.analysis.findings import Findings
from steelyard.controller.deployment import other_users
from steelyard.controller.deployment.other_users import find_other_user
from steelyard.hosts.unused.accounts import RANGES
from steelyard.report import markdown
from steelyard.testing import FakeHost, Said

needs_memcached = pytest.mark.skipif(not shutil.which("memcached"), reason="memcached is not installed")


def experiment(**service: Any) -> dict[str, Any]:
    return {
        "experiment": "cache",
        "services": {"cache": {"use": "memcached", "on": "host", "memory": "16MiB", **service}},
        "workload": {"use": "command", "script": "true"},
        "repeat": 1,
        "disturbed": "exclude",
    }


@pytest.fixture
def visible(mallory: Account) -> Any:
    """A process of somebody else's, for as long as the test lasts."""
    process = mallory.start("sleep", "60")
    yield mallory
    process.kill()
    process.wait()


@needs_memcached
def test_it_is_refused_before_it_starts_while_somebody_else_is_there(visible: Account, told: Any) -> None:
    run = api.run(experiment(), site="local", observer=told)
    (trial,) = run.record.trials
    assert trial.result.category == "service-failed"
    assert "memcached requires no password (clients)" in trial.message
    assert "is active on host local" in trial.message
    assert "add `open: true` next to `use: memcached`" in trial.message
    assert not [line for line in run.record.journal if line["kind"] == "service-ready"]
    assert not run.record.folder.services.exists()


@needs_memcached
def test_what_is_open_is_named_in_the_record_and_in_the_report(
    visible: Account, told: Any, tmp_path: Path
) -> None:
    run = api.run(experiment(open=True), site="local", observer=told)
    (trial,) = run.record.trials
    assert trial.result.status == "ok", trial.message
    (ready,) = [line for line in run.record.journal if line["kind"] == "service-ready"]
    assert (ready["unauthenticated"], ready["shared"]) == ("whoever reaches it", ["local"])
    assert run.record.design["services"]["cache"]["open"] is True
    page = markdown.write(Findings(run.record), tmp_path / "report.md").read_text()
    assert "no password, open to whoever reaches it; other users on local" in page


def answered(said: str | None) -> str:
    host = FakeHost(Said)

    async def capture(argv: tuple[str, ...], *, seconds: float = 10.0) -> str | None:
        return said

    host.capture = capture  # type: ignore[method-assign]
    return asyncio.run(find_other_user(host))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("all\n1001:mallory\n", "mallory (user id 1001) is active"),
        ("all\n100999:\n", "an unnamed user (user id 100999) is active"),
        ("hidden\n", "other users cannot be seen"),
        (None, "other users cannot be seen"),
        ("all\n65534:nobody\n", ""),
        ("some\n65534:nobody\n", "nobody (user id 65534) is active"),
        (f"all\n{RANGES[0][0] + 5}:\n{RANGES[1][0]}:\n", ""),
        (f"all\n{RANGES[0][0] + 5}:carol\n", f"carol (user id {RANGES[0][0] + 5}) is active"),
        ("all\n61200:\n", ""),
        ("all\n", ""),
    ],
)
def test_who_counts_as_somebody_else(said: str | None, words: str) -> None:
    assert answered(said) == words


@pytest.mark.skipif(os.geteuid() != 0, reason="hides /proc in a namespace of its own")
def test_where_proc_hides_others_nobody_is_taken_to_be_alone(alice: Account) -> None:
    hide = (
        'mount -t proc -o hidepid=2 proc /proc; exec setpriv --reuid=$0 --regid=$0 --clear-groups sh -c "$1"'
    )
    words = ("unshare", "--mount", "sh", "-eu", "-c", hide, str(alice.uid), other_users._ASK)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == "hidden\n", done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts in namespaces of its own")
def test_a_process_that_ends_as_it_is_read_hides_nobody(alice: Account) -> None:
    # In a namespace where the second process is `seen`, and alice's is the third.
    ask = f"""
        {END_AS_READ}
        sleep 60 & seen=$!
        setpriv --reuid=$0 --regid=$0 --clear-groups sleep 60 & theirs=$!
        end_as_read $seen status
        until grep -q "^Uid:[[:space:]]*$0[[:space:]]" /proc/$theirs/status; do sleep 0.1; done
        sh -euc "$1"
    """
    own = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
    words = (*own, "sh", "-euc", ask, str(alice.uid), other_users._ASK)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert f"{alice.uid}:{alice.name}" in done.stdout.split(), done.stderr
