"""Another account of the same machine, with patience: what it plants in our way is refused, and told."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sshd
from accounts import Account

PLANTED = """
experiment: planted
workload: {{use: command, run: [touch, {proof}]}}
repeat: 2
disturbed: include
"""


@pytest.fixture
def common() -> Iterator[Path]:
    """A directory in which everybody may make something, as /tmp."""
    place = Path(tempfile.mkdtemp(dir="/var/tmp"))
    place.chmod(0o1777)
    yield place
    shutil.rmtree(place)


def said(done: object) -> str:
    return f"{done.stdout}{done.stderr}"  # type: ignore[attr-defined]


def test_a_planted_run_is_not_gone_on_with(alice: Account, mallory: Account, common: Path) -> None:
    """`resume last` would run mallory's command as alice."""
    proof = alice.home / "ran"
    (common / "planted.yaml").write_text(PLANTED.format(proof=proof))
    plant = mallory.steelyard("run", str(common / "planted.yaml"), cwd=common)
    assert plant.returncode == 0 or "failed" in said(plant), said(plant)
    (run,) = (common / "steelyard-runs" / "runs").iterdir()
    journal = run / "journal.ndjson"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:2]))
    for path in (run.parents[1], *run.parents[1].rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    for words in (["resume", "last"], ["list"], ["report", "last"]):
        done = alice.steelyard(*words, cwd=common)
        assert done.returncode == 2, said(done)
        assert f"it belongs to {mallory.name}" in said(done)
        assert "steelyard trust" in said(done)
    named = alice.steelyard("resume", "--store", str(common / "steelyard-runs"), run.name)
    assert named.returncode == 2, said(named)
    assert not proof.exists()


def test_nothing_is_written_into_the_run_of_another(alice: Account, mallory: Account, common: Path) -> None:
    """`report` followed links at its part's name, so that alice's report became mallory's SSH key."""
    (common / "planted.yaml").write_text(PLANTED.format(proof="/dev/null"))
    assert mallory.steelyard("run", str(common / "planted.yaml"), cwd=common).returncode == 0
    (run,) = (common / "steelyard-runs" / "runs").iterdir()
    for path in (run.parents[1], *run.parents[1].rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    victim = alice.owns(alice.home / "authorized_keys", "precious")
    (run / "derived" / "report.html").unlink()
    (run / "derived" / "report.html").symlink_to(victim)
    before = sorted(run.rglob("*"))
    store = ("--store", str(run.parents[1]))
    for words in (["report", "last"], ["export", "last", "--as", "csv"], ["extend", "last", "--repeat", "3"]):
        done = alice.steelyard(*words, *store)
        assert done.returncode in (2, 3), said(done)
        assert mallory.name in said(done)
    elsewhere = alice.steelyard("report", "last", *store, "-o", str(alice.home / "report.html"))
    assert elsewhere.returncode == 0, said(elsewhere)
    assert (alice.home / "report.html").exists()
    assert victim.read_text() == "precious"
    assert sorted(run.rglob("*")) == before


def test_a_file_of_sites_that_another_put_here_is_not_used(
    alice: Account, mallory: Account, common: Path
) -> None:
    """Its ProxyCommand would run as alice."""
    proof = alice.home / "ran"
    config = f"Host *\n  ProxyCommand touch {proof}\n"
    mallory.owns(common / "config", config)
    entry = f"{{use: ssh, hosts: [node1], config: {common}/config, connect_within: 2s}}"
    mallory.owns(common / "sites.yaml", f"lab: {entry}\nlocal: {entry}\n")
    done = alice.steelyard("run", "--site", "lab", "--disturbed", "include", "--", "true", cwd=common)
    assert done.returncode == 2, said(done)
    assert f"sites.yaml: it belongs to {mallory.name}" in said(done)
    own = alice.steelyard("run", "--repeat", "1", "--disturbed", "include", "--", "true", cwd=common)
    assert own.returncode == 0, f"the sites that Steelyard brings need no file: {said(own)}"
    assert not proof.exists()
    shutil.rmtree(common / "steelyard-runs")


def test_a_hostile_store_makes_clean_remove_nothing(alice: Account, mallory: Account, common: Path) -> None:
    """Its journal names directories of alice."""
    mine = alice.owns(alice.home / "steelyard-planted")
    alice.owns(mine / ".steelyard-scratch", "20261122-101112-planted-0a0a")
    alice.owns(mine / "data", "precious")
    run = mallory.owns(common / "store" / "runs" / "20261122-101112-planted-0a0a")
    inside = run.name
    alice.owns(alice.home / inside)
    mine = mine.rename(alice.home / inside / f"x{inside}")
    lines = [{"kind": "run-started"}, {"kind": "scratch", "path": str(mine)}]
    lines += [{"kind": "scratch", "path": str(mine), "mark": "0" * 64}]
    mallory.owns(run / "journal.ndjson", "".join(json.dumps(line) + "\n" for line in lines))
    for path in (common / "store", *common.rglob("store/**/*")):
        os.chown(path, mallory.uid, mallory.gid)
    done = alice.steelyard("clean", "--store", str(common / "store"))
    assert (mine / "data").read_text() == "precious", said(done)


def test_directories_that_another_made_first_hold_up_no_run(
    alice: Account, mallory: Account, common: Path
) -> None:
    """`/tmp/steelyard-UID` was where all runs of an account looked for each other."""
    for place in (Path("/tmp"), Path("/var/tmp"), common):
        mallory.owns(place / f"steelyard-{alice.uid}", mode=0o777)
    try:
        done = alice.steelyard(
            "run", "--repeat", "1", "--disturbed", "include", "--", "true", env={"TMPDIR": str(common)}
        )
        assert done.returncode == 0, said(done)
    finally:
        for place in (Path("/tmp"), Path("/var/tmp")):
            (place / f"steelyard-{alice.uid}").rmdir()


def test_runs_of_one_account_find_each_other_whatever_their_environment_says(
    alice: Account, common: Path
) -> None:
    """Cron, a job and a terminal differ in XDG_RUNTIME_DIR and TMPDIR."""
    code = "from steelyard.controller.machine.lock_files import make_lock_folder; print(make_lock_folder())"
    found = {
        alice.run(*alice.python, "-c", code, env=env).stdout
        for env in ({}, {"TMPDIR": str(common)}, {"XDG_RUNTIME_DIR": str(common), "HOME": str(common)})
    }
    assert len(found) == 1, found
    (line,) = found
    assert line.startswith(str(alice.home)), line


BESIDE = """
experiment: beside
workload:
  use: command
  run: [sh, -c, "ls -ld ..; pwd; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"]
  directory: scratch
repeat: 3
disturbed: exclude
"""


@pytest.fixture(params=["local", "ssh"])
def sites(
    request: pytest.FixtureRequest, alice: Account, mallory: Account, common: Path
) -> Iterator[dict[str, str]]:
    """The site of each account: this machine, or this machine by SSH."""
    if request.param == "local":
        yield {alice.name: "local", mallory.name: "local"}
        return
    server = sshd.Sshd(common / "sshd")
    common.joinpath("sshd").chmod(0o755)
    found = {}
    for one in (alice, mallory):
        key = sshd.make_key(one.home / "key")
        with (common / "sshd" / "authorized").open("a") as authorized:
            authorized.write(key.with_name("key.pub").read_text())
        one.owns(one.home / "known", server.known.read_text())
        os.chown(key, one.uid, one.gid)
        host = {"hosts": [{"host": server.host, "port": server.port}], "user": one.name, "config": "none"}
        options = host | {"key": str(key), "known_hosts": str(one.home / "known")}
        one.owns(one.home / "hosts.yaml", json.dumps(options))
        found[one.name] = f"ssh:{one.home}/hosts.yaml"
    with server:
        yield found


def test_two_accounts_run_the_same_at_once_and_neither_sees_the_other(
    alice: Account, mallory: Account, common: Path, sites: dict[str, str]
) -> None:
    (common / "beside.yaml").write_text(BESIDE)
    words = ("-m", "steelyard", "run", str(common / "beside.yaml"), "--undecided", "pass", "--site")
    started = [
        (one, one.start(*one.python, *words, sites[one.name], stdout=-1, stderr=-1))
        for one in (alice, mallory)
    ]
    runs = {one.name: ended_run(one, process.communicate()) for one, process in started}
    assert any("foreign" in mark for run in runs.values() for mark in marks(run)), "each is load to the other"
    for reader, owner in ((alice, mallory), (mallory, alice)):
        owner.home.chmod(0o755)  # as homes often are
        run = runs[owner.name]
        assert reader.run("ls", str(run.parent)).returncode != 0
        assert reader.run("cat", str(run / "journal.ndjson")).returncode != 0
        for path in run.glob("trials/*/*/*/stdout"):
            mode, where = path.read_text().splitlines()
            assert mode.startswith("drwx------")
            assert not Path(where).exists()


def ended_run(owner: Account, outcome: tuple[str, str]) -> Path:
    """The folder of the account's newest run of this name, which came to its end."""
    run = max((owner.home / "steelyard-runs" / "runs").glob("*-beside-*"))
    (ended,) = [line for line in lines_of(run) if line["kind"] == "run-ended"]
    assert (ended["state"], ended["failed"]) == ("complete", 0), outcome
    return run


def lines_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "journal.ndjson").read_text().splitlines()]


def marks(run: Path) -> list[str]:
    return [str(mark) for line in lines_of(run) for mark in line.get("marks", ())]
