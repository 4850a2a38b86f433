"""Run with Darshan's library, not with ours: `reader.py LOG ROWS` writes a log's reads and writes as CSV.

The job is printed as one line of JSON. What goes wrong is the last line of standard error.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from typing import Any

MODULE = "DXT_POSIX"


def main(log_path: str, rows_path: str) -> None:
    """Read a log, and write what it tells."""
    from darshan.backend import cffi_backend

    log = cffi_backend.log_open(log_path)
    if not log["handle"]:
        sys.exit("this is no log of Darshan")
    if MODULE not in cffi_backend.log_get_modules(log):
        sys.exit("this log has no calls in it: record with DXT_ENABLE_IO_TRACE=1")
    with open(rows_path, "x", newline="") as file:  # noqa: PTH123 - Python of the host's
        csv.writer(file).writerows(list_calls(cffi_backend, log))
    job = cffi_backend.log_get_job(log)
    command = str(cffi_backend.log_get_exe(log)).split()
    began = job["start_time_sec"] + job["start_time_nsec"] / 1e9
    print(json.dumps({"command": command, "began": began, "ranks": job["nprocs"]}))  # noqa: T201


def list_calls(backend: Any, log: Any) -> Iterator[tuple[int, str, int, int, float, float, str]]:
    """Rank, kind, offset and bytes, begin and end in seconds from the job's start, and path."""
    names = backend.log_get_name_records(log)
    while record := backend.log_get_record(log, MODULE):
        path = names.get(record["id"], f"<{record['id']}>")
        for kind in ("read", "write"):
            for each in record[f"{kind}_segments"]:
                times = (each["start_time"], each["end_time"])
                yield (record["rank"], kind, each["offset"], each["length"], *times, path)
    # The library's Python does not tell the end from damage; the next attempt does.
    number, room = backend.log_get_modules(log)[MODULE]["idx"], backend.ffi.new("void **")
    if backend.libdutil.darshan_log_get_record(log["handle"], number, room) < 0:
        sys.exit("this log is damaged or was cut off")


if __name__ == "__main__":
    main(*sys.argv[1:])
