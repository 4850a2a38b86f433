"""Record a bare program: `steelyard trace record -- COMMAND`."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.errors import StoreError, UsageError
from steelyard.hosts.capturing import WAY, WAYS
from steelyard.traces.folder import TraceFolder, hash_file
from steelyard.traces.profile import profile_table
from steelyard.traces.recorder import Recorder
from steelyard.traces.segments import SUFFIX, UNSEEN, TraceSegment, read_segments
from steelyard.traces.table import write_table
from steelyard.traces.wording import characterise
from steelyard.untrusted import read_content

# What the library adds to a call, by one that does next to nothing, in the fastest of some batches.
_CALLS, _BATCHES = 2000, 20
_LOOKS, _BETWEEN = 100, 0.05
_LOOP = f"""
import os, sys, time
file = os.open(sys.argv[1], os.O_RDONLY)
def measure():
    start = time.perf_counter_ns()
    for _ in range({_CALLS}):
        os.pread(file, 1, 0)
    return time.perf_counter_ns() - start
print(min(measure() for _ in range({_BATCHES})) / {_CALLS})
"""


def run_recorded(recorder: Recorder, folder: TraceFolder, argv: Sequence[str]) -> int:
    """Run a program recorded, with our own streams, and return its exit code as a shell has it.

    Whatever happens to us, it goes on, and its segments stay. Raises UsageError when it cannot be started.
    """
    words, variables = recorder.surround(argv, folder.segments)
    began = time.time()
    document = {
        "command": list(argv),
        "began": began,
        "way": recorder.name,
        "directory": str(Path.cwd()),
        "host": os.uname().nodename,
    }
    folder.write_document(document)
    try:
        process = subprocess.Popen(words, env=variables)
    except OSError as error:
        shutil.rmtree(folder.path)
        raise UsageError(f"cannot start {argv[0]}: {error.strerror}") from error
    code = _wait(process)
    folder.write_document({**document, "seconds": time.time() - began, "exit": code})
    return 128 - code if code < 0 else code


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Until it ends: what interrupts us from the terminal interrupts it, too, and it decides."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return process.wait()
    finally:
        signal.signal(signal.SIGINT, before)


def _wait_for_passthrough(folder: TraceFolder) -> bool:
    """Whether no passthrough writes there any more: it ends soon after the last program that it serves."""
    place = os.open(folder.segments, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for _ in range(_LOOKS):
            try:
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_BETWEEN)
            else:
                return True
    finally:
        os.close(place)
    return False


def find_recorded(folder: TraceFolder) -> list[int]:
    """The processes that are still being recorded by the library: each maps its segment while it lives."""
    paths = folder.segments.absolute().glob(f"*{SUFFIX}")
    pids = ((path, path.name.partition("-")[0]) for path in paths)
    return [int(pid) for path, pid in pids if pid.isdigit() and str(path) in _read_maps(pid)]


def _read_maps(pid: str) -> str:
    try:
        return Path("/proc", pid, "maps").read_text(errors="replace")
    except OSError:
        return ""


def complete_trace(
    folder: TraceFolder, *, anonymous: bool = False, cost: float | None = None
) -> dict[str, Any]:
    """Make the table of what was recorded, say what was not seen, and remove the segments.

    `cost`: seconds that recording adds to a call, where that was measured. Raises StoreError, and then they
    stay: also as long as something is recorded. The document is returned.
    """
    _require_end(folder)
    document = folder.read_document()
    segments, without = read_segments(folder.segments)
    calls = write_table(segments, folder.table, anonymous=anonymous)
    document |= {
        "calls": calls,
        "anonymous": anonymous,
        "processes": [_describe(segment, anonymous=anonymous) for segment in segments],
        **({} if cost is None else {"cost": cost}),
        "unrecorded": without,
        "torn": sum(segment.torn for segment in segments),
        "unseen": {name: sum(segment.unseen[name] for segment in segments) for name in UNSEEN},
    }
    document |= summarise(folder.table)
    folder.write_document(document)
    shutil.rmtree(folder.segments)
    return document


def summarise(table: Path) -> dict[str, Any]:
    """What a trace's document says of its table, with the hash by which it is known. Raises StoreError."""
    profile = profile_table(table)
    return {
        "sha256": hash_file(table),
        "summary": {
            "profile": profile.label,
            "calls": profile.calls,
            "read": profile.read,
            "written": profile.written,
            "text": characterise(profile),
        },
    }


def _require_end(folder: TraceFolder) -> None:
    pids = find_recorded(folder)
    who = f"process {pids[0]} is" if len(pids) == 1 else f"processes {', '.join(map(str, pids[:5]))} are"
    if not pids and not _wait_for_passthrough(folder):
        who = "a program that goes on in the background is"
    elif not pids:
        return
    hint = f"`steelyard trace show {folder.id}` shows the trace when they have ended"
    raise StoreError(f"{folder.path}: {who} still being recorded", hint=hint)


def complete_below(place: Path) -> list[TraceFolder]:
    """The same for all segments in the record of a run; the traces. Raises StoreError."""
    folders = [TraceFolder(segments.parent) for segments in sorted(place.rglob("*trace/segments"))]
    for folder in folders:
        if not folder.document.exists():
            folder.write_document({"way": _read_way(folder)})
        complete_trace(folder)
    return folders


def _read_way(folder: TraceFolder) -> str:
    """As the host noted it, where the programs that were recorded could write, too."""
    try:
        said = read_content(folder.segments / WAY).decode("ascii", "replace").strip()
    except OSError:
        said = ""
    return said if said in WAYS else "io"


def measure_cost(recorder: Recorder, folder: TraceFolder) -> float:
    """Seconds that recording adds to a call here, by a read of one byte from the cache. Raises StoreError."""
    place = folder.path / "cost"
    data, segments = place / "data" / "data", place / "segments"
    try:
        for directory in (place, data.parent, segments):
            directory.mkdir(mode=0o700)
        data.write_bytes(bytes(4096))
        argv = (sys.executable, "-I", "-c", _LOOP, str(data.absolute()))
        bare = _time_call(argv, dict(os.environ))
        recorded = _time_call(*replace(recorder, over=(str(data.parent),)).surround(argv, segments))
    except (OSError, subprocess.CalledProcessError) as error:
        raise StoreError(f"cannot measure what recording costs in {place}: {error}") from error
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return max(0.0, recorded - bare)


def _time_call(argv: Sequence[str], variables: Mapping[str, str]) -> float:
    said = subprocess.run(argv, env=variables, capture_output=True, check=True)
    return float(said.stdout) / 1e9


def _describe(segment: TraceSegment, *, anonymous: bool) -> dict[str, Any]:
    arguments = segment.arguments[:1] if anonymous else segment.arguments
    cpu = {} if segment.cpu is None else {"cpu": segment.cpu}
    return {"process": segment.process, "parent": segment.parent, "arguments": list(arguments), **cpu}
