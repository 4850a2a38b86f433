"""How a program finds the service that it is pointed at."""

from __future__ import annotations

import configparser
import os
import stat
import subprocess
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from steelyard.model.command import Command, Endpoint, Place
from steelyard.workloads.command import CommandWorkload
from steelyard.workloads.kit.program import CommandOptions
from steelyard.workloads.pycompss import Pycompss, PycompssOptions

FACTS = {
    "protocol": "cql",
    "user": "me",
    "CONTACT_NAMES": "10.0.0.1,10.0.0.2",
    "NODE_PORT": "9142",
    "Odd": "x",
}
RING = Endpoint("10.0.0.1", 9142, FACTS, "s3cret-_")


def place(scratch: Path | str = "/scratch", to: Endpoint | None = RING, **more: Any) -> Place:
    return Place(PurePosixPath(scratch), PurePosixPath("/raw"), 8, 2**30, 1, to=to, **more)


def command(to: Endpoint | None = RING, share: int = 3, **options: Any) -> Command:
    chosen = CommandOptions.model_validate({"run": ["./app", "-x"], **options})
    return CommandWorkload(chosen).command(place(to=to, share=share))


def run(made: Command, where: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **made.variables}
    return subprocess.run(
        made.argv, env=env, cwd=made.cwd or where, capture_output=True, text=True, check=False
    )


def test_without_a_service_nothing_changes() -> None:
    made = command(to=None)
    assert (made.argv, dict(made.env), dict(made.secrets)) == (("./app", "-x"), {"RAW": "/raw"}, {})


def test_what_a_program_is_told() -> None:
    made = command()
    assert made.env["STEELYARD_SERVICE_ADDRESS"] == "10.0.0.1"
    assert made.env["STEELYARD_SERVICE_PORT"] == "9142"
    assert made.env["STEELYARD_SERVICE_USER"] == "me"
    assert made.env["CONTACT_NAMES"] == "10.0.0.1,10.0.0.2"
    assert made.env["NODE_PORT"] == "9142"
    assert made.env["STEELYARD_CORES"] == "3"
    assert "Odd" not in made.env
    assert dict(made.secrets) == {"STEELYARD_SERVICE_PASSWORD": "s3cret-_"}
    assert "s3cret-_" not in f"{made.argv}{dict(made.env)}", "it is in no record"
    assert made.argv[-2:] == ("./app", "-x")
    assert command(share=0).env["STEELYARD_CORES"] == "8", "where nobody counted they are all its own"
    assert command(env={"NODE_PORT": "1"}).env["NODE_PORT"] == "1", "who sets one himself knows better"
    plain = command(Endpoint("10.0.0.1", 6379, {"protocol": "redis"}))
    assert plain.argv == ("./app", "-x")
    assert "CQLSHRC" not in plain.env


def test_the_cqlshrc_is_for_the_user_alone_and_says_how_to_log_in(tmp_path: Path) -> None:
    workload = CommandWorkload(CommandOptions.model_validate({"run": ["sh", "-c", "umask; exit 7"]}))
    done = run(workload.command(place(tmp_path)), tmp_path)
    assert done.returncode == 7
    assert done.stdout.strip() == f"{_umask():04o}", "what the program makes has its user's usual mode"
    file = configparser.ConfigParser()
    file.read(tmp_path / "cqlshrc")
    assert (file["connection"]["hostname"], file["connection"]["port"]) == ("10.0.0.1", "9142")
    credentials = configparser.ConfigParser()
    credentials.read(file["authentication"]["credentials"])
    known = credentials["PlainTextAuthProvider"]
    assert (known["username"], known["password"]) == ("me", "s3cret-_")
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    assert len(list(tmp_path.iterdir())) == 2


def _umask() -> int:
    now = os.umask(0o22)
    os.umask(now)
    return now


def test_a_service_that_is_reached_by_tls_tells_whom_to_believe(tmp_path: Path) -> None:
    signed = replace(RING, authority="-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n")
    workload = CommandWorkload(CommandOptions.model_validate({"run": ["true"]}))
    made = workload.command(place(tmp_path, signed))
    assert made.env["STEELYARD_SERVICE_AUTHORITY"] == signed.authority
    assert "STEELYARD_SERVICE_AUTHORITY" not in command().env
    assert run(made, tmp_path).returncode == 0
    file = configparser.ConfigParser()
    file.read(tmp_path / "cqlshrc")
    assert file["connection"]["ssl"] == file["ssl"]["validate"] == "true"
    assert file["connection"]["port"] == "9142"
    assert Path(file["ssl"]["certfile"]).read_text() == signed.authority


def test_where_there_is_no_scratch_the_program_runs_all_the_same(tmp_path: Path) -> None:
    workload = CommandWorkload(CommandOptions.model_validate({"run": ["echo", "$HOME `x`"]}))
    done = run(workload.command(place(tmp_path / "not there")), tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("$HOME `x`\n", "", 0)


def test_it_runs_where_it_is_told(tmp_path: Path) -> None:
    made = command(cwd=str(tmp_path))
    assert made.cwd == PurePosixPath(tmp_path)
    assert made.env["SCRATCH"] == "/scratch"
    with pytest.raises(ValueError, match="absolute"):
        CommandOptions.model_validate({"run": ["true"], "cwd": "here"})


STAND_IN = """#!/bin/sh
printf '%s\\n' "$@" > "$SCRATCH/words"; cat "$STORAGE_PROPS"; pwd
for word; do case $word in --storage_conf=*) cat "${word#*=}";; esac; done
exit 9
"""


@pytest.fixture
def runcompss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in on PATH: the real one is in no registry."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "runcompss").write_text(STAND_IN)
    (programs / "runcompss").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("COMPSS_HOME", "/opt/compss 3")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return scratch


def compss(scratch: Path, copy: int = 0, **options: Any) -> Command:
    asked = {
        "run": ["app.py", "a b"],
        "flags": ["--lang=python", "-d"],
        "cwd": str(scratch.parent),
        **options,
    }
    at = place(scratch, copy=copy, copies=2, peers=("10.0.0.3", "10.0.0.4"), share=4)
    return Pycompss(PycompssOptions.model_validate(asked)).command(at)


def test_pycompss_is_given_its_workers_and_the_nodes_of_the_database(runcompss: Path) -> None:
    from xml.etree import ElementTree

    done = run(compss(runcompss), runcompss)
    assert done.returncode == 9, done.stderr
    words = (runcompss / "words").read_text().splitlines()
    assert words[-4:] == ["--lang=python", "-d", "app.py", "a b"]
    assert [word.partition("=")[0] for word in words[:3]] == ["--project", "--resources", "--storage_conf"]
    assert "export CONTACT_NAMES=10.0.0.1,10.0.0.2\nexport NODE_PORT=9142\n" in done.stdout
    assert done.stdout.endswith(f"{runcompss.parent}\n10.0.0.1\n10.0.0.2\n")
    project = ElementTree.parse(runcompss / "project.xml")
    assert [node.get("Name") for node in project.iter("ComputeNode")] == ["10.0.0.3", "10.0.0.4"]
    assert {node.text for node in project.iter("InstallDir")} == {"/opt/compss 3"}
    resources = ElementTree.parse(runcompss / "resources.xml")
    assert {node.text for node in resources.iter("ComputingUnits")} == {"4"}
    assert "s3cret-_" not in "".join(path.read_text() for path in runcompss.glob("*.xml"))


def test_the_other_hosts_of_pycompss_only_take_part(runcompss: Path) -> None:
    assert compss(runcompss, copy=1).argv == ("true",)


def test_a_missing_runcompss_is_named(runcompss: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = run(compss(runcompss), runcompss)
    assert done.returncode == 127
    assert "runcompss is not on PATH" in done.stderr
