"""Objects of System V in place of a unit's memory: for real, and in namespaces that vanish."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pydantic import ValidationError

from loading import loaded
from patience import PATIENCE, until
from steelyard.model.command import Output, Place

checks = loaded(Path(__file__).with_name("test_checkpoint.py"))
users = loaded(Path(__file__).with_name("test_user_program.py"))
TABLES = {"shared-memory": "shm", "messages": "msg", "semaphores": "sem"}
KINDS: dict[str, dict[str, Any]] = {
    "shared-memory": {"state": "shared-memory", "memory": "3MiB"},
    "messages": {"state": "messages", "messages": 16},
    "semaphores": {"state": "semaphores", "semaphores": 250},
}
HEAD = 52  # bytes of a state file beside its content
BEGUN = "        saved = way.save()"
RESTORED = 'read_state(order["path"], lambda size: stack.enter_context(made.make(size)))'


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({"state": "shared-memory", "memory": "1MB"}, 1_000_000),
        ({"state": "shared-memory", "memory": "3MiB", "content": "half"}, 3 << 20),
        ({"state": "messages", "messages": 2}, 2 * (12 + 8192)),
        ({"state": "messages", "messages": 16384}, 16384 * (12 + 1)),
        ({"state": "messages", "messages": 3, "queue": "3KiB"}, 3 * (12 + 1024)),
        ({"state": "semaphores", "semaphores": 1}, 2),
        ({"state": "semaphores", "semaphores": 1000}, 2000),
    ],
)
def test_it_is_saved_removed_and_made_again(tmp_path: Path, options: dict[str, Any], size: int) -> None:
    ended = checks.run_program(tmp_path, **options)
    assert ended.returncode == 0, ended.stderr
    workload = checks.made(**options)
    reading = workload.parse("run", Output(checks.EXIT, ended.stdout, ended.stderr))
    assert set(reading.values) == {metric.name for metric in workload.metrics()}
    assert reading.values["state_size"] == size + HEAD
    parts = ("collect_time", "write_time", "sync_time", "checksum_time")
    assert sum(reading.values[part] for part in parts) <= reading.values["save_time"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kind", "restored", "said"),
    [
        (
            "shared-memory",
            f"state = {RESTORED}; state.memory[1500000] ^= 1",
            "shared memory segment is not what was saved: 1 of 3 MiB differ, the first is number 1",
        ),
        (
            "shared-memory",
            RESTORED.replace("make(size))", "make(size + 4096))[:size]"),
            "3145728 bytes were saved, and 3149824 are there",
        ),
        (
            "messages",
            f"state = {RESTORED}; state.memory[-1] ^= 1",
            "message queue is not what was saved: 1 of 16 messages differ, the first is number 15",
        ),
        (
            "messages",
            f"state = {RESTORED}; state.memory[:] = state.memory[1036:] + state.memory[:1036]",
            "16 of 16 messages differ, the first is number 0",
        ),
        (
            "messages",
            f"state = {RESTORED}; del state.memory[1036:2072]",
            "16576 bytes were saved, and 15540 are there",
        ),
        (
            "semaphores",
            f"state = {RESTORED}; state.memory[20] ^= 1",
            "semaphore array is not what was saved: 1 of 250 semaphores differ, the first is number 10",
        ),
        ("shared-memory", "made.parts", "there is no shared memory segment after the restore"),
        ("messages", "made.parts", "there is no message queue after the restore"),
        ("semaphores", "made.parts", "there is no semaphore array after the restore"),
    ],
)
def test_a_restore_that_cheats_fails_the_trial(tmp_path: Path, kind: str, restored: str, said: str) -> None:
    ended = checks.run_program(tmp_path, (RESTORED, restored), **KINDS[kind])
    assert ended.returncode == 1
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_saved_is_gone_before_it_is_restored(tmp_path: Path, kind: str) -> None:
    """Else it would be there without any restore."""
    ended = checks.run_program(
        tmp_path, ("        self._object.remove()\n        self", "        self"), **KINDS[kind]
    )
    assert "cannot restore" in ended.stderr
    assert "File exists" in ended.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_a_harmed_state_file_fails_the_trial(tmp_path: Path, kind: str) -> None:
    harm = "        os.truncate(way.path, 60)\n"
    ended = checks.run_program(tmp_path, (checks.HARM, f"{harm}{checks.HARM}"), **KINDS[kind])
    assert "state is refused: it is torn, 60 of its" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"state": "messages", "messages": 1},
            "a message of so many bytes: 16384 is more than the 8192 that the kernel permits (msgmax); "
            "give more `messages` or a smaller `queue`\n",
        ),
        (
            {"state": "messages", "messages": 8, "queue": "32KiB"},
            "a message queue of so many bytes: 32768 is more than the 16384 that the kernel permits "
            "(msgmnb); give a smaller `queue`\n",
        ),
        (
            {"state": "semaphores", "semaphores": 40000},
            "a semaphore array of so many semaphores: 40000 is more than the 32000 that the kernel permits "
            "(sem); give fewer `semaphores`\n",
        ),
    ],
)
def test_what_the_kernel_does_not_permit_is_said_before(
    tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    ended = checks.run_program(tmp_path, ("        way.begin()", "        sys.exit('begun')"), **options)
    assert ended.stderr == said


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_outlives_a_verifier_that_is_killed(tmp_path: Path, kind: str) -> None:
    """An object lives as long as its namespace, and that as long as its last process."""
    seen = "open('namespace', 'w').write(os.readlink('/proc/self/ns/ipc'))"
    table = f"open('table', 'w').write(open('/proc/sysvipc/{TABLES[kind]}').read())"
    dying = f"        {seen}; {table}; os.kill(os.getpid(), 9)\n{BEGUN}"
    ended = checks.run_program(tmp_path, (BEGUN, dying), **KINDS[kind])
    assert ended.returncode == -9
    assert len((tmp_path / "table").read_text().splitlines()) == 2
    assert (tmp_path / "namespace").read_text() != str(Path("/proc/self/ns/ipc").readlink())
    assert until(lambda: not users.who_runs_in(tmp_path)), "nobody holds the namespace any more"


def run_within(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The program of a queue, started by another one."""
    where = PurePosixPath(place)
    command = checks.made(**KINDS["messages"]).command(Place(where, where, 2, 2**30, seed=7))
    return subprocess.run(
        (*words, sys.executable, *command.argv[1:]),
        input=command.stdin,
        cwd=place,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
def test_without_rights_it_has_a_user_namespace_as_well(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    ended = run_within(tmp_path, "setpriv", "--bounding-set=-all", "--inh-caps=-all")
    assert ended.returncode == 0, ended.stderr


def test_a_host_without_namespaces_is_said(tmp_path: Path) -> None:
    forbid = 'echo 0 >/proc/sys/user/max_ipc_namespaces && exec "$@"'
    words = ("unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh")
    if subprocess.run((*words, "true"), check=False).returncode:
        pytest.skip("user namespaces are not permitted here")
    ended = run_within(tmp_path, *words)
    assert ended.returncode == 1
    assert ended.stderr == (
        "cannot have an IPC namespace of its own: No space left on device; run as root, or on a host that "
        "permits user namespaces (user.max_user_namespaces)\n"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"state": "semaphores", "memory": "5MB"}, "memory: remove it; `state: semaphores` has none"),
        ({"state": "shared-memory", "steps": 5}, "steps: remove it; `state: shared-memory` has none"),
        ({"state": "messages", "ring": {}}, "ring: remove it; `state: messages` has none"),
        ({"messages": 5}, "messages: remove it; `state: memory` has none"),
        (
            {"state": "messages", "messages": 5},
            "queue: 16384 bytes are no whole number for each of 5 messages",
        ),
        ({"state": "files"}, "semaphores"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        checks.made(**options)


def test_the_disk_follows_the_object() -> None:
    assert checks.made(**KINDS["semaphores"]).disk() == 500 + 2**20
    assert checks.made(**KINDS["shared-memory"]).disk() == 4 * 2**20
