"""Commands and services that are told where others are."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from steelyard import api
from steelyard.cli.app import run as cli

SERVER = """
import socket, sys, time
print("behind", sys.argv[3:], flush=True)
server = socket.create_server((sys.argv[1], int(sys.argv[2])))
time.sleep(1000)
"""
ADDRESS = ["${self.address}", "${port}"]


@pytest.fixture
def tree(own_place: Path) -> dict[str, Any]:
    (own_place / "server.py").write_text(SERVER)
    program = {"use": "program", "open": True}
    return {
        "experiment": "told",
        "roles": {"front": 1, "back": 2},
        "parameters": {"n": [1, 2]},
        "services": {
            "proxy": {**program, "on": "front", "run": ["python3", "server.py", *ADDRESS, "${kv.endpoints}"]},
            "kv": {**program, "on": "back", "run": ["python3", "./server.py", *ADDRESS, "${n}"]},
        },
        "workload": {
            "use": "command",
            "on": "front",
            "run": [
                "sh",
                "-c",
                'echo "$@" "$STEELYARD_KV_PORT"',
                "sh",
                "${proxy.endpoint}",
                "${back.addresses}",
            ],
        },
        "repeat": 2,
        "disturbed": "include",
        "telemetry": "off",
    }


def said(found: api.Run, trial: int) -> str:
    return next(found.record.folder.trial(trial).rglob("stdout")).read_text()


def test_a_service_is_told_the_other_and_begins_anew_with_it(tree, told):
    found = api.run(tree, site="local:3", observer=told)
    assert [trial.result.status for trial in found.record.trials] == ["ok"] * 4
    ready = [line for line in found.record.journal if line["kind"] == "service-ready"]
    assert [line["service"] for line in ready] == ["kv", "proxy", "kv", "proxy"]
    for number, (kv, proxy) in enumerate([ready[:2], ready[2:]]):
        (log,) = found.record.folder.service("proxy", 1 + 2 * number).glob("*.log")
        assert kv["servers"] in log.read_text()
        words = said(found, 1 + 2 * number).split()
        assert words == [f"{proxy['address']}:{proxy['port']}", "127.0.0.2,127.0.0.3", str(kv["port"])]


def test_what_lies_beside_the_experiment_is_found_by_resume_from_elsewhere(
    tree, own_place, told, monkeypatch
):
    found = api.run(tree, site="local:3", observer=told)
    elsewhere = own_place / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    runs = found.record.folder.path.parent.parent
    assert cli(("extend", found.id, "--repeat", "3", "--store", str(runs))) == 0
    again = api.load(found.id, store=runs)
    assert [trial.result.status for trial in again.record.trials] == ["ok"] * 6


def test_the_plan_shows_what_is_not_known_yet(tree, own_place, capsys):
    (own_place / "told.yaml").write_text(json.dumps(tree))
    assert cli(("plan", "told.yaml", "--site", "local:3")) == 0
    assert "sh '<proxy.endpoint>' '<back.addresses>'" in capsys.readouterr().out


def test_a_program_beside_the_experiment_is_shown_with_its_path(own_place, capsys):
    (own_place / "tool.sh").write_text("echo hi")
    (own_place / "mine.yaml").write_text("experiment: mine\nworkload: {use: command, run: [sh, tool.sh]}\n")
    assert cli(("plan", "mine.yaml")) == 0
    assert f"sh {own_place}/tool.sh" in capsys.readouterr().out


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
def test_who_names_a_service_is_told_its_password_which_is_in_no_record(enterable_scratch, told):
    """By a server in front of it, and by a command; who does not name it is not."""
    digest = 'printf %s "${STEELYARD_KV_PASSWORD-none}" | sha256sum; '
    program = {"use": "program", "on": "host", "authentication": "nothing", "ready": {"line": "."}}
    tree = {
        "experiment": "told",
        "services": {
            "front": {**program, "script": f": ${{kv.port}}; {digest} exec sleep 1000"},
            "other": {**program, "script": "env | grep -c PASSWORD || :; exec sleep 1000"},
            "kv": {"use": "redis", "on": "host"},
        },
        "workload": {"use": "command", "script": f"{digest} redis-cli -p $STEELYARD_KV_PORT ping"},
        "repeat": 1,
        "disturbed": "include",
    }
    found = api.run(tree, observer=told)
    (trial,) = found.record.trials
    assert trial.result.status == "ok", trial.message
    folder = found.record.folder
    logs = {
        name: next(folder.service(name, 1).glob("*-program.log")).read_text() for name in ("front", "other")
    }
    assert logs["front"].split()[0] == said(found, 1).split()[0]
    assert logs["front"].split()[0] != hashlib.sha256(b"none").hexdigest()
    assert logs["other"].strip() == "0"
