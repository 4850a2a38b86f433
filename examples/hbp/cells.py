"""An application that stores brain cells in a Cassandra ring: rows with a position x, y and a value val.

    python cells.py load 100000     creates keyspace and table, and loads that many rows
    python cells.py count           prints the number of rows, and nothing else

It runs with any Python from 3.9 on, without packages. It finds the ring through the variables that
`steelyard cluster` and Steelyard's workload `command` set: CONTACT_NAMES (addresses separated by commas),
NODE_PORT, and CQLSHRC, a settings file for cqlsh that names the file with the password. Set CQLSH to the
program cqlsh if it is neither on PATH nor installed by Steelyard.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

TABLE = "cells.data"
LEVEL = "CONSISTENCY LOCAL_QUORUM"
TRIES = 3
LIMITS = ("--connect-timeout=30", "--request-timeout=120")  # seconds


class Failed(Exception):
    """An error message for the user."""


class Ring:
    """A Cassandra ring, accessed through cqlsh, which runs in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = [name for name in os.environ.get("CONTACT_NAMES", "").split(",") if name]
        if not self.names:
            raise Failed(
                "CONTACT_NAMES is not set: start it with `steelyard cluster run --appl …`, or set it"
            )
        self.port = os.environ.get("NODE_PORT", "9042")
        self.program = cqlsh()
        self.contact, self.datacenter = self._first_that_answers()

    def tell(self, statements: str) -> subprocess.CompletedProcess[str]:
        """Run the statements in cqlsh; returns its output and exit code."""
        return self._cqlsh(self.contact, statements)

    def run(self, statements: str) -> None:
        """Run the statements in cqlsh. Raises Failed if it reports an error."""
        done = self.tell(statements)
        if done.returncode:
            raise Failed(f"cqlsh at {self.contact}: {complaint(done)}")

    def _first_that_answers(self) -> tuple[str, str]:
        for name in self.names:
            done = self._cqlsh(name, "SELECT JSON data_center FROM system.local")
            found = re.search(r"^ *(\{.*\}) *$", done.stdout, re.MULTILINE)
            if done.returncode == 0 and found:
                return name, json.loads(found[1])["data_center"]
        raise Failed(f"no node of {','.join(self.names)} answers on port {self.port}: {complaint(done)}")

    def _cqlsh(self, contact: str, statements: str) -> subprocess.CompletedProcess[str]:
        settings = [f"--cqlshrc={os.environ['CQLSHRC']}"] if os.environ.get("CQLSHRC") else []
        argv = [self.program, *settings, *LIMITS, f"--execute={statements}", contact, self.port]
        env = {**os.environ, "CQL_HISTORY": str(self.folder / "history")}  # else in the home
        return subprocess.run(
            argv,
            cwd=self.folder,
            env=env,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )


def cqlsh() -> str:
    """The path of the program: from CQLSH, on PATH, or where Steelyard installs it."""
    named = os.environ.get("CQLSH")
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}{cache}/steelyard/tools/cqlsh/bin"
    found = shutil.which(named or "cqlsh", path=path)
    if found is None:
        what = f"CQLSH names {named}, which is not a program" if named else "cqlsh was not found"
        raise Failed(f"{what}: run `steelyard install cqlsh`, or set CQLSH to its path")
    return str(Path(found).absolute())


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The first error that cqlsh reports, and the last one, after which it gave up."""
    lines = [re.sub(r"^<stdin>:\d+:", "", line) for line in done.stderr.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("Warning:", "Notice:", "Please use a cred"))]
    return (
        " … ".join(dict.fromkeys((told[0], told[-1]))) if told else f"it exited with code {done.returncode}"
    )


def cells(count: int) -> Iterator[tuple[int, int, int]]:
    """Cells, each with a unique position, the same in every run: x repeats only after 2^31 cells."""
    for number in range(1, count + 1):
        drawn = number * 2_654_435_761
        yield drawn % 2**31, drawn * 40_503 // 8 % 2**31, drawn * 2_246_822_519 % 10**15


def load(ring: Ring, count: int) -> None:
    """Create the table if it does not exist, and copy `count` rows into it."""
    copies = min(3, len(ring.names))
    ring.run(
        "CREATE KEYSPACE IF NOT EXISTS cells WITH replication = "
        f"{{'class': 'NetworkTopologyStrategy', '{ring.datacenter}': {copies}}}; "
        f"CREATE TABLE IF NOT EXISTS {TABLE} (x int, y int, val bigint, PRIMARY KEY (x, y))"
    )
    with (ring.folder / "cells.csv").open("w", newline="") as file:
        csv.writer(file).writerows(cells(count))
    # Once the driver of cqlsh has lost all nodes, it never finds them again, but a new cqlsh does. Rows that
    # are there already are replaced by the same.
    for _ in range(TRIES):
        done = ring.tell(f"{LEVEL}; COPY {TABLE} (x, y, val) FROM 'cells.csv' WITH MAXATTEMPTS=20")
        said = told(done, "imported")
        if said == count:  # the exit code is not enough: it is also 2 if a second try succeeded
            break
    else:
        raise Failed(f"{said or 0} of {count} rows were loaded into {TABLE}: {complaint(done)}")
    print(f"loaded {count} rows into {TABLE}")


def count(ring: Ring) -> None:
    """Count rows by reading all keys page by page: `SELECT count(*)` times out on large tables."""
    for _ in range(TRIES):
        done = ring.tell(f"{LEVEL}; COPY {TABLE} (x, y) TO 'keys.csv' WITH PAGETIMEOUT=60")
        if done.returncode == 0:
            break
    else:
        raise Failed(f"the rows of {TABLE} cannot be read: {complaint(done)}")
    said = told(done, "exported")
    with (ring.folder / "keys.csv").open() as file:
        found = sum(1 for _ in file)
    if found != said:
        raise Failed(f"cqlsh reports {said} rows in {TABLE}, but wrote {found}")
    print(found)


def told(done: subprocess.CompletedProcess[str], word: str) -> int | None:
    """The number of rows that a COPY reports as imported or exported."""
    found = re.search(rf"^(\d+) rows {word} ", done.stdout, re.MULTILINE)
    return int(found[1]) if found else None


def main(words: list[str]) -> int:
    """Run the command. Returns 0 on success, 1 on failure, 2 for wrong usage."""
    asked = " ".join(words)
    if not re.fullmatch(r"count|load [1-9][0-9]{0,8}", asked):
        print("usage: cells.py load ROWS | cells.py count", file=sys.stderr)
        return 2
    try:
        with tempfile.TemporaryDirectory(prefix="cells-") as folder:
            ring = Ring(Path(folder))
            load(ring, int(words[1])) if words[0] == "load" else count(ring)
    except (Failed, OSError) as error:
        print(f"cells.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
