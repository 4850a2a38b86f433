"""What a page starts lives on without the server, with the priority of any other program."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from patience import until
from steelyard.errors import UnknownName
from steelyard.hosts.minder.processes import list_pids, read_proc
from steelyard.store.layout import Store
from steelyard.web.starting.starter import RunStarter


def find_command(store: Path) -> list[int]:
    """The commands of this store that run."""
    return [pid for pid in list_pids() if str(store).encode() in read_proc(f"/proc/{pid}/cmdline")]


def test_a_command_is_nobodys_child_and_its_output_is_read(tmp_path):
    store = Store(tmp_path / "store")
    with RunStarter(store) as starter:
        key = starter.start("list")
        assert until(lambda: "no runs in" in starter.read(key).output)
        assert starter.read(key).run == ""
        (log,) = (store.root / "starts").iterdir()
        assert log.stat().st_mode & 0o777 == 0o600
        assert log.parent.stat().st_mode & 0o777 == 0o700


def test_a_run_goes_on_when_the_server_has_ended(tmp_path):
    store = Store(tmp_path / "store")
    file = tmp_path / "long.yaml"
    file.write_text("experiment: long\nworkload: {use: command, run: [sleep, '600']}\n")
    with RunStarter(store) as starter:
        key = starter.start("run", "--beside", str(file))
        assert until(lambda: starter.read(key).run)
        run = starter.read(key).run
    pids = find_command(store.root)
    try:
        assert pids
        assert store.find(run).journal.is_file()
        assert all(os.getpriority(os.PRIO_PROCESS, pid) == os.getpriority(os.PRIO_PROCESS, 0) for pid in pids)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
    assert until(lambda: not find_command(store.root))


def test_what_cannot_be_started_says_so(tmp_path):
    with RunStarter(Store(tmp_path / "store")) as starter:
        key = starter.start("list", folder=tmp_path / "nowhere")
        assert until(lambda: "cannot start it" in starter.read(key).output)


@pytest.mark.parametrize("key", ["", "..", "../x", "20261125-000000-00000000", "/etc/passwd"])
def test_no_other_file_is_read(tmp_path, key):
    with RunStarter(Store(tmp_path / "store")) as starter, pytest.raises(UnknownName, match="command"):
        starter.read(key)
