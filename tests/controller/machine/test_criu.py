"""criu on this machine: the real one, whether it works or refuses, and stand-ins for both."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from patience import until
from steelyard.controller.machine.criu import TriedCriu, try_criu
from steelyard.hosts.local import LocalHost
from steelyard.hosts.token import Token

# Keeps the words of the process that it ends, and starts them again.
WORKING = """\
case $1 in
dump) tr '\\0' ' ' <"/proc/$3/cmdline" >"$5/words"; kill -9 "$3" ;;
restore) setsid $(cat "$4/words") </dev/null >/dev/null 2>&1 & echo $! >"$6"; echo $! >"$SEEN"
    until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done ;;
esac
"""
# What criu 3.17.1 of Debian 12 said on Linux 6.18.
REFUSAL = """\
Error (criu/vdso.c:381): vdso: Unexpected rt vDSO area bounds
Error (criu/vdso.c:613): vdso: Failed to fill self vdso symtable
Error (criu/kerndat.c:1615): kerndat_vdso_fill_symtable failed when initializing kerndat.
Error (criu/crtools.c:260): Could not initialize kernel features detection.
"""


def try_here() -> TriedCriu:
    async def run() -> TriedCriu:
        async with LocalHost.open(Token.of("test-criu"), Path(os.devnull)) as host:
            return await try_criu(host)

    return asyncio.run(run())


def put_first_on_path(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "criu"
    program.write_text(f"#!/bin/sh\n{text}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_one_that_works_is_believed_when_the_process_is_there_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    put_first_on_path(tmp_path, WORKING, monkeypatch)
    tried = try_here()
    assert (tried.restores, tried.reason) == (True, "")
    assert tried.seconds > 0
    restored = int((tmp_path / "seen").read_text())
    assert until(lambda: not is_running(restored)), "what was restored is ended"


def test_one_that_refuses_says_what_went_wrong_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_first_on_path(tmp_path, f"cat >&2 <<'END'\n{REFUSAL}END\nexit 1\n", monkeypatch)
    tried = try_here()
    assert not tried.restores
    assert tried.reason == "Error (criu/vdso.c:381): vdso: Unexpected rt vDSO area bounds"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (WORKING.replace("restore) ", "restore) echo no >&2; exit 1; "), "no"),
        (WORKING.replace("restore) ", "restore) echo 0 >$6; echo done; exit 0; "), "done"),
        ("exit 1\n", "it said nothing"),
    ],
    ids=["restores-nothing", "claims-to-restore", "silent"],
)
def test_one_that_restores_nothing_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, reason: str
) -> None:
    put_first_on_path(tmp_path, text, monkeypatch)
    tried = try_here()
    assert not tried.restores
    assert tried.reason == reason


@pytest.mark.skipif(not shutil.which("criu"), reason="criu is not installed")
def test_the_real_one_restores_a_process_or_refuses_in_its_own_words() -> None:
    checked = subprocess.run(("criu", "check"), capture_output=True, text=True, check=False)
    tried = try_here()
    assert tried.restores is not bool(tried.reason)
    if checked.returncode:
        assert not tried.restores
        assert tried.reason in checked.stderr


def test_where_there_is_none_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for program in ("sh", "python3"):
        (tmp_path / program).symlink_to(str(shutil.which(program)))
    monkeypatch.setenv("PATH", str(tmp_path))
    tried = try_here()
    assert (tried.restores, tried.reason) == (False, "criu is not installed (apt install criu)")
