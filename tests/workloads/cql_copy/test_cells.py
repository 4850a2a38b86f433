"""examples/hbp/cells.py without a ring: what it tells when something is missing or goes wrong."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CELLS = Path(__file__).parents[3] / "examples" / "hbp" / "cells.py"
STAND_IN = """#!/bin/sh
# cqlsh, as far as cells.py knows it. What it is asked is kept.
printf '%s\\n' "$*" >> "$ASKED"
case $* in
*data_center*) printf ' [json]\\n--------\\n {"data_center": "dc7"}\\n'; exit ${LOCAL:-0} ;;
*FROM*)
    [ -z "${COMPLAINT:-}" ] || echo "<stdin>:1:$COMPLAINT" >&2
    [ "$(grep -c COPY "$ASKED")" -le "${LOST:-99}" ] || IMPORTED=
    printf '\\n%s rows imported from 1 files in 1 s (0 skipped).\\n' "${IMPORTED:-$(grep -c . cells.csv)}"
    exit ${CODE:-0} ;;
*TO*)
    [ -z "${COMPLAINT:-}" ] || echo "<stdin>:1:$COMPLAINT" >&2
    printf '1,2\\n3,4\\n' > keys.csv; printf '\\n%s rows exported to 1 files in 1 second.\\n' "${EXPORTED:-2}"
    exit ${CODE:-0} ;;
esac
"""


class Program:
    def __init__(self, place: Path) -> None:
        self.cqlsh, self.asked = place / "cqlsh", place / "asked"
        self.cqlsh.write_text(STAND_IN)
        self.cqlsh.chmod(0o755)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(place), "TMPDIR": str(place / "tmp")}
        self.env |= {"ASKED": str(self.asked), "CONTACT_NAMES": "10.0.0.1,10.0.0.2", "NODE_PORT": "9999"}
        self.env |= {"CQLSH": str(self.cqlsh)}
        (place / "tmp").mkdir()

    def __call__(self, *words: str, **env: str | None) -> subprocess.CompletedProcess[str]:
        """Without packages of ours; everything that it made is gone afterwards."""
        told = {name: value for name, value in {**self.env, **env}.items() if value is not None}
        argv = [sys.executable, "-I", "-S", str(CELLS), *words]
        done = subprocess.run(argv, env=told, capture_output=True, text=True, check=False)
        assert list(Path(self.env["TMPDIR"]).iterdir()) == []
        return done


@pytest.fixture
def program(tmp_path) -> Program:
    return Program(tmp_path)


def test_it_needs_no_newer_python_than_it_says():
    ast.parse(CELLS.read_text(), feature_version=(3, 9))
    modules = {
        line.split()[1] for line in CELLS.read_text().splitlines() if re.match(r"(import|from) ", line)
    }
    assert {name.partition(".")[0] for name in modules} <= sys.stdlib_module_names


def test_a_count_is_the_number_alone(program):
    done = program("count")
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


def test_a_load_has_a_keyspace_with_as_many_copies_as_nodes_up_to_three(program):
    done = program("load", "17", CQLSHRC="/run/cqlshrc")
    assert (done.returncode, done.stdout) == (0, "loaded 17 rows into cells.data\n")
    assert "{'class': 'NetworkTopologyStrategy', 'dc7': 2}" in program.asked.read_text()
    assert all("--cqlshrc=/run/cqlshrc" in line for line in program.asked.read_text().splitlines())
    program("load", "17", CONTACT_NAMES="10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4")
    assert "'dc7': 3}" in program.asked.read_text()


def test_a_load_that_went_well_on_a_second_try_is_one(program):
    again = "Failed to import 20 rows: WriteTimeout,  will retry later, attempt 1 of 20"
    assert program("load", "17", CODE="2", COMPLAINT=again).returncode == 0


@pytest.mark.parametrize(("lost", "code"), [("2", 0), ("3", 1)])
def test_a_load_whose_cqlsh_lost_the_ring_is_tried_thrice(program, lost, code):
    done = program("load", "17", IMPORTED="5", COMPLAINT="No records inserted in 90 seconds", LOST=lost)
    assert done.returncode == code
    assert program.asked.read_text().count("COPY") == 3


@pytest.mark.parametrize(
    ("words", "env", "says"),
    [
        (("count",), {"CONTACT_NAMES": None}, "CONTACT_NAMES is not set"),
        (("count",), {"CQLSH": "/nowhere/cqlsh"}, "CQLSH names /nowhere/cqlsh"),
        (("count",), {"LOCAL": "1"}, "no node of 10.0.0.1,10.0.0.2 answers on port 9999"),
        (("count",), {"CODE": "2", "COMPLAINT": "no such table"}, "no such table"),
        (("count",), {"EXPORTED": "3"}, "reports 3 rows in cells.data, but wrote 2"),
        (
            ("load", "9"),
            {"IMPORTED": "8", "COMPLAINT": "given up"},
            "8 of 9 rows were loaded into .*: given up",
        ),
    ],
)
def test_what_goes_wrong_is_told_in_a_line(program, words, env, says):
    done = program(*words, **env)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("cells.py: ")
    assert re.search(says, done.stderr)


def test_without_cqlsh_it_says_how_to_get_it(program, tmp_path):
    if shutil.which("cqlsh", path="/usr/bin:/bin"):
        pytest.skip("cqlsh is installed by the system")
    done = program("count", CQLSH=None, PATH="/usr/bin:/bin")
    assert done.returncode == 1
    assert "run `steelyard install cqlsh`" in done.stderr


def test_cqlsh_is_found_where_steelyard_installs_it(program, tmp_path):
    place = tmp_path / ".cache" / "steelyard" / "tools" / "cqlsh" / "bin"
    place.mkdir(parents=True)
    shutil.copy(program.cqlsh, place)
    assert program("count", CQLSH=None, PATH="/usr/bin:/bin").stdout == "2\n"


@pytest.mark.parametrize("words", [(), ("load",), ("load", "0"), ("load", "many"), ("count", "1"), ("drop",)])
def test_a_wrong_question_is_answered_with_the_right_ones(program, words):
    done = program(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage: cells.py load ROWS" in done.stderr
