"""How fast the load driver can ask: beside wrk, on the same core, of a server that does nothing.

The rate says what both reach together with the server; the CPU time of a request is the client's alone, and
says the same on a busy machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench.process import NotMeasured, find_load, run
from bench.row import Row
from bench.setting import Setting

CONNECTIONS = 32
MOST = 2.0  # as many times wrk's: at least half of its rate
Costs = tuple[float, float]
"""Of a request: seconds of CPU, and seconds as the rate says."""
_COUNT = re.compile(r"^\s*(\d+) requests in ", re.MULTILINE)
_RATE = re.compile(r"^Requests/sec:\s+(\d+(?:\.\d+)?)$", re.MULTILINE)


def rows(setting: Setting) -> Iterator[Row]:
    """Seconds for each request, as its rate says, and of CPU, in a closed loop over as many connections."""
    program = find_load()
    seconds = 1 if setting.quick else 3
    client, server = _choose_cores()
    with _serve(program, server) as at:
        folder = setting.fresh("driver")
        turns = [
            (_drive(program, client, at, folder, seconds), _wrk(client, at, seconds))
            for _ in range(setting.turns)
        ]
    for at_rate, what in enumerate(("CPU time of a request", "a request, as the rate says")):
        ours, theirs = (tuple(turn[side][at_rate] for turn in turns) for side in (0, 1))
        about = f"{what}: {CONNECTIONS} connections on one core, closed loop"
        yield Row("driver", about, "s", ours, "wrk", theirs, most=MOST)


def _choose_cores() -> tuple[str, str]:
    """One for clients, and another one for the server where there is one."""
    cores = sorted(os.sched_getaffinity(0))
    return str(cores[0]), str(cores[-1])


@contextlib.contextmanager
def _serve(program: Path, core: str) -> Iterator[str]:
    argv = ("taskset", "-c", core, str(program), "null-server", "127.0.0.1:0")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def _drive(program: Path, core: str, at: str, folder: Path, seconds: int) -> Costs:
    """Of the driver."""
    server, _, port = at.rpartition(":")
    pace = {"connections": CONNECTIONS, "seconds": seconds, "interval": 1, "timeout": 10, "seed": 1}
    job = folder / "job.json"
    job.write_text(
        json.dumps({"server": server, "port": int(port), "path": "/", "raw": str(folder), "pace": pace})
    )
    words = ("sh", "-c", 'exec taskset -c "$1" "$2" get < "$3"', "sh", core, str(program), str(job))
    ended = run(words)
    intervals = json.loads(ended.output)["intervals"]
    done = sum(each["kinds"]["get"]["done"] for each in intervals)
    timely = [each for each in intervals if not each["drain"]]
    rate = sum(each["kinds"]["get"]["done"] for each in timely) / sum(each["seconds"] for each in timely)
    return ended.cpu / done, 1 / rate


def _wrk(core: str, at: str, seconds: int) -> Costs:
    """Of wrk."""
    words = ("wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", f"http://{at}/")
    ended = run(("taskset", "-c", core, *words))
    rate, count = _RATE.search(ended.output), _COUNT.search(ended.output)
    if not rate or not count:
        raise NotMeasured("wrk prints no rate")
    return ended.cpu / int(count[1]), 1 / float(rate[1])
