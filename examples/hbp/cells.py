"""An application that keeps brain cells in a ring of Cassandra: rows with a place x, y and a value val.

    python cells.py load 100000     makes keyspace and table, and loads that many rows
    python cells.py count           prints how many rows there are, and nothing else

It runs by any Python from 3.9 on, without packages. The ring is found by what `steelyard cluster` and
Steelyard's workload `command` set: CONTACT_NAMES (addresses with commas), NODE_PORT, and CQLSHRC, a file of
settings for cqlsh that names the file with the password. CQLSH names the program cqlsh where it is neither on
PATH nor installed by Steelyard.
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
    """A sentence for the user."""


class Ring:
    """A ring of Cassandra through cqlsh, which works in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = [name for name in os.environ.get("CONTACT_NAMES", "").split(",") if name]
        if not self.names:
            raise Failed(
                "CONTACT_NAMES is not set: start this with `steelyard cluster run --appl …`, or set it"
            )
        self.port = os.environ.get("NODE_PORT", "9042")
        self.program = cqlsh()
        self.contact, self.datacenter = self._first_that_answers()

    def tell(self, statements: str) -> subprocess.CompletedProcess[str]:
        """What cqlsh makes of it."""
        return self._cqlsh(self.contact, statements)

    def run(self, statements: str) -> None:
        """Raises Failed when cqlsh is not wholly content."""
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
        env = {**os.environ, "CQL_HISTORY": str(self.folder / "history")}  # or it makes a folder in the home
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
    """The program: by CQLSH, on PATH, or where Steelyard installs it."""
    named = os.environ.get("CQLSH")
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}{cache}/steelyard/tools/cqlsh/bin"
    found = shutil.which(named or "cqlsh", path=path)
    if found is None:
        what = f"CQLSH names {named}, which is no program" if named else "cqlsh is not here"
        raise Failed(f"{what}: `steelyard install cqlsh` brings it, or set CQLSH to where it is")
    return str(Path(found).absolute())


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The first thing that cqlsh complains of."""
    lines = [re.sub(r"^<stdin>:\d+:", "", line) for line in done.stderr.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("Warning:", "Notice:", "Please use a cred"))]
    return told[0] if told else f"it ended with code {done.returncode}"


def cells(count: int) -> Iterator[tuple[int, int, int]]:
    """Cells, each with a place of its own and always the same: x returns only after 2^31 of them."""
    for number in range(1, count + 1):
        drawn = number * 2_654_435_761
        yield drawn % 2**31, drawn * 40_503 // 8 % 2**31, drawn * 2_246_822_519 % 10**15


def load(ring: Ring, count: int) -> None:
    """Make the table where there is none, and copy so many rows into it."""
    copies = min(3, len(ring.names))
    ring.run(
        "CREATE KEYSPACE IF NOT EXISTS cells WITH replication = "
        f"{{'class': 'NetworkTopologyStrategy', '{ring.datacenter}': {copies}}}; "
        f"CREATE TABLE IF NOT EXISTS {TABLE} (x int, y int, val bigint, PRIMARY KEY (x, y))"
    )
    with (ring.folder / "cells.csv").open("w", newline="") as file:
        csv.writer(file).writerows(cells(count))
    done = ring.tell(f"{LEVEL}; COPY {TABLE} (x, y, val) FROM 'cells.csv' WITH MAXATTEMPTS=20")
    said = told(done, "imported")
    if said != count:  # its code tells less: it is 2 also when all went well on a second try
        raise Failed(f"{said or 0} of {count} rows were loaded into {TABLE}: {complaint(done)}")
    print(f"loaded {count} rows into {TABLE}")


def count(ring: Ring) -> None:
    """By reading the keys of all rows, page by page: `SELECT count(*)` of many runs into its limit."""
    for left in reversed(range(TRIES)):
        done = ring.tell(f"{LEVEL}; COPY {TABLE} (x, y) TO 'keys.csv' WITH PAGETIMEOUT=60")
        if done.returncode == 0:
            break
        if not left:
            raise Failed(f"the rows of {TABLE} cannot be read: {complaint(done)}")
    said = told(done, "exported")
    with (ring.folder / "keys.csv").open() as file:
        found = sum(1 for _ in file)
    if found != said:
        raise Failed(f"cqlsh tells of {said} rows in {TABLE}, and wrote {found}")
    print(found)


def told(done: subprocess.CompletedProcess[str], word: str) -> int | None:
    """How many rows a COPY says that it imported or exported."""
    found = re.search(rf"^(\d+) rows {word} ", done.stdout, re.MULTILINE)
    return int(found[1]) if found else None


def main(words: list[str]) -> int:
    """Do what is asked for. 0 when it is done, 1 when it failed, 2 when the question is wrong."""
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
